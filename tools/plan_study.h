/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All that is known of one algorithm's plans: proved, priced, counted. */
#ifndef WEFT_TOOLS_PLAN_STUDY_H
#define WEFT_TOOLS_PLAN_STUDY_H

#include "tools/plan_request.h"

/* All that is known of the plans of one algorithm. */
typedef struct plan_study {
    plan_set_t set;
    weft_verify_report_t reports[2]; /* out of place, in place */
    weft_cost_t cost;
    price_facts_t facts;
    uint32_t least_slots; /* 0: not known */
    double verify_seconds;
} plan_study_t;

/* Proves the plans of a set out of place and in place; the failures are those of
 * weft_plan_prove(). */
weft_status_t plan_study_prove(const plan_set_t *set, const plan_request_t *request,
                               weft_verify_report_t reports[2]);
/* Emits, proves and prices; plan_study_free() whatever it returns. */
weft_status_t plan_study_make(plan_study_t *study, const plan_request_t *request,
                              const plan_source_t *source);
void plan_study_free(plan_study_t *study);
bool plan_study_good(const plan_study_t *study);
/* Returns what their prices depend on. */
price_plan_t plan_study_price(const plan_study_t *study, const plan_request_t *request);

#endif
