/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fake iWARP adapters: they have no immediates, their acceptor must not send first, a message
 * without a posted receive ends the connection, and only the connection manager connects queue
 * pairs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

static void adapters(uint32_t count, uint32_t max_inline)
{
    static const fake_cm_t nothing;
    fake_setup(count);
    fake_cm(&nothing);
    for (uint32_t i = 0; i < count; i++) {
        fake_device(i)->transport = IBV_TRANSPORT_IWARP;
        fake_device(i)->max_inline = max_inline;
        fake_device(i)->ports[0].attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    }
}

static void check_with(const char *const *settings, bool on_device)
{
    static traffic_t traffic;
    traffic.on_device = on_device;
    assert_int_equal(traffic_run(&traffic, settings), WEFT_OK);
    assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
    assert_int_equal(traffic.failed, 0);
    assert_int_equal(fake_count_kind(FAKE_WRITE_IMM), 0);
    assert_true(fake_count_kind(FAKE_SEND) > 0 && fake_count_kind(FAKE_WRITE) > 0);
}

static void check(const char *const *settings)
{
    check_with(settings, false);
}

static void messages_arrive_without_immediates(void **state)
{
    static const char *const plain[] = {NULL};
    static const char *const cut[] = {"qps=4", "split_bytes=4K", NULL};
    static const char *const rails[] = {"rails=3", "qps=2", "split_bytes=4K", NULL};
    (void)state;
    adapters(1, 0);
    check(plain);
    adapters(1, 256);
    check(plain);
    adapters(1, 2);
    check(cut);
    adapters(3, 64);
    fake_reorder(7);
    check(rails);
}

static void messages_of_a_devices_memory_arrive(void **state)
{
    static const char *const plain[] = {"inline=256", NULL};
    static const char *const cut[] = {"qps=4", "split_bytes=4K", NULL};
    (void)state;
    adapters(1, 256);
    check_with(plain, true);
    check_with(cut, true);
}

static void messages_larger_than_a_request_arrive(void **state)
{
    static const char *const plain[] = {NULL};
    (void)state;
    adapters(1, 0);
    fake_device(0)->ports[0].attr.max_msg_sz = 20480;
    check(plain);
}

static void ports_in_use_are_tried_again(void **state)
{
    static const char *const settings[] = {"qps=2", NULL};
    static const fake_cm_t busy = {.listens_busy = 3, .connects_busy = 5};
    (void)state;
    adapters(1, 0);
    fake_cm(&busy);
    check(settings);
}

static void strangers_are_sent_away(void **state)
{
    static const char *const settings[] = {NULL};
    static const fake_cm_t crowd = {.strangers = 5};
    static traffic_t traffic;
    (void)state;
    adapters(1, 0);
    fake_cm(&crowd);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    assert_non_null(strstr(traffic.sides[1].fake.log, "a stranger asked for a queue pair"));
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 10));
    traffic_verify(&traffic);
    traffic_end(&traffic);
}

static void what_does_not_connect_is_named(void **state)
{
    static const char *const settings[] = {NULL};
    static const fake_cm_t lost = {.no_address = true};
    static const fake_cm_t full = {.listens_busy = 100};
    static const fake_cm_t crowded = {.connects_busy = 100};
    static traffic_t traffic;
    (void)state;
    adapters(1, 0);
    fake_cm(&lost);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[0].fake.error, "RDMA_CM_EVENT_ADDR_ERROR"));
    assert_non_null(strstr(traffic.sides[0].fake.error, "::ffff:10.99.0.1"));
    traffic_end(&traffic);
    fake_cm(&crowded);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[0].fake.error, "Address already in use"));
    traffic_end(&traffic);
    /* The acceptor rejects the peer, and the peer notices. */
    fake_cm(&full);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[1].fake.log, "did not come about"));
    traffic_end(&traffic);
}

static void a_broken_queue_pair_ends_the_connection(void **state)
{
    static const char *const settings[] = {NULL};
    static traffic_t traffic;
    (void)state;
    adapters(1, 0);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    traffic_post(&traffic);
    fake_fault(&(fake_fault_t){
        .act = FAKE_STATUS, .kind = FAKE_SEND, .nth = 1, .value = IBV_WC_REM_ACCESS_ERR});
    fake_qp_break(2);
    assert_true(traffic_wait(&traffic, 10));
    traffic_verify(&traffic);
    traffic_end(&traffic);
}

/* Connections under way ----------------------------------------------------------------------- */

typedef struct under_way {
    traffic_t traffic;
    weft_net_conn_t *ends[2];
    weft_status_t mine, theirs;
} under_way_t;

static void under_way_poll(under_way_t *u)
{
    const weft_net_ops_t *ops = u->traffic.ops;
    u->mine =
        u->mine == WEFT_IN_PROGRESS && u->ends[0] != NULL ? ops->connect_poll(u->ends[0]) : u->mine;
    u->theirs = u->theirs == WEFT_AGAIN && u->traffic.sides[1].listener != NULL
                    ? ops->accept(u->traffic.sides[1].listener, &u->ends[1])
                    : u->theirs;
}

