/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of sends and receives. All queues progress at once, so no order of sends and receives
 * to different peers can make a group hang. The caller owns the communicator. */
#ifndef WEFT_COMM_P2P_H
#define WEFT_COMM_P2P_H

#include "core/comm/comm.h"

/* Runs one round over all queues with work. True if something moved. A failure has failed the
 * communicator. */
bool weft_p2p_step(weft_comm_state_t *state);

/* Completes all messages with the communicator's failure. */
void weft_p2p_fail(weft_comm_state_t *state);

/* Returns the port that the only active queue waits for; NULL: there are several, or it has
 * none. */
weft_port_t *weft_p2p_blocked(const weft_comm_state_t *state);

#endif
