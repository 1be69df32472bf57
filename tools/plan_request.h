/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: what was asked for. */
#ifndef WEFT_TOOLS_PLAN_REQUEST_H
#define WEFT_TOOLS_PLAN_REQUEST_H

#include "tools/draw.h"
#include "tools/json.h"
#include "tools/plan_price.h"

enum { PLAN_ALL, PLAN_TEXT, PLAN_DOT, PLAN_CHECK, PLAN_LIST, PLAN_COST, PLAN_SVG, PLAN_COMPARE };

typedef struct plan_request {
    weft_coll_t coll;  /* WEFT_COLL_COUNT: not given; else whose plans it runs: its base */
    weft_coll_t asked; /* as given */
    int64_t nranks, rank, root;
    int64_t slots, slices; /* 0: not given */
    int64_t pack;          /* most chunks of a message */
    int64_t patience;      /* seconds; 0: any */
    bool ranks_given;
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

/* TOOL_OK, or the exit code after the cause was printed; *done after --help. */
int plan_request_read(plan_request_t *request, int argc, char **argv, bool *done);

#endif
