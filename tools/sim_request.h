/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim`: what was asked for. */
#ifndef WEFT_TOOLS_SIM_REQUEST_H
#define WEFT_TOOLS_SIM_REQUEST_H

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
    int64_t patience; /* seconds; 0: any */
    price_request_t price;
    int form;
    bool scale, simgrid;
    const char *svg, *platform;
    tool_settings_t settings;
} sim_request_t;

/* TOOL_OK, or the exit code after the cause was printed; *done after --help. */
int sim_request_read(sim_request_t *request, int argc, char **argv, bool *done);
/* All loaded algorithms, where none was named. */
int sim_request_fill(sim_request_t *request);

#endif
