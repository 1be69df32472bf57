/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The workspace of a communicator: lanes, MOVEs under way and scratch of the one run that the host
 * has under way. All programs share it, so that a program of its own costs little memory and a
 * thousand of them may be kept. The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_WORKSPACE_H
#define WEFT_EXEC_WORKSPACE_H

#include "core/exec/interpreter_state.h"

/* What a run of some program needs. */
typedef struct weft_workspace_needs {
    uint32_t lanes;  /* of all channels */
    uint32_t width;  /* MOVEs under way in one lane, at most */
    uint32_t length; /* instructions of the longest lane */
    uint64_t scratch_bytes;
} weft_workspace_needs_t;

/* All zero is an empty one. */
typedef struct weft_workspace {
    weft_lane_run_t *lanes;
    weft_member_t *members; /* lanes × width */
    uint64_t *finished;     /* lanes × length */
    uint8_t *scratch;
    uint64_t lanes_bytes, members_bytes, finished_bytes, scratch_bytes;
    const weft_interpreter_t *user; /* the run that it was laid out for last; NULL: none */
} weft_workspace_t;

/* Makes room for such a run. No run may be under way. ERR_RESOURCE: nothing has changed for runs
 * that fitted before. */
weft_status_t weft_workspace_reserve(weft_workspace_t *workspace,
                                     const weft_workspace_needs_t *needs);
/* Returns the bytes that it holds. */
static inline uint64_t weft_workspace_bytes(const weft_workspace_t *workspace)
{
    return workspace->lanes_bytes + workspace->members_bytes + workspace->finished_bytes +
           workspace->scratch_bytes;
}
/* Frees the memory. */
void weft_workspace_fini(weft_workspace_t *workspace);

#endif
