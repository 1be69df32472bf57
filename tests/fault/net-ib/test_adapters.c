/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which adapters and ports are used: many of them, filters, and what is left out and why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

static uint32_t count_with(const char *setting)
{
    const char *const settings[] = {setting, NULL};
    traffic_side_t side;
    uint32_t count = 0;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    side_close(&side);
    return count;
}

static void thirty_two_adapters_are_found_and_filtered(void **state)
{
    static const char *const all[] = {NULL};
    traffic_side_t side;
    uint32_t count = 0;
    (void)state;
    fake_setup(32);
    assert_int_equal(side_open(&side, all), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 32);
    for (uint32_t i = 0; i < count; i++) {
        weft_net_props_t props = {.size = sizeof props};
        char name[32];
        snprintf(name, sizeof name, "fake%u:1", i);
        assert_int_equal(traffic_ops()->device_props(side.net, i, &props), WEFT_OK);
        assert_string_equal(props.name, name);
        weft_net_device_t *device = NULL;
        assert_int_equal(traffic_ops()->device_open(side.net, i, &device), WEFT_OK);
        traffic_ops()->device_close(device);
    }
    side_close(&side);
    assert_int_equal(count_with("devices=fake3"), 3); /* fake3, fake30, fake31 */
    assert_int_equal(count_with("devices==fake3"), 1);
    assert_int_equal(count_with("devices==fake3,fake7:1,fake9:2"), 2);
    assert_int_equal(count_with("devices=^fake1"), 21);
    assert_int_equal(count_with("devices=^mlx5"), 32);
    assert_int_equal(count_with("rails=8"), 4);
}

static void a_name_that_fits_no_adapter_is_refused(void **state)
{
    static const char *const settings[] = {"devices=fake1,mlx5", NULL};
    traffic_side_t side;
    (void)state;
    fake_setup(2);
    assert_int_equal(side_open(&side, settings), WEFT_ERR_CONFIG);
    assert_non_null(strstr(side.fake.error, "\"mlx5\"; there are: fake0, fake1"));
    side_close(&side);
    assert_int_equal(count_with("devices=fake0:1, fake1:1"), 2);
    assert_int_equal(count_with("devices=^fake0, fake1"), 0);
    fake_setup(0); /* a host without adapters may have the word of others */
    assert_int_equal(count_with("devices=mlx5"), 0);
}

static void what_does_not_fit_is_left_out_and_named(void **state)
{
    (void)state;
    fake_setup(FAKE_DEVICES_MAX);
    side_check_log("devices=", 32, "fake39 is left out: 32 adapters", "fake31 is left out");
    fake_setup(11);
    for (uint32_t i = 0; i < 9; i++) {
        fake_device_ports(i, FAKE_PORTS_MAX - 1);
    }
    side_check_log("devices=", 64, "fake10 from port 1 on is left out: 64 ports",
                   "fake9 from port");
    fake_device_ports(9, 3);
    side_check_log("devices=", 64, "fake9 from port 2 on is left out: 64 ports", "fake8 from port");
}

static void a_name_that_leaves_nothing_out_is_a_warning(void **state)
{
    (void)state;
    fake_setup(3);
    side_check_log("devices=^fake0, mlx", 2, "leaves out \"mlx\", which no adapter here fits",
                   "\"fake0\"");
}

