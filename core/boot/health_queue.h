/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of the health thread: events that other threads post, and the wake-up of the thread. */
#ifndef WEFT_BOOT_HEALTH_QUEUE_H
#define WEFT_BOOT_HEALTH_QUEUE_H

#include "core/boot/wire.h"
#include "core/os/os.h"

typedef enum weft_health_event_type {
    WEFT_HEALTH_OPEN,       /* communicator comm_id begins here */
    WEFT_HEALTH_FAILED,     /* it failed with `error` */
    WEFT_HEALTH_ASK,        /* ask `peer` to compare answer.signature */
    WEFT_HEALTH_ANSWER,     /* answer `peer` */
    WEFT_HEALTH_WORD,       /* tell `peer` the word, in consensus comm_id */
    WEFT_HEALTH_LEAVE_COMM, /* this rank leaves comm_id after the operations of `leave` */
} weft_health_event_type_t;

typedef struct weft_health_event {
    struct weft_health_event *next;
    weft_health_event_type_t type;
    uint32_t peer;
    uint64_t comm_id;
    weft_leave_t leave;
    weft_answer_t answer;
    weft_error_t error;
    weft_missing_t missing; /* FAILED; count 0: none */
    weft_word_t word;
} weft_health_event_t;

typedef struct weft_health_queue {
    int wake;              /* readable when something was posted; −1: none */
    weft_os_mutex_t mutex; /* guards the rest */
    bool stop;
    uint32_t questions; /* asks and answers in the list */
    uint32_t posted;    /* events that were ever in the list */
    uint32_t taken;     /* of these, taken out of it */
    uint32_t spares;
    weft_health_event_t *spare; /* for what must be said when there is no memory */
    weft_health_event_t *first, *last;
    /* not guarded */
    _Atomic uint32_t served;   /* of the events taken, those whose frames are with the system */
    _Atomic uint32_t awaiting; /* threads in weft_health_queue_await() */
} weft_health_queue_t;

/* ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_health_queue_init(weft_health_queue_t *queue);
void weft_health_queue_fini(weft_health_queue_t *queue);

/* Posts a copy of the event and wakes the thread. Without memory some events find room in the
 * queue's reserve; the others are lost, and other ranks learn by their deadlines. Asks and answers,
 * which are repeated, are dropped when many wait. Any thread. */
void weft_health_queue_post(weft_health_queue_t *queue, const weft_health_event_t *event);
/* Tells the thread to end. Any thread. */
void weft_health_queue_stop(weft_health_queue_t *queue);

/* Takes all events, oldest first; the caller frees them. *stop_p says whether the thread shall
 * end. */
weft_health_event_t *weft_health_queue_take(weft_health_queue_t *queue, bool *stop_p);
void weft_health_queue_free(weft_health_queue_t *queue, weft_health_event_t *first);

/* Says that what was taken so far is served, and what it made the thread send is with the system.
 * The health thread's. */
void weft_health_queue_served(weft_health_queue_t *queue);
/* Waits until what was posted so far is served, `ns` at most. Any thread but the health thread. */
void weft_health_queue_await(weft_health_queue_t *queue, uint64_t ns);

#endif
