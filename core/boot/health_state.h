/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the health thread, made of the structs of the modules that own its parts. Everything
 * but the queue belongs to the thread, from its start on. */
#ifndef WEFT_BOOT_HEALTH_STATE_H
#define WEFT_BOOT_HEALTH_STATE_H

#include "core/boot/connector.h"
#include "core/boot/event_log.h"
#include "core/boot/health_callbacks.h"
#include "core/boot/health_queue.h"
#include "core/boot/membership.h"
#include "core/boot/neighbour.h"
#include "core/os/call_note.h"
#include "core/os/assert.h"

/* How long a leaving rank waits for its neighbours to have heard it. */
#define WEFT_HEALTH_LEAVE_NS WEFT_NS_PER_S

/* A connection of the tree while it is being made. */
typedef struct weft_reconnect {
    bool active;
    uint32_t rank;
    uint64_t since; /* of the parent: last heard, or first sought; 0: it is connected */
    weft_connector_t connector;
} weft_reconnect_t;

/* Clocks of the failure detector, in ns. */
typedef struct weft_detector {
    uint64_t heartbeat;    /* between two looks while somebody is doubtful */
    uint64_t unresponsive; /* silence after which a rank is declared dead; 0: never */
    uint64_t last_look;    /* when this thread looked at the clock */
    uint64_t heard;        /* when something last came from any neighbour */
    uint64_t ask_again;    /* when to ask again whether absent ranks listen */
    uint64_t inquired;     /* when the neighbours were last asked for the sake of a suspect */
    uint64_t cut;          /* when this rank was last cut off from others, or sought its parent */
} weft_detector_t;

/* What the thread holds, for others to read. It writes them after each step. */
typedef struct weft_health_held {
    _Atomic uint32_t descriptors; /* of neighbours and their processes */
    _Atomic uint64_t control;     /* bytes of the neighbours */
    _Atomic uint64_t events;      /* bytes of the event log */
} weft_health_held_t;

/* What the thread shall do that was made before it is needed. */
typedef enum weft_health_order {
    WEFT_HEALTH_WAIT,
    WEFT_HEALTH_BEGIN,
    WEFT_HEALTH_END, /* it is not needed */
} weft_health_order_t;

struct weft_health {
    weft_boot_t *boot;
    weft_health_callbacks_t callbacks;
    void *arg; /* of the callbacks */
    weft_os_thread_t *thread;
    _Atomic uint32_t order; /* weft_health_order_t, and a futex */
    weft_health_queue_t queue;

    weft_neighbours_t neighbours;
    weft_membership_t membership;
    weft_event_log_t log;
    weft_reconnect_t reconnect; /* to the parent */
    weft_reconnect_t knock;     /* at ranks that we miss (reconnect.h) */
    weft_detector_t detector;
    weft_health_held_t held;
    weft_call_watch_t calls; /* of plugins, that this process is in */
    /* We were declared dead: nobody is declared dead here any more. */
    bool detection_ended;
    bool leaving;
    bool taken;  /* a rank that stays has our word that we leave */
    bool missed; /* one that left may have gone without it: those that it had below it come to us */
    uint64_t leave_since;
    uint64_t leave_until; /* for those that have a connection, or make one; then anew */
    uint64_t seek_until;  /* for those that have lost it */
#ifdef WEFT_CHECKED
    uintptr_t owner; /* the health thread */
#endif
};

/* The caller becomes the thread that owns the state. */
static inline void weft_health_own(weft_health_t *health)
{
#ifdef WEFT_CHECKED
    health->owner = weft_os_thread_self();
#else
    (void)health;
#endif
}

static inline void weft_health_assert_owner(const weft_health_t *health)
{
#ifdef WEFT_CHECKED
    weft_assert(health->owner == weft_os_thread_self());
#else
    (void)health;
#endif
}

#endif
