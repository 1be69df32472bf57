/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports that decide when a rank can go on, collected before it sleeps. */
#ifndef WEFT_EXEC_BLOCKED_H
#define WEFT_EXEC_BLOCKED_H

#include "core/exec/port_base.h"
#include "core/os/os.h"

/* One less than a sleep can wait for: the progress thread waits for work, too. */
#define WEFT_BLOCKED_PORTS (WEFT_OS_FUTEXES - 1)

typedef struct weft_blocked {
    weft_port_t *port[WEFT_BLOCKED_PORTS];
    uint32_t count;
    bool more; /* there are more ports, one that is not mapped, or something else */
} weft_blocked_t;

static inline void weft_blocked_init(weft_blocked_t *blocked)
{
    blocked->count = 0; /* the ports stay as they are: they take a kilobyte */
    blocked->more = false;
}

/* Adds a port. NULL stands for what is no port, such as a link that is to be made. */
static inline void weft_blocked_add(weft_blocked_t *blocked, weft_port_t *port)
{
    if (port == NULL || !weft_port_is_mapped(port) || blocked->count == WEFT_BLOCKED_PORTS) {
        blocked->more = true;
    } else {
        blocked->port[blocked->count++] = port;
    }
}

/* Returns whether a sleep on these ports misses nothing. */
static inline bool weft_blocked_is_whole(const weft_blocked_t *blocked)
{
    return blocked->count > 0 && !blocked->more;
}

#endif
