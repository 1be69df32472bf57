/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the SDK's messages over a stream socket: one end is the stream, the other one a
 * second stream or the test itself, which writes what no stream would. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/frame.h>
#include <weft/sdk/message_stream.h>

#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#define LARGE (1u << 20)
#define VISITS 100000 /* far more than any case needs */

static fake_host_t fake;
static weft_op_done_t done;
static weft_message_stream_t streams[2];
static weft_message_stream_t *const a = &streams[0];
static weft_message_stream_t *b; /* b has no socket in cases where the test plays the peer */
static int peer = -1;
static uint8_t out[LARGE], in[LARGE];

static void stream_open(weft_message_stream_t *stream, int fd, const char *name)
{
    weft_message_stream_init(stream, &fake.host, fd, name, (weft_net_conn_t *)stream, &done);
}

static int bed_init(void **state)
{
    int fds[2];
    (void)state;
    fake_host_init(&fake, "test");
    memset(&done, 0, sizeof done);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        return 1;
    }
    memset(streams, 0, sizeof streams);
    stream_open(a, fds[0], "a's peer");
    peer = fds[1];
    for (uint32_t i = 0; i < LARGE; i++) {
        out[i] = (uint8_t)(i * 7 + i / 251);
    }
    memset(in, 0, sizeof in);
    return 0;
}

static void second_stream(void)
{
    b = &streams[1];
    stream_open(b, peer, "b's peer");
    peer = -1;
}

static int bed_fini(void **state)
{
    (void)state;
    weft_message_stream_close(a);
    if (b != NULL) {
        weft_message_stream_close(b);
        b = NULL;
    }
    if (peer >= 0) {
        close(peer);
        peer = -1;
    }
    fake_host_fini(&fake);
    return 0;
}

static weft_status_t post(weft_message_stream_t *stream, uint32_t kind, void *buffer,
                          uint64_t bytes)
{
    weft_net_op_t op = {.kind = kind, .buffer = buffer, .bytes = bytes, .context = buffer};
    uint32_t posted = 0;
    weft_status_t status = weft_message_stream_post(stream, &op, 1, &posted);
    assert_int_equal(posted, status == WEFT_OK);
    return status;
}

/* Makes both streams go on until one completion is there. */
static weft_net_completion_t complete(void)
{
    weft_net_completion_t completion = {.status = WEFT_ERR_TIMEOUT};
    for (int i = 0; i < VISITS && weft_op_done_take(&done, &completion, 1) == 0; i++) {
        weft_message_stream_progress(a);
        if (b != NULL) {
            weft_message_stream_progress(b);
        }
    }
    return completion;
}

static void expect_receive(void *buffer, uint64_t bytes)
{
    weft_net_completion_t completion;
    do {
        completion = complete();
        assert_int_equal(completion.status, WEFT_OK);
    } while (completion.kind != WEFT_NET_RECV);
    assert_ptr_equal(completion.context, buffer);
    assert_int_equal(completion.bytes, bytes);
}

static void write_frame(uint32_t number, uint64_t bytes, const void *payload, size_t payload_bytes)
{
    uint8_t wire[WEFT_FRAME_BYTES];
    weft_frame_write(wire, number, bytes);
    assert_int_equal(write(peer, wire, sizeof wire), sizeof wire);
    if (payload_bytes > 0) {
        assert_int_equal(write(peer, payload, payload_bytes), payload_bytes);
    }
}

static void expect_failure(weft_status_t status, const char *text)
{
    assert_int_equal(complete().status, status);
    assert_string_equal(fake.error, text);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 1), status);
    assert_string_equal(fake.error, "connection to peer a's peer ended before");
}

static void messages_of_all_sizes_arrive(void **state)
{
    static const uint64_t sizes[] = {0, 1, 100, WEFT_STREAM_STAGE, WEFT_STREAM_STAGE + 1, LARGE, 5};
    (void)state;
    second_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(in, 0, sizeof in);
        assert_int_equal(post(b, WEFT_NET_RECV, in, LARGE), WEFT_OK);
        assert_int_equal(post(a, WEFT_NET_SEND, out, sizes[i]), WEFT_OK);
        expect_receive(in, sizes[i]);
        assert_memory_equal(in, out, sizes[i]);
        assert_int_equal(in[sizes[i] % LARGE], sizes[i] == LARGE ? out[0] : 0);
        while (weft_message_stream_events(a) != 0) {
            assert_int_equal(complete().kind, WEFT_NET_SEND);
        }
    }
}

static void a_small_message_leaves_with_its_post(void **state)
{
    uint8_t wire[WEFT_FRAME_BYTES + 10];
    (void)state;
    assert_int_equal(post(a, WEFT_NET_SEND, out, 10), WEFT_OK);
    assert_int_equal(read(peer, wire, sizeof wire), sizeof wire);
    assert_memory_equal(wire + WEFT_FRAME_BYTES, out, 10);
}

