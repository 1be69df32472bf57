/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of sends and receives. All queues progress at once, so no order of sends and receives
 * to different peers can make a group hang. The caller owns the communicator. */
#ifndef WEFT_COMM_P2P_H
#define WEFT_COMM_P2P_H

#include "core/comm/comm.h"

/* Moves a numbered message without its queue, and completes it. False: nothing was moved; it has to
 * wait for its turn, its peer or memory, and weft_p2p_append() is next. A short message over memory
 * that its peer shares needs neither a queue nor a step: each is a tenth of its instructions. */
bool weft_p2p_run_at_once(weft_comm_state_t *state, weft_request_t *request);

/* Runs one round over all queues with work. True if something moved. A failure has failed the
 * communicator. */
bool weft_p2p_step(weft_comm_state_t *state);

/* Completes all messages with the communicator's failure. */
void weft_p2p_fail(weft_comm_state_t *state);

/* Parts that puts share, whose queues are of another weft_p2p_t: puts.h. ----------------------- */

/* Moves what can be moved of the messages of a queue that are due, and completes them. AGAIN,
 * IN_PROGRESS (it connects), or a failure. */
weft_status_t weft_p2p_run_queue(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p);
/* Fails the communicator, or waits for the cause of a broken link. */
void weft_p2p_handle_failure(weft_comm_state_t *state, const weft_p2p_queue_t *queue,
                             weft_status_t status);
/* Handles a failed poll. */
void weft_p2p_transport_failed(weft_comm_state_t *state, const weft_p2p_t *p2p,
                               weft_status_t status);
/* Judges the queues with work. */
void weft_p2p_look_around(weft_comm_state_t *state, weft_p2p_t *p2p);
/* Completes all messages of these queues. */
void weft_p2p_fail_queues(weft_comm_state_t *state, weft_p2p_t *p2p);
/* Returns the port that the queue waits for, or NULL. */
weft_port_t *weft_p2p_queue_blocked(const weft_p2p_queue_t *queue);

/* Adds the ports that the queues and receives from any rank wait for. */
void weft_p2p_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked);

#endif