static void eight_ports_are_eight_devices_or_one(void **state)
{
    static const char *const one[] = {"rails=1", NULL};
    static const char *const eight[] = {"rails=8", "split_bytes=4K", "adaptive_routing=on", NULL};
    weft_net_props_t single = {.size = sizeof single}, merged = {.size = sizeof merged};
    traffic_side_t side;
    uint32_t count = 0;
    (void)state;
    fake_setup(1);
    fake_device_ports(0, 8);
    assert_int_equal(side_open(&side, one), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 8);
    assert_int_equal(traffic_ops()->device_props(side.net, 7, &single), WEFT_OK);
    assert_string_equal(single.name, "fake0:8");
    side_close(&side);

    assert_int_equal(side_open(&side, eight), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(traffic_ops()->device_props(side.net, 0, &merged), WEFT_OK);
    assert_int_equal(merged.bandwidth, 8 * single.bandwidth);
    side_close(&side);

    traffic_t traffic = {.wait = false};
    uint32_t before = fake_count_kind(FAKE_ANY);
    assert_int_equal(traffic_run(&traffic, eight), WEFT_OK);
    assert_int_equal(traffic.failed, 0);
    assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
    assert_true(fake_count_kind(FAKE_ANY) > before + 2 * TRAFFIC_MESSAGES);
    assert_int_equal(count_with("devices==fake0:2,fake0:5,fake0:9"), 2);
}

static void check_order(const char *setting, const char *const names[3])
{
    const char *const settings[] = {setting, NULL};
    traffic_side_t side;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    for (uint32_t i = 0; i < 3; i++) {
        weft_net_props_t props = {.size = sizeof props};
        assert_int_equal(traffic_ops()->device_props(side.net, i, &props), WEFT_OK);
        if (strcmp(props.name, names[i]) != 0) {
            fail_msg("\"%s\": device %u is %s, not %s", setting, i, props.name, names[i]);
        }
    }
    side_close(&side);
}

/* Devices of the same number meet, and the system lists adapters as their drivers began. */
static void adapters_are_in_the_order_of_the_words_and_of_their_names(void **state)
{
    static const char *const listed[] = {"mlx5_10", "mlx5_2", "mlx5_1"};
    static const char *const by_name[] = {"mlx5_1:1", "mlx5_2:1", "mlx5_10:1"};
    static const char *const by_word[] = {"mlx5_2:1", "mlx5_1:1", "mlx5_10:1"};
    static const char *const by_port[] = {"mlx5_10:1", "mlx5_2:1", "mlx5_1:1"};
    (void)state;
    fake_setup(3);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(fake_device(i)->name, sizeof fake_device(i)->name, "%s", listed[i]);
    }
    check_order("devices=", by_name);
    check_order("devices=mlx5", by_name);
    check_order("devices=^ib", by_name);
    check_order("devices=mlx5_2, mlx5", by_word);
    check_order("devices==mlx5_2,mlx5_1,mlx5_10", by_word);
    check_order("devices==mlx5_10:1,mlx5_2:1,mlx5_1:1", by_port);
}

static void completion_queues_take_turns_on_the_vectors(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = true};
    (void)state;
    fake_setup(1);
    fake_device(0)->vectors = 4;
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(traffic_again(&traffic), WEFT_OK);
    }
    assert_int_equal(fake_count_vectors(0), 4);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 10));
    traffic_check_all(&traffic, "vectors", 4);
    traffic_end(&traffic);
}

static void ports_that_are_not_active_are_left_out(void **state)
{
    (void)state;
    fake_setup(2);
    fake_device_ports(0, 4);
    fake_device(0)->ports[1].attr.state = IBV_PORT_DOWN;
    fake_device(0)->ports[2].attr.state = IBV_PORT_INIT;
    assert_int_equal(count_with("devices="), 3);
}

/* The sign counts for a word, wherever it stands. */
static void what_is_wanted_exactly_is_not_left_out(void **state)
{
    static const char *const exact[] = {"devices==fake0,fake1", "devices= =fake0,fake1",
                                        "devices==fake0 =fake1", "devices=fake0 =fake1",
                                        "devices=fake, =fake1:1"};
    static const char *const others[] = {"devices=fake, =fake0, ^fake2", "devices=^=fake2"};
    static const fake_call_t calls[] = {FAKE_OPEN_DEVICE, FAKE_QUERY_PORT};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof exact / sizeof exact[0]; i++) {
        const char *const settings[] = {exact[i / 2], NULL};
        const fake_fault_t fault = {
            .act = FAKE_FAIL, .call = calls[i % 2], .nth = 2, .value = EACCES};
        traffic_side_t side;
        fake_setup(2);
        fake_fault(&fault);
        if (side_open(&side, settings) != WEFT_ERR_RESOURCE) {
            fail_msg("\"%s\" goes on: %s", exact[i / 2], side.fake.log);
        }
        assert_non_null(strstr(side.fake.error, "fake1"));
        side_close(&side);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const fake_fault_t fault = {
            .act = FAKE_FAIL, .call = FAKE_OPEN_DEVICE, .nth = 2, .value = EACCES};
        fake_setup(3);
        fake_fault(&fault);
        side_check_log(others[i], 1, "fake1 is left out", "fake0 is");
    }
}

/* The n-th call fails: the adapter or port that `name` begins is left out with the cause, unless
 * the user wants exactly that one, or the process is short of something. */
