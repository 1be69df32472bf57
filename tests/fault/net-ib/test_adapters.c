/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many adapters, many ports, tables of GIDs, link layers, and events of adapters. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

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

/* `said` is in the log, `unsaid` is not. */
static void check_log(const char *setting, uint32_t expected, const char *said, const char *unsaid)
{
    const char *const settings[] = {setting, NULL};
    traffic_side_t side;
    uint32_t count = 0;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, expected);
    assert_non_null(strstr(side.fake.log, said));
    assert_null(strstr(side.fake.log, unsaid));
    side_close(&side);
}

static void what_does_not_fit_is_left_out_and_named(void **state)
{
    (void)state;
    fake_setup(FAKE_DEVICES_MAX);
    check_log("devices=", 32, "fake39 is left out: 32 adapters", "fake31 is left out");
    fake_setup(11);
    for (uint32_t i = 0; i < 9; i++) {
        fake_device_ports(i, FAKE_PORTS_MAX - 1);
    }
    check_log("devices=", 64, "fake10 from port 1 on is left out: 64 ports", "fake9 from port");
    fake_device_ports(9, 3);
    check_log("devices=", 64, "fake9 from port 2 on is left out: 64 ports", "fake8 from port");
}

static void a_name_that_leaves_nothing_out_is_a_warning(void **state)
{
    (void)state;
    fake_setup(3);
    check_log("devices=^fake0, mlx", 2, "leaves out \"mlx\", which no adapter here fits",
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
        check_log(others[i], 1, "fake1 is left out", "fake0 is");
    }
}

/* The n-th call fails: the adapter or port that `name` begins is left out with the cause, unless the
 * user wants exactly that one, or the process is short of something. */
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
    check_log("devices=", 1, said, "fake0:1 is left out");
    fake_setup(2);
    fake_fault(&fault);
    check_log("devices=", 1, strerror(cause), "fake0 is left out");
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
    check_log("devices=", 1, "fake1 is left out: its queue pairs hold 64 requests (max_qp_wr)",
              "fake0 is");
    fake_setup(2);
    fake_device(1)->attr.max_cqe = 320;
    check_log("devices=", 1, "fake1 is left out: its completion queues hold 320 entries",
              "fake0 is");
    fake_setup(2);
    fake_device(1)->ports[0].attr.max_msg_sz = 4096;
    check_log("devices=", 1, "fake1:1 is left out: its messages hold 4096 bytes (max_msg_sz)",
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

/* Checks which GID of a table is chosen. −1: the port is left out. */
static void check_gid(const char *first, const char *second, int expected)
{
    const char *const settings[] = {first, second, NULL};
    char word[32];
    traffic_side_t side;
    uint32_t count = 0;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, expected < 0 ? 0 : 1);
    snprintf(word, sizeof word, "uses GID %d ", expected);
    if (strstr(side.fake.log, expected < 0 ? "left out" : word) == NULL) {
        fail_msg("%s %s: expected GID %d, log: %s", first, second, expected, side.fake.log);
    }
    side_close(&side);
}

/* A GID that the user set and that does not exist is an error of the configuration. */
static void check_no_gid(const char *setting)
{
    const char *const settings[] = {setting, NULL};
    traffic_side_t side;
    assert_int_equal(side_open(&side, settings), WEFT_ERR_CONFIG);
    assert_non_null(strstr(side.fake.error, "gid_index"));
    side_close(&side);
}

static void gid_of_the_usual_table(void **state)
{
    (void)state;
    fake_setup(1);
    fake_port_roce(0, 1);
    check_gid("gid_index=auto", "roce_version=auto", 3);
    check_gid("gid_index=auto", "roce_version=1", 2);
    check_gid("gid_index=auto", "address_family=ipv6", 1);
    check_gid("roce_version=1", "address_family=ipv6", 0);
    check_gid("gid_index=0", "roce_version=2", 0);
    check_no_gid("gid_index=9");
}

