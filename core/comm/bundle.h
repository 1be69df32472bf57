/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bundles: sends and receives in a stream that the device does, all of one call of a group in one
 * run. They meet the messages that hosts move in the same queues and ports, with the same numbers
 * and signatures. What a device cannot do stays with the host (host_wait.h). The caller owns the
 * communicator; `first` heads a list of requests that are linked by `next`. */
#ifndef WEFT_COMM_BUNDLE_H
#define WEFT_COMM_BUNDLE_H

#include "core/comm/comm.h"

/* Returns whether a device may do them: all are messages with a peer, and none is behind one that
 * the host moves, for which a device cannot wait. What a rank sends to itself it also receives in
 * the list. */
bool weft_bundle_suits(const weft_comm_state_t *state, const weft_request_t *first);

/* Finds the program of such messages, or makes it. ERR_UNSUPPORTED: there is none; ERR_RESOURCE, or
 * the kernel's failure. */
weft_status_t weft_bundle_select(weft_comm_state_t *state, const weft_request_t *first,
                                 weft_prepared_t **prepared_p);
/* Finds a program of such messages that can be launched; NULL: there is none. */
weft_prepared_t *weft_bundle_find(const weft_comm_state_t *state, const weft_request_t *first);

/* Connects its ports and gives them to the device, as far as that goes at once. IN_PROGRESS: peers
 * have not come to theirs; else the failure of a link or of the kernel. */
weft_status_t weft_bundle_bind(weft_comm_state_t *state, weft_prepared_t *prepared);

/* Gives the messages their numbers, or takes them back, the last ones called. */
void weft_bundle_number(weft_comm_state_t *state, weft_request_t *first);
void weft_bundle_take_numbers(weft_comm_state_t *state, const weft_request_t *first);

/* Describes a run to start(). `messages` has room for all; *call points to it. */
void weft_bundle_describe(const weft_comm_state_t *state, const weft_prepared_t *prepared,
                          const weft_request_t *first, weft_lanes_message_t *messages,
                          weft_lanes_call_t *call);

/* Notes that the messages of a run are completed: those that were called behind them may go. */
void weft_bundle_complete(weft_comm_state_t *state, const weft_request_t *first);

#endif
