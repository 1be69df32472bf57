/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --list`: the loaded algorithms, the collectives and numbers of ranks that they serve,
 * and their options. What an algorithm serves is asked, not declared. */
#ifndef WEFT_TOOLS_PLAN_LIST_H
#define WEFT_TOOLS_PLAN_LIST_H

#include "tools/plan_request.h"

int plan_list(const plan_request_t *request, const tool_session_t *session);

#endif
