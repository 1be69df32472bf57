/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of puts, signals and waits (weft/one_sided.h). A put is a send over a channel of its
 * own, whose receive the other rank calls by itself, whatever it is doing: its owner in any call,
 * or else the progress thread. So it works over every transport, and with it a broken link, a death
 * and a deadline work as with messages. Who puts asks the peer to look for puts over the health
 * channel, before the first one. The caller owns the communicator. */
#ifndef WEFT_COMM_PUTS_H
#define WEFT_COMM_PUTS_H

#include "core/comm/comm.h"

/* Returns whether there is something to step: this rank has made a one-sided call, or another one
 * has asked it to listen. It stays so. */
static inline bool weft_puts_are_on(const weft_comm_state_t *state)
{
    return weft_window_askers(&state->windows) != 0;
}

/* Returns whether calls of this rank are under way. */
static inline bool weft_puts_are_busy(const weft_comm_state_t *state)
{
    return state->windows.puts != NULL && state->windows.puts->p2p.nactive > 0;
}

/* Returns whether peers may put at any time. */
static inline bool weft_puts_listen(const weft_comm_state_t *state)
{
    const weft_puts_t *puts = state->windows.puts;
    return weft_puts_are_on(state) && !weft_comm_has_failed(state) &&
           (puts == NULL || puts->nlistening > 0 ||
            puts->heard != weft_window_askers(&state->windows));
}

/* Returns whether the bytes of a put are on their way into the window. For a caller that waits for
 * them: a rank whose put does not go on is judged, which may fail the communicator. */
bool weft_puts_fill(weft_comm_state_t *state, const weft_window_t *window);

/* Runs one round. True if something moved. A failure has failed the communicator. */
bool weft_puts_step(weft_comm_state_t *state);

/* Adds the ports that calls under way wait for, and those over which puts may come. */
void weft_puts_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked);

/* Completes all calls with the communicator's failure. */
void weft_puts_fail(weft_comm_state_t *state);

/* Notes that `peer` will put. Thread: any, which the family's lock keeps from the end of the
 * communicator. */
void weft_puts_note_asked(weft_comm_state_t *state, uint32_t peer);

#endif
