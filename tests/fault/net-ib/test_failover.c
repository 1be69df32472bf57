/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection over several rails that loses some. Every message still arrives, once and
 * unchanged, and every operation completes once. Without a rail left, or without the option, the
 * error has a type. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

#define MOMENTS_MAX 400u

static const char *const two_rails[] = {"rails=2", "split_bytes=4K", "adaptive_routing=on", NULL};
static const char *const four_rails[] = {"rails=4", "qps=2", "split_bytes=4K", NULL};

static bool says(const traffic_t *traffic, const char *words)
{
    return strstr(traffic->sides[0].cause, words) != NULL ||
           strstr(traffic->sides[1].cause, words) != NULL;
}

/* Runs one exchange with one fault. Returns false if the exchange has fewer moments. */
static bool lost_once(const fake_fault_t *fault, bool losable, uint32_t *recovered_p)
{
    traffic_t traffic = {.wait = fault->nth % 4 == 0};
    fake_setup(2);
    fake_fault(fault);
    assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    traffic_poll(&traffic, 600);
    bool happened = fake_happened();
    bool acked = says(&traffic, "what its adapter acknowledged");
    if (losable && acked) {
        assert_true(traffic.failed > 0);
        traffic_verify(&traffic);
    } else {
        traffic_check_all(&traffic, fake_kind_name(fault->kind), fault->nth);
        *recovered_p += traffic_log_says(&traffic, "recovered in") ? 1 : 0;
    }
    traffic_end(&traffic);
    return happened;
}

static void at_every_moment(fake_act_t act, fake_kind_t kind, bool losable)
{
    static const int statuses[] = {IBV_WC_RETRY_EXC_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_GENERAL_ERR,
                                   IBV_WC_WR_FLUSH_ERR};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        fake_fault_t fault = {.act = act, .kind = kind, .nth = 1, .value = statuses[i]};
        uint32_t recovered = 0;
        while (lost_once(&fault, losable, &recovered)) {
            fault.nth++;
            assert_true(fault.nth < MOMENTS_MAX);
        }
        /* Nothing waits for the acknowledgement of the last credits. */
        assert_true(fault.nth > (kind == FAKE_WRITE ? 5 : 15));
        assert_true(losable || recovered > fault.nth * 2 / 3);
    }
}

static void requests_that_did_not_arrive_are_sent_again(void **state)
{
    (void)state;
    at_every_moment(FAKE_STATUS, FAKE_WRITE, false);
    at_every_moment(FAKE_STATUS, FAKE_WRITE_IMM, false);
}

/* Data, immediate and credit arrived, but the sender is told that they did not. */
static void requests_that_arrived_without_an_acknowledgement_count_once(void **state)
{
    (void)state;
    at_every_moment(FAKE_AFTER, FAKE_WRITE, false);
    at_every_moment(FAKE_AFTER, FAKE_WRITE_IMM, false);
}

static void receives_that_fail_are_made_up_for(void **state)
{
    (void)state;
    at_every_moment(FAKE_STATUS, FAKE_RECV, false);
}

/* The sender's buffer may belong to the caller again by then, so the loss is reported, never
 * ignored. */
static void what_was_acknowledged_and_lost_is_an_error(void **state)
{
    (void)state;
    at_every_moment(FAKE_AFTER, FAKE_RECV, true);
}

/* Its descriptors stay readable. */
static void an_adapter_that_is_gone_ends_no_sleep(void **state)
{
    traffic_t traffic = {.wait = true};
    (void)state;
    fake_setup(2);
    assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
    fake_device_fatal(0);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    traffic_check_all(&traffic, "without an adapter", 0);
    for (int i = 0; i < 2; i++) {
        assert_false(side_wakes(&traffic.sides[i], 5));
    }
    traffic_end(&traffic);
}

