/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of a communicator's identity. */
#include "core/comm/identity.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/family_setup.h"

/* Hosts are numbered 0 … nhosts−1 in order of first appearance by rank. */
static weft_status_t identity_number_hosts(weft_comm_identity_t *self)
{
    const weft_boot_peer_t *peers = weft_boot_peers(self->family->boot);
    uint32_t hosts = weft_boot_hosts(self->family->boot);
    uint32_t *number = weft_os_alloc(2 * hosts * sizeof *number, 0); /* 0: not seen yet */
    if (number == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot number %u hosts", hosts);
    }
    uint32_t *ranks = number + hosts;
    for (uint32_t r = 0; r < self->nranks; r++) {
        uint32_t host = peers[self->family_rank[r]].host;
        if (number[host] == 0) {
            number[host] = ++self->nhosts;
        }
        self->host_of[r] = number[host] - 1;
        self->crowd = ++ranks[host] > self->crowd ? ranks[host] : self->crowd;
    }
    weft_os_free(number);
    return WEFT_OK;
}

weft_status_t weft_identity_init(weft_comm_identity_t *self, const weft_comm_setup_t *setup)
{
    uint32_t n = setup->nranks;
    weft_family_retain(setup->family);
    *self = (weft_comm_identity_t){
        .family = setup->family, .id = setup->id, .nranks = n, .rank = setup->rank};
    self->family_rank = weft_os_alloc(n * sizeof *self->family_rank, 0);
    self->host_of = weft_os_alloc(n * sizeof *self->host_of, 0);
    bool hides = setup->family->settings.plan.deterministic;
    self->one_host = hides ? weft_os_alloc(n * sizeof *self->one_host, 0) : NULL;
    if (self->family_rank == NULL || self->host_of == NULL || (hides && self->one_host == NULL)) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         n);
    }
    memcpy(self->family_rank, setup->family_rank, n * sizeof *self->family_rank);
    self->ordered = true;
    for (uint32_t r = 1; r < n; r++) {
        self->ordered = self->ordered && self->family_rank[r - 1] < self->family_rank[r];
    }
    return identity_number_hosts(self);
}

uint32_t weft_identity_find(const weft_comm_identity_t *self, uint32_t family_rank)
{
    uint32_t low = 0, high = self->nranks;
    while (self->ordered && low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (self->family_rank[middle] < family_rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < self->nranks && self->family_rank[low] != family_rank) {
        low = self->ordered ? self->nranks : low + 1;
    }
    return low;
}

uint64_t weft_identity_bytes(const weft_comm_identity_t *self)
{
    uint64_t each = sizeof *self->family_rank + sizeof *self->host_of +
                    (self->one_host != NULL ? sizeof *self->one_host : 0);
    return self->nranks * each;
}

void weft_identity_fini(weft_comm_identity_t *self)
{
    if (self->family != NULL) {
        weft_family_release(self->family);
    }
    weft_os_free(self->family_rank);
    weft_os_free(self->host_of);
    weft_os_free(self->one_host);
    *self = (weft_comm_identity_t){.family = NULL};
}
