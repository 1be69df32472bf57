/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a peer that a connection of net-socket reads: headers and payloads in any order, in
 * pieces of any length. Buffers hold what was asked for and nothing behind it. */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "sock_conn.h"
#include "sock_poll.h"
#include "tests/support/fake_host.h"

#define RECEIVES 4u
#define ROOM 96u
#define MOST 16384

static void poll_all(weft_net_device_t *device, uint32_t *done)
{
    weft_net_completion_t completions[8];
    uint32_t count = 0;
    for (int turn = 0; turn < 4; turn++) {
        if (sock_poll(device, completions, 8, &count) != WEFT_OK) {
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_NEED(completions[i].status != WEFT_OK || completions[i].bytes <= ROOM);
            FUZZ_NEED(++*done <= RECEIVES);
        }
    }
}

static void talk(weft_net_device_t *device, weft_net_conn_t *conn, int peer, const uint8_t *data,
                 size_t bytes)
{
    uint8_t *buffers[RECEIVES];
    uint32_t done = 0, posted;
    for (uint32_t i = 0; i < RECEIVES; i++) {
        buffers[i] = malloc(ROOM);
        FUZZ_NEED(buffers[i] != NULL);
        weft_net_op_t op = {
            .kind = WEFT_NET_RECV, .buffer = buffers[i], .bytes = ROOM, .context = buffers[i]};
        FUZZ_NEED(sock_post(conn, &op, 1, &posted) == WEFT_OK && posted == 1);
    }
    while (bytes > 0) {
        uint8_t piece;
        fuzz_take(&data, &bytes, &piece, 1);
        size_t length = piece < bytes ? piece : bytes;
        if (send(peer, data, length, MSG_NOSIGNAL) != (ssize_t)length) {
            break; /* it has had enough of us */
        }
        data += length;
        bytes -= length;
        poll_all(device, &done);
    }
    shutdown(peer, SHUT_WR);
    poll_all(device, &done);
    sock_conn_close(conn);
    for (uint32_t i = 0; i < RECEIVES; i++) {
        free(buffers[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    static fake_host_t fake;
    int pair[2];
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    weft_net_t net = {.host = &fake.host};
    weft_net_device_t device = {.host = &fake.host, .net = &net};
    device.epoll = epoll_create1(EPOLL_CLOEXEC);
    FUZZ_NEED(device.epoll >= 0);
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    weft_net_conn_t *conn = sock_conn_create(&device, 1, label);
    FUZZ_NEED(conn != NULL);
    conn->streams[0].fd = pair[0];
    sock_conn_ready(conn);
    talk(&device, conn, pair[1], data, bytes < MOST ? bytes : MOST);
    close(pair[1]);
    close(device.epoll);
    FUZZ_NEED(atomic_load(&fake.live) == 0);
    return 0;
}
