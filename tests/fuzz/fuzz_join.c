/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams that join a connection of net-socket, over sockets and behind the handshake, which a peer
 * with the secret passes: records of any content in any pieces, and then what the streams of
 * several rails say to each other, or do not say while time passes. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <weft/sdk/handshake.h>

#include "fuzz.h"
#include "sock_accept.h"
#include "sock_conn.h"
#include "sock_poll.h"
#include "tests/support/fake_host.h"

enum { CLIENTS = 4, RECEIVES = 4, ROOM = 96, TURNS = 200, MOST = 4096 };
enum { WITH_IPV6 = 4, NO_PORT = 8 }; /* in the first byte, beside the number of clients */

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
    uint64_t ahead; /* of the real clock */
    uint32_t loopback;
} scene_t;

static scene_t s;

static uint64_t clock_ns(const weft_host_t *host)
{
    struct timespec now;
    (void)host;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + s.ahead;
}

/* A port on which somebody else listens. */
static uint16_t taken_port(void)
{
    static struct sockaddr_in at;
    socklen_t length = sizeof at;
    if (at.sin_port == 0) {
        at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        FUZZ_NEED(bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0);
        FUZZ_NEED(getsockname(fd, (struct sockaddr *)&at, &length) == 0);
    }
    return ntohs(at.sin_port);
}

