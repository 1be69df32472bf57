/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the collectives of a communicator have not moved, and which steps were taken about it.
 * The watchdog (watchdog.h) fills it; the engine clears it when something moves. */
#ifndef WEFT_COMM_STALL_H
#define WEFT_COMM_STALL_H

#include "core/exec/port.h"

typedef struct weft_stall {
    uint64_t idle_since;       /* when the operation last moved; 0: it just did */
    uint64_t looked;           /* when the watchdog last looked */
    uint64_t asked;            /* when the peer of the blocked port was last asked */
    uint64_t wanted;           /* when links were last asked for: wanted_links.h */
    bool late_told;            /* a warning was logged */
    uint64_t connecting_since; /* both ends are in the call and still not connected; 0: no */
    uint64_t grace_since;      /* when a link broke */
    uint64_t grace_until;      /* a link broke: the health channel may name the cause until then */
    uint64_t grace_most;       /* it is not waited for any longer than that */
    uint32_t question;         /* the last one to a rank behind a broken link, whether it lives */
    uint64_t questioned;       /* when it was last asked */
    weft_error_t link_error;   /* what the link said */
} weft_stall_t;

/* Something moved. `keeps_grace`: something else waits for the cause of its broken link. */
static inline void weft_stall_clear(weft_stall_t *stall, bool keeps_grace)
{
    stall->idle_since = 0;
    stall->connecting_since = 0;
    stall->grace_until = keeps_grace ? stall->grace_until : 0;
}

/* Between two looks of a rank that waits there are milliseconds. After a longer time it was this
 * process that did not run: it was stopped, or its caller computed. */
#define WEFT_STALL_OWN_NS (WEFT_NS_PER_S / 2)

/* Something does not move at `now`. Time in which nobody looked is not counted as waiting for
 * others. */
static inline void weft_stall_look(weft_stall_t *stall, uint64_t now)
{
    uint64_t away = now - stall->looked;
    stall->looked = now;
    if (stall->idle_since == 0) {
        stall->idle_since = now;
        stall->asked = stall->wanted = now;
        stall->late_told = false;
    } else if (away > WEFT_STALL_OWN_NS) {
        stall->idle_since += away;
        stall->connecting_since += stall->connecting_since != 0 ? away : 0;
    }
}

/* An operation that does not move, and the rank that it waits for. */
typedef struct weft_pending {
    uint64_t sequence;
    weft_signature_t signature;
    uint64_t started, deadline;
    int32_t peer;      /* −1: none in particular */
    weft_port_t *port; /* NULL: it is to be connected */
} weft_pending_t;

#endif