static void what_was_read_ahead_is_taken_by_the_next_post(void **state)
{
    (void)state;
    write_frame(0, 4, "abcd", 4);
    write_frame(1, 4, "efgh", 4);
    assert_int_equal(weft_message_stream_events(a), 0);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    assert_int_equal(weft_message_stream_events(a), POLLIN);
    expect_receive(in, 4);
    assert_false(weft_message_stream_goes_on(a));
    assert_int_equal(post(a, WEFT_NET_RECV, in + 8, 8), WEFT_OK);
    assert_memory_equal(in + 8, "efgh", 4);
    expect_receive(in + 8, 4);
}

static void a_full_queue_says_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WEFT_OP_SLOTS; i++) {
        assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    }
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_AGAIN);
    write_frame(0, 1, "x", 1);
    expect_receive(in, 1);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
}

static void a_message_longer_than_its_room_ends_the_connection(void **state)
{
    (void)state;
    write_frame(0, 9, "123456789", 9);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    expect_failure(WEFT_ERR_PROTO, "from peer a's peer: message 0 has 9 bytes, its receive has "
                                   "room for 8");
}

static void foreign_bytes_end_the_connection(void **state)
{
    (void)state;
    assert_int_equal(write(peer, "GET / HTTP/1.1\r\n", 16), 16);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    expect_failure(WEFT_ERR_PROTO,
                   "from peer a's peer: found bytes 47 45 54 20, expected the header "
                   "of message 0");
}

static void a_message_that_breaks_off_is_told(void **state)
{
    (void)state;
    write_frame(0, 1000, "12345", 5);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 1000), WEFT_OK);
    weft_message_stream_progress(a);
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    expect_failure(WEFT_ERR_PEER_DEAD,
                   "peer a's peer closed the connection after 5 of 1000 bytes of a message");
}

static void a_header_that_breaks_off_is_told(void **state)
{
    (void)state;
    assert_int_equal(write(peer, "wfr1", 4), 4);
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 1000), WEFT_OK);
    expect_failure(WEFT_ERR_PEER_DEAD,
                   "peer a's peer closed the connection after 4 of 16 bytes of a header");
}

/* The end of a peer fails sends at once, and receives once its last message was taken. */
static void what_was_sent_before_the_end_arrives(void **state)
{
    (void)state;
    write_frame(0, 4, "last", 4);
    close(peer);
    peer = -1;
    assert_int_equal(post(a, WEFT_NET_SEND, out, 10), WEFT_OK);
    assert_int_equal(complete().status, WEFT_ERR_PEER_DEAD);
    assert_int_equal(post(a, WEFT_NET_SEND, out, 10), WEFT_ERR_PEER_DEAD);
    assert_int_equal(weft_message_stream_check(a), WEFT_OK);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    expect_receive(in, 4);
    assert_int_equal(weft_message_stream_check(a), WEFT_ERR_PEER_DEAD);
    assert_string_equal(fake.error, "peer a's peer closed the connection");
}

static void cancel_completes_all_in_order(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 3; i++) {
        assert_int_equal(post(a, WEFT_NET_RECV, in + i, 1), WEFT_OK);
    }
    weft_message_stream_fail(a, WEFT_ERR_ABORTED);
    for (uint8_t i = 0; i < 3; i++) {
        weft_net_completion_t completion = complete();
        assert_int_equal(completion.status, WEFT_ERR_ABORTED);
        assert_ptr_equal(completion.context, in + i);
    }
    assert_int_equal(weft_message_stream_events(a), 0);
}

static void only_an_unused_stream_moves_to_another_device(void **state)
{
    static weft_op_done_t other;
    weft_net_completion_t completion;
    (void)state;
    assert_int_equal(weft_message_stream_attach(a, &other), WEFT_OK);
    write_frame(0, 0, NULL, 0);
    assert_int_equal(post(a, WEFT_NET_RECV, in, 8), WEFT_OK);
    weft_message_stream_progress(a);
    assert_int_equal(weft_op_done_take(&done, &completion, 1), 0);
    assert_int_equal(weft_op_done_take(&other, &completion, 1), 1);
    assert_int_equal(weft_message_stream_attach(a, &done), WEFT_ERR_STATE);
}

static void wrong_operations_are_refused(void **state)
{
    (void)state;
    assert_int_equal(post(a, 3, in, 8), WEFT_ERR_ARG);
    assert_int_equal(post(a, WEFT_NET_SEND, out, WEFT_STREAM_MESSAGE_MAX + 1), WEFT_ERR_ARG);
    assert_string_equal(fake.error, "cannot post an operation of kind 1 with 1073741825 bytes");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, bed_init, bed_fini)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(messages_of_all_sizes_arrive),
        CASE(a_small_message_leaves_with_its_post),
        CASE(what_was_read_ahead_is_taken_by_the_next_post),
        CASE(a_full_queue_says_again),
        CASE(a_message_longer_than_its_room_ends_the_connection),
        CASE(foreign_bytes_end_the_connection),
        CASE(a_message_that_breaks_off_is_told),
        CASE(a_header_that_breaks_off_is_told),
        CASE(what_was_sent_before_the_end_arrives),
        CASE(cancel_completes_all_in_order),
        CASE(only_an_unused_stream_moves_to_another_device),
        CASE(wrong_operations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