static void gid_of_a_table_with_holes(void **state)
{
    (void)state;
    fake_setup(1);
    fake_port_roce(0, 1);
    fake_port_t *port = &fake_device(0)->ports[0];
    struct ibv_gid_entry routed = port->gids[1];
    assert_int_equal(inet_pton(AF_INET6, "fd00:1::7", routed.gid.raw), 1);
    routed.gid_index = 12;
    memset(&port->gids[0].gid, 0, sizeof port->gids[0].gid);
    port->gids[2] = routed;
    port->ngids = 3; /* zero v1, link-local v2, routable IPv6 v2 */
    check_gid("gid_index=auto", "roce_version=auto", 12);
    check_no_gid("gid_index=0");
    check_gid("gid_index=auto", "address_family=ipv4", -1);
    port->ngids = 0;
    check_gid("gid_index=auto", "roce_version=auto", -1);
}

static void an_index_is_for_ethernet_ports_only(void **state)
{
    static const char *const settings[] = {"gid_index=3", NULL};
    traffic_side_t side;
    (void)state;
    fake_setup(2);
    fake_port_roce(1, 1);
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_non_null(strstr(side.fake.log, "fake0:1 uses GID 0 "));
    assert_non_null(strstr(side.fake.log, "fake1:1 uses GID 3 "));
    side_close(&side);
}

static void run_clean(const char *first, const char *second)
{
    const char *const settings[] = {first, second, "qps=2", NULL};
    traffic_t traffic = {.wait = false};
    assert_int_equal(traffic_run(&traffic, settings), WEFT_OK);
    assert_int_equal(traffic.failed, 0);
    assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
}

static void messages_over_every_kind_of_link(void **state)
{
    (void)state;
    fake_setup(1);
    run_clean("sl=3", "pkey=2");
    fake_setup(1);
    fake_port_roce(0, 1);
    run_clean("roce_version=1", "tc=104");
    run_clean("roce_version=2", "mtu=256");
    run_clean("roce_version=2", "mtu=4096");
    run_clean("roce_version=auto", "address_family=ipv6");
    fake_device(0)->ports[0].attr.max_msg_sz = 20480;
    run_clean("adaptive_routing=on", "split=no");
    fake_device(0)->max_inline = 0;
    run_clean("adaptive_routing=on", "split=yes");
    fake_device(0)->attr.max_qp_wr = 140;
    run_clean("adaptive_routing=off", "split=yes");
    fake_device(0)->attr.max_cqe = 3 * (128 + 64); /* with the fewest requests */
    run_clean("adaptive_routing=on", "split=no");
}

/* Ports 0 and 2 are InfiniBand, 1, 3 and 4 are RoCE. */
static void rails_of_a_device_are_of_one_kind(void **state)
{
    static const char *const two[] = {"rails=2", NULL};
    static const char *const names[] = {"fake0:1", "fake1:1"};
    traffic_side_t side;
    (void)state;
    fake_setup(5);
    fake_port_roce(1, 1);
    fake_port_roce(3, 1);
    fake_port_roce(4, 1);
    assert_int_equal(side_open(&side, two), WEFT_OK);
    uint32_t count = 0;
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        weft_net_props_t props = {.size = sizeof props};
        assert_int_equal(traffic_ops()->device_props(side.net, i, &props), WEFT_OK);
        assert_string_equal(props.name, names[i]);
    }
    assert_non_null(strstr(side.fake.log, "fake4:1 is left out: too few ports of its kind"));
    side_close(&side);
    run_clean("rails=2", "split_bytes=4K");
    fake_setup(2);
    fake_port_roce(1, 1);
    check_log("rails=2", 0, "of the 2 usable ports fewer are of one kind", "uses GID 9");
}

/* The second port has link-local GIDs only. */
static void each_rail_has_a_gid_of_its_own_kind(void **state)
{
    (void)state;
    fake_setup(2);
    fake_port_roce(0, 1);
    fake_port_roce(1, 1);
    fake_device(1)->ports[0].ngids = 2;
    run_clean("rails=2", "split_bytes=4K");
}