/* Returns false where nobody can listen. */
static bool scene_open(uint8_t shape, uint8_t fails)
{
    weft_net_address_t address;
    weft_endpoint_list_t list;
    if (s.fake.name == NULL) {
        fake_host_init(&s.fake, "fuzz");
        s.fake.host.clock_ns = clock_ns;
        s.device.epoll = epoll_create1(EPOLL_CLOEXEC);
        FUZZ_NEED(s.device.epoll >= 0);
    }
    s.net = (weft_net_t){.host = &s.fake.host,
                         .config = {.sockets = 2, .chunk = 64, .rails = 2, .rail_patience = 0.001}};
    s.device = (weft_net_device_t){.host = &s.fake.host, .net = &s.net, .epoll = s.device.epoll};
    /* Each execution has an address of its own, because closed connections keep their ports a
     * while. */
    s.loopback = INADDR_LOOPBACK + (s.loopback + 1 - INADDR_LOOPBACK) % 0xfff000;
    s.device.local.count = (shape & WITH_IPV6) != 0 ? 2 : 1;
    s.device.local.entries[0].point.v4 =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(s.loopback)}};
    s.device.local.entries[1].point.v6 =
        (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if ((shape & NO_PORT) != 0) {
        s.net.ports.first = s.net.ports.last = taken_port();
        s.device.local.entries[0].point.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    s.conn = NULL;
    s.posted = s.done = 0;
    s.ahead = 0;
    atomic_store(&s.fake.fail_at, fails == 0 ? 0 : atomic_load(&s.fake.allocs) + fails);
    s.fake.error[0] = '\0';
    weft_status_t status = sock_listen(&s.device, &address, &s.listener);
    FUZZ_NEED(status == WEFT_OK || s.fake.error[0] != '\0');
    if (status != WEFT_OK || (shape & NO_PORT) != 0) {
        return false; /* one of IPv6 may have found its port free */
    }
    FUZZ_NEED(weft_endpoint_list_decode(&address, &list) == WEFT_OK && list.count >= 1);
    s.address = list.entries[0].point.v4;
    return true;
}

static void scene_close(uint32_t clients)
{
    for (uint32_t i = 0; i < clients; i++) {
        close(s.clients[i]);
    }
    sock_conn_close(s.conn);
    sock_listener_close(s.listener);
    s.listener = NULL;
    atomic_store(&s.fake.fail_at, 0);
    FUZZ_NEED(s.device.unanswered == 0 && s.device.conns == NULL);
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

/* A peer that holds the secret. Its pieces do not wait for each other. Reset when it is closed, so
 * that no port stays in use. */
static int client_open(uint8_t label_of)
{
    static const struct linger reset = {.l_onoff = 1};
    uint8_t label[WEFT_AUTH_LABEL] = {label_of};
    weft_handshake_t handshake;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_NEED(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    FUZZ_NEED(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0);
    int refused;
    do { /* libFuzzer's alarm comes once a second */
        refused = connect(fd, (const struct sockaddr *)&s.address, sizeof s.address);
    } while (refused != 0 && errno == EINTR);
    if (refused != 0) {
        perror("connect");
        abort();
    }
    FUZZ_NEED(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    FUZZ_NEED(weft_handshake_begin(&s.fake.host, &handshake, label) == WEFT_OK);
    weft_status_t status = WEFT_IN_PROGRESS;
    for (int turn = 0; status == WEFT_IN_PROGRESS && turn < TURNS; turn++) {
        status = weft_handshake_connect(&s.fake.host, &handshake, fd);
        accept_some();
    }
    FUZZ_NEED(status == WEFT_OK || status == WEFT_IN_PROGRESS || atomic_load(&s.fake.fail_at) != 0);
    return fd;
}

/* Time passes before the rest of the record comes where `damage` is 128. */
static void join(int fd, uint8_t shape, const uint8_t **data, size_t *bytes, uint32_t index)
{
    uint8_t damage = fuzz_byte(data, bytes), piece = fuzz_byte(data, bytes);
    uint16_t rails = (uint16_t)(1 + (shape & 1)),
             count = (uint16_t)(rails * (1 + (shape >> 1 & 1)));
    sock_join_t record = {.magic = htole32(SOCK_JOIN_MAGIC),
                          .index = htole16((uint16_t)index),
                          .count = htole16(count),
                          .rails = htole16(rails)};
    uint8_t *raw = (uint8_t *)&record;
    if (damage != 0 && damage != 128) {
        raw[damage % sizeof record] ^= (uint8_t)(damage >> 4 | 1);
    }
    size_t first = piece % (sizeof record + 1);
    (void)send(fd, raw, first, MSG_NOSIGNAL);
    accept_some();
    s.ahead += damage == 128 ? UINT64_C(60000000000) : 0;
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
        if ((how & 64) != 0 &&
            kind != SOCK_KIND_DATA) { /* a right record, perhaps of a wrong count */
            header.length = 0;
            total = 0;
        }
        header.total = htole64(total | kind << SOCK_KIND_SHIFT);
        (void)send(fd, &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    fuzz_take(data, bytes, raw, length);
    (void)send(fd, raw, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The peer says something, closes a stream, or is silent for a while. */
static void go_on(uint32_t clients, const uint8_t **data, size_t *bytes)
{
    uint8_t which = fuzz_byte(data, bytes);
    int fd = s.clients[which % clients];
    if ((which & 0xe0) == 0xe0) { /* a reset: what is said there from now on is said to nobody */
        close(fd);
        s.clients[which % clients] = open("/dev/null", O_RDWR | O_CLOEXEC);
    } else if ((which & 0xe0) == 0xc0) {
        shutdown(fd, SHUT_WR);
    } else if ((which & 0xc0) == 0x80) {
        uint8_t text[200];
        s.ahead += UINT64_C(1000000) << which / 4 % 16;
        (void)recv(fd, text, sizeof text, MSG_DONTWAIT);
    } else {
        say(fd, data, bytes);
    }
    poll_some();
}

static void talk(uint8_t shape, const uint8_t *data, size_t bytes)
{
    uint32_t clients = 1 + shape % CLIENTS;
    uint8_t layout = fuzz_byte(&data, &bytes);
    for (uint32_t i = 0; i < clients; i++) {
        s.clients[i] = client_open(shape >> 4 & (uint8_t)i);
    }
    for (uint32_t i = 0; i < clients; i++) {
        join(s.clients[i], layout, &data, &bytes, i);
    }
    for (int turn = 0; s.conn != NULL && bytes > 0 && turn < TURNS; turn++) {
        go_on(clients, &data, &bytes);
    }
    poll_some();
    scene_close(clients);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    bytes = bytes < MOST ? bytes : MOST;
    uint8_t shape = fuzz_byte(&data, &bytes), fails = fuzz_byte(&data, &bytes);
    uint32_t open = fuzz_descriptors();
    (void)taken_port();
    if (scene_open(shape, fails)) {
        talk(shape, data, bytes);
    } else {
        scene_close(0);
    }
    static bool again; /* the first time opens what stays */
    FUZZ_NEED(!again || fuzz_descriptors() == open);
    again = true;
    return 0;
}
