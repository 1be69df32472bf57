/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where plans come from in the tools: an algorithm with its options, written as on the command line
 * ("algo-tree" or "algo-tree:trees=1,pattern=split"), and the plans of all ranks that it makes. */
#ifndef WEFT_TOOLS_PLAN_SOURCE_H
#define WEFT_TOOLS_PLAN_SOURCE_H

#include "core/plan/builder.h"
#include "core/plan/cost.h"
#include "core/plan/topo_view.h"
#include "core/plan/verify.h"
#include "tools/plan_find.h"
#include "tools/session.h"

#define PLAN_RANKS_MAX 65536
#define PLAN_HOSTS_MAX 4096u

/* Ranks on hosts: `count` hosts, evenly, or a list of ranks per host. */
typedef struct plan_hosts {
    uint32_t count;
    uint32_t listed;
    uint32_t list[PLAN_HOSTS_MAX];
} plan_hosts_t;

/* An algorithm, loaded with its options in a session of its own. */
typedef struct plan_source {
    tool_session_t session;
    tool_settings_t settings;
    const weft_loaded_t *loaded;
    weft_algo_t *algo;
    int64_t params[WEFT_ALGO_PARAMS_MAX];
    uint32_t pack; /* most chunks of a message; 0 after open: none is packed */
    char label[128];
    bool is_open;
    plan_finder_t others; /* for plans made of plans; points at itself */
} plan_source_t;

/* Plans of all ranks by one algorithm. */
typedef struct plan_set {
    const plan_source_t *source;
    weft_algo_call_t call;
    weft_topo_view_t view;
    uint32_t *hosts;
    weft_plan_t **plans;
    uint32_t nranks;
    double emit_seconds;
} plan_set_t;

/* `spec` as above; `params` are further "name=value". TOOL_OK, or the exit code after one line on
 * stderr. */
int plan_source_open(plan_source_t *source, const tool_settings_t *settings, const char *spec,
                     const char *const *params, uint32_t nparams);
void plan_source_close(plan_source_t *source);
/* The plugin's methods, noted as calls of it. */
weft_status_t plan_source_supports(const plan_source_t *source, const weft_algo_call_t *call);
weft_status_t plan_source_emit(const plan_source_t *source, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_t **plan_p);

/* What is to be done, as the algorithm is asked; `rank` 0. */
weft_algo_call_t plan_source_call(const plan_source_t *source, weft_coll_t coll, uint32_t nranks,
                                  uint32_t root);

/* "4" or "4,4,3". TOOL_OK or TOOL_USAGE after one line on stderr. */
int plan_hosts_read(plan_hosts_t *hosts, const char *text);
/* Fills host_of[nranks]; returns the number of hosts, or 0 after one line on stderr. */
uint32_t plan_hosts_spread(const plan_hosts_t *hosts, uint32_t nranks, uint32_t *host_of);

/* Emits all; plan_set_free() whatever it returns. */
weft_status_t plan_set_emit(plan_set_t *set, const plan_source_t *source, weft_coll_t coll,
                            uint32_t nranks, uint32_t root, const plan_hosts_t *hosts);
void plan_set_free(plan_set_t *set);

/* Names of the loaded algorithms that serve the call on these hosts, separated by commas; "" if
 * none does. Some see only there that they do not, so each is asked for the plan of a rank. */
void plan_algos_serving(const tool_session_t *session, weft_coll_t coll, uint32_t nranks,
                        uint32_t root, const plan_hosts_t *hosts, char *text, size_t bytes);

#endif
