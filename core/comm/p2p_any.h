/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives from any rank. Messages are matched with receives in the order of the calls, as if all
 * receives stood in one line: the first receive from any rank takes the first message that is here
 * and that no receive before it waits for. Receives called after it wait until it has its sender,
 * because the message that they would take may be its own. Senders know nothing of it.
 *
 * Ranks are looked at in turns, so that none is passed over for ever. The caller owns the
 * communicator. */
#ifndef WEFT_COMM_P2P_ANY_H
#define WEFT_COMM_P2P_ANY_H

#include "core/comm/comm.h"

/* Gives senders to the held receives, as far as it is known who they are. True if something moved.
 * A failure has failed the communicator. */
bool weft_p2p_any_step(weft_comm_state_t *state);

/* Checks the deadline of the first held receive, and whether anybody is left to send. */
void weft_p2p_any_look(weft_comm_state_t *state, uint64_t now);

/* Adds the ports that the first held receive may take its message from. */
void weft_p2p_any_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked);

/* Completes all held receives with the communicator's failure. */
void weft_p2p_any_fail(weft_comm_state_t *state);

#endif