static void a_rail_in_another_subnet_is_refused(void **state)
{
    static const char *const first[] = {"devices==fake0, fake1", "rails=2", NULL};
    static const char *const second[] = {"devices==fake0, fake2", "rails=2", NULL};
    traffic_t traffic = {.wait = false};
    (void)state;
    fake_setup(3);
    fake_device(2)->ports[0].gids[0].gid.raw[3] ^= 1;
    assert_int_not_equal(traffic_begin_sides(&traffic, first, second), WEFT_OK);
    assert_non_null(strstr(traffic.sides[1].fake.error, "fake2:1, rail 1, does not reach GID"));
    assert_non_null(strstr(traffic.sides[1].fake.error, "another subnet of InfiniBand"));
    traffic_end(&traffic);
}

static void a_port_that_wants_global_routes_gets_them(void **state)
{
    (void)state;
    fake_setup(1);
    fake_device(0)->ports[0].attr.flags = IBV_QPF_GRH_REQUIRED;
    run_clean("sl=0", "tc=8");
}

static void a_connection_takes_the_lid_and_the_mtu_of_its_time(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    fake_device(0)->ports[0].attr.lid += 40;
    fake_device(0)->ports[0].attr.active_mtu = IBV_MTU_512;
    assert_int_equal(traffic_again(&traffic), WEFT_OK);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    assert_int_equal(traffic.failed, 0);
    traffic_verify(&traffic);
    traffic_end(&traffic);
}

static void begin_between(const char *mine, const char *theirs, weft_status_t expected)
{
    const char *const first[] = {"devices==fake0", mine, NULL};
    const char *const second[] = {"devices==fake1", theirs, NULL};
    traffic_t traffic = {.wait = false};
    weft_status_t status = traffic_begin_sides(&traffic, first, second);
    if (status != expected) {
        fail_msg("%s with %s: status %d, \"%s\"", mine, theirs, (int)status,
                 traffic.sides[0].fake.error);
    }
    if (expected == WEFT_OK) {
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_int_equal(traffic.failed, 0);
        traffic_verify(&traffic);
    } else {
        assert_true(traffic.sides[0].fake.error[0] != '\0');
    }
    traffic_end(&traffic);
}

static void ends_agree_on_the_kind_of_gid(void **state)
{
    (void)state;
    fake_setup(2);
    fake_port_roce(0, 1);
    fake_port_roce(1, 1);
    begin_between("roce_version=auto", "roce_version=1", WEFT_OK);
    begin_between("roce_version=auto", "address_family=ipv6", WEFT_OK);
    begin_between("gid_index=2", "gid_index=3", WEFT_ERR_UNSUPPORTED);
    begin_between("roce_version=2", "roce_version=1", WEFT_ERR_UNSUPPORTED);
    begin_between("address_family=ipv4", "address_family=ipv6", WEFT_ERR_UNSUPPORTED);
}

static void link_layers_do_not_reach_each_other(void **state)
{
    (void)state;
    fake_setup(2);
    fake_port_roce(1, 1);
    begin_between("sl=0", "sl=0", WEFT_ERR_UNSUPPORTED);
}

static void partition_key_outside_of_the_table_is_named(void **state)
{
    static const char *const settings[] = {"pkey=9", NULL};
    traffic_t traffic = {.wait = false};
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[0].fake.error, "pkey = 9"));
    traffic_end(&traffic);
}

/* The exchange hangs until the event; then it ends within 2 s, with a text that contains `word`. */
static void check_event(void (*raise)(void), const char *word)
{
    static const char *const settings[] = {"port_patience=0.1", NULL};
    const fake_fault_t stall = {.act = FAKE_STALL, .kind = FAKE_ANY, .nth = 5};
    traffic_t traffic = {.wait = true};
    fake_setup(1);
    fake_fault(&stall);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    traffic_post(&traffic);
    traffic_poll(&traffic, 300);
    assert_true(traffic.done < traffic.posted && traffic.failed == 0);
    double start = traffic_now();
    raise();
    assert_true(traffic_wait(&traffic, 2));
    assert_true(traffic_now() - start < 2);
    assert_true(traffic.failed > 0);
    if (strstr(traffic.sides[0].cause, word) == NULL &&
        strstr(traffic.sides[1].cause, word) == NULL) {
        fail_msg("no \"%s\" in \"%s\" and \"%s\"", word, traffic.sides[0].cause,
                 traffic.sides[1].cause);
    }
    traffic_verify(&traffic);
    traffic_end(&traffic);
}

