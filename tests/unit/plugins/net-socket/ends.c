/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of connections. */
#include "ends.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/unit.h"

void instance_begin(instance_t *instance)
{
    fake_host_init(&instance->fake, "test");
    instance->net.host = &instance->fake.host;
    instance->net.config.chunk = 16384;
    instance->net.config.rail_patience = 1;
}

void instance_end(instance_t *instance)
{
    assert_int_equal(atomic_load(&instance->fake.live), 0);
    fake_host_fini(&instance->fake);
}

void device_begin(instance_t *instance, weft_net_device_t *device)
{
    *device = (weft_net_device_t){.host = &instance->fake.host, .net = &instance->net};
    device->epoll = epoll_create1(EPOLL_CLOEXEC);
}

void device_end(weft_net_device_t *device)
{
    close(device->epoll);
}

weft_net_conn_t *end_create(weft_net_device_t *device, uint32_t streams)
{
    const uint8_t label[WEFT_AUTH_LABEL] = {0};
    weft_net_conn_t *conn = sock_conn_create(device, streams, label);
    assert_non_null(conn);
    return conn;
}

void end_join(weft_net_conn_t *conn, int *there)
{
    for (uint32_t s = 0; s < conn->nstreams; s++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                         0);
        conn->streams[s].fd = pair[0];
        there[s] = pair[1];
    }
    sock_conn_ready(conn);
}

void end_post(weft_net_conn_t *conn, uint32_t kind, void *buffer, uint64_t bytes)
{
    weft_net_op_t op = {.kind = kind, .buffer = buffer, .bytes = bytes, .context = buffer};
    uint32_t posted = 0;
    assert_int_equal(sock_post(conn, &op, 1, &posted), WEFT_OK);
    assert_int_equal(posted, 1);
}
