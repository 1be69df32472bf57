/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The path between the devices of a host, for `weft plan` and `weft sim`: what it costs by which
 * protocol, as a communicator would find it, or as is presumed where no device is at hand. */
#ifndef WEFT_TOOLS_PLAN_PATH_H
#define WEFT_TOOLS_PLAN_PATH_H

#include <weft/plugin/kernel.h>

#include "core/plan/cost.h"
#include "tools/session.h"

typedef struct plan_path {
    weft_kernel_path_t path; /* WEFT_KERNEL_PATH_COUNT: ranks have no devices */
    bool windows;            /* buffers lie in windows */
    bool presumed;           /* no device was asked */
    char kernel[64];
    weft_cost_edge_t edge; /* by slots */
    weft_cost_protocol_t protocol[WEFT_KERNEL_PROTOCOL_COUNT];
    double gamma, launch;
    uint32_t channels; /* at most */
    uint64_t channel_bytes;
} plan_path_t;

/* "direct" into a weft_kernel_path_t; −1 and one line on stderr. */
int plan_path_parse(const char *text);

/* Fills what is behind `windows` from the loaded kernel and lines of [figures]. ERR_CONFIG: neither
 * says what the path costs. */
weft_status_t plan_path_ask(const tool_session_t *session, plan_path_t *path);

static inline bool plan_path_is_given(const plan_path_t *path)
{
    return path->path != WEFT_KERNEL_PATH_COUNT;
}

/* Puts the edges of the path into those inside a host. */
void plan_path_apply(const plan_path_t *path, weft_cost_model_t *model);

/* "header" for what fits one, else the name of the protocol. */
const char *plan_path_travel(weft_kernel_protocol_t protocol, uint64_t longest);

#endif
