/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the engine waits for: for whom, how long, and what a failure means. The caller owns the
 * communicator. */
#ifndef WEFT_COMM_ENGINE_LOOK_H
#define WEFT_COMM_ENGINE_LOOK_H

#include "core/comm/comm.h"

/* Returns the rank that the current operation waits for, or −1; *port_p is the port through which
 * it waits, or NULL. */
int32_t weft_engine_waits_for(const weft_comm_state_t *state, weft_port_t **port_p);

/* Does what needs a look at the clock. */
void weft_engine_look_around(weft_comm_state_t *state);

/* Fails the communicator because its current operation failed with `status`. A link that broke may
 * have a cause that comes to be known a little later: then it is called again meanwhile, as
 * weft_watchdog_link_broke() says. */
void weft_engine_handle_failure(weft_comm_state_t *state, weft_status_t status);

#endif
