/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection of net-socket of one stream. The input is a list of what happens: the peer sends
 * headers and payloads in any order and in pieces of any length, and reads; this end posts and
 * polls. Buffers hold what was asked for and nothing behind it, and what the peer reads is what was
 * posted. */
#include <endian.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "sock_conn.h"
#include "sock_poll.h"
#include "tests/support/fake_host.h"

enum { OPEN_MOST = 8, ROOM = 96, LONG_ROOM = 3000, REST = 40, STEPS_MOST = 300 };
enum { MANY = 1 }; /* in the first byte: so many streams are busy that epoll chooses */

/* A message of ours. */
typedef struct sent {
    uint32_t bytes;
    uint8_t first; /* its bytes count up from here */
} sent_t;

typedef struct scene {
    fake_host_t fake;
    weft_net_t net;
    weft_net_device_t device;
    weft_net_conn_t *conn;
    int peer;
    uint8_t *buffers[OPEN_MOST], *rests[OPEN_MOST];
    uint32_t rooms[OPEN_MOST], receives, receives_done, sends, sends_done;
    sent_t sent[STEPS_MOST];
    uint8_t memory[LONG_ROOM + 256];
    /* What the peer has read. */
    uint8_t header[sizeof(sock_header_t)];
    uint32_t have, left, message, at;
} scene_t;

static scene_t s;

static void poll_all(void)
{
    weft_net_completion_t completions[8];
    uint32_t count = 0;
    int fd;
    for (int turn = 0; turn < 3; turn++) {
        FUZZ_NEED(sock_poll(&s.device, completions, 8, &count) == WEFT_OK);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t *buffer = completions[i].context;
            if (buffer == NULL) {
                FUZZ_NEED(++s.sends_done <= s.sends);
                continue;
            }
            FUZZ_NEED(completions[i].status != WEFT_OK || completions[i].bytes <= *buffer);
            FUZZ_NEED(++s.receives_done <= s.receives);
        }
    }
    FUZZ_NEED(sock_wait_fd(&s.device, &fd) != WEFT_ERR_SYSTEM && fd == s.device.epoll);
}

static void post_receive(uint8_t how)
{
    uint32_t i = s.receives, posted = 0, room = (how & 1) != 0 ? LONG_ROOM : ROOM;
    if (i == OPEN_MOST) {
        return;
    }
    s.buffers[i] = malloc(room);
    FUZZ_NEED(s.buffers[i] != NULL);
    s.rooms[i] = room;
    weft_net_op_t op = {
        .kind = WEFT_NET_RECV, .buffer = s.buffers[i], .bytes = room, .context = &s.rooms[i]};
    if (sock_post(s.conn, &op, 1, &posted) != WEFT_OK || posted == 0) {
        free(s.buffers[i]);
        s.buffers[i] = NULL;
        return;
    }
    s.receives++;
    if ((how & 2) != 0) { /* what is behind the first bytes belongs elsewhere */
        s.rests[i] = malloc(REST);
        FUZZ_NEED(s.rests[i] != NULL);
        (void)sock_place_payload(s.conn, &s.rooms[i], how >> 2, s.rests[i], REST);
    }
}

static void post_send(uint8_t how, uint8_t first)
{
    uint32_t posted = 0, bytes = (how & 1) != 0 ? LONG_ROOM : (uint32_t)how >> 2;
    weft_net_op_t op = {.kind = WEFT_NET_SEND, .buffer = s.memory + first, .bytes = bytes};
    if (s.sends == STEPS_MOST) {
        return;
    }
    s.sent[s.sends] = (sent_t){.bytes = bytes, .first = first};
    if ((how & 2) != 0 && bytes > 0) { /* in two parts */
        op.bytes = bytes / 2;
        posted = sock_send_payload(s.conn, &op, s.memory + first + op.bytes, bytes - op.bytes) ==
                 WEFT_OK;
    } else {
        (void)sock_post(s.conn, &op, 1, &posted);
    }
    s.sends += posted;
}

