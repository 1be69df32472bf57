/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An instance of net-socket on a host of the test's, and connections whose other ends lie in this
 * process. */
#ifndef WEFT_TESTS_UNIT_PLUGINS_NET_SOCKET_ENDS_H
#define WEFT_TESTS_UNIT_PLUGINS_NET_SOCKET_ENDS_H

#include "tests/support/fake_host.h"
#include "sock_conn.h"

typedef struct instance {
    fake_host_t fake;
    weft_net_t net;
} instance_t;

void instance_begin(instance_t *instance);
/* Its devices have ended. Checks that nothing is left. */
void instance_end(instance_t *instance);
void device_begin(instance_t *instance, weft_net_device_t *device);
void device_end(weft_net_device_t *device);
/* A connection whose streams have no sockets yet. To be closed with sock_conn_close(). */
weft_net_conn_t *end_create(weft_net_device_t *device, uint32_t streams);
/* Gives each stream a socket, and makes the connection ready. The sockets at the other end, one for
 * each stream, are the caller's. */
void end_join(weft_net_conn_t *conn, int *there);
/* Posts one operation, whose context is the buffer. */
void end_post(weft_net_conn_t *conn, uint32_t kind, void *buffer, uint64_t bytes);

#endif
