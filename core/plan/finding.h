/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Findings of a run in words. Private to core/plan. */
#ifndef WEFT_PLAN_FINDING_H
#define WEFT_PLAN_FINDING_H

#include "core/plan/run_state.h"

/* Sets the verdict and its text, unless there is one already. */
void weft_run_finding(weft_run_t *run, weft_verdict_t verdict, const weft_run_lane_t *lane,
                      uint32_t pc, const char *format, ...) WEFT_PRINTF(5, 6);
/* Notes in run->both that in place IN would be read after chunk `chunk` of OUT, in `cell`, has been
 * written over it. */
void weft_run_divergence(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc, uint32_t chunk,
                         uint64_t cell);
/* Notes where a wrong value comes from, and appends it to the text, unless it is the place that the
 * text names already. */
void weft_run_note_origin(weft_verify_report_t *report, weft_origin_t from,
                          const weft_plan_place_t *origin);
/* Says which lane of a deadlocked run waits for what: DEADLOCK. */
void weft_run_explain(weft_run_t *run);

#endif
