/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device must know to meet its peers before a run (weft/plugin/draft/lanes.h). */
#ifndef KERNEL_CUDA_LANES_MEETING_H
#define KERNEL_CUDA_LANES_MEETING_H

#include "lanes_types.h"

/* Bytes of a chunk of a whole run. A block looks at the stop words between chunks only: longer ones
 * would keep abort() waiting. */
#define LANES_WHOLE_MOST (UINT64_C(64) << 20)

/* Fills the fields of handle->run that meetings use. `recorded`: a stream captures the run, so
 * windows may come and go before it executes. */
void lanes_meeting_set(weft_lanes_handle_t *handle, const weft_lanes_call_t *call, bool recorded);

#endif
