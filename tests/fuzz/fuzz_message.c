/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The SDK's messages over a stream socket. The input is a list of what happens: the peer sends
 * messages, headers that are nearly right and anything else, in pieces of any length, and reads;
 * this end posts, polls and gives up. Receives get the messages of a peer that sends nothing else,
 * buffers hold what was asked for and nothing behind it, and what the peer reads is what was
 * posted. */
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/frame.h>
#include <weft/sdk/message_stream.h>

#include "fuzz.h"
#include "tests/support/fake_host.h"

enum { OPEN_MOST = 24, ROOM = 96, LONG_ROOM = 9000, STEPS_MOST = 300 };

/* A message, either way. */
typedef struct message {
    uint32_t bytes;
    uint8_t first; /* its bytes count up from here */
} message_t;

typedef struct scene {
    fake_host_t fake;
    weft_op_done_t done;
    weft_message_stream_t stream;
    int peer;
    bool strange; /* the peer has sent something else */
    uint8_t *buffers[OPEN_MOST];
    uint32_t rooms[OPEN_MOST];
    message_t said[STEPS_MOST], sent[STEPS_MOST];
    uint32_t nsaid, receives, received, sends, sends_done;
    uint8_t memory[LONG_ROOM + 256];
    /* What the peer has read. */
    uint8_t header[WEFT_FRAME_BYTES];
    uint32_t have, at, message;
} scene_t;

static scene_t s;

static void check_received(const weft_net_completion_t *completion)
{
    uint32_t number = s.received++;
    const uint8_t *buffer = s.buffers[number];
    FUZZ_NEED(completion->context == &s.rooms[number]);
    if (completion->status != WEFT_OK) {
        return;
    }
    FUZZ_NEED(completion->bytes <= s.rooms[number]);
    if (!s.strange) {
        FUZZ_NEED(number < s.nsaid && completion->bytes == s.said[number].bytes);
        FUZZ_NEED(memcmp(buffer, s.memory + s.said[number].first, completion->bytes) == 0);
    }
}

static void poll_all(void)
{
    weft_net_completion_t completions[4];
    uint32_t count;
    weft_message_stream_progress(&s.stream);
    FUZZ_NEED(weft_message_stream_events(&s.stream) != 0 ||
              !weft_message_stream_goes_on(&s.stream));
    while ((count = weft_op_done_take(&s.done, completions, 4)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_NEED(completions[i].conn == (weft_net_conn_t *)&s.stream);
            if (completions[i].context == NULL) {
                FUZZ_NEED(++s.sends_done <= s.sends);
            } else {
                FUZZ_NEED(s.received < s.receives);
                check_received(&completions[i]);
            }
        }
    }
    FUZZ_NEED(s.stream.failed == WEFT_OK || (s.received == s.receives && s.sends_done == s.sends));
}

static uint32_t post(const weft_net_op_t *op)
{
    uint32_t posted = 0;
    weft_status_t status = weft_message_stream_post(&s.stream, op, 1, &posted);
    FUZZ_NEED(posted <= 1 && (posted == 1) == (status == WEFT_OK));
    return posted;
}

static void post_receive(uint8_t how)
{
    uint32_t i = s.receives, room = (how & 1) != 0 ? LONG_ROOM : how % ROOM;
    if (i == OPEN_MOST) {
        return;
    }
    s.buffers[i] = malloc(room + (room == 0));
    FUZZ_NEED(s.buffers[i] != NULL);
    s.rooms[i] = room;
    const weft_net_op_t op = {.kind = how == 254 ? 7 : WEFT_NET_RECV,
                              .buffer = s.buffers[i],
                              .bytes = room,
                              .context = &s.rooms[i]};
    s.receives++;
    if (post(&op) == 0) {
        s.receives--;
        free(s.buffers[i]);
        s.buffers[i] = NULL;
    }
}

static void post_send(uint8_t how, uint8_t first)
{
    if (s.sends == STEPS_MOST) {
        return;
    }
    s.sent[s.sends] =
        (message_t){.bytes = (how & 1) != 0 ? LONG_ROOM : (uint32_t)how >> 1, .first = first};
    const weft_net_op_t op = {
        .kind = WEFT_NET_SEND, .buffer = s.memory + first, .bytes = s.sent[s.sends].bytes};
    s.sends++;
    s.sends -= 1 - post(&op);
}

