/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes one gpu of a program as a plan, and numbers the instructions for that. A tb is a lane with
 * at most one port out and one in. A step is one MOVE, or several where its chunks do not lie
 * alike: IN and OUT, FINAL or not. A queue cannot tell one MOVE of n chunks from n MOVEs. */
#ifndef WEFT_ALGO_FILE_MSCCL_EMIT_H
#define WEFT_ALGO_FILE_MSCCL_EMIT_H

#include "msccl.h"

/* Writes the plan of one rank. */
void msccl_emit(const msccl_program_t *program, uint32_t rank, weft_plan_builder_t *builder);
weft_status_t msccl_layout(msccl_program_t *program);
/* The chunk of TMP that a step reads as its source, and the one it writes, or NONE. */
void msccl_scratch_of(const msccl_program_t *program, uint32_t tb, const msccl_step_t *step,
                      uint32_t chunk, uint32_t use[2]);

/* The most chunks that a step sends; at least 1. */
uint32_t msccl_longest_send(const msccl_program_t *program);

#endif