static void raise_port_down(void)
{
    fake_port_state(0, 1, IBV_PORT_DOWN);
}

static void raise_fatal(void)
{
    fake_device_fatal(0);
}

static void raise_cq_error(void)
{
    fake_qp_event(1, IBV_EVENT_CQ_ERR);
}

static void raise_qp_fatal(void)
{
    fake_qp_event(2, IBV_EVENT_QP_FATAL);
}

static void raise_access(void)
{
    fake_qp_event(3, IBV_EVENT_QP_ACCESS_ERR);
}

static void raise_break(void)
{
    fake_qp_break(2);
}

static void events_become_errors_within_two_seconds(void **state)
{
    (void)state;
    check_event(raise_port_down, "fake0:1 is down");
    check_event(raise_fatal, "fake0 failed");
    check_event(raise_cq_error, "completion queue");
    check_event(raise_qp_fatal, "queue pair failed");
    check_event(raise_access, "not granted");
    check_event(raise_break, "tells no cause");
}

static void a_connection_stays_on_its_ports(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    weft_net_device_t *same = NULL, *other = NULL;
    (void)state;
    fake_setup(2);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    const weft_net_ops_t *ops = traffic.ops;
    traffic_side_t *side = &traffic.sides[1];
    const weft_net_attach_t *attach = ops->get_extension(side->net, WEFT_NET_ATTACH);
    assert_int_equal(ops->device_open(side->net, 0, &same), WEFT_OK);
    assert_int_equal(ops->device_open(side->net, 1, &other), WEFT_OK);
    assert_int_equal(attach->attach(side->conn, other), WEFT_ERR_STATE);
    assert_non_null(strstr(side->fake.error, "fake1:1 has other rails"));
    assert_int_equal(attach->attach(side->conn, same), WEFT_OK);
    assert_int_equal(attach->attach(side->conn, side->device), WEFT_OK);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    assert_int_equal(traffic.failed, 0);
    traffic_verify(&traffic);
    ops->device_close(same);
    ops->device_close(other);
    traffic_end(&traffic);
}

/* While one thread notes that the port is down, another one takes the event that it is up again. */
static struct {
    uint64_t (*clock_ns)(const weft_host_t *host);
    traffic_t traffic;
    weft_net_conn_t *conns[2];
    _Atomic bool slow, noting, done;
} race;

static void race_wait(_Atomic bool *flag)
{
    double end = traffic_now() + 0.2;
    while (!atomic_load(flag) && traffic_now() < end) {
        poll(NULL, 0, 1);
    }
}

/* The thread that asks first, to note the event, is slow. */
static uint64_t race_clock(const weft_host_t *host)
{
    if (atomic_exchange(&race.slow, false)) {
        atomic_store(&race.noting, true);
        race_wait(&race.done);
    }
    return race.clock_ns(host);
}

static void *race_second(void *unused)
{
    (void)unused;
    race_wait(&race.noting);
    race.traffic.ops->conn_check(race.conns[0]);
    atomic_store(&race.done, true);
    return NULL;
}

