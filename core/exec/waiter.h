/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank waits when nothing moves: first it spins, then it yields its core, then it sleeps.
 * With fewer cores than ranks it yields after about a microsecond, or every hop would cost a
 * scheduler tick; and at once if its last yield let somebody else run. A core passes to threads of
 * the same scheduling group (session, container). */
#ifndef WEFT_EXEC_WAITER_H
#define WEFT_EXEC_WAITER_H

#include "core/config/settings.h"
#include "core/exec/blocked.h"
#include "core/exec/traffic.h"

typedef enum weft_wait_mode {
    WEFT_WAIT_AUTO = 0,
    WEFT_WAIT_SPIN = 1,  /* never yields */
    WEFT_WAIT_YIELD = 2, /* spins for `spin`, then yields; never sleeps */
    WEFT_WAIT_SLEEP = 3  /* spins for `spin`, yields some, then sleeps */
} weft_wait_mode_t;

typedef struct weft_waiter {
    weft_wait_mode_t mode;
    uint32_t spins;      /* idle steps that spin, unless their time is over before … */
    uint32_t yields;     /* … and that yield before the first sleep */
    uint32_t idle;       /* steps without movement so far */
    uint32_t naps;       /* of them, naps, and sleeps that are as short */
    uint64_t spin_ns;    /* the time that they may take where they ask a transport */
    uint64_t began;      /* the spinning, at this time */
    uint64_t crowded;    /* no step spins until then: others had the core in a yield; 0: not so.
                           Oversubscribed: since the last yield, UINT64_MAX or 0 */
    uint64_t move_at;    /* not before, a step sleeps because of that */
    bool moves;          /* the next idle step does */
    bool oversubscribed; /* more ranks than cores that they may use */
    bool drives;         /* its thread has nothing else to do than to wait for one operation */
} weft_waiter_t;

/* Looks for a message that comes soon, before anything else is done about its being late. With
 * their pauses they take a quarter of a microsecond, or three where a pause is long: as long as an
 * answer to a small message takes that was sent just now. */
#define WEFT_WAITER_LOOKS 16u

/* Decides from the setting, the cores that this process may use, and the ranks that may use the
 * same ones, with itself. Logs the decision. */
void weft_waiter_init(weft_waiter_t *waiter, const weft_exec_settings_t *settings, uint32_t ranks,
                      uint32_t cores);

/* Starts over, because something moved. */
static inline void weft_waiter_reset(weft_waiter_t *waiter)
{
    waiter->idle = 0;
    waiter->naps = 0;
}

/* Returns whether the next idle step spins. Others take long enough for a look at the clock. */
static inline bool weft_waiter_spins(const weft_waiter_t *waiter)
{
    return waiter->idle < waiter->spins;
}

/* Returns how many looks a wait begins with: none where somebody else is known to want the core. */
static inline uint32_t weft_waiter_looks(const weft_waiter_t *waiter)
{
    return waiter->oversubscribed || waiter->crowded != 0 ? 0 : WEFT_WAITER_LOOKS;
}

/* Returns whether one idle look gives the core to others: a user who tests in a loop waits as well,
 * and would keep it from those whom the operation needs. */
static inline bool weft_waiter_gives_way(const weft_waiter_t *waiter)
{
    return waiter->mode == WEFT_WAIT_YIELD ||
           (waiter->mode == WEFT_WAIT_SLEEP && waiter->oversubscribed);
}

/* Takes one idle step that spins or yields; `asks`: steps ask a transport. Returns false, having
 * done nothing, when it is time to sleep. */
bool weft_waiter_stays_awake(weft_waiter_t *waiter, bool asks);

/* Sleeps on the ports, if they are all that this rank waits for, or on the links, for about a
 * millisecond at most. `links` NULL: only on the ports. Where weft_links_are_mixed(), a sleep is as
 * long as a nap: news may come by the other kind. */
void weft_waiter_sleep(weft_waiter_t *waiter, weft_links_t *links, const weft_blocked_t *blocked);

/* Takes one idle step of a caller that waits for several things at once: sleeps are naps of 20 µs
 * first, and of a millisecond after about 10 ms. */
void weft_waiter_nap(weft_waiter_t *waiter);

#endif
