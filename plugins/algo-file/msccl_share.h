/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scratch between passes. Lanes run ahead of each other into the next pass, and the format has no
 * order from one pass to the next: a lane could write what another still reads. Two passes are
 * played again in the order of the run with vector clocks (C. Fidge, 1988; F. Mattern, 1989), one
 * component per tb. Where a use of scratch in the second pass is not after what other tbs do with
 * it in the first, the tbs of that gpu that share scratch will meet at the end of each pass. That a
 * full queue makes its sender wait is left out, as it depends on the depth. */
#ifndef WEFT_ALGO_FILE_MSCCL_SHARE_H
#define WEFT_ALGO_FILE_MSCCL_SHARE_H

#include "msccl.h"

/* Finds the gpus whose lanes must meet at the end of a pass, because they share scratch. `order` is
 * the order of the run: the tb of each chunk or nop. */
weft_status_t msccl_share(msccl_program_t *program, const uint32_t *order, uint32_t norder);

#endif
