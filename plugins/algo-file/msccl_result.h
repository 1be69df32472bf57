/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the run of a program left in the outputs: the root of a rooted collective, and whether every
 * chunk is what the collective says. */
#ifndef WEFT_ALGO_FILE_MSCCL_RESULT_H
#define WEFT_ALGO_FILE_MSCCL_RESULT_H

#include "msccl.h"

weft_status_t msccl_result_root(msccl_program_t *program);
weft_status_t msccl_result_check(msccl_program_t *program, const struct msccl_sets *sets);

#endif
