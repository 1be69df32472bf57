/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan while it is being written: the builder that emitters see, and what the core keeps behind it.
 * Private to core/plan; users call weft_plan_emit() or weft_plan_parse(). */
#ifndef WEFT_PLAN_BUILDER_H
#define WEFT_PLAN_BUILDER_H

#include "core/plan/plan.h"

typedef struct weft_plan_draft {
    weft_plan_builder_t builder; /* builder.core points back here */
    weft_plan_t *plan;
    weft_status_t status; /* of the first mistake */
    int has_grid;
    char why[200];
} weft_plan_draft_t;

/* coll, nranks, rank and root of the plan are set by the caller through `call`. ERR_RESOURCE. */
weft_status_t weft_plan_draft_init(weft_plan_draft_t *draft, const weft_algo_call_t *call);
/* Closes the lanes, checks the plan and hands it over. ERR_PLAN, ERR_RESOURCE. */
weft_status_t weft_plan_draft_finish(weft_plan_draft_t *draft, weft_plan_t **plan_p);
void weft_plan_draft_fini(weft_plan_draft_t *draft);

/* One instruction as text, without a newline. */
void weft_plan_print_code(const weft_plan_t *plan, const weft_code_t *code, FILE *out);

#endif