/* A byte that this end has sent belongs to a header, or is the next one of a message. */
static void peer_takes(uint8_t byte)
{
    sock_header_t header;
    if (s.have < sizeof s.header) {
        s.header[s.have++] = byte;
        if (s.have < sizeof s.header) {
            return;
        }
        memcpy(&header, s.header, sizeof header);
        s.left = le32toh(header.length);
        FUZZ_NEED(le32toh(header.message) == s.message && s.message < s.sends);
        FUZZ_NEED(le64toh(header.total) == s.sent[s.message].bytes);
        FUZZ_NEED(le64toh(header.offset) == s.at && s.left <= le64toh(header.total) - s.at);
    } else {
        FUZZ_NEED(byte == (uint8_t)(s.sent[s.message].first + s.at));
        s.at++;
        s.left--;
    }
    if (s.left == 0) {
        s.have = 0;
        if (s.at == s.sent[s.message].bytes) {
            s.at = 0;
            s.message++;
        }
    }
}

static void peer_reads(uint8_t how)
{
    uint8_t text[1024];
    ssize_t got = recv(s.peer, text, how == 255 ? sizeof text : how, MSG_DONTWAIT);
    for (ssize_t i = 0; i < got; i++) {
        peer_takes(text[i]);
    }
}

/* A header that is nearly right. */
static void peer_says(const uint8_t **data, size_t *bytes)
{
    sock_header_t header;
    uint8_t how = fuzz_byte(data, bytes);
    fuzz_take(data, bytes, &header, sizeof header);
    header.message = htole32((how & 1) != 0 ? s.receives_done : le32toh(header.message) % 12);
    header.total = htole64(le64toh(header.total) % ((how & 8) != 0 ? LONG_ROOM : 2 * ROOM));
    header.length = (how & 2) != 0 ? htole32((uint32_t)le64toh(header.total)) : header.length;
    header.length = htole32(le32toh(header.length) % (LONG_ROOM + 1));
    header.offset = (how & 4) != 0 ? 0 : htole64(le64toh(header.offset) % ROOM);
    (void)send(s.peer, &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void step(const uint8_t **data, size_t *bytes)
{
    uint8_t what = fuzz_byte(data, bytes), how = fuzz_byte(data, bytes);
    size_t length = how < *bytes ? how : *bytes;
    switch (what % 8) {
    case 0:
        (void)send(s.peer, *data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        *data += length;
        *bytes -= length;
        break;
    case 1:
        (void)send(s.peer, s.memory, what / 8 == 1 ? LONG_ROOM : how, MSG_NOSIGNAL | MSG_DONTWAIT);
        break;
    case 2:
        peer_says(data, bytes);
        break;
    case 3:
        post_receive(how);
        break;
    case 4:
        post_send(how, fuzz_byte(data, bytes));
        break;
    case 5:
        peer_reads(how);
        break;
    case 6:
        if (what / 8 == 31) {
            shutdown(s.peer, (how & 1) != 0 ? SHUT_WR : SHUT_RDWR);
        }
        break;
    default:
        poll_all();
    }
}

static void scene_open(uint8_t how)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    int pair[2], room = 4096;
    memset(&s, 0, sizeof s);
    fake_host_init(&s.fake, "fuzz");
    for (size_t i = 0; i < sizeof s.memory; i++) {
        s.memory[i] = (uint8_t)i;
    }
    s.net = (weft_net_t){.host = &s.fake.host};
    s.device = (weft_net_device_t){.host = &s.fake.host, .net = &s.net};
    s.device.epoll = epoll_create1(EPOLL_CLOEXEC);
    FUZZ_NEED(s.device.epoll >= 0);
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_NEED(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    s.conn = sock_conn_create(&s.device, 1, label);
    FUZZ_NEED(s.conn != NULL);
    s.conn->streams[0].fd = pair[0];
    s.peer = pair[1];
    sock_conn_ready(s.conn);
    s.device.busy += (how & MANY) != 0 ? 1000 : 0;
}

static void scene_close(void)
{
    sock_conn_close(s.conn);
    close(s.peer);
    close(s.device.epoll);
    for (uint32_t i = 0; i < OPEN_MOST; i++) {
        free(s.buffers[i]);
        free(s.rests[i]);
    }
    FUZZ_NEED(s.device.conns == NULL && atomic_load(&s.fake.live) == 0);
    fake_host_fini(&s.fake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    scene_open(fuzz_byte(&data, &bytes));
    for (int i = 0; bytes > 0 && i < STEPS_MOST; i++) {
        step(&data, &bytes);
    }
    poll_all();
    shutdown(s.peer, SHUT_WR);
    poll_all();
    scene_close();
    return 0;
}
