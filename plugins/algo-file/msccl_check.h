/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be said of a program without running it: sizes of buffers, bounds of steps, the two ends
 * of every channel. */
#ifndef WEFT_ALGO_FILE_MSCCL_CHECK_H
#define WEFT_ALGO_FILE_MSCCL_CHECK_H

#include "msccl.h"

weft_status_t msccl_check(msccl_program_t *program);

#endif
