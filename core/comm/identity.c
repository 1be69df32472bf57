/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of a communicator's identity. */
#include "core/comm/identity.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/family_setup.h"

/* Counts the hosts, and the ranks of the fullest machine: several hosts may be namespaces of one,
 * and their ranks use the same cores. */
static weft_status_t identity_count_hosts(weft_comm_identity_t *self)
{
    const weft_boot_peer_t *peers = weft_boot_peers(self->family->boot);
    const weft_job_t *job = &self->family->job;
    uint32_t machines = weft_boot_hosts(self->family->boot);
    uint32_t *ranks = weft_os_alloc(((size_t)machines + job->nhosts) * sizeof *ranks, 0);
    if (ranks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot count %u hosts", job->nhosts);
    }
    uint32_t *on_host = ranks + machines;
    for (uint32_t r = 0; r < self->nranks; r++) {
        uint32_t here = ++ranks[peers[self->family_rank[r]].host];
        self->crowd = here > self->crowd ? here : self->crowd;
        self->nhosts += job->nhosts > 0 && on_host[job->host[self->family_rank[r]]]++ == 0;
    }
    self->nhosts = self->nhosts > 0 ? self->nhosts : 1; /* of a family of one rank */
    weft_os_free(ranks);
    return WEFT_OK;
}

/* In deterministic mode it must not matter which ranks share a host. */
static weft_status_t identity_see(weft_comm_identity_t *self)
{
    static const weft_algo_topo_t nothing = {.size = sizeof nothing, .nhosts = 1};
    const weft_algo_topo_t *topo = &self->family->job.topo;
    if (!self->family->settings.plan.deterministic) {
        return weft_topo_view_init(&self->view, topo, self->family_rank, self->nranks);
    }
    weft_status_t status = weft_topo_view_init(&self->view, &nothing, NULL, self->nranks);
    return status == WEFT_OK
               ? weft_topo_view_init(&self->hidden, topo, self->family_rank, self->nranks)
               : status;
}

weft_status_t weft_identity_init(weft_comm_identity_t *self, const weft_comm_setup_t *setup)
{
    uint32_t n = setup->nranks;
    weft_family_retain(setup->family);
    *self = (weft_comm_identity_t){
        .family = setup->family, .id = setup->id, .nranks = n, .rank = setup->rank};
    self->family_rank = weft_os_alloc(n * sizeof *self->family_rank, 0);
    if (self->family_rank == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         n);
    }
    memcpy(self->family_rank, setup->family_rank, n * sizeof *self->family_rank);
    self->ordered = true;
    for (uint32_t r = 1; r < n; r++) {
        self->ordered = self->ordered && self->family_rank[r - 1] < self->family_rank[r];
    }
    weft_status_t status = identity_count_hosts(self);
    return status == WEFT_OK ? identity_see(self) : status;
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

const uint32_t *weft_identity_hosts(const weft_comm_identity_t *self)
{
    return self->hidden.topo.host != NULL ? self->hidden.topo.host : self->view.topo.host;
}

uint64_t weft_identity_bytes(const weft_comm_identity_t *self)
{
    return self->nranks * sizeof *self->family_rank + self->view.bytes + self->view.orders.bytes +
           self->hidden.bytes + self->hidden.orders.bytes;
}

void weft_identity_fini(weft_comm_identity_t *self)
{
    if (self->family != NULL) {
        weft_family_release(self->family);
    }
    weft_os_free(self->family_rank);
    weft_topo_view_fini(&self->view);
    weft_topo_view_fini(&self->hidden);
    *self = (weft_comm_identity_t){.family = NULL};
}
