/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbering hosts, with a hash table of the first rank of each. */
#include "core/boot/host_numbers.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

static uint64_t host_hash(const weft_boot_peer_t *peer)
{
    uint64_t words[2];
    _Static_assert(sizeof words == sizeof peer->host_id, "two words");
    memcpy(words, peer->host_id, sizeof words);
    uint64_t hash = (words[0] ^ words[1] * UINT64_C(0x9e3779b97f4a7c15));
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 31;
}

/* Returns the entry of the peer's host: a rank of it plus one, or 0 where it belongs. */
static uint32_t *host_entry(uint32_t *table, uint32_t entries, const weft_boot_peer_t *peers,
                            const weft_boot_peer_t *peer)
{
    uint32_t at = (uint32_t)host_hash(peer) & (entries - 1);
    while (table[at] != 0 &&
           memcmp(peers[table[at] - 1].host_id, peer->host_id, sizeof peer->host_id) != 0) {
        at = (at + 1) & (entries - 1);
    }
    return &table[at];
}

weft_status_t weft_boot_number_hosts(weft_boot_peer_t *peers, uint32_t nranks, uint32_t *hosts_p)
{
    uint32_t entries = 2, hosts = 0;
    while (entries < 2 * nranks) {
        entries *= 2;
    }
    uint32_t *table = weft_os_alloc(entries * sizeof *table, 0);
    if (table == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    for (uint32_t i = 0; i < nranks; i++) {
        uint32_t *entry = host_entry(table, entries, peers, &peers[i]);
        if (*entry == 0) {
            *entry = i + 1;
            peers[i].host = hosts++;
        } else {
            peers[i].host = peers[*entry - 1].host;
        }
    }
    weft_os_free(table);
    *hosts_p = hosts;
    return WEFT_OK;
}
