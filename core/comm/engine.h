/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: advances the operations of one communicator, in order, without blocking; and the loop
 * around it that waits. The caller owns the communicator. */
#ifndef WEFT_COMM_ENGINE_H
#define WEFT_COMM_ENGINE_H

#include "core/comm/comm.h"

/* Runs one round; true if something moved. */
bool weft_engine_step(weft_comm_state_t *state);

/* True if an operation is not completed. */
bool weft_engine_is_busy(const weft_comm_state_t *state);

/* Blocks until `request` is done. */
void weft_engine_drive(weft_comm_state_t *state, const weft_request_t *request);
/* Blocks until everything is done. */
void weft_engine_drive_all(weft_comm_state_t *state);

#endif
