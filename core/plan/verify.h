/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier. Lanes with bounded queues and no "receive from any" are a bounded Kahn network, hence
 * confluent: one abstract run at the executor's real depth and slicing decides deadlock for every
 * interleaving, and if no race is found the values too. Source: G. Kahn, "The semantics of a simple
 * language for parallel programming", IFIP 1974; what is checked and why: docs/architecture.md. */
#ifndef WEFT_PLAN_VERIFY_H
#define WEFT_PLAN_VERIFY_H

#include "core/plan/verdict.h"

/* Runs two passes. Returns OK when it could judge (see report->verdict), ERR_RESOURCE otherwise. */
weft_status_t weft_plan_verify(const weft_verify_input_t *input, weft_verify_report_t *report);

/* Both proofs for little more than the price of one: reports[0] out of place, reports[1] in place;
 * input->in_place does not matter. In place differs in what IN holds after a write to OUT and in the
 * races this may be; only where the first run meets such a case, a second one is made. With many slices
 * per chunk, one rank per class decides whether the plan comes to its end, and one slice proves the
 * rest; `steps` and `peak_slots` are then those of one slice. */
weft_status_t weft_plan_prove(const weft_verify_input_t *input, weft_verify_report_t reports[2]);

#endif
