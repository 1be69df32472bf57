/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What two ends agree on: link layers, tables of GIDs, partitions, and the ports of a
 * connection. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "tests/support/connections.h"
#include "tests/support/unit.h"
#include "traffic.h"

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

/* Ports of one network that number their GIDs in another way. */
static void a_network_is_the_same_on_all_hosts(void **state)
{
    static const char *const first[] = {"devices==fake0", "networks=10.7.0.0/16", NULL};
    static const char *const second[] = {"devices==fake1", "networks=10.7.0.0/16", NULL};
    static const char *const wrong[] = {"networks=10.7.0.0/16 eth0", NULL};
    traffic_t traffic = {.wait = false};
    traffic_side_t side;
    (void)state;
    fake_setup(2);
    for (uint32_t i = 0; i < 2; i++) {
        fake_port_roce(i, 1);
        fake_port_t *port = &fake_device(i)->ports[0];
        struct ibv_gid_entry routed = port->gids[3];
        assert_int_equal(
            inet_pton(AF_INET6, i == 0 ? "::ffff:10.7.0.1" : "::ffff:10.7.9.2", routed.gid.raw), 1);
        routed.gid_index = 4 + i;
        port->gids[4] = routed;
        port->ngids = 5;
    }
    assert_int_equal(traffic_begin_sides(&traffic, first, second), WEFT_OK);
    assert_non_null(strstr(traffic.sides[0].fake.log, "uses GID 4 ::ffff:10.7.0.1"));
    assert_non_null(strstr(traffic.sides[1].fake.log, "uses GID 5 ::ffff:10.7.9.2"));
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    traffic_check_all(&traffic, "networks", 0);
    traffic_end(&traffic);
    check_gid("devices==fake0", "networks=192.168.0.0/16", -1);
    assert_int_equal(side_open(&side, wrong), WEFT_ERR_CONFIG);
    assert_non_null(strstr(side.fake.error, "networks: \"eth0\" is no network"));
    side_close(&side);
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

/* A virtual function without a GUID. */
static void a_port_of_infiniband_without_a_gid_is_left_out(void **state)
{
    (void)state;
    fake_setup(2);
    memset(&fake_device(1)->ports[0].gids[0].gid, 0, sizeof(union ibv_gid));
    side_check_log("devices=", 1, "fake1:1 is left out: it has no GID", "address_family");
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
    side_check_log("rails=2", 0, "of the 2 usable ports fewer are of one kind", "uses GID 9");
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
    assert_non_null(strstr(traffic.sides[1].fake.error, "fake2:1, rail 1, GID "));
    assert_non_null(strstr(traffic.sides[1].fake.error, " (InfiniBand), does not reach GID "));
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

/* A virtual function shares the LID of its adapter: only the GID tells them apart. */
static void a_peer_whose_port_wants_global_routes_gets_them(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        fake_setup(2);
        fake_device(i)->ports[0].attr.flags = IBV_QPF_GRH_REQUIRED;
        begin_between("sl=0", "sl=0", WEFT_OK);
    }
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

static void connect_slowly(traffic_t *traffic, weft_net_conn_t *ends[2])
{
    const weft_net_ops_t *ops = traffic->ops;
    traffic_side_t *from = &traffic->sides[0], *to = &traffic->sides[1];
    weft_net_conn_params_t params = {.size = sizeof params};
    weft_status_t mine = WEFT_IN_PROGRESS, theirs = WEFT_AGAIN;
    const uint32_t qps = fake_count_call(FAKE_CREATE_QP);
    double end = traffic_now() + 60;
    to->fake.host.clock_ns = traffic_later;
    assert_int_equal(ops->connect_begin(from->device, &to->address, &params, &ends[0]), WEFT_OK);
    const uint32_t all = qps + 2 * (fake_count_call(FAKE_CREATE_QP) - qps);
    while (fake_count_call(FAKE_CREATE_QP) < all && traffic_now() < end) {
        assert_int_equal(ops->connect_poll(ends[0]), WEFT_IN_PROGRESS);
        assert_int_equal(ops->accept(to->listener, &ends[1]), WEFT_AGAIN);
    }
    /* The connector makes queue pairs for others. */
    traffic_later_by_ns += 10 * UINT64_C(1000000000);
    assert_int_equal(ops->accept(to->listener, &ends[1]), WEFT_AGAIN);
    while ((mine == WEFT_IN_PROGRESS || (mine == WEFT_OK && theirs == WEFT_AGAIN)) &&
           traffic_now() < end) {
        mine = mine == WEFT_IN_PROGRESS ? ops->connect_poll(ends[0]) : mine;
        theirs = theirs == WEFT_AGAIN ? ops->accept(to->listener, &ends[1]) : theirs;
    }
    assert_int_equal(mine, WEFT_OK);
    assert_int_equal(theirs, WEFT_OK);
}

/* A process that meets many peers at once makes their queue pairs one after the other, and each
 * takes an adapter milliseconds. */
static void a_peer_that_is_busy_with_others_is_waited_for(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    weft_net_conn_t *ends[2] = {NULL, NULL};
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    connect_slowly(&traffic, ends);
    traffic.ops->conn_close(ends[0]);
    traffic.ops->conn_close(ends[1]);
    traffic_end(&traffic);
}

/* The next address is begun with before anybody sleeps. */
static void an_address_that_refuses_holds_up_nobody(void **state)
{
    enum { CLOSED = 1 }; /* tcpmux */
    static const char *const settings[] = {NULL};
    weft_net_conn_params_t params = {.size = sizeof params};
    traffic_t traffic = {.wait = false};
    weft_net_conn_t *conn = NULL;
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    traffic_side_t *from = &traffic.sides[0], *to = &traffic.sides[1];
    side_add_address(to, CLOSED);
    const weft_net_ops_t *ops = traffic.ops;
    assert_int_equal(ops->connect_begin(from->device, &to->address, &params, &conn), WEFT_OK);
    assert_int_equal(ops->connect_poll(conn), WEFT_IN_PROGRESS);
    assert_true(side_wakes(to, 5000)); /* it is asked already */
    ops->conn_close(conn);
    traffic_end(&traffic);
}

/* On RoCE this call asks for the peer's hardware address, and many ask at once. */
static void an_address_that_is_not_resolved_at_once_is_asked_for_again(void **state)
{
    static const char *const settings[] = {NULL};
    (void)state;
    /* Each end has two queue pairs and three steps for each. */
    for (uint32_t nth = 3; nth <= 5; nth += 2) {
        const fake_fault_t fault = {
            .act = FAKE_FAIL, .call = FAKE_MODIFY_QP, .nth = nth + 2, .value = ETIMEDOUT};
        traffic_t traffic = {.wait = false};
        fake_setup(1);
        fake_port_roce(0, 1);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
        assert_true(fake_happened());
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_int_equal(traffic.failed, 0);
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

/* A firewall that keeps states forgets a connection over which nothing goes, and the end of the
 * side channel is how an end hears of the death of a peer that it only receives from. */
static void side_channels_are_kept_alive(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    long kept = 0;
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    assert_int_equal(connections_count(&kept), 2);
    assert_int_equal(kept, 2);
    traffic_end(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gid_of_the_usual_table),
        cmocka_unit_test(gid_of_a_table_with_holes),
        cmocka_unit_test(a_network_is_the_same_on_all_hosts),
        cmocka_unit_test(a_port_of_infiniband_without_a_gid_is_left_out),
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
        cmocka_unit_test(a_connection_stays_on_its_ports),
        cmocka_unit_test(a_peer_whose_port_wants_global_routes_gets_them),
        cmocka_unit_test(a_peer_that_is_busy_with_others_is_waited_for),
        cmocka_unit_test(an_address_that_refuses_holds_up_nobody),
        cmocka_unit_test(an_address_that_is_not_resolved_at_once_is_asked_for_again),
        cmocka_unit_test(side_channels_are_kept_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
