/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections that begin with fewer rails than there are: some are lost before, or on the way. */
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

#define RAILS 3u

typedef void lose_fn(uint32_t adapter);

static void lose_rails(lose_fn *lose, uint32_t first, uint32_t mask)
{
    for (uint32_t i = 0; i < RAILS; i++) {
        if ((mask & 1u << i) != 0) {
            lose(first + i);
        }
    }
}

static void lose_port_of(uint32_t index)
{
    fake_port_state(index, 1, IBV_PORT_DOWN);
}

static void exchange(traffic_t *traffic, const char *what, uint32_t which)
{
    traffic_post(traffic);
    assert_true(traffic_wait(traffic, 5));
    traffic_check_all(traffic, what, which);
}

/* Side 0 has the first adapters, side 1 the others. */
static weft_status_t begin_without(traffic_t *traffic, lose_fn *lose, const uint32_t lost[2])
{
    static const char *const mine[] = {"rails=3", "qps=2", "devices==fake0,fake1,fake2", NULL};
    static const char *const theirs[] = {"rails=3", "qps=2", "devices==fake3,fake4,fake5", NULL};
    fake_setup(2 * RAILS);
    for (uint32_t i = 0; i < 2 * RAILS; i++) {
        fake_port_roce(i, 1);
    }
    assert_int_equal(traffic_begin_sides(traffic, mine, theirs), WEFT_OK);
    lose_rails(lose, 0, lost[0]);
    lose_rails(lose, RAILS, lost[1]);
    return traffic_again(traffic);
}

static void connections_begin_without_lost_rails(void **state)
{
    static lose_fn *const ways[] = {lose_port_of, fake_device_fatal};
    static const uint32_t masks[][2] = {{1, 0}, {0, 1}, {2, 4}, {4, 4}, {3, 0}, {0, 3}, {1, 3}};
    (void)state;
    for (uint32_t i = 0; i < 2 * sizeof masks / sizeof masks[0]; i++) {
        traffic_t traffic = {.wait = i % 3 == 0};
        const uint32_t *lost = masks[i / 2];
        assert_int_equal(begin_without(&traffic, ways[i % 2], lost), WEFT_OK);
        exchange(&traffic, "rails lost before", i);
        assert_false(traffic_log_says(&traffic, "recovered in"));
        uint32_t left = ~(lost[0] | lost[1]) & ((1u << RAILS) - 1);
        if ((left & (left - 1)) != 0) { /* another one may be lost */
            lose_rails(ways[i % 2], 0, left & (left - 1));
            assert_int_equal(traffic_again(&traffic), WEFT_OK);
            exchange(&traffic, "one more", i);
        }
        traffic_end(&traffic);
    }
}

/* A connection that began without a rail loses another one. */
static void rails_are_lost_one_before_and_one_after(void **state)
{
    static const uint32_t lost[2] = {0, 2};
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        traffic_t traffic = {.wait = i % 2 == 0};
        assert_int_equal(begin_without(&traffic, lose_port_of, lost), WEFT_OK);
        const fake_fault_t stall = {.act = FAKE_STALL,
                                    .kind = FAKE_WRITE_IMM,
                                    .nth = fake_count_kind(FAKE_WRITE_IMM) + 3 + i};
        fake_fault(&stall);
        traffic_post(&traffic);
        lose_port_of(i % 2 == 0 ? 0 : RAILS);
        fake_release();
        assert_true(traffic_wait(&traffic, 5));
        traffic_poll(&traffic, 600);
        traffic_check_all(&traffic, "one before, one after", i);
        assert_true(traffic_log_says(&traffic, "recovered in"));
        traffic_end(&traffic);
    }
}

/* Which rail is left depends on both ends. */
static void without_a_rail_in_common_a_connection_does_not_begin(void **state)
{
    static const uint32_t lost[2] = {3, 4};
    traffic_t traffic = {.wait = false};
    (void)state;
    assert_int_equal(begin_without(&traffic, lose_port_of, lost), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[0].fake.error, "is left: lost are here fake5:1"));
    traffic_end(&traffic);
}

/* Adapters 0 and 1 are the connector's, 2 and 3 the acceptor's. Returns false if making a
 * connection has fewer such calls. */
static bool dies_in_the_set_up(fake_call_t call, uint32_t nth, int adapter)
{
    static const char *const mine[] = {"rails=2", "devices==fake0,fake1", NULL};
    static const char *const theirs[] = {"rails=2", "devices==fake2,fake3", NULL};
    traffic_t traffic = {.wait = nth % 2 == 0};
    fake_setup(4);
    assert_int_equal(traffic_begin_sides(&traffic, mine, theirs), WEFT_OK);
    const fake_fault_t fault = {
        .act = FAKE_DIE, .call = call, .nth = fake_count_call(call) + nth, .value = adapter};
    fake_fault(&fault);
    weft_status_t status = traffic_again(&traffic);
    bool happened = fake_happened();
    if (status != WEFT_OK) {
        fail_msg("adapter %d, call %u of %s: status %d, \"%s\" and \"%s\"", adapter, nth,
                 fake_call_name(call), (int)status, traffic.sides[0].fake.error,
                 traffic.sides[1].fake.error);
    }
    exchange(&traffic, fake_call_name(call), nth);
    traffic_end(&traffic);
    return happened;
}

