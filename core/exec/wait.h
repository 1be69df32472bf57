/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank waits when nothing moves: busy, then giving its core away, then asleep. With fewer cores
 * than ranks it gives way after about a microsecond, or every hop would cost a scheduler tick. */
#ifndef WEFT_EXEC_WAIT_H
#define WEFT_EXEC_WAIT_H

#include "core/config/settings.h"
#include "core/exec/links.h"

typedef enum weft_wait_mode {
    WEFT_WAIT_AUTO = 0,
    WEFT_WAIT_SPIN = 1,  /* never gives way */
    WEFT_WAIT_YIELD = 2, /* spins for `spin`, then yields; never sleeps */
    WEFT_WAIT_SLEEP = 3  /* spins for `spin`, yields some, then sleeps */
} weft_wait_mode_t;

typedef struct weft_waiter {
    weft_wait_mode_t mode;
    uint32_t spins;  /* idle steps that spin … */
    uint32_t yields; /* … and that yield before the first sleep */
    uint32_t idle;   /* steps without movement so far */
    bool scarce;     /* more ranks than cores here */
} weft_waiter_t;

/* Decides from the setting, the cores this process may use, and the ranks of this host; logs why. */
void weft_waiter_init(weft_waiter_t *waiter, const weft_exec_settings_t *settings,
                      uint32_t ranks_on_host);

/* Something moved: start over. */
static inline void weft_waiter_reset(weft_waiter_t *waiter)
{
    waiter->idle = 0;
}

/* One idle step. `blocked` is a port to sleep on, or NULL. */
void weft_waiter_step(weft_waiter_t *waiter, weft_links_t *links, weft_port_t *blocked);

/* One idle step of somebody who waits for several things at once: as above, but sleeps are naps. */
void weft_waiter_nap(weft_waiter_t *waiter);

#endif
