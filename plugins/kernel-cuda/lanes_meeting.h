/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device must know to meet its peers before a run (weft/plugin/draft/lanes.h). */
#ifndef KERNEL_CUDA_LANES_MEETING_H
#define KERNEL_CUDA_LANES_MEETING_H

#include "lanes_types.h"

/* Fills the fields of handle->run that meetings use. `recorded`: a stream captures the run, so
 * windows may come and go before it executes. */
void lanes_meeting_set(weft_lanes_handle_t *handle, const weft_lanes_call_t *call, bool recorded);

#endif
