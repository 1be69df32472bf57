/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many slots the ports of a job have, and how large these are. A pure function, so that tools
 * tell what a job would do. */
#ifndef WEFT_COMM_SLOTS_H
#define WEFT_COMM_SLOTS_H

#include "core/config/settings.h"
#include "core/exec/slot.h"

/* Most slots of a port. */
#define WEFT_SLOTS_MOST 64u

typedef struct weft_slots {
    uint32_t count;
    uint64_t bytes; /* of one */
} weft_slots_t;

/* `asked`: the most that the transports in use ask for. `depth`: slots for each slice of a chunk
 * that the deepest algorithm needs, at least 1. What `exec` says counts more. The count is a power
 * of two; deep plans get slots for two slices, which take no more memory together. */
weft_slots_t weft_slots_choose(const weft_exec_settings_t *exec, weft_slots_t asked,
                               uint32_t depth);

/* Returns what the FIFOs of a communicator look like. Those of few ranks have more headers than
 * slots, so that senders of small messages run ahead. small_bytes: weft_fifo_shape_t. */
weft_fifo_shape_t weft_slots_shape(weft_slots_t slots, uint64_t small_bytes, uint32_t nranks);

#endif