static void errors_of_the_program_are_not_sent_again(void **state)
{
    static const int statuses[] = {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_ACCESS_ERR,
                                   IBV_WC_REM_INV_REQ_ERR, IBV_WC_RNR_RETRY_EXC_ERR};
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const fake_fault_t fault = {
            .act = FAKE_STATUS, .kind = FAKE_WRITE_IMM, .nth = 5, .value = statuses[i]};
        traffic_t traffic = {.wait = false};
        char word[24];
        fake_setup(2);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_true(traffic.failed > 0);
        snprintf(word, sizeof word, "(status %d,", statuses[i]);
        assert_true(says(&traffic, word));
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

typedef void lose_fn(uint32_t which);

static void lose_port(uint32_t which)
{
    fake_port_state(which % 2, 1, IBV_PORT_DOWN);
}

static void lose_adapter(uint32_t which)
{
    fake_device_fatal(which % 2);
}

/* Requests are flushed without a cause. */
static void lose_pair(uint32_t which)
{
    fake_qp_break(which % 6);
}

static void lose_pair_by_event(uint32_t which)
{
    fake_qp_event(which % 6, IBV_EVENT_QP_FATAL);
    fake_qp_break(which % 6);
}

/* Half of the messages are on their way. */
static void lose_midway(lose_fn *lose, uint32_t which)
{
    const fake_fault_t stall = {.act = FAKE_STALL, .kind = FAKE_WRITE_IMM, .nth = 3 + which * 2};
    traffic_t traffic = {.wait = which % 3 == 0};
    fake_setup(2);
    fake_fault(&stall);
    assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
    traffic_post(&traffic);
    traffic_poll(&traffic, which * 3);
    lose(which);
    fake_release();
    assert_true(traffic_wait(&traffic, 5));
    traffic_check_all(&traffic, "rail lost midway", which);
    traffic_end(&traffic);
}

static void rails_that_go_midway_are_made_up_for(void **state)
{
    static lose_fn *const ways[] = {lose_port, lose_adapter, lose_pair, lose_pair_by_event};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        for (uint32_t which = 0; which < 12; which++) {
            lose_midway(ways[i], which);
        }
    }
}

static void adapters_that_refuse_requests_are_left(void **state)
{
    fake_fault_t fault = {.act = FAKE_FAIL, .call = FAKE_POST_SEND, .value = EIO};
    bool happened = true;
    (void)state;
    while (happened) {
        traffic_t traffic = {.wait = false};
        fault.nth++;
        fake_setup(2);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        traffic_check_all(&traffic, "post refused", fault.nth);
        happened = fake_happened();
        traffic_end(&traffic);
    }
    assert_true(fault.nth > 20);
}

