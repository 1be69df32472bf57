/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams that join a connection of net-socket, over sockets and behind the handshake, which a peer with
 * the secret passes: records of any content in any pieces, and then what the streams of several rails
 * say to each other. */
#include <endian.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/handshake.h>

#include "fuzz.h"
#include "sock_accept.h"
#include "sock_conn.h"
#include "sock_poll.h"
#include "tests/support/fake_host.h"

enum { CLIENTS = 4, RECEIVES = 4, ROOM = 96, TURNS = 200, MOST = 4096 };

typedef struct scene {
    fake_host_t fake;
    weft_net_t net;
    weft_net_device_t device;
    weft_net_listener_t *listener;
    weft_net_conn_t *conn;
    struct sockaddr_in address;
    int clients[CLIENTS];
    uint8_t buffers[RECEIVES][ROOM];
    uint32_t posted, done;
} scene_t;

static scene_t s;

static void scene_open(void)
{
    weft_net_address_t address;
    weft_endpoint_list_t list;
    if (s.fake.name == NULL) {
        fake_host_init(&s.fake, "fuzz");
        s.device.epoll = epoll_create1(EPOLL_CLOEXEC);
        FUZZ_NEED(s.device.epoll >= 0);
    }
    s.net = (weft_net_t){.host = &s.fake.host,
                         .config = {.sockets = 2, .chunk = 64, .rails = 2, .rail_patience = 0.001}};
    s.device = (weft_net_device_t){
        .host = &s.fake.host, .net = &s.net, .epoll = s.device.epoll, .local = {.count = 1}};
    s.device.local.entries[0].point.v4 =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    FUZZ_NEED(sock_listen(&s.device, &address, &s.listener) == WEFT_OK);
    FUZZ_NEED(weft_endpoint_list_decode(&address, &list) == WEFT_OK && list.count == 1);
    s.address = list.entries[0].point.v4;
    s.conn = NULL;
    s.posted = s.done = 0;
}

static void scene_close(uint32_t clients)
{
    for (uint32_t i = 0; i < clients; i++) {
        close(s.clients[i]);
    }
    sock_conn_close(s.conn);
    sock_listener_close(s.listener);
    FUZZ_NEED(atomic_load(&s.fake.live) == 0);
}

static void accept_some(void)
{
    weft_net_conn_t *conn = NULL;
    if (sock_accept(s.listener, &conn) != WEFT_OK || conn == NULL) {
        return;
    }
    if (s.conn != NULL) {
        sock_conn_close(conn); /* of another id */
        return;
    }
    s.conn = conn;
    for (uint32_t i = 0; i < RECEIVES; i++) {
        weft_net_op_t op = {
            .kind = WEFT_NET_RECV, .buffer = s.buffers[i], .bytes = ROOM, .context = s.buffers[i]};
        uint32_t posted = 0;
        FUZZ_NEED(sock_post(conn, &op, 1, &posted) == WEFT_OK);
        s.posted += posted;
        op.kind = WEFT_NET_SEND;
        op.bytes = i * ROOM / (RECEIVES - 1);
        FUZZ_NEED(sock_post(conn, &op, 1, &posted) == WEFT_OK);
        s.posted += posted;
    }
}

/* A peer that holds the secret. Reset when it is closed, so that no port stays in use. */
static int client_open(uint8_t label_of)
{
    static const struct linger reset = {.l_onoff = 1};
    uint8_t label[WEFT_AUTH_LABEL] = {label_of};
    weft_handshake_t handshake;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_NEED(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    FUZZ_NEED(connect(fd, (const struct sockaddr *)&s.address, sizeof s.address) == 0);
    FUZZ_NEED(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    FUZZ_NEED(weft_handshake_begin(&s.fake.host, &handshake, label) == WEFT_OK);
    weft_status_t status = WEFT_IN_PROGRESS;
    for (int turn = 0; status == WEFT_IN_PROGRESS && turn < TURNS; turn++) {
        status = weft_handshake_connect(&s.fake.host, &handshake, fd);
        accept_some();
    }
    FUZZ_NEED(status == WEFT_OK || status == WEFT_IN_PROGRESS);
    return fd;
}

static void join(int fd, const uint8_t **data, size_t *bytes, uint32_t index)
{
    uint8_t shape, damage, piece;
    fuzz_take(data, bytes, &shape, 1);
    fuzz_take(data, bytes, &damage, 1);
    fuzz_take(data, bytes, &piece, 1);
    uint16_t rails = (uint16_t)(1 + (shape & 1)),
             count = (uint16_t)(rails * (1 + (shape >> 1 & 1)));
    sock_join_t record = {.magic = htole32(SOCK_JOIN_MAGIC),
                          .index = htole16((uint16_t)index),
                          .count = htole16(count),
                          .rails = htole16(rails)};
    uint8_t *raw = (uint8_t *)&record;
    if (damage != 0) {
        raw[damage % sizeof record] ^= (uint8_t)(damage >> 4 | 1);
    }
    size_t first = piece % (sizeof record + 1);
    (void)send(fd, raw, first, MSG_NOSIGNAL);
    accept_some();
    (void)send(fd, raw + first, sizeof record - first, MSG_NOSIGNAL);
    accept_some();
}

static void poll_some(void)
{
    weft_net_completion_t completions[8];
    uint32_t count = 0;
    for (int turn = 0; s.conn != NULL && turn < 3; turn++) {
        if (sock_poll(&s.device, completions, 8, &count) != WEFT_OK) {
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_NEED(completions[i].status != WEFT_OK || completions[i].bytes <= ROOM);
            FUZZ_NEED(++s.done <= s.posted);
        }
    }
}

/* A header that is nearly right, or plain bytes. */
static void say(int fd, const uint8_t **data, size_t *bytes)
{
    uint8_t how, length, raw[256];
    sock_header_t header;
    fuzz_take(data, bytes, &how, 1);
    fuzz_take(data, bytes, &length, 1);
    if ((how & 1) != 0) {
        fuzz_take(data, bytes, &header, sizeof header);
        uint64_t kind = (how >> 1 & 3) % 3, total = le64toh(header.total) % (2 * ROOM);
        header.message =
            htole32((how & 8) != 0 ? le32toh(header.message) % 8 : le32toh(header.message));
        header.length = htole32((how & 16) != 0 ? length % ROOM : le32toh(header.length));
        header.offset = (how & 32) != 0 ? htole64(le64toh(header.offset) % 4) : header.offset;
        header.total = htole64(total | kind << SOCK_KIND_SHIFT);
        (void)send(fd, &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    fuzz_take(data, bytes, raw, length);
    (void)send(fd, raw, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t shape, which;
    uint32_t clients;
    bytes = bytes < MOST ? bytes : MOST;
    fuzz_take(&data, &bytes, &shape, 1);
    clients = 1 + shape % CLIENTS;
    scene_open();
    for (uint32_t i = 0; i < clients; i++) {
        s.clients[i] = client_open(shape >> 4 & (uint8_t)i);
    }
    for (uint32_t i = 0; i < clients; i++) {
        join(s.clients[i], &data, &bytes, i);
    }
    for (int turn = 0; s.conn != NULL && bytes > 0 && turn < TURNS; turn++) {
        fuzz_take(&data, &bytes, &which, 1);
        say(s.clients[which % clients], &data, &bytes);
        poll_some();
    }
    poll_some();
    scene_close(clients);
    return 0;
}