static void say(const void *bytes, size_t count)
{
    /* What the socket has no room for is missing in the stream. */
    s.strange =
        send(s.peer, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)count || s.strange;
}

static void say_message(uint8_t how, uint8_t first)
{
    uint8_t header[WEFT_FRAME_BYTES];
    uint32_t bytes = (how & 1) != 0 ? LONG_ROOM : (uint32_t)how >> 1;
    if (s.nsaid == STEPS_MOST) {
        return;
    }
    weft_frame_write(header, s.nsaid, bytes);
    s.said[s.nsaid++] = (message_t){.bytes = bytes, .first = first};
    say(header, sizeof header);
    say(s.memory + first, bytes);
}

/* A header that is nearly right, and bytes. */
static void say_anything(uint8_t how, const uint8_t **data, size_t *bytes)
{
    uint8_t header[WEFT_FRAME_BYTES], number;
    uint64_t length;
    number = fuzz_byte(data, bytes);
    fuzz_take(data, bytes, &length, sizeof length);
    weft_frame_write(header, (how & 1) != 0 ? s.received : number, length % LONG_ROOM);
    header[how % sizeof header] ^= (how & 2) != 0 ? number : 0;
    s.strange = true;
    say(header, (how & 4) != 0 ? sizeof header : number % sizeof header);
    size_t count = how < *bytes ? how : *bytes;
    say(*data, count);
    *data += count;
    *bytes -= count;
}

static void peer_takes(uint8_t byte)
{
    char why[WEFT_FRAME_TEXT];
    uint64_t bytes;
    if (s.have < sizeof s.header) {
        s.header[s.have++] = byte;
    } else {
        FUZZ_NEED(byte == (uint8_t)(s.sent[s.message].first + s.at));
        s.at++;
    }
    if (s.have == sizeof s.header) {
        FUZZ_NEED(s.message < s.sends);
        FUZZ_NEED(weft_frame_read(s.header, s.message, LONG_ROOM, &bytes, why));
        FUZZ_NEED(bytes == s.sent[s.message].bytes);
        if (s.at == bytes) {
            s.have = s.at = 0;
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

static void end(uint8_t how)
{
    switch (how % 4) {
    case 0:
        shutdown(s.peer, SHUT_WR);
        break;
    case 1:
        shutdown(s.peer, SHUT_RDWR);
        break;
    case 2:
        weft_message_stream_fail(&s.stream, WEFT_ERR_ABORTED);
        break;
    default:
        FUZZ_NEED(weft_message_stream_check(&s.stream) == WEFT_OK || s.stream.failed != WEFT_OK);
        FUZZ_NEED(weft_message_stream_attach(&s.stream, &s.done) == WEFT_OK ||
                  s.receives + s.sends > 0 || s.stream.failed != WEFT_OK);
    }
}

static void step(const uint8_t **data, size_t *bytes)
{
    uint8_t what = fuzz_byte(data, bytes), how = fuzz_byte(data, bytes);
    switch (what % 8) {
    case 0:
    case 1:
        say_message(how, what);
        break;
    case 2:
        say_anything(how, data, bytes);
        break;
    case 3:
        post_receive(how);
        break;
    case 4:
        post_send(how, what);
        break;
    case 5:
        peer_reads(how);
        break;
    case 6:
        if (what / 8 == 31) {
            end(how);
        }
        break;
    default:
        poll_all();
    }
}

static void scene_open(void)
{
    int pair[2], room = 4096;
    memset(&s, 0, sizeof s);
    fake_host_init(&s.fake, "fuzz");
    for (size_t i = 0; i < sizeof s.memory; i++) {
        s.memory[i] = (uint8_t)i;
    }
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_NEED(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    weft_message_stream_init(&s.stream, &s.fake.host, pair[0], "peer", (weft_net_conn_t *)&s.stream,
                             &s.done);
    s.peer = pair[1];
}

static void scene_close(void)
{
    weft_message_stream_close(&s.stream);
    close(s.peer);
    for (uint32_t i = 0; i < OPEN_MOST; i++) {
        free(s.buffers[i]);
    }
    FUZZ_NEED(s.done.first == NULL && atomic_load(&s.fake.live) == 0);
    fake_host_fini(&s.fake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    scene_open();
    for (int i = 0; bytes > 0 && i < STEPS_MOST; i++) {
        step(&data, &bytes);
    }
    poll_all();
    shutdown(s.peer, SHUT_WR);
    poll_all();
    scene_close();
    return 0;
}