/* The calls that failover makes may fail as well: then the error has a type. */
static void moves_that_fail_end_the_connection(void **state)
{
    static const fake_call_t calls[] = {FAKE_CREATE_QP, FAKE_MODIFY_QP, FAKE_POST_RECV};
    uint32_t ended = 0;
    (void)state;
    for (uint32_t i = 0; i < 30; i++) {
        const fake_fault_t lost = {
            .act = FAKE_STATUS, .kind = FAKE_WRITE_IMM, .nth = 4, .value = IBV_WC_RETRY_EXC_ERR};
        traffic_t traffic = {.wait = false};
        fake_setup(2);
        fake_fault(&lost);
        assert_int_equal(traffic_begin(&traffic, two_rails), WEFT_OK);
        const fake_fault_t fault = {.act = FAKE_FAIL,
                                    .call = calls[i % 3],
                                    .nth = fake_count_call(calls[i % 3]) + 1 + i / 3,
                                    .value = ENOSPC};
        fake_fault(&fault);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        ended += traffic.failed > 0 ? 1 : 0;
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
    assert_true(ended > 3);
}

static void without_a_rail_left_the_error_has_a_type(void **state)
{
    static const char *const hasty[] = {"rails=2", "port_patience=100ms", NULL};
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        const fake_fault_t stall = {.act = FAKE_STALL, .kind = FAKE_WRITE_IMM, .nth = 6};
        traffic_t traffic = {.wait = i % 2 == 1};
        fake_setup(2);
        fake_fault(&stall);
        assert_int_equal(traffic_begin(&traffic, hasty), WEFT_OK);
        traffic_post(&traffic);
        fake_port_state(i % 2, 1, IBV_PORT_DOWN);
        traffic_poll(&traffic, i / 2 * 300);
        fake_port_state(1 - i % 2, 1, IBV_PORT_DOWN);
        assert_true(traffic_wait(&traffic, 5));
        /* Between the two losses the other rail may have carried everything. */
        assert_true(traffic.failed > 0 || i / 2 > 0);
        if (traffic.failed > 0) {
            assert_true(says(&traffic, "is down") || says(&traffic, "no rail"));
            assert_true(strstr(traffic.sides[0].fake.log, "cannot go on over another") != NULL ||
                        strstr(traffic.sides[1].fake.log, "cannot go on over another") != NULL);
        }
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

static void without_the_option_the_error_has_a_type(void **state)
{
    static const char *const on[] = {"rails=2", NULL}, *const off[] = {"rails=2", "failover=no",
                                                                       NULL};
    const fake_fault_t fault = {
        .act = FAKE_STATUS, .kind = FAKE_WRITE_IMM, .nth = 5, .value = IBV_WC_RETRY_EXC_ERR};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        traffic_t traffic = {.wait = false};
        fake_setup(2);
        fake_fault(&fault);
        assert_int_equal(traffic_begin_sides(&traffic, i == 0 ? on : off, i == 1 ? on : off),
                         WEFT_OK);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_true(traffic.failed > 0);
        assert_true(says(&traffic, "(status 12,"));
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

static void a_peer_that_does_not_answer_is_waited_for_in_vain(void **state)
{
    static const char *const hasty[] = {"rails=2", "failover_patience=50ms", NULL};
    const fake_fault_t fault = {
        .act = FAKE_STATUS, .kind = FAKE_WRITE_IMM, .nth = 1, .value = IBV_WC_RETRY_EXC_ERR};
    weft_net_completion_t done;
    uint8_t room[64];
    weft_net_op_t op = {.kind = WEFT_NET_RECV, .buffer = room, .bytes = sizeof room};
    traffic_t traffic = {.wait = false};
    uint32_t count = 0;
    (void)state;
    fake_setup(2);
    fake_fault(&fault);
    assert_int_equal(traffic_begin(&traffic, hasty), WEFT_OK);
    traffic_side_t *side = &traffic.sides[0];
    assert_int_equal(traffic.ops->post(side->conn, &op, 1, &count), WEFT_OK);
    double end = traffic_now() + 5;
    do {
        assert_int_equal(traffic.ops->poll(side->device, &done, 1, &count), WEFT_OK);
        assert_true(traffic_now() < end);
    } while (count == 0);
    assert_int_equal(done.status, WEFT_ERR_LINK);
    assert_non_null(strstr(side->fake.error, "does not answer"));
    traffic_end(&traffic);
}

/* Streams: many messages of random sizes in both directions, while the rails fail one after the
 * other. */
#define STREAM 1500u
#define WINDOW 24u
#define SIZE_MAX_STREAM 60000u

typedef struct stream {
    const weft_net_ops_t *ops;
    traffic_side_t *from, *to;
    uint32_t sent, received, sending, receiving; /* completed and posted */
    uint8_t *out[WINDOW], *in[WINDOW];
    uint32_t seed;
} stream_t;

static uint32_t stream_bytes(const stream_t *stream, uint32_t n)
{
    uint32_t x = (n + 1) * 2654435761u ^ stream->seed;
    x ^= x >> 13;
    x *= 2246822519u;
    x ^= x >> 16;
    /* A third is small. */
    return x % 3 == 0 ? x / 3 % 200 : x / 3 % SIZE_MAX_STREAM;
}

static uint8_t stream_byte(const stream_t *stream, uint32_t n, uint32_t k)
{
    return (uint8_t)(k * 131 + k / 256 * 7 + n * 29 + stream->seed);
}

static void stream_post(stream_t *stream)
{
    uint32_t count = 0;
    while (stream->receiving < STREAM && stream->receiving - stream->received < WINDOW) {
        weft_net_op_t op = {.kind = WEFT_NET_RECV,
                            .buffer = stream->in[stream->receiving % WINDOW],
                            .bytes = SIZE_MAX_STREAM,
                            .context = stream};
        assert_int_equal(stream->ops->post(stream->to->conn, &op, 1, &count), WEFT_OK);
        stream->receiving++;
    }
    while (stream->sending < STREAM && stream->sending - stream->sent < WINDOW) {
        uint32_t n = stream->sending, bytes = stream_bytes(stream, n);
        uint8_t *out = stream->out[n % WINDOW];
        for (uint32_t k = 0; k < bytes; k++) {
            out[k] = stream_byte(stream, n, k);
        }
        weft_net_op_t op = {
            .kind = WEFT_NET_SEND, .buffer = out, .bytes = bytes, .context = stream};
        assert_int_equal(stream->ops->post(stream->from->conn, &op, 1, &count), WEFT_OK);
        stream->sending++;
    }
}

static void stream_received(stream_t *stream, const weft_net_completion_t *done)
{
    uint32_t n = stream->received++, bytes = stream_bytes(stream, n);
    uint8_t *in = stream->in[n % WINDOW];
    assert_true(n < stream->receiving);
    assert_int_equal(done->bytes, bytes);
    for (uint32_t k = 0; k < bytes; k++) {
        if (in[k] != stream_byte(stream, n, k)) {
            fail_msg("message %u differs at byte %u of %u", n, k, bytes);
        }
    }
    memset(in, 0xee, bytes);
}

static void side_progress(const weft_net_ops_t *ops, traffic_side_t *side)
{
    weft_net_completion_t list[8];
    uint32_t count = 0;
    assert_int_equal(ops->poll(side->device, list, 8, &count), WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        stream_t *stream = list[i].context;
        if (list[i].status != WEFT_OK) {
            fail_msg("status %d: %s", (int)list[i].status, side->fake.error);
        }
        if (list[i].kind == WEFT_NET_RECV) {
            stream_received(stream, &list[i]);
        } else {
            /* A send's memory may change as soon as it is complete. */
            uint32_t n = stream->sent++;
            memset(stream->out[n % WINDOW], 0xdd, stream_bytes(stream, n));
        }
    }
}

static void streams_memory(stream_t *streams, bool begin)
{
    for (uint32_t i = 0; i < 2 * WINDOW; i++) {
        stream_t *stream = &streams[i / WINDOW];
        uint32_t slot = i % WINDOW;
        if (begin) {
            stream->out[slot] = test_malloc(SIZE_MAX_STREAM);
            stream->in[slot] = test_malloc(SIZE_MAX_STREAM);
        } else {
            test_free(stream->out[slot]);
            test_free(stream->in[slot]);
        }
    }
}

static void streams_run(uint32_t seed)
{
    traffic_t traffic = {.wait = false};
    stream_t streams[2] = {{.seed = seed}, {.seed = seed * 77 + 1}};
    static const fake_act_t acts[] = {FAKE_STATUS, FAKE_AFTER};
    fake_setup(4);
    fake_reorder(seed % 2 == 0 ? seed : 0);
    streams_memory(streams, true);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t nth = 200 + 900 * i + seed * 37 % 800;
        const fake_fault_t fault = {.act = acts[(seed + i) % 2],
                                    .kind = FAKE_WRITE_IMM,
                                    .nth = nth,
                                    .value = IBV_WC_RETRY_EXC_ERR};
        fake_fault(&fault);
    }
    assert_int_equal(traffic_begin(&traffic, four_rails), WEFT_OK);
    for (uint32_t i = 0; i < 2; i++) {
        streams[i].ops = traffic.ops;
        streams[i].from = &traffic.sides[i];
        streams[i].to = &traffic.sides[1 - i];
    }
    double end = traffic_now() + 60;
    while (streams[0].sent + streams[0].received + streams[1].sent + streams[1].received <
           4 * STREAM) {
        stream_post(&streams[0]);
        stream_post(&streams[1]);
        side_progress(traffic.ops, &traffic.sides[0]);
        side_progress(traffic.ops, &traffic.sides[1]);
        assert_true(traffic_now() < end);
    }
    assert_true(fake_happened());
    assert_true(traffic_log_says(&traffic, "recovered in"));
    traffic_end(&traffic);
    streams_memory(streams, false);
}

static void streams_survive_one_rail_after_the_other(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        streams_run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_did_not_arrive_are_sent_again),
        cmocka_unit_test(requests_that_arrived_without_an_acknowledgement_count_once),
        cmocka_unit_test(receives_that_fail_are_made_up_for),
        cmocka_unit_test(what_was_acknowledged_and_lost_is_an_error),
        cmocka_unit_test(an_adapter_that_is_gone_ends_no_sleep),
        cmocka_unit_test(errors_of_the_program_are_not_sent_again),
        cmocka_unit_test(rails_that_go_midway_are_made_up_for),
        cmocka_unit_test(adapters_that_refuse_requests_are_left),
        cmocka_unit_test(moves_that_fail_end_the_connection),
        cmocka_unit_test(without_a_rail_left_the_error_has_a_type),
        cmocka_unit_test(without_the_option_the_error_has_a_type),
        cmocka_unit_test(a_peer_that_does_not_answer_is_waited_for_in_vain),
        cmocka_unit_test(streams_survive_one_rail_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
