/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine of the abstract run. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_ENGINE_H
#define WEFT_PLAN_RUN_ENGINE_H

#include "core/plan/run_state.h"

/* Runs to the end or to the first finding (report->verdict). */
void weft_run_go(weft_run_t *run);

#endif
