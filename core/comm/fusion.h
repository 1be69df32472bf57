/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fusion: collectives of a group that are alike and short run as one call, in whose buffers their
 * blocks lie one behind the other. Its members end with it. NCCL aggregates the calls of a group in
 * one launch; tensor fusion is the word of A. Sergeev and M. Del Balso (Horovod, arXiv:1802.05799,
 * 2018). Thread: the owner of the communicator. */
#ifndef WEFT_COMM_FUSION_H
#define WEFT_COMM_FUSION_H

#include "core/comm/request.h"

/* More payload than this is not in one fusion: it bounds the memory. */
#define WEFT_FUSION_MOST (UINT64_C(1) << 20)

typedef struct weft_fusion {
    weft_request_t request;       /* the call that runs */
    weft_request_t *first, *last; /* members, in order, linked by `next` */
    uint32_t members;
    uint32_t nranks;
    uint64_t payload;    /* bytes of all of them: see weft_fusion_payload() */
    uint64_t counts;     /* hash of the members' counts */
    uintptr_t low, high; /* all that the members write lies in between */
} weft_fusion_t;

/* Returns the bytes of a call's larger side, which are equal on all ranks. */
uint64_t weft_fusion_payload(const weft_args_t *args, uint32_t nranks);

/* Makes a fusion of one member. weft_os_free() ends one that is not submitted; its members stay as
 * they are. ERR_RESOURCE. */
weft_status_t weft_fusion_create(const weft_comm_identity_t *self, weft_request_t *first,
                                 weft_fusion_t **fusion_p);
/* Returns whether both calls are of one kind, so that one call does the work of both. */
bool weft_fusion_suits(const weft_args_t *a, const weft_args_t *b);

/* Returns whether there is room for such a call, and it does not read what a member writes. */
bool weft_fusion_has_room(const weft_fusion_t *fusion, const weft_args_t *args);
void weft_fusion_add(weft_fusion_t *fusion, weft_request_t *member);

/* Returns the bytes of the memory that weft_fusion_pack() needs, after the last member was added; a
 * power of two, so that the same memory serves many. */
uint64_t weft_fusion_bytes(const weft_fusion_t *fusion);
/* Makes the memory the buffers of the call, and gathers what the members send: when the call
 * begins. It is the call's until it ends. */
void weft_fusion_pack(weft_fusion_t *fusion, void *memory);

/* Ends the members with the status of the call, whose failure is the thread's error, and frees the
 * fusion with its request. */
void weft_fusion_end(weft_fusion_t *fusion, weft_status_t status);

#endif
