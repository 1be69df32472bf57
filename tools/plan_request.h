/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: what was asked for, and the parts that answer. */
#ifndef WEFT_TOOLS_PLAN_H
#define WEFT_TOOLS_PLAN_H

#include "tools/draw.h"
#include "tools/json.h"
#include "tools/plan_price.h"

enum { PLAN_ALL, PLAN_TEXT, PLAN_DOT, PLAN_CHECK, PLAN_LIST, PLAN_COST, PLAN_SVG, PLAN_COMPARE };

typedef struct plan_request {
    weft_coll_t coll; /* WEFT_COLL_COUNT: not given */
    int64_t nranks, rank, root, slots, slices;
    bool ranks_given, slots_given;
    plan_hosts_t hosts;
    const char *algo;
    const char *params[WEFT_ALGO_PARAMS_MAX]; /* "name=value" */
    uint32_t nparams;
    const char *compare[2];
    uint32_t ncompare;
    const char *svg; /* file, "-": stdout */
    int view;        /* draw_view_t */
    price_request_t price;
    int form;
    bool json;
    tool_settings_t settings;
} plan_request_t;

/* All that is known of the plans of one algorithm. */
typedef struct plan_study {
    plan_set_t set;
    weft_verify_report_t reports[2]; /* out of place, in place */
    weft_cost_t cost;
    price_facts_t facts;
    uint32_t least_slots; /* 0: not known */
    double verify_seconds;
} plan_study_t;

/* TOOL_OK, or the exit code after the cause was printed; *done after --help. */
int plan_request_read(plan_request_t *request, int argc, char **argv, bool *done);

/* Emits, proves and prices; plan_study_free() whatever it returns. */
weft_status_t plan_study_make(plan_study_t *study, const plan_request_t *request,
                              const plan_source_t *source);
void plan_study_free(plan_study_t *study);
bool plan_study_good(const plan_study_t *study);

/* The verdict and the figures, for people or as JSON. TOOL_OK, or TOOL_LIBRARY if refused. */
int plan_check(const plan_request_t *request, const plan_study_t *study,
               const tool_session_t *session, json_t *json);
/* Prices for the sizes of the request. */
void plan_put_prices(const plan_request_t *request, const plan_study_t *study,
                     const price_model_t *model, json_t *json);
const char *plan_vector_text(weft_vector_t vector);

int plan_list(const plan_request_t *request, const tool_session_t *session);
int plan_compare(const plan_request_t *request, const tool_session_t *session);

#endif
