/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The candidates of a call: the loaded algorithms that serve it, priced. Equal on all ranks. */
#ifndef WEFT_COMM_SELECT_CANDIDATES_H
#define WEFT_COMM_SELECT_CANDIDATES_H

#include "core/base/error.h"
#include "core/comm/select_price.h"

/* Candidates of one call. `refused` variants were dropped because their proof failed; `refusal`
 * is the first one's reason. */
typedef struct weft_candidates {
    weft_priced_t priced[WEFT_VARIANTS_MAX];
    weft_tuner_candidate_t list[WEFT_VARIANTS_MAX];
    uint64_t refused; /* bit per variant of an algorithm */
    uint32_t count;
    uint32_t refuser; /* number of the algorithm whose reason is `refusal` */
    weft_error_t refusal;
    char why[384]; /* of those that do not serve, for the error */
} weft_candidates_t;

/* Asks for the algorithm's plan of the call, proved if a proof is wanted or needed. */
void weft_candidates_query(const weft_comm_state_t *state, const weft_algo_variant_t *variant,
                           const weft_args_t *args, uint32_t slices, weft_plan_query_t *query);

/* Looks the plan up. Errors: those of the algorithm, which has given a reason or is named, and of
 * weft_plan_lookup(). */
weft_status_t weft_candidates_lookup(const weft_algo_variant_t *variant,
                                     const weft_plan_query_t *query, weft_plan_entry_t *entry);

/* Returns whether [plan] algo decides on the call. It does not on barriers and on the core's own
 * exchanges. */
bool weft_candidates_are_decided(const weft_comm_state_t *state, const weft_args_t *args);

/* Fills the list, but for those that were refused. ERR_RESOURCE, ERR_SYSTEM: this rank is short of
 * something. It must not choose among fewer algorithms than the others. */
weft_status_t weft_candidates_list(const weft_comm_state_t *state, const weft_args_t *args,
                                   weft_candidates_t *c);

/* Leaves the variant out; the error record says why. */
void weft_candidates_refuse(const weft_comm_state_t *state, weft_candidates_t *c,
                            const weft_algo_variant_t *variant);
/* Warns, once for a collective, of an algorithm that was refused where another one serves. A
 * verdict on a plan is the same on all ranks, so the first rank tells it. */
void weft_candidates_tell(const weft_comm_state_t *state, const weft_args_t *args,
                          const weft_candidates_t *c);

/* Returns why there is no candidate: ERR_UNSUPPORTED with what was ruled out, or the first
 * refusal. */
weft_status_t weft_candidates_fail(const weft_comm_state_t *state, const weft_args_t *args,
                                   const weft_candidates_t *c);

#endif
