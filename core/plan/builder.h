/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder that algorithms write their plans with (weft/plugin/plan.h), and the way to call
 * them. */
#ifndef WEFT_PLAN_BUILDER_H
#define WEFT_PLAN_BUILDER_H

#include "core/plan/sub.h"

/* Emits the plan of call->rank and checks that it is well formed. `finder` may be NULL: then the
 * algorithm cannot use others. The caller destroys the plan. Fails with ERR_PLAN (lane, pc and
 * reason), ERR_RESOURCE, or the algorithm's own failure. */
weft_status_t weft_plan_emit(const weft_algo_ops_t *ops, weft_algo_t *algo,
                             const weft_algo_call_t *call, const weft_algo_topo_t *view,
                             const weft_plan_finder_t *finder, weft_plan_t **plan_p);

/* Starts a draft whose builder writes into it. ERR_RESOURCE. Private to core/plan. */
weft_status_t weft_plan_builder_init(weft_plan_draft_t *draft, const weft_algo_call_t *call);

/* Returns the ERR_PLAN that was just recorded, with the name of the algorithm in front: mistakes
 * made with the builder do not say whose they are. */
weft_status_t weft_plan_name_mistake(const char *algo);

#endif
