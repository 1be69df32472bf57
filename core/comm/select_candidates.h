/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The candidates of a call: the loaded algorithms that serve it, priced. Equal on all ranks. */
#ifndef WEFT_COMM_SELECT_CANDIDATES_H
#define WEFT_COMM_SELECT_CANDIDATES_H

#include "core/base/error.h"
#include "core/comm/select_price.h"

/* Candidates of one call. `refused` algorithms were dropped because their proof failed. */
typedef struct weft_candidates {
    weft_priced_t priced[WEFT_ALGOS_MAX];
    weft_tuner_candidate_t list[WEFT_ALGOS_MAX];
    uint32_t count;
    uint32_t refused; /* bit per loaded algorithm */
    weft_error_t refusal;
    char why[384]; /* of those that do not serve, for the error */
} weft_candidates_t;

/* Asks for the algorithm's plan of the call, proved if a proof is wanted or needed. */
void weft_candidates_query(const weft_comm_state_t *state, const weft_algo_loaded_t *algo,
                           const weft_args_t *args, uint32_t slices, weft_plan_query_t *query);

/* Fills the list, but for those that were refused. ERR_RESOURCE, ERR_SYSTEM: this rank is short of
 * something. It must not choose among fewer algorithms than the others. */
weft_status_t weft_candidates_list(const weft_comm_state_t *state, const weft_args_t *args,
                                   weft_candidates_t *c);

/* Notes the error record as the reason why the algorithm is left out; the first refusal is told if
 * nobody else serves. */
void weft_candidates_refuse(weft_candidates_t *c, const char *algo);

/* Returns why there is no candidate: ERR_UNSUPPORTED with what was ruled out, or the first
 * refusal. */
weft_status_t weft_candidates_fail(const weft_comm_state_t *state, const weft_args_t *args,
                                   const weft_candidates_t *c);

#endif
