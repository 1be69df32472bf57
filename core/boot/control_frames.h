/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the frames of neighbours mean, after the join: each is checked field by field and served.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_CONTROL_FRAMES_H
#define WEFT_BOOT_CONTROL_FRAMES_H

#include "core/boot/boot_state.h"
#include "core/boot/neighbour.h"

/* Receives and serves all that has come from a neighbour. Closes it when its stream has ended, and
 * when it sends a bad frame, for which it is declared dead. */
void weft_control_frames_read(weft_health_t *health, weft_neighbour_t *neighbour);

#endif
