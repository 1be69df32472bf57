/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket with two rails: two ends of one connection in this process, joined by
 * pairs of sockets, of which some are cut. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ends.h"
#include "silent_tcp.h"
#include "sock_poll.h"
#include "sock_rails.h"
#include "tests/support/unit.h"

enum { RAILS = 2, STREAMS = 4, LARGE = 300000, SMALL = 100, POLLS = 10000 };

typedef struct side {
    weft_net_device_t device;
    weft_net_conn_t *conn;
    uint32_t done;
    weft_status_t status; /* of the last completion */
} side_t;

typedef struct fixture {
    instance_t instance;
    side_t sides[2];
    uint8_t from[8][LARGE], to[8][LARGE];
} fixture_t;

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    int there[STREAMS];
    assert_non_null(f);
    instance_begin(&f->instance);
    for (uint32_t i = 0; i < 2; i++) {
        side_t *side = &f->sides[i];
        device_begin(&f->instance, &side->device);
        side->conn = end_create(&side->device, STREAMS);
        assert_int_equal(sock_rails_create(side->conn, RAILS), WEFT_OK);
        side->conn->info.connector = i;
    }
    end_join(f->sides[0].conn, there);
    for (uint32_t s = 0; s < STREAMS; s++) {
        f->sides[1].conn->streams[s].fd = there[s];
    }
    sock_conn_ready(f->sides[1].conn);
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < LARGE; k++) {
            f->from[i][k] = (uint8_t)(k * 7 + k / 251 + i);
        }
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    for (uint32_t i = 0; i < 2; i++) {
        sock_conn_close(f->sides[i].conn);
        device_end(&f->sides[i].device);
    }
    instance_end(&f->instance);
    free(f);
    return 0;
}

static void post(fixture_t *f, uint32_t side, uint32_t kind, uint32_t number, uint64_t bytes)
{
    uint8_t *buffer = kind == WEFT_NET_SEND ? f->from[number] : f->to[number];
    end_post(f->sides[side].conn, kind, buffer, bytes);
}

static void poll_side(fixture_t *f, uint32_t i)
{
    side_t *side = &f->sides[i];
    weft_net_completion_t done[8];
    uint32_t count;
    assert_int_equal(sock_poll(&side->device, done, 8, &count), WEFT_OK);
    for (uint32_t k = 0; k < count; k++) {
        side->status = done[k].status;
        side->done++;
    }
}

static void poll_until(fixture_t *f, uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i < POLLS && (f->sides[0].done < first || f->sides[1].done < second);
         i++) {
        poll_side(f, 0);
        poll_side(f, 1);
    }
    assert_int_equal(f->sides[0].done, first);
    assert_int_equal(f->sides[1].done, second);
    assert_int_equal(f->sides[0].status, WEFT_OK);
    assert_int_equal(f->sides[1].status, WEFT_OK);
}

static void expect_same(const fixture_t *f, uint32_t first, uint32_t count, uint64_t bytes)
{
    for (uint32_t i = first; i < first + count; i++) {
        assert_memory_equal(f->from[i], f->to[i], bytes);
    }
}

static void a_large_message_uses_all_rails(void **state)
{
    fixture_t *f = *state;
    post(f, 1, WEFT_NET_RECV, 0, LARGE);
    post(f, 0, WEFT_NET_SEND, 0, LARGE);
    poll_until(f, 1, 1);
    expect_same(f, 0, 1, LARGE);
    assert_true(f->sides[1].conn->rails->tracks[0].received > 0);
    assert_true(f->sides[1].conn->rails->tracks[2].received > 0);
    assert_int_equal(f->sides[1].conn->rails->tracks[1].received, 0);
}

static void a_send_is_complete_when_the_peer_has_it(void **state)
{
    fixture_t *f = *state;
    post(f, 0, WEFT_NET_SEND, 0, SMALL);
    for (uint32_t i = 0; i < 100; i++) {
        poll_side(f, 0);
    }
    assert_int_equal(f->sides[0].done, 0);
    post(f, 1, WEFT_NET_RECV, 0, SMALL);
    poll_until(f, 1, 1);
    expect_same(f, 0, 1, SMALL);
}

/* Five messages of which nobody takes the first do not keep back what says that another arrived. */
static void acknowledgements_do_not_wait_behind_messages(void **state)
{
    fixture_t *f = *state;
    for (uint32_t i = 0; i < 5; i++) {
        post(f, 1, WEFT_NET_SEND, i, SMALL);
    }
    post(f, 1, WEFT_NET_RECV, 5, LARGE);
    post(f, 0, WEFT_NET_SEND, 5, LARGE);
    poll_until(f, 1, 1);
    expect_same(f, 5, 1, LARGE);
}

