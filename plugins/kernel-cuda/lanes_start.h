/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting runs: all of them are prepared, then one launch gives them to the device. */
#ifndef KERNEL_CUDA_LANES_START_H
#define KERNEL_CUDA_LANES_START_H

#include <weft/plugin/draft/lanes.h>

weft_status_t lanes_start(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                          uint32_t njobs);

#endif
