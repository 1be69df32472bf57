/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one collective would cost on one number of ranks, by the cost walk over surveyed plans. */
#ifndef WEFT_TOOLS_SIM_POINT_H
#define WEFT_TOOLS_SIM_POINT_H

#include "core/plan/classes.h"
#include "tools/sim_request.h"

/* One algorithm on one number of ranks. */
typedef struct sim_point {
    uint32_t nranks;
    weft_coll_t coll;
    const char *algo;
    bool served;
    char why[160]; /* it is not */
    weft_plan_survey_t survey;
    double survey_seconds, verify_seconds; /* negative: not verified */
    price_model_t model;
    uint32_t nhosts;
    bool meets; /* its ranks can meet before a run; asked for only with --windows */
} sim_point_t;

/* Surveys the plans of one algorithm. Only failures that are no property of the plans are
 * returned. */
weft_status_t sim_survey(const sim_request_t *request, const plan_source_t *source,
                         weft_coll_t coll, uint32_t nranks, sim_point_t *point);
/* Proves them too, and times it. */
weft_status_t sim_verify(const sim_request_t *request, const plan_source_t *source,
                         sim_point_t *point);
bool sim_point_good(const sim_point_t *point);
price_plan_t sim_point_plan(const sim_request_t *request, const sim_point_t *point);
/* INFINITY where the algorithm does not serve. */
price_time_t sim_point_time(const sim_request_t *request, const sim_point_t *point, uint64_t size);

#endif
