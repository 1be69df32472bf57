/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What operations need before they enter a stream: a plan on the device, connections, their memory
 * registered. It is made here, by the host. Behind a kernel that waits in the stream it could not:
 * the driver may make such calls, and the launches of other streams, wait for that kernel. */
#ifndef WEFT_COMM_STREAM_PREPARE_H
#define WEFT_COMM_STREAM_PREPARE_H

#include "core/comm/comm.h"

/* How long a call waits for its peers to make the same one; then the host does the operation while
 * the stream waits, as it does what a device cannot run. */
#define WEFT_STREAM_PREPARE_NS (UINT64_C(10) * WEFT_NS_PER_S)

/* Prepares operations that enter a stream together, which are linked by `next`, as far as it goes
 * at once. True: peers have not come to theirs, so try again. False: they can be launched, or the
 * host has to do them; what failed here fails there too, and is reported then. Thread: the
 * owner. */
bool weft_stream_prepare_step(weft_comm_state_t *state, const weft_request_t *first);

/* Prepares one operation, and advances the communicator until peers have come to theirs, or
 * WEFT_STREAM_PREPARE_NS are over, or it has failed. Blocking. Thread: the owner. */
void weft_stream_prepare(weft_comm_state_t *state, const weft_request_t *request);

#endif
