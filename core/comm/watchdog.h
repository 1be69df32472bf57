/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog of operations that do not move: deadline, lateness, peers that left or cannot be
 * reached, ranks that called something else, links that broke. It serves operations of the host
 * and those that wait in a stream. The caller owns the communicator. */
#ifndef WEFT_COMM_WATCHDOG_H
#define WEFT_COMM_WATCHDOG_H

#include "core/comm/comm.h"

/* A rank that left has its last messages delivered within this time, or never … */
#define WEFT_LEFT_BEHIND_NS WEFT_NS_PER_S
/* … but for those that are still under way, or in the kernel of a rank that is late. */
#define WEFT_LEFT_ON_WIRE_NS (10 * WEFT_NS_PER_S)

/* Returns whether nothing more comes from, or is taken by, a peer that left. `port` is what an
 * operation waits on, NULL: there is no link. Nothing has moved since `idle_since`. */
bool weft_watchdog_is_left_behind(weft_comm_state_t *state, uint32_t peer, weft_port_t *port,
                                  uint64_t idle_since, uint64_t now);

/* Writes what the link said when it ended, " (its link ended: WORDS)", or "" if it said nothing;
 * NULL: there is no link. Returns `text`. */
const char *weft_watchdog_link_text(const weft_port_t *port, char *text, size_t bytes);

/* Judges an operation that does not move; may fail the communicator. */
void weft_watchdog_look(weft_comm_state_t *state, const weft_pending_t *pending, uint64_t now);

/* If an operation has not moved for a moment, and its program receives from a rank that left before
 * it, that is whom it waits for: another lane may wait for somebody who is there, and who waits in
 * vain as well. */
void weft_watchdog_find_absent(const weft_comm_state_t *state, const weft_program_t *program,
                               weft_pending_t *pending, uint64_t now);

/* Reports that the link to `peer` (−1: unknown), which an operation waits for, broke with
 * `status`. Asks the peer whether it lives. Fails the communicator soon after the answer, or when
 * boot.unresponsive is over, unless the health channel has named the cause; until then it is to be
 * called again. */
void weft_watchdog_link_broke(weft_comm_state_t *state, weft_status_t status, int32_t peer);

#endif
