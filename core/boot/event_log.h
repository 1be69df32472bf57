/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event log: what the health thread remembers of communicators that failed or were left, and of
 * ranks that died. A communicator may fail, or be left, before the last rank has made it, and a new
 * connection of the tree joins parts that may know different things. An event that is in the log
 * already goes no further, so a flood ends whatever the tree looks like.
 *
 * It is told in the order in which it happened here: a rank that failed often ends soon after, and
 * whoever hears of its death first takes the consequence for the cause.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_EVENT_LOG_H
#define WEFT_BOOT_EVENT_LOG_H

#include "core/boot/wire.h"

typedef struct weft_logged_failure {
    weft_error_t error;
    weft_missing_t missing; /* count 0: none */
} weft_logged_failure_t;

/* The failure of a communicator, or that one rank left it. */
typedef struct weft_logged_event {
    uint32_t type; /* WEFT_FRAME_FAIL, WEFT_FRAME_LEAVE_COMM; 0: empty */
    uint32_t rank; /* LEAVE_COMM: who left */
    uint64_t comm_id;
    uint64_t sequence;                  /* LEAVE_COMM */
    union {                             /* NULL: there was no memory */
        weft_logged_failure_t *failure; /* FAIL */
        weft_signature_run_t *run;      /* LEAVE_COMM */
        void *detail;                   /* whichever it is */
    };
    uint32_t next; /* of its chain: position in the ring plus one; 0: the last */
} weft_logged_event_t;

/* The death of a rank, remembered for good. */
typedef struct weft_logged_death {
    struct weft_logged_death *next; /* the one after it */
    uint32_t events_before;         /* `added` of the log when it happened */
    weft_error_t error;
} weft_logged_death_t;

/* Its memory grows with the events that it holds. */
typedef struct weft_event_log {
    weft_logged_event_t *events; /* a ring, once there are as many as are kept */
    uint32_t *chains;            /* by hash of an event: its position in `events` plus one */
    uint32_t room;               /* events that are kept */
    uint32_t held;               /* power of two: those that fit into memory now, and the chains */
    uint32_t added;              /* so far */
    weft_logged_death_t *deaths; /* the first one first */
    weft_logged_death_t **deaths_end;
} weft_event_log_t;

/* One step of a walk over the log: an event or a death, the other is NULL. */
typedef struct weft_event_step {
    const weft_logged_event_t *event;
    const weft_logged_death_t *death;
} weft_event_step_t;

/* Where a walk stands. The log must not change while it is walked over. */
typedef struct weft_event_cursor {
    const weft_event_log_t *log;
    const weft_logged_death_t *death; /* the next one */
    uint32_t event;                   /* number of the next one, counted by `added` */
} weft_event_cursor_t;

/* The number of events in the log; they are the first of `events`. */
static inline uint32_t weft_event_log_count(const weft_event_log_t *log)
{
    return log->added < log->room ? log->added : log->room;
}

/* Bytes that the log takes now, texts of failures not counted; and that it may take at most. */
uint64_t weft_event_log_bytes(const weft_event_log_t *log);
uint64_t weft_event_log_most_bytes(uint32_t nranks);

/* Takes the memory for the first events, so that these are kept whatever happens. ERR_RESOURCE. */
weft_status_t weft_event_log_init(weft_event_log_t *log, uint32_t nranks);
void weft_event_log_fini(weft_event_log_t *log);

/* The failure of comm_id (`rank` is ignored), or that `rank` left it; NULL: not known. */
const weft_logged_event_t *weft_event_log_find(const weft_event_log_t *log, uint32_t type,
                                               uint64_t comm_id, uint32_t rank);

/* Add an event that is not known yet. The oldest event makes room, and so it does where memory is
 * short: who connects later is not told that one, but a deadline still ends its wait. `missing` may
 * be NULL. */
void weft_event_log_add_failure(weft_event_log_t *log, uint64_t comm_id, const weft_error_t *error,
                                const weft_missing_t *missing);
void weft_event_log_add_leave(weft_event_log_t *log, uint64_t comm_id, uint32_t rank,
                              const weft_leave_t *leave);
/* Without memory the death is not remembered. */
void weft_event_log_add_death(weft_event_log_t *log, const weft_error_t *error);
/* How the rank was declared dead. NULL: it was not, as far as is remembered. Lives as long as the
 * log. */
const weft_logged_death_t *weft_event_log_death(const weft_event_log_t *log, uint32_t rank);

/* What was said in an event LEAVE_COMM. */
weft_leave_t weft_logged_leave(const weft_logged_event_t *event);

/* Walk over events and deaths, the oldest first. False: there are no more. */
weft_event_cursor_t weft_event_log_walk(const weft_event_log_t *log);
bool weft_event_log_next(weft_event_cursor_t *at, weft_event_step_t *step);

#endif
