/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairing of interfaces. */
#include "sock_path.h"

#include <net/if.h>
#include <stdio.h>

typedef struct pairing {
    const weft_endpoint_list_t *here, *there;
    bool used_here[WEFT_ENDPOINTS_MAX]; /* or its interface is */
    bool used_there[WEFT_ENDPOINTS_MAX];
    uint32_t count, limit;
    sock_path_t *paths;
} pairing_t;

/* In Mbit/s; 0: the system does not tell. */
static long path_speed(uint32_t interface)
{
    char name[IF_NAMESIZE], path[64 + IF_NAMESIZE];
    long speed = 0;
    if (interface == 0 || if_indextoname(interface, name) == NULL) {
        return 0;
    }
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    bool told = fscanf(file, "%ld", &speed) == 1; /* NOLINT: one number of the kernel */
    fclose(file);
    return told && speed > 0 ? speed : 0;
}

static void pairing_leave_out_slow(pairing_t *pairing)
{
    long speed[WEFT_ENDPOINTS_MAX], fastest = 0;
    for (uint32_t i = 0; i < pairing->here->count; i++) {
        const weft_endpoint_entry_t *entry = &pairing->here->entries[i];
        speed[i] = entry->loopback ? 0 : path_speed(entry->interface);
        fastest = speed[i] > fastest ? speed[i] : fastest;
    }
    for (uint32_t i = 0; i < pairing->here->count; i++) {
        pairing->used_here[i] = pairing->used_here[i] || (speed[i] != 0 && speed[i] < fastest / 2);
    }
}

static bool pairing_meets(const pairing_t *pairing, uint32_t i, uint32_t k, bool anywhere)
{
    const weft_endpoint_entry_t *here = &pairing->here->entries[i];
    const weft_endpoint_entry_t *there = &pairing->there->entries[k];
    bool free = !pairing->used_here[i] && !pairing->used_there[k] && !here->loopback &&
                !there->loopback && here->point.any.sa_family == there->point.any.sa_family;
    return free && (anywhere || weft_endpoint_shares_network(here, &there->point));
}

static void pairing_join(pairing_t *pairing, uint32_t i, uint32_t k)
{
    const weft_endpoint_list_t *here = pairing->here;
    pairing->paths[pairing->count++] =
        (sock_path_t){.from = here->entries[i].point, .to = pairing->there->entries[k].point};
    pairing->used_there[k] = true;
    for (uint32_t other = 0; other < here->count; other++) {
        bool same = here->entries[other].interface != 0 &&
                    here->entries[other].interface == here->entries[i].interface;
        pairing->used_here[other] = pairing->used_here[other] || same || other == i;
    }
}

static void pairing_join_all(pairing_t *pairing, bool anywhere)
{
    for (uint32_t i = 0; i < pairing->here->count; i++) {
        for (uint32_t k = 0; k < pairing->there->count && pairing->count < pairing->limit; k++) {
            if (pairing_meets(pairing, i, k, anywhere)) {
                pairing_join(pairing, i, k);
            }
        }
    }
}

uint32_t sock_paths_find(const weft_endpoint_list_t *here, const weft_endpoint_list_t *there,
                         uint32_t most, sock_path_t paths[SOCK_RAILS_MAX])
{
    pairing_t pairing = {
        .here = here, .there = there, .limit = most == 0 ? SOCK_RAILS_MAX : most, .paths = paths};
    pairing_join_all(&pairing, false);
    if (most == 0 && pairing.count > 1) {
        pairing =
            (pairing_t){.here = here, .there = there, .limit = SOCK_RAILS_MAX, .paths = paths};
        pairing_leave_out_slow(&pairing);
        pairing_join_all(&pairing, false);
    } else if (most > 1) {
        pairing_join_all(&pairing, true);
    }
    return pairing.count;
}
