/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verdict, the figures and the prices of `weft plan`. */
#ifndef WEFT_TOOLS_PLAN_CHECK_H
#define WEFT_TOOLS_PLAN_CHECK_H

#include "tools/plan_study.h"

/* The verdict and the figures, for people or as JSON. TOOL_OK, or TOOL_LIBRARY if refused. */
int plan_check(const plan_request_t *request, const plan_study_t *study,
               const tool_session_t *session, json_t *json);

#endif
