/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The waits of a step. The format has one wait per step and nops that carry more; a MOVE has up to
 * fifteen. Waiting for a nop means waiting for what it waits for and
 * for the last step before it that is no nop. Of several waits for one tb the last one counts. */
#ifndef WEFT_ALGO_FILE_MSCCL_WAITS_H
#define WEFT_ALGO_FILE_MSCCL_WAITS_H

#include "msccl.h"

uint32_t msccl_waits(const msccl_program_t *program, uint32_t gpu, uint32_t tb, uint32_t at,
                     uint32_t steps[MSCCL_LANES_MAX], uint64_t *walked_p);

#endif
