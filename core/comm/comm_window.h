/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and ending windows, which all ranks do together. Two exchanges make one: each rank
 * exports what it has and imports what it can of the others, then each says which it has imported,
 * so that senders refer to nothing else. One exchange ends it; after that all ranks have closed
 * their imports and have no call under way that was begun before. */
#ifndef WEFT_COMM_COMM_WINDOW_H
#define WEFT_COMM_COMM_WINDOW_H

#include "core/comm/comm.h"

/* Makes a window of `memory`. Blocks until all ranks take part. ERR_RESOURCE, or a failure of the
 * communicator. Thread: the owner. */
weft_status_t weft_comm_open_window(weft_comm_state_t *state, void *memory, uint64_t bytes,
                                    weft_window_t **window_p);

/* Ends and frees the window. Blocks as above; a failed communicator asks no rank. ERR_RESOURCE, or
 * a failure of the communicator; the window is gone in any case. Thread: the owner. */
weft_status_t weft_comm_close_window(weft_comm_state_t *state, weft_window_t *window);

#endif
