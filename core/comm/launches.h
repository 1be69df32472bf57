/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runs that a device has of a communicator: their supervision, and their end. stream_launch.h
 * launches them. */
#ifndef WEFT_COMM_LAUNCHES_H
#define WEFT_COMM_LAUNCHES_H

#include "core/comm/comm.h"

/* A run on the device. A captured program has one as well, for all its runs. */
typedef struct weft_launched {
    struct weft_launched *next;
    weft_prepared_t *prepared; /* retained */
    uint64_t number;           /* of the run; 0: captured */
    uint64_t sequence;
    weft_signature_t signature;
    double timeout;
    uint64_t started, deadline; /* since the device came to it; 0: it has not */
    uint64_t moved;
    int32_t blocked;            /* port, or −1 */
    bool noted;                 /* in the history */
    weft_request_t *collective; /* NULL: messages */
    /* Sends and receives, which have numbers of their own: `sequence` is 0. NULL: a collective. */
    weft_request_t *messages;
    uint64_t idle_since;    /* weft_p2p_wait_t */
    weft_p2p_watch_t watch; /* likewise */
} weft_launched_t;

/* Memory for inputs that a plan would overwrite. Runs come one after another, so all share one. */
typedef struct weft_staging {
    struct weft_staging *next;
    weft_allocation_t allocation;
} weft_staging_t;

typedef struct weft_launches {
    weft_launched_t *first, *last; /* in order */
    weft_launched_t *captured;
    weft_staging_t *staging; /* the largest, and those that it replaced */
} weft_launches_t;

/* Notes a run that was launched; `number` is the device's. The run and its operations belong to the
 * launches afterwards, which free it at once if its program was captured before. */
void weft_launches_keep(weft_comm_state_t *state, weft_launches_t *launches, weft_launched_t *run,
                        uint64_t number);

/* Looks at the runs; true if something moved. A failure has failed the communicator. */
bool weft_launches_step(weft_comm_state_t *state, weft_launches_t *launches);

/* True if a run is not completed. */
static inline bool weft_launches_are_busy(const weft_launches_t *launches)
{
    return launches->first != NULL;
}
/* True if a program was captured, which may run at any time. */
static inline bool weft_launches_listen(const weft_launches_t *launches)
{
    return launches->captured != NULL;
}

/* Judges the run that the device executes and that does not end. False: there is none. */
bool weft_launches_look(weft_comm_state_t *state, const weft_launches_t *launches, uint64_t now);
/* Writes which run that is, as weft_streams_text(). False: there is none. */
bool weft_launches_text(const weft_launches_t *launches, char *text, size_t bytes);

/* Asks the device to end all runs; waits for that until `deadline`. */
void weft_launches_abort(const weft_comm_state_t *state, const weft_launches_t *launches);
void weft_launches_settle(const weft_comm_state_t *state, const weft_launches_t *launches,
                          uint64_t deadline);

/* Frees the records; the programs may be gone already. */
void weft_launches_free(const weft_comm_state_t *state, weft_launches_t *launches);

#endif