static void lose(fixture_t *f, uint32_t stream)
{
    shutdown(f->sides[0].conn->streams[stream].fd, SHUT_RDWR);
}

/* Whatever had been sent when a rail goes, all arrives, once, both ways. */
static void a_lost_rail_costs_nothing(void **state)
{
    fixture_t *f = *state;
    static const uint32_t streams[] = {0, 1, 2, 3};
    for (uint32_t s = 0; s < 4; s++) {
        for (uint32_t polls = 0; polls < 24; polls += 3) {
            void *inner;
            set_up(&inner);
            fixture_t *g = inner;
            for (uint32_t i = 0; i < 4; i++) {
                uint64_t bytes = i == 2 ? SMALL : LARGE;
                post(g, 1, WEFT_NET_RECV, i, bytes);
                post(g, 0, WEFT_NET_RECV, i + 4, bytes);
                post(g, 0, WEFT_NET_SEND, i, bytes);
                post(g, 1, WEFT_NET_SEND, i + 4, bytes);
            }
            for (uint32_t i = 0; i < polls; i++) {
                poll_side(g, i % 2);
            }
            lose(g, streams[s]);
            poll_until(g, 8, 8);
            for (uint32_t i = 0; i < 8; i++) {
                expect_same(g, i, 1, i % 4 == 2 ? SMALL : LARGE);
            }
            tear_down(&inner);
        }
    }
    assert_int_equal(f->sides[0].done, 0);
}

const struct tcp_info said_of_silent = {.tcpi_unacked = 1,
                                        .tcpi_retransmits = 1,
                                        .tcpi_last_ack_recv = 60000,
                                        .tcpi_last_data_recv = 60000};
const struct tcp_info said_of_others = {.tcpi_last_data_recv = 60000};

static uint64_t clock_that_runs(const weft_host_t *host)
{
    static uint64_t now = 1000000000;
    (void)host;
    return now += 100000000;
}

/* A rail goes when the data have arrived and what acknowledges them is under way: the sender's TCP
 * has nothing to repeat, the receiver's has. `rail` loses what side 1 writes on it. */
static void expect_answers(fixture_t *f, uint32_t rail, uint32_t first, uint32_t second)
{
    uint8_t lost[4096];
    for (uint32_t s = 2 * rail; s < 2 * rail + 2; s++) {
        silent_fds |= 1u << f->sides[1].conn->streams[s].fd;
    }
    for (uint32_t i = 0; i < POLLS && (f->sides[0].done < first || f->sides[1].done < second);
         i++) {
        poll_side(f, 1);
        for (uint32_t s = 2 * rail; s < 2 * rail + 2; s++) {
            while (f->sides[0].conn->streams[s].fd >= 0 &&
                   recv(f->sides[0].conn->streams[s].fd, lost, sizeof lost, MSG_DONTWAIT) > 0) {
            }
        }
        poll_side(f, 0);
    }
    silent_fds = 0;
    assert_int_equal(f->sides[0].done, first);
    assert_int_equal(f->sides[1].done, second);
    expect_same(f, 0, 1, LARGE);
}

static void an_acknowledgement_that_is_lost_costs_nothing(void **state)
{
    (void)state;
    for (uint32_t rail = 0; rail < RAILS; rail++) {
        void *inner;
        set_up(&inner);
        fixture_t *g = inner;
        g->instance.fake.host.clock_ns = clock_that_runs;
        post(g, 1, WEFT_NET_RECV, 0, LARGE);
        post(g, 0, WEFT_NET_SEND, 0, LARGE);
        expect_answers(g, rail, 1, 1);
        tear_down(&inner);
    }
}

static void the_last_rail_is_the_connection(void **state)
{
    fixture_t *f = *state;
    post(f, 0, WEFT_NET_RECV, 0, LARGE);
    for (uint32_t s = 0; s < STREAMS; s++) {
        close(f->sides[1].conn->streams[s].fd);
        f->sides[1].conn->streams[s].fd = -1;
    }
    for (uint32_t i = 0; i < POLLS && f->sides[0].done == 0; i++) {
        poll_side(f, 0);
    }
    assert_int_equal(f->sides[0].done, 1);
    assert_int_equal(f->sides[0].status, WEFT_ERR_PEER_DEAD);
}

