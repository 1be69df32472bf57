/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams that the device runs by itself: their launch. */
#ifndef WEFT_COMM_STREAM_LAUNCH_H
#define WEFT_COMM_STREAM_LAUNCH_H

#include "core/comm/launches.h"

/* Launches collectives one after another, or sends and receives all at once. `first` heads a list
 * of requests, which belong to the launches afterwards. On failure they stay the caller's and
 * nothing was started. ERR_UNSUPPORTED: the device does not run all of them, or they are of both
 * kinds, which the host lets progress together. Else the kernel's failure, or ERR_RESOURCE. */
weft_status_t weft_launch_put(weft_comm_state_t *state, weft_launches_t *launches,
                              void *const *stream, weft_request_t *first);

#endif
