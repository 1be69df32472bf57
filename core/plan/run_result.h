/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbers of a run: what each rank puts in, and what each collective must return. Private to
 * core/plan. */
#ifndef WEFT_PLAN_RUN_RESULT_H
#define WEFT_PLAN_RUN_RESULT_H

#include "core/plan/run_state.h"

/* Arithmetic modulo 2^61−1. */
uint64_t weft_field_add(uint64_t a, uint64_t b);
uint64_t weft_field_mul(uint64_t a, uint64_t b);

/* Returns the value of a slice of IN; for a reduction it is already pre-multiplied. */
uint64_t weft_run_input(const weft_run_t *run, uint32_t rank, uint32_t chunk, uint32_t slice,
                        uint32_t pass);
/* Returns the value that a slice of OUT must have in the end. */
uint64_t weft_run_expected(const weft_run_t *run, uint32_t rank, uint32_t chunk, uint32_t slice,
                           uint32_t pass);
/* Returns the chunk of OUT that chunk `chunk` of IN is in place, or WEFT_RUN_NONE. */
uint32_t weft_run_alias(const weft_run_t *run, uint32_t rank, uint32_t chunk);

/* Computes the expected results. ERR_RESOURCE. */
weft_status_t weft_run_expect(weft_run_t *run);
/* Compares what a rank has in OUT after a pass with what is expected: WRONG, UNWRITTEN. */
void weft_run_check_rank(weft_run_t *run, uint32_t rank, uint32_t pass);
/* Fills in report->fingerprint. */
void weft_run_fingerprint(weft_run_t *run);

#endif