static void expect_refused(uint32_t stream, sock_header_t header)
{
    void *inner;
    set_up(&inner);
    fixture_t *f = inner;
    post(f, 0, WEFT_NET_RECV, 0, SMALL);
    assert_int_equal(
        send(f->sides[1].conn->streams[stream].fd, &header, sizeof header, MSG_NOSIGNAL),
        sizeof header);
    for (uint32_t i = 0; i < 10; i++) {
        poll_side(f, 0);
    }
    assert_int_equal(f->sides[0].done, 1);
    assert_int_equal(f->sides[0].status, WEFT_ERR_PROTO);
    tear_down(&inner);
}

/* The program has unmapped what it sends. */
static void memory_that_is_none_costs_no_rail(void **state)
{
    fixture_t *f = *state;
    side_t *side = &f->sides[0];
    char text[512];
    void *none = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(none, MAP_FAILED);
    end_post(side->conn, WEFT_NET_SEND, none, LARGE);
    for (uint32_t i = 0; i < POLLS && side->done == 0; i++) {
        poll_side(f, 0);
    }
    assert_int_equal(side->done, 1);
    assert_int_equal(side->status, WEFT_ERR_SYSTEM);
    assert_int_equal(side->conn->rails->cut, 0);
    weft_net_op_t next = {.kind = WEFT_NET_SEND, .buffer = f->from[0], .bytes = SMALL};
    uint32_t posted = 0;
    assert_int_equal(sock_post(side->conn, &next, 1, &posted), WEFT_ERR_SYSTEM);
    fake_host_take_error(&f->instance.fake, text, sizeof text);
    assert_non_null(strstr(text, "the memory of a message"));
    munmap(none, LARGE);
}

static void wrong_records_end_the_connection(void **state)
{
    const uint64_t ack = (uint64_t)SOCK_KIND_ACK << SOCK_KIND_SHIFT;
    const uint64_t cut = (uint64_t)SOCK_KIND_CUT << SOCK_KIND_SHIFT;
    (void)state;
    expect_refused(0, (sock_header_t){.message = 1, .total = ack});
    expect_refused(0, (sock_header_t){.message = UINT32_MAX, .total = ack});
    expect_refused(0, (sock_header_t){.length = 1, .total = ack});
    expect_refused(0, (sock_header_t){.total = ack + 1});
    expect_refused(0, (sock_header_t){.total = UINT64_C(9) << SOCK_KIND_SHIFT});
    expect_refused(0, (sock_header_t){.offset = STREAMS, .total = cut});
    expect_refused(0, (sock_header_t){.offset = 0, .total = cut});
    expect_refused(0, (sock_header_t){.message = 1, .offset = 2, .total = cut});
}

/* The buffer would be the caller's again while the kernel still waits for its bytes. */
static void what_was_not_sent_cannot_be_acknowledged(void **state)
{
    const uint64_t ack = (uint64_t)SOCK_KIND_ACK << SOCK_KIND_SHIFT;
    fixture_t *f = *state;
    int few = 4096;
    for (uint32_t s = 0; s < STREAMS; s++) {
        int fd = f->sides[0].conn->streams[s].fd;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    }
    post(f, 0, WEFT_NET_SEND, 0, LARGE);
    const sock_stream_t *stream = &f->sides[0].conn->streams[0];
    assert_true(stream->out_at < stream->out_count);
    sock_header_t header = {.message = sock_rails_track(stream)->sent, .total = ack};
    assert_int_equal(send(f->sides[1].conn->streams[0].fd, &header, sizeof header, MSG_NOSIGNAL),
                     sizeof header);
    for (uint32_t i = 0; i < 10; i++) {
        poll_side(f, 0);
    }
    assert_int_equal(f->sides[0].done, 1);
    assert_int_equal(f->sides[0].status, WEFT_ERR_PROTO);
    assert_non_null(strstr(f->instance.fake.error, "wrong control record"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_large_message_uses_all_rails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_send_is_complete_when_the_peer_has_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(acknowledgements_do_not_wait_behind_messages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_lost_rail_costs_nothing, set_up, tear_down),
        cmocka_unit_test(an_acknowledgement_that_is_lost_costs_nothing),
        cmocka_unit_test_setup_teardown(the_last_rail_is_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_none_costs_no_rail, set_up, tear_down),
        cmocka_unit_test(wrong_records_end_the_connection),
        cmocka_unit_test_setup_teardown(what_was_not_sent_cannot_be_acknowledged, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
