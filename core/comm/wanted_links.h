/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links that higher ranks want. Only the lower rank of two connects, so a rank that waits to send
 * to a lower one asks it over the health channel. The lower one makes the link in whatever call it
 * waits, although it may not need it yet. Questions may be lost: whoever still waits asks again.
 * Links that lower ranks have made are taken in the same looks, where what they send waits for
 * slots. */
#ifndef WEFT_COMM_WANTED_LINKS_H
#define WEFT_COMM_WANTED_LINKS_H

#include "core/comm/comm.h"

/* A rank that waits for a link asks for it after a millisecond, in which most are made without
 * that, and again after as long as it has waited, WEFT_ASKS_AGAIN_NS at most. */
#define WEFT_ASKS_FIRST_NS WEFT_NS_PER_MS
#define WEFT_ASKS_AGAIN_NS (100 * WEFT_NS_PER_MS)

/* Returns whether to ask now; then *asked becomes `now`. It was set to `since`, when the waiting
 * began. */
static inline bool weft_wanted_links_ask_now(uint64_t *asked, uint64_t since, uint64_t now)
{
    uint64_t pause = *asked - since;
    pause = pause < WEFT_ASKS_FIRST_NS ? WEFT_ASKS_FIRST_NS : pause;
    pause = pause < WEFT_ASKS_AGAIN_NS ? pause : WEFT_ASKS_AGAIN_NS;
    if (now - *asked < pause) {
        return false;
    }
    *asked = now;
    return true;
}

/* Asks `peer` for the link on `channel`, if it is the one that makes it. Thread: the owner. */
void weft_wanted_links_ask(const weft_comm_state_t *state, uint32_t peer, uint32_t channel);

/* Does what a rank that waits does for others: accepts connections (weft_links_listen), and makes
 * links that they want. Thread: the owner. */
void weft_wanted_links_listen(weft_comm_state_t *state, uint64_t now);

#endif