/* Goes on until both ends can go no further by themselves. */
static void under_way_begin(under_way_t *u, const fake_cm_t *script)
{
    static const char *const settings[] = {"qps=2", NULL};
    const weft_net_conn_params_t params = {.size = sizeof params};
    *u = (under_way_t){.mine = WEFT_IN_PROGRESS, .theirs = WEFT_AGAIN};
    adapters(1, 0);
    assert_int_equal(traffic_begin(&u->traffic, settings), WEFT_OK);
    fake_cm(script);
    traffic_side_t *from = &u->traffic.sides[0], *to = &u->traffic.sides[1];
    const fake_fault_t stall = {
        .act = FAKE_STALL, .kind = FAKE_SEND, .nth = fake_count_kind(FAKE_SEND) + 1};
    fake_fault(&stall);
    side_add_address(to, 0); /* there is another one to go to */
    from->fake.host.clock_ns = traffic_later;
    assert_int_equal(
        u->traffic.ops->connect_begin(from->device, &to->address, &params, &u->ends[0]), WEFT_OK);
    for (int i = 0; i < 50; i++) {
        under_way_poll(u);
        poll(NULL, 0, 1);
    }
    assert_int_equal(u->mine, WEFT_IN_PROGRESS);
    assert_int_equal(u->theirs, WEFT_AGAIN);
}

static void under_way_end(under_way_t *u)
{
    for (int i = 0; i < 2; i++) {
        u->traffic.ops->conn_close(u->ends[i]);
    }
    traffic_end(&u->traffic);
}

/* The connector's confirmation overtakes the first messages. Then the acceptor sleeps until they
 * come, and the connector waits for its word, however long that takes. */
static void the_acceptor_sleeps_until_the_first_messages_come(void **state)
{
    static const fake_cm_t nothing;
    under_way_t u;
    (void)state;
    under_way_begin(&u, &nothing);
    assert_true(fake_happened());
    assert_false(side_wakes(&u.traffic.sides[1], 5));
    traffic_later_by_ns += UINT64_C(60000000000);
    under_way_poll(&u);
    assert_int_equal(u.mine, WEFT_IN_PROGRESS);
    assert_false(side_wakes(&u.traffic.sides[0], 5));
    fake_release();
    double end = traffic_now() + 30;
    while ((u.mine == WEFT_IN_PROGRESS || u.theirs == WEFT_AGAIN) && traffic_now() < end) {
        assert_true(side_wakes(&u.traffic.sides[1], 0) || side_wakes(&u.traffic.sides[0], 5000));
        under_way_poll(&u);
    }
    assert_int_equal(u.mine, WEFT_OK);
    assert_int_equal(u.theirs, WEFT_OK);
    under_way_end(&u);
}

/* Soft-iWARP leaves a first message unread that comes before. */
static void no_first_message_comes_before_the_acceptor_is_connected(void **state)
{
    static const fake_cm_t nothing, late = {.late_acceptor = true};
    under_way_t u;
    (void)state;
    under_way_begin(&u, &late);
    assert_false(fake_happened());
    assert_false(side_wakes(&u.traffic.sides[0], 5));
    assert_false(side_wakes(&u.traffic.sides[1], 5));
    fake_cm(&nothing);
    fake_release();
    double end = traffic_now() + 30;
    while ((u.mine == WEFT_IN_PROGRESS || u.theirs == WEFT_AGAIN) && traffic_now() < end) {
        under_way_poll(&u);
    }
    assert_int_equal(u.mine, WEFT_OK);
    assert_int_equal(u.theirs, WEFT_OK);
    under_way_end(&u);
}

static const fake_cm_t silence = {.no_answer = true};

/* It has the acceptor's record and has asked for no queue pair. */
static void a_connector_that_goes_is_not_waited_for(void **state)
{
    under_way_t u;
    (void)state;
    under_way_begin(&u, &silence);
    u.traffic.ops->conn_close(u.ends[0]);
    u.ends[0] = NULL;
    assert_true(side_wakes(&u.traffic.sides[1], 5000));
    under_way_poll(&u);
    assert_non_null(strstr(u.traffic.sides[1].fake.log, "it closed the connection"));
    assert_false(side_wakes(&u.traffic.sides[1], 5));
    under_way_end(&u);
}

static void an_acceptor_that_goes_is_not_waited_for(void **state)
{
    under_way_t u;
    (void)state;
    under_way_begin(&u, &silence);
    u.traffic.ops->listener_close(u.traffic.sides[1].listener);
    u.traffic.sides[1].listener = NULL;
    assert_true(side_wakes(&u.traffic.sides[0], 5000));
    under_way_poll(&u);
    assert_int_equal(u.mine, WEFT_ERR_LINK);
    assert_non_null(strstr(u.traffic.sides[0].fake.error, "it closed the connection"));
    assert_false(side_wakes(&u.traffic.sides[0], 5));
    under_way_end(&u);
}

