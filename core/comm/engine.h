/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: advances the operations of one communicator, in order, without blocking; and the
 * loop around it that waits. The caller owns the communicator. */
#ifndef WEFT_COMM_ENGINE_H
#define WEFT_COMM_ENGINE_H

#include "core/comm/comm.h"

/* Runs one round. True if something moved, or has come, which the next round looks at. */
bool weft_engine_step(weft_comm_state_t *state);

/* True if an operation is not completed. */
bool weft_engine_is_busy(const weft_comm_state_t *state);
/* True if the host may have to do something for one now. Else devices work alone. */
bool weft_engine_needs_host(const weft_comm_state_t *state);

/* Adds the ports that decide when a step can move something. */
void weft_engine_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked);

/* Blocks until `request` is done. */
void weft_engine_drive(weft_comm_state_t *state, const weft_request_t *request);
/* Blocks until it is done, the time `until` has come, or a call of the user wants the
 * communicator. */
void weft_engine_drive_async(weft_comm_state_t *state, const weft_async_t *async, uint64_t until);
/* Blocks until everything is done. */
void weft_engine_drive_all(weft_comm_state_t *state);

#endif
