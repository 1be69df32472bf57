/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The identity of a communicator: its id, its ranks and where they run. It does not change after
 * creation, so every thread may read it. */
#ifndef WEFT_COMM_IDENTITY_H
#define WEFT_COMM_IDENTITY_H

#include "core/comm/family.h"
#include "core/plan/topo_view.h"

typedef struct weft_comm_identity {
    weft_comm_t *handle;   /* set by weft_handle_add() */
    weft_family_t *family; /* a reference */
    uint64_t id;           /* equal on all ranks; differs between communicators of the family */
    uint32_t nranks, rank;
    uint32_t *family_rank; /* per rank: its rank in the family */
    bool ordered;          /* family_rank ascends */
    uint32_t nhosts;
    uint32_t crowd; /* ranks on the machine that has most of them */
    /* What algorithms see of the topology. In deterministic mode all ranks share one host. */
    weft_topo_view_t view;
    weft_topo_view_t hidden; /* in deterministic mode: the topology, for prices; else empty */
} weft_comm_identity_t;

/* Arguments for making a communicator. */
typedef struct weft_comm_setup {
    weft_family_t *family;
    uint64_t id;
    uint32_t nranks, rank;
    const uint32_t *family_rank; /* per rank; copied */
} weft_comm_setup_t;

/* Copies the setup and retains its family. ERR_RESOURCE; weft_identity_fini() is due in any
 * case. */
weft_status_t weft_identity_init(weft_comm_identity_t *self, const weft_comm_setup_t *setup);
/* Returns the communicator's number of rank `family_rank` of the family; nranks: not a member. */
uint32_t weft_identity_find(const weft_comm_identity_t *self, uint32_t family_rank);
/* Returns the host of each rank, in deterministic mode too. */
const uint32_t *weft_identity_hosts(const weft_comm_identity_t *self);
/* Returns the bytes of the tables. */
uint64_t weft_identity_bytes(const weft_comm_identity_t *self);
/* Frees the tables and releases the family. */
void weft_identity_fini(weft_comm_identity_t *self);

#endif
