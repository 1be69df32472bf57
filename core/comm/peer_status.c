/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the health channel said of each rank. */
#include "core/comm/peer_status.h"

#include "core/os/os.h"

weft_peer_status_t *weft_peer_status_create(uint32_t nranks)
{
    weft_peer_status_t *peers = weft_os_alloc(nranks * sizeof *peers, 0);
    for (uint32_t r = 0; peers != NULL && r < nranks; r++) {
        atomic_init(&peers[r].left_at, WEFT_NOT_LEFT);
    }
    return peers;
}

void weft_peer_status_note_left(weft_peer_status_t *peer, uint64_t sequence)
{
    uint64_t expected = WEFT_NOT_LEFT;
    atomic_store_explicit(&peer->left_when, weft_os_clock_ns(), memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&peer->left_at, &expected, sequence,
                                            memory_order_release, memory_order_relaxed);
}
