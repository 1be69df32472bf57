/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where streams begin: addresses of hosts, and the listeners there. stream_bind(), stream_listen()
 * and stream_address() are here, too. */
#ifndef WEFT_SIMULATION_LISTENER_H
#define WEFT_SIMULATION_LISTENER_H

#include <sys/socket.h>

#include "descriptor.h"

/* Returns the host of an address: 127.0.0.1 is `own`. SIM_HOSTS: there is none. */
uint32_t listener_host_of(const struct sockaddr *at, uint32_t own, uint16_t *port_p);
/* NULL: nobody listens. */
object_t *listener_at(uint32_t host, uint16_t port);
object_t *listener_named(const object_t *by, const char *name, uint32_t bytes);
uint16_t listener_port_free(uint32_t host);

#endif
