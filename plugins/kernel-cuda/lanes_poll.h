/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs that execute: their state comes back through memory that host and device see. No function
 * of this file waits for a stream. */
#ifndef KERNEL_CUDA_LANES_POLL_H
#define KERNEL_CUDA_LANES_POLL_H

#include "lanes_types.h"

weft_status_t lanes_poll(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state);
void lanes_abort(weft_lanes_handle_t *handle);

/* Returns whether no numbered run waits or executes and no graph launch executes. */
bool lanes_poll_idle(const weft_lanes_handle_t *handle);

#endif
