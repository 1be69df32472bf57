/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier. Lanes with bounded queues and no "receive from any" form a bounded Kahn network,
 * which is confluent. Therefore one abstract run, with the executor's queue depth and slices,
 * decides for every interleaving whether the plan deadlocks, and, if it finds no race, whether the
 * result is right. Source: G. Kahn, "The semantics of a simple language for parallel programming",
 * IFIP 1974. The checks and their reasons: docs/architecture.md. */
#ifndef WEFT_PLAN_VERIFY_H
#define WEFT_PLAN_VERIFY_H

#include "core/plan/verdict.h"

/* Proves the plan by a run of two passes. Returns OK if there is a verdict (report->verdict), good
 * or bad; ERR_RESOURCE otherwise. */
weft_status_t weft_plan_verify(const weft_verify_input_t *input, weft_verify_report_t *report);

/* Proves the plan out of place (reports[0]) and in place (reports[1]); input->in_place is ignored.
 * Both cost little more than one: a call in place differs only where IN is read after a write to
 * OUT, and only a plan that does so is run a second time. With many slices per chunk, one rank per
 * class decides whether the plan ends, and a run with one slice proves the rest; `steps` and
 * `peak_slots` are then those of one slice. */
weft_status_t weft_plan_prove(const weft_verify_input_t *input, weft_verify_report_t reports[2]);

/* Returns a constant in plain words: "deadlock". */
const char *weft_verdict_name(weft_verdict_t verdict);

#endif
