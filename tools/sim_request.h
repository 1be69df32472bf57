/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim`: what collectives would cost on many ranks, by the cost walk over surveyed plans. */
#ifndef WEFT_TOOLS_SIM_H
#define WEFT_TOOLS_SIM_H

#include "core/plan/classes.h"
#include "tools/json.h"
#include "tools/plan_price.h"

#define SIM_ALGOS_MAX 16u
#define SIM_RANKS_MAX 32u

enum { SIM_TABLE, SIM_CSV, SIM_JSON };

typedef struct sim_request {
    weft_coll_t coll; /* WEFT_COLL_COUNT: not given */
    char specs[SIM_ALGOS_MAX][128];
    uint32_t nspecs; /* 0: all loaded algorithms */
    uint32_t ranks[SIM_RANKS_MAX];
    uint32_t nranks;
    int64_t per_host, root, slots, verify_ranks;
    price_request_t price;
    int form;
    bool scale, simgrid;
    const char *svg, *platform;
    tool_settings_t settings;
} sim_request_t;

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
} sim_point_t;

/* TOOL_OK, or the exit code after the cause was printed; *done after --help. */
int sim_request_read(sim_request_t *request, int argc, char **argv, bool *done);
/* All loaded algorithms, where none was named. */
int sim_request_fill(sim_request_t *request);

/* Surveys the plans of one algorithm. Only failures that are no property of the plans are returned. */
weft_status_t sim_survey(const sim_request_t *request, const plan_source_t *source,
                         weft_coll_t coll, uint32_t nranks, sim_point_t *point);
/* Proves them too, and times it. */
weft_status_t sim_verify(const sim_request_t *request, const plan_source_t *source,
                         sim_point_t *point);
bool sim_point_good(const sim_point_t *point);
double sim_point_time(const sim_request_t *request, const sim_point_t *point, uint64_t size);

/* points[i · nspecs + a] is algorithm a on ranks[i]. */
void sim_put_table(const sim_request_t *request, const sim_point_t *points);
int sim_put_figure(const sim_request_t *request, const sim_point_t *points);

/* --scale: figures of the plans of all algorithms for all numbers of ranks. */
int sim_scale(const sim_request_t *request);
/* --simgrid: runs the plans on a simulated network, by the program weft-simgrid. */
int sim_simgrid(const sim_request_t *request);

#endif