static void events_of_a_port_are_noted_in_their_order(void **state)
{
    static const char *const settings[] = {"port_patience=0.1", NULL};
    traffic_side_t *side = &race.traffic.sides[0];
    weft_net_device_t *device = NULL;
    pthread_t thread;
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&race.traffic, settings), WEFT_OK);
    const weft_net_ops_t *ops = race.traffic.ops;
    const weft_net_attach_t *attach = ops->get_extension(side->net, WEFT_NET_ATTACH);
    assert_int_equal(traffic_connect(&race.traffic, race.conns), WEFT_OK);
    assert_int_equal(ops->device_open(side->net, 0, &device), WEFT_OK);
    assert_int_equal(attach->attach(race.conns[0], device), WEFT_OK);
    race.clock_ns = side->fake.host.clock_ns;
    side->fake.host.clock_ns = race_clock;
    atomic_store(&race.slow, true);
    fake_port_state(0, 1, IBV_PORT_DOWN);
    fake_port_state(0, 1, IBV_PORT_ACTIVE);
    assert_int_equal(pthread_create(&thread, NULL, race_second, NULL), 0);
    ops->conn_check(side->conn);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&race.noting));
    poll(NULL, 0, 150);
    assert_int_equal(ops->conn_check(side->conn), WEFT_OK);
    ops->conn_close(race.conns[0]);
    ops->conn_close(race.conns[1]);
    ops->device_close(device);
    traffic_end(&race.traffic);
}

/* Two connections of one device. One of them never rests. */
#define FLOOD 16u
#define BUSY_POLLS 4096u /* of a busy device, from one look at its descriptors to the next */

typedef struct flood {
    const weft_net_ops_t *ops;
    traffic_t traffic;
    weft_net_conn_t *other[2];
    uint32_t open, moved, polls; /* the polls are those of side 0 */
    weft_status_t ended;         /* of the receive that waits on other[0] */
} flood_t;

static void flood_post(flood_t *flood)
{
    static uint8_t out[4096], in[4096];
    uint32_t posted = 0;
    for (; flood->open < 2 * FLOOD; flood->open += 2) {
        weft_net_op_t send = {.kind = WEFT_NET_SEND, .buffer = out, .bytes = sizeof out};
        weft_net_op_t recv = {.kind = WEFT_NET_RECV, .buffer = in, .bytes = sizeof in};
        assert_int_equal(flood->ops->post(flood->traffic.sides[1].conn, &send, 1, &posted),
                         WEFT_OK);
        assert_int_equal(flood->ops->post(flood->traffic.sides[0].conn, &recv, 1, &posted),
                         WEFT_OK);
    }
}

static void flood_poll(flood_t *flood, traffic_side_t *side)
{
    weft_net_completion_t list[4];
    uint32_t count = 0;
    assert_int_equal(flood->ops->poll(side->device, list, 4, &count), WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].conn == flood->other[0]) {
            flood->ended = list[i].status;
        } else {
            assert_int_equal(list[i].status, WEFT_OK);
            flood->open--;
            flood->moved++;
        }
    }
}

/* Nobody calls conn_check(). Returns how many polls the other connection's end took. */
static uint32_t check_beside(void (*spoil)(flood_t *), weft_status_t expected)
{
    static const char *const settings[] = {NULL};
    static flood_t flood;
    static uint8_t room[64];
    weft_net_op_t recv = {.kind = WEFT_NET_RECV, .buffer = room, .bytes = sizeof room};
    uint32_t posted = 0;
    fake_setup(1);
    flood = (flood_t){.ops = traffic_ops()};
    assert_int_equal(traffic_begin(&flood.traffic, settings), WEFT_OK);
    assert_int_equal(traffic_connect(&flood.traffic, flood.other), WEFT_OK);
    assert_int_equal(flood.ops->post(flood.other[0], &recv, 1, &posted), WEFT_OK);
    spoil(&flood);
    double end = traffic_now() + 4;
    while (flood.ended == WEFT_OK && traffic_now() < end) {
        flood_post(&flood);
        flood_poll(&flood, &flood.traffic.sides[1]);
        flood_poll(&flood, &flood.traffic.sides[0]);
        flood.polls++;
    }
    assert_int_equal(flood.ended, expected);
    assert_true(flood.moved > FLOOD);
    flood.ops->conn_close(flood.other[0]);
    flood.ops->conn_close(flood.other[1]);
    traffic_end(&flood.traffic);
    return flood.polls;
}