static void check_failing(fake_call_t call, int cause, const char *name)
{
    static const char *const exact[] = {"devices==fake0,fake1", NULL};
    static const char *const any[] = {"devices=fake", NULL};
    const fake_fault_t fault = {.act = FAKE_FAIL, .call = call, .nth = 2, .value = cause};
    const fake_fault_t lack = {.act = FAKE_FAIL, .call = call, .nth = 2, .value = ENOMEM};
    char said[80];
    traffic_side_t side;
    snprintf(said, sizeof said, "%s is left out: ", name);
    fake_setup(2);
    fake_fault(&fault);
    side_check_log("devices=", 1, said, "fake0:1 is left out");
    fake_setup(2);
    fake_fault(&fault);
    side_check_log("devices=", 1, strerror(cause), "fake0 is left out");
    fake_setup(2);
    fake_fault(&fault);
    assert_int_equal(side_open(&side, exact), WEFT_ERR_RESOURCE);
    assert_non_null(strstr(side.fake.error, name));
    side_close(&side);
    fake_setup(2);
    fake_fault(&lack);
    assert_int_equal(side_open(&side, any), WEFT_ERR_RESOURCE);
    side_close(&side);
}

static void what_fails_is_left_out_with_the_cause(void **state)
{
    (void)state;
    check_failing(FAKE_OPEN_DEVICE, EACCES, "fake1");
    check_failing(FAKE_QUERY_DEVICE, EIO, "fake1");
    check_failing(FAKE_ALLOC_PD, EIO, "fake1");
    check_failing(FAKE_QUERY_PORT, EIO, "fake1:1");
    check_failing(FAKE_QUERY_GID_TABLE, EIO, "fake1:1");
}

static void adapters_with_too_little_room_are_left_out(void **state)
{
    (void)state;
    fake_setup(2);
    fake_device(1)->attr.max_qp_wr = 64;
    side_check_log("devices=", 1, "fake1 is left out: its queue pairs hold 64 requests (max_qp_wr)",
                   "fake0 is");
    fake_setup(2);
    fake_device(1)->attr.max_cqe = 320;
    side_check_log("devices=", 1, "fake1 is left out: its completion queues hold 320 entries",
                   "fake0 is");
    fake_setup(2);
    fake_device(1)->ports[0].attr.max_msg_sz = 4096;
    side_check_log("devices=", 1, "fake1:1 is left out: its messages hold 4096 bytes (max_msg_sz)",
                   "fake0:1 is");
}

/* The largest message is that of the weakest rail. */
static void every_rail_can_carry_the_largest_message(void **state)
{
    static const char *const two[] = {"rails=2", NULL};
    weft_net_props_t props = {.size = sizeof props};
    traffic_side_t side;
    (void)state;
    fake_setup(2);
    fake_device(1)->ports[0].attr.max_msg_sz = 20480;
    assert_int_equal(side_open(&side, two), WEFT_OK);
    assert_int_equal(traffic_ops()->device_props(side.net, 0, &props), WEFT_OK);
    assert_int_equal(props.max_message, 62 * 20480);
    side_close(&side);
}

static void iwarp_is_left_out_with_the_reason(void **state)
{
    static const char *const none[] = {NULL};
    traffic_side_t side;
    uint32_t count = 7;
    (void)state;
    fake_setup(2);
    fake_device(0)->transport = IBV_TRANSPORT_IWARP;
    assert_int_equal(side_open(&side, none), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 1);
    assert_non_null(strstr(side.fake.log, "fake0 is left out"));
    side_close(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_two_adapters_are_found_and_filtered),
        cmocka_unit_test(a_name_that_fits_no_adapter_is_refused),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_named),
        cmocka_unit_test(a_name_that_leaves_nothing_out_is_a_warning),
        cmocka_unit_test(eight_ports_are_eight_devices_or_one),
        cmocka_unit_test(adapters_are_in_the_order_of_the_words_and_of_their_names),
        cmocka_unit_test(completion_queues_take_turns_on_the_vectors),
        cmocka_unit_test(ports_that_are_not_active_are_left_out),
        cmocka_unit_test(what_fails_is_left_out_with_the_cause),
        cmocka_unit_test(what_is_wanted_exactly_is_not_left_out),
        cmocka_unit_test(adapters_with_too_little_room_are_left_out),
        cmocka_unit_test(every_rail_can_carry_the_largest_message),
        cmocka_unit_test(iwarp_is_left_out_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