static void a_rail_that_fails_in_the_set_up_is_left_out(void **state)
{
    static const fake_call_t calls[] = {FAKE_CREATE_CHANNEL, FAKE_CREATE_CQ, FAKE_REG_MR,
                                        FAKE_CREATE_QP, FAKE_MODIFY_QP};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (int adapter = 0; adapter < 4; adapter++) {
            uint32_t nth = 1;
            while (dies_in_the_set_up(calls[i], nth, adapter)) {
                nth++;
            }
            assert_true(nth > 4);
        }
    }
}

/* The acceptor asks for a record without the rail that it has lost, and goes away before that
 * comes. */
static void a_peer_that_asks_again_and_goes_is_named(void **state)
{
    static const char *const mine[] = {"rails=2", "devices==fake0,fake1", NULL};
    static const char *const theirs[] = {"rails=2", "devices==fake2,fake3", NULL};
    weft_net_conn_params_t params = {.size = sizeof params};
    weft_net_conn_t *conn = NULL, *accepted = NULL;
    traffic_t traffic = {.wait = false};
    weft_status_t status = WEFT_IN_PROGRESS;
    (void)state;
    fake_setup(4);
    assert_int_equal(traffic_begin_sides(&traffic, mine, theirs), WEFT_OK);
    const weft_net_ops_t *ops = traffic.ops;
    traffic_side_t *from = &traffic.sides[0], *to = &traffic.sides[1];
    fake_port_state(2, 1, IBV_PORT_DOWN);
    assert_int_equal(ops->connect_begin(from->device, &to->address, &params, &conn), WEFT_OK);
    uint32_t made = fake_count_call(FAKE_CREATE_QP);
    double end = traffic_now() + 30;
    while (fake_count_call(FAKE_CREATE_QP) == made) { /* until the other record is made */
        assert_int_equal(ops->accept(to->listener, &accepted), WEFT_AGAIN);
        assert_int_equal(ops->connect_poll(conn), WEFT_IN_PROGRESS);
        assert_true(traffic_now() < end);
    }
    ops->listener_close(to->listener);
    to->listener = NULL;
    from->fake.error[0] = '\0';
    while (status == WEFT_IN_PROGRESS && traffic_now() < end) {
        status = ops->connect_poll(conn);
    }
    assert_int_equal(status, WEFT_ERR_LINK);
    assert_non_null(strstr(from->fake.error, "cannot connect; tried"));
    ops->conn_close(conn);
    traffic_end(&traffic);
}

/* Without the option every rail is needed; the text says which one fails and why. */
static void without_the_option_a_connection_needs_every_rail(void **state)
{
    static const char *const off[] = {"rails=2", "failover=no", NULL};
    traffic_t traffic = {.wait = false};
    (void)state;
    fake_setup(2);
    assert_int_equal(traffic_begin(&traffic, off), WEFT_OK);
    fake_device_fatal(1);
    assert_int_equal(traffic_again(&traffic), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[0].fake.error, "fake1:1"));
    assert_non_null(strstr(traffic.sides[0].fake.error, "the adapter failed"));
    traffic_end(&traffic);
}

/* Memory is registered with the adapters that are left. */
static void memory_is_registered_without_a_failed_adapter(void **state)
{
    static const char *const on[] = {"rails=2", NULL};
    traffic_t traffic = {.wait = false, .on_device = true};
    (void)state;
    fake_setup(2);
    assert_int_equal(traffic_begin(&traffic, on), WEFT_OK);
    fake_device_fatal(1);
    assert_int_equal(traffic_register(&traffic), WEFT_OK);
    assert_int_equal(traffic_again(&traffic), WEFT_OK);
    exchange(&traffic, "memory of a device", 0);
    traffic_end(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_begin_without_lost_rails),
        cmocka_unit_test(rails_are_lost_one_before_and_one_after),
        cmocka_unit_test(without_a_rail_in_common_a_connection_does_not_begin),
        cmocka_unit_test(a_rail_that_fails_in_the_set_up_is_left_out),
        cmocka_unit_test(a_peer_that_asks_again_and_goes_is_named),
        cmocka_unit_test(without_the_option_a_connection_needs_every_rail),
        cmocka_unit_test(memory_is_registered_without_a_failed_adapter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