/* Each look at this clock takes 50 ms, so that a patience ends after a few. */
static uint64_t hasty_clock(const weft_host_t *host)
{
    static uint64_t now;
    (void)host;
    return now += UINT64_C(50000000);
}

/* Each connection has two queue pairs at either end. */
static void other_breaks(flood_t *flood)
{
    flood->traffic.sides[0].fake.host.clock_ns = hasty_clock;
    fake_qp_break(5);
}

static void other_has_an_event(flood_t *flood)
{
    (void)flood;
    fake_qp_event(5, IBV_EVENT_QP_FATAL);
}

static void other_loses_its_peer(flood_t *flood)
{
    flood->ops->conn_close(flood->other[1]);
    flood->other[1] = NULL;
}

static void failures_are_noticed_beside_a_busy_connection(void **state)
{
    (void)state;
    /* A bad completion tells that there is something to look at. */
    assert_in_range(check_beside(other_breaks, WEFT_ERR_LINK), 1, BUSY_POLLS - 1);
    check_beside(other_has_an_event, WEFT_ERR_LINK);
    check_beside(other_loses_its_peer, WEFT_ERR_PEER_DEAD);
}

static void a_port_that_comes_back_loses_nothing(void **state)
{
    static const char *const settings[] = {"port_patience=20s", "qps=2", NULL};
    (void)state;
    for (uint32_t polls = 0; polls < 40; polls += 5) {
        traffic_t traffic = {.wait = polls % 2 == 1};
        fake_setup(1);
        assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
        fake_port_state(0, 1, IBV_PORT_DOWN);
        traffic_post(&traffic);
        traffic_poll(&traffic, 10 * polls);
        assert_int_equal(traffic.failed, 0);
        fake_port_state(0, 1, IBV_PORT_ACTIVE);
        assert_true(traffic_wait(&traffic, 5));
        assert_int_equal(traffic.failed, 0);
        assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_two_adapters_are_found_and_filtered),
        cmocka_unit_test(a_name_that_fits_no_adapter_is_refused),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_named),
        cmocka_unit_test(a_name_that_leaves_nothing_out_is_a_warning),
        cmocka_unit_test(eight_ports_are_eight_devices_or_one),
        cmocka_unit_test(ports_that_are_not_active_are_left_out),
        cmocka_unit_test(what_fails_is_left_out_with_the_cause),
        cmocka_unit_test(what_is_wanted_exactly_is_not_left_out),
        cmocka_unit_test(adapters_with_too_little_room_are_left_out),
        cmocka_unit_test(every_rail_can_carry_the_largest_message),
        cmocka_unit_test(iwarp_is_left_out_with_the_reason),
        cmocka_unit_test(gid_of_the_usual_table),
        cmocka_unit_test(gid_of_a_table_with_holes),
        cmocka_unit_test(an_index_is_for_ethernet_ports_only),
        cmocka_unit_test(rails_of_a_device_are_of_one_kind),
        cmocka_unit_test(each_rail_has_a_gid_of_its_own_kind),
        cmocka_unit_test(a_rail_in_another_subnet_is_refused),
        cmocka_unit_test(a_port_that_wants_global_routes_gets_them),
        cmocka_unit_test(a_connection_takes_the_lid_and_the_mtu_of_its_time),
        cmocka_unit_test(messages_over_every_kind_of_link),
        cmocka_unit_test(ends_agree_on_the_kind_of_gid),
        cmocka_unit_test(link_layers_do_not_reach_each_other),
        cmocka_unit_test(partition_key_outside_of_the_table_is_named),
        cmocka_unit_test(events_become_errors_within_two_seconds),
        cmocka_unit_test(a_connection_stays_on_its_ports),
        cmocka_unit_test(events_of_a_port_are_noted_in_their_order),
        cmocka_unit_test(failures_are_noticed_beside_a_busy_connection),
        cmocka_unit_test(a_port_that_comes_back_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