/* Ends ---------------------------------------------------------------------------------------- */

static void post_one(traffic_t *traffic, int side, uint32_t kind, uint64_t *word)
{
    weft_net_op_t op = {.kind = kind, .buffer = word, .bytes = sizeof *word, .context = word};
    uint32_t posted = 0;
    assert_int_equal(traffic->ops->post(traffic->sides[side].conn, &op, 1, &posted), WEFT_OK);
    assert_int_equal(posted, 1);
}

static weft_status_t wait_one(traffic_t *traffic, int side, const uint64_t *word)
{
    weft_net_completion_t done = {.context = NULL};
    double end = traffic_now() + 30;
    while (done.context != word) {
        uint32_t count = 0;
        assert_int_equal(traffic->ops->poll(traffic->sides[side].device, &done, 1, &count),
                         WEFT_OK);
        assert_true(traffic_now() < end);
    }
    return done.status;
}

/* Side 1 sends and goes. Side 0 hears of the end first. */
static void send_and_go(const fake_fault_t *refusal, bool event)
{
    static const char *const settings[] = {NULL};
    static uint64_t out, in, next;
    traffic_t traffic = {.wait = false};
    adapters(1, 0);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    out = 7;
    in = 0;
    post_one(&traffic, 0, WEFT_NET_RECV, &in);
    post_one(&traffic, 1, WEFT_NET_SEND, &out);
    assert_int_equal(wait_one(&traffic, 1, &out), WEFT_OK);
    for (uint32_t i = 1; event && i <= 4; i++) {
        fake_qp_event(i, IBV_EVENT_QP_FATAL);
    }
    if (refusal != NULL) {
        fake_fault_t fault = *refusal;
        fault.nth += fake_count_call(FAKE_POST_SEND);
        fake_fault(&fault);
        post_one(&traffic, 0, WEFT_NET_RECV, &next); /* its credit is refused */
        assert_true(fake_happened());
    }
    (void)side_wakes(&traffic.sides[0], 0);
    assert_int_equal(wait_one(&traffic, 0, &in), WEFT_OK);
    assert_true(in == 7);
    if (refusal != NULL) {
        assert_int_not_equal(wait_one(&traffic, 0, &next), WEFT_OK);
    }
    traffic_end(&traffic);
}

static void what_came_before_the_end_arrives(void **state)
{
    static const fake_fault_t refusal = {
        .act = FAKE_FAIL, .call = FAKE_POST_SEND, .nth = 1, .value = ENOTCONN};
    (void)state;
    send_and_go(NULL, true);
    send_and_go(&refusal, false);
}

/* Both ways of failing at the n-th call, for every n of a life. */
static void every_failing_call_leaves_nothing(void **state)
{
    static const char *const settings[] = {"qps=2", NULL};
    static const fake_call_t calls[] = {FAKE_REG_MR, FAKE_CREATE_QP, FAKE_MODIFY_QP, FAKE_POST_SEND,
                                        FAKE_POST_RECV};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (uint32_t n = 1; n < 12; n++) {
            static traffic_t traffic;
            adapters(1, 0);
            fake_fault(
                &(fake_fault_t){.act = FAKE_FAIL, .call = calls[i], .nth = n, .value = ENOMEM});
            weft_status_t status = traffic_begin(&traffic, settings);
            if (status == WEFT_OK) {
                traffic_post(&traffic);
                assert_true(traffic_wait(&traffic, 10));
                traffic_verify(&traffic);
            }
            traffic_end(&traffic);
        }
    }
}

/* Ends of the two kinds do not consider each other reachable. */
static void roce_does_not_reach_iwarp(void **state)
{
    static const char *const first[] = {"devices==fake0", NULL};
    static const char *const second[] = {"devices==fake1", NULL};
    static traffic_t traffic;
    (void)state;
    adapters(2, 0);
    fake_device(1)->transport = IBV_TRANSPORT_IB;
    fake_port_roce(1, 1);
    assert_int_equal(traffic_begin_sides(&traffic, first, second), WEFT_ERR_UNSUPPORTED);
    traffic_end(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_without_immediates),
        cmocka_unit_test(messages_of_a_devices_memory_arrive),
        cmocka_unit_test(messages_larger_than_a_request_arrive),
        cmocka_unit_test(ports_in_use_are_tried_again),
        cmocka_unit_test(strangers_are_sent_away),
        cmocka_unit_test(what_does_not_connect_is_named),
        cmocka_unit_test(the_acceptor_sleeps_until_the_first_messages_come),
        cmocka_unit_test(no_first_message_comes_before_the_acceptor_is_connected),
        cmocka_unit_test(a_connector_that_goes_is_not_waited_for),
        cmocka_unit_test(an_acceptor_that_goes_is_not_waited_for),
        cmocka_unit_test(what_came_before_the_end_arrives),
        cmocka_unit_test(a_broken_queue_pair_ends_the_connection),
        cmocka_unit_test(every_failing_call_leaves_nothing),
        cmocka_unit_test(roce_does_not_reach_iwarp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
