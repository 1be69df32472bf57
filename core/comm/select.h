/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the program of a call. */
#ifndef WEFT_COMM_SELECT_H
#define WEFT_COMM_SELECT_H

#include "core/comm/comm.h"
#include "core/comm/select_price.h"

/* What the tuner answers for a call. The names live as long as the family. */
typedef struct weft_select_choice {
    const char *algo;
    const char *next; /* the second best; NULL: there is none */
    double seconds;   /* that the model predicts */
    weft_tuner_choice_t tuner;
    weft_kernel_protocol_t protocol; /* between devices */
    uint64_t longest;                /* bytes of its longest slice */
    const char *travel;   /* how its slices travel, in a word; NULL but from weft_comm_why() */
    weft_priced_t priced; /* what the price was made of; its variant is NULL for a message */
} weft_select_choice_t;

/* Chooses for a call and proves the plan, but prepares nothing. Errors as weft_select(). Thread:
 * the owner. */
weft_status_t weft_select_choose(const weft_comm_state_t *state, const weft_args_t *args,
                                 weft_select_choice_t *chosen);

/* Returns the prepared program of a call, from the cache or made now. args->count of a vector
 * collective is the size of its class, equal on all ranks: see weft_vectors_class().
 * ERR_UNSUPPORTED: no algorithm serves the call, on all ranks alike. Other failures are those of
 * proof, memory and kernel. Thread: the owner. */
weft_status_t weft_select(weft_comm_state_t *state, const weft_args_t *args,
                          weft_prepared_t **prepared_p);

#endif
