/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about properties, addresses and the way to a connection. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

static void properties_are_sane(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    uint32_t count = 0;
    REQUIRE(kit->ops->device_count(side.net, &count) == WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        weft_net_props_t props = {.size = sizeof props};
        REQUIRE(kit->ops->device_props(side.net, i, &props) == WEFT_OK);
        REQUIRE(props.size == sizeof props);
        REQUIRE(props.name[0] != '\0' && memchr(props.name, 0, sizeof props.name) != NULL);
        REQUIRE(memchr(props.pci, 0, sizeof props.pci) != NULL);
        REQUIRE((props.memory_kinds & WEFT_MEMORY_HOST) != 0);
        REQUIRE(props.latency_ns > 0 && props.bandwidth > 0);
        REQUIRE(props.max_outstanding > 0);
        REQUIRE(props.max_message >= 1 << 20);
        REQUIRE(props.slot_bytes > 0 && props.slots >= 2);
    }
    weft_net_props_t none = {.size = sizeof none};
    REQUIRE(kit->ops->device_props(side.net, count, &none) < 0);
    REQUIRE(atomic_load(&side.fake.errors) > 0);
    side_close(&side);
}

static void fills_no_more_than_the_caller_has(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    weft_net_props_t props;
    memset(&props, 0xee, sizeof props);
    props.size = offsetof(weft_net_props_t, pci);
    REQUIRE(kit->ops->device_props(side.net, 0, &props) == WEFT_OK);
    const uint8_t *rest = (const uint8_t *)&props + offsetof(weft_net_props_t, pci);
    for (size_t i = 0; i < sizeof props - offsetof(weft_net_props_t, pci); i++) {
        REQUIRE(rest[i] == 0xee);
    }
    side_close(&side);
}

static bool is_option(const weft_option_t *option, const char *name)
{
    for (; option->name != NULL; option++) {
        if (strcmp(option->name, name) == 0) {
            return (option->flags & WEFT_OPTION_ALIAS) == 0;
        }
    }
    return false;
}

static void options_have_help_and_parse(const kit_t *kit)
{
    const weft_option_t *option = kit->plugin->options;
    for (; option != NULL && option->name != NULL; option++) {
        kit_note("option %s", option->name);
        if ((option->flags & WEFT_OPTION_ALIAS) != 0) {
            REQUIRE(option->value != NULL && is_option(kit->plugin->options, option->value));
            continue;
        }
        REQUIRE(option->help != NULL && strlen(option->help) > 4);
        REQUIRE(option->value != NULL);
        REQUIRE(option->offset < kit->plugin->config_size);
        REQUIRE(strspn(option->name, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
                strlen(option->name));
        REQUIRE(strcmp(option->name, "path") != 0 && strcmp(option->name, "optional") != 0);
    }
}

static void check_info(kit_end_t *end, uint32_t connector)
{
    weft_net_conn_info_t info = {.size = sizeof info};
    REQUIRE(end->side->ops->conn_info(end->conn, &info) == WEFT_OK);
    REQUIRE(info.size == sizeof info);
    REQUIRE(info.connector == connector);
    REQUIRE(kit_matches(info.label, sizeof info.label, KIT_LABEL_SEED));
    REQUIRE(info.peer[0] != '\0' && memchr(info.peer, 0, sizeof info.peer) != NULL);
    REQUIRE(end->side->ops->conn_check(end->conn) == WEFT_OK);
}

static void connects_to_itself(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    side_open(kit, &side);
    REQUIRE(kit->ops->reachable(side.device, &side.address) == WEFT_OK);
    pair_connect(&side, &side, &a, &b);
    check_info(&a, 1);
    check_info(&b, 0);
    pair_close(&a, &b);
    side_close(&side);
}

static void need_instances_to_meet(kit_side_t *one, kit_side_t *other)
{
    weft_status_t status = one->ops->reachable(one->device, &other->address);
    if (status == WEFT_ERR_UNSUPPORTED) {
        kit_skip("connections between instances (reachable says ERR_UNSUPPORTED)");
    }
    REQUIRE(status == WEFT_OK);
}

static void connects_two_instances(const kit_t *kit)
{
    kit_side_t one, other;
    kit_end_t a, b;
    side_open(kit, &one);
    side_open(kit, &other);
    need_instances_to_meet(&one, &other);
    pair_connect(&one, &other, &a, &b);
    check_info(&a, 1);
    check_info(&b, 0);
    pair_close(&b, &a);
    side_close(&one);
    side_close(&other);
}

static void child_connects(kit_side_t *side, const weft_net_address_t *address, void *arg)
{
    const int *pipe_fds = arg;
    kit_end_t end;
    REQUIRE(end_connect(side, address, 4096, &end) == WEFT_OK);
    check_info(&end, 1);
    REQUIRE(write(pipe_fds[1], "x", 1) == 1);
    /* Leaves when the peer does. */
    uint64_t start = kit_now_ns();
    while (side->ops->conn_check(end.conn) == WEFT_OK) {
        bool in_time = kit_now_ns() - start < UINT64_C(10000000000);
        if (!in_time) {
            kit_note("conn_check says OK 10 s after the peer closed");
        }
        REQUIRE(in_time);
    }
    end_close(&end);
    side_close(side);
}

static void connects_two_processes(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t end;
    int pipe_fds[2];
    char byte;
    REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
    int child = kit_spawn(kit, &side, child_connects, pipe_fds);
    close(pipe_fds[1]);
    end_accept(&side, &end);
    check_info(&end, 0);
    REQUIRE(read(pipe_fds[0], &byte, 1) == 1);
    close(pipe_fds[0]);
    end_close(&end);
    kit_reap(child);
    side_close(&side);
}

static void accepted_connection_outlives_listener(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    kit->ops->listener_close(side.listener);
    side.listener = NULL;
    check_info(&a, 1);
    check_info(&b, 0);
    pair_close(&a, &b);
    side_close(&side);
}

static void accept_has_nobody_at_first(const kit_t *kit)
{
    kit_side_t side;
    weft_net_conn_t *conn = NULL;
    side_open(kit, &side);
    REQUIRE(kit->ops->accept(side.listener, &conn) == WEFT_AGAIN);
    side_close(&side);
}

static void connection_under_way_can_be_closed(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = 4096};
    for (int polls = 0; polls < 4; polls++) {
        weft_net_conn_t *conn = NULL;
        REQUIRE(kit->ops->connect_begin(side.device, &side.address, &params, &conn) == WEFT_OK);
        for (int i = 0; i < polls; i++) {
            REQUIRE(kit->ops->connect_poll(conn) >= 0);
        }
        kit->ops->conn_close(conn);
    }
    kit->ops->conn_close(NULL);
    side_close(&side);
}

/* Sleeps until one of the two devices has something. */
static void sleep_on(const kit_side_t *one, const kit_side_t *other)
{
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
    weft_status_t status = one->ops->wait_fd(one->device, &fds[0].fd);
    REQUIRE(status == WEFT_OK || status == WEFT_AGAIN || status == WEFT_ERR_RESOURCE);
    if (status == WEFT_OK) {
        status = other->ops->wait_fd(other->device, &fds[1].fd);
        REQUIRE(status == WEFT_OK || status == WEFT_AGAIN || status == WEFT_ERR_RESOURCE);
    }
    if (status == WEFT_OK) {
        kit_note("no descriptor says that connect_poll() or accept() can go on");
        REQUIRE(poll(fds, 2, 5000) > 0);
    }
}

/* Else each step of a connection takes as long as a core sleeps without news. */
static void wait_fd_tells_of_connections_under_way(const kit_t *kit)
{
    enum { STEPS = 10000 };
    kit_side_t one, other;
    weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = 4096};
    weft_net_conn_t *a = NULL, *b = NULL;
    if (!WEFT_HAS(kit->ops, weft_net_ops_t, wait_fd)) {
        kit_skip("wait_fd");
    }
    side_open(kit, &one);
    side_open(kit, &other);
    need_instances_to_meet(&one, &other);
    REQUIRE(kit->ops->connect_begin(one.device, &other.address, &params, &a) == WEFT_OK);
    weft_status_t connected = WEFT_IN_PROGRESS, accepted = WEFT_AGAIN;
    int steps = 0;
    bool over = false;
    for (; !over && steps < STEPS; steps++) {
        connected = connected == WEFT_OK ? connected : kit->ops->connect_poll(a);
        accepted = accepted == WEFT_OK ? accepted : kit->ops->accept(other.listener, &b);
        kit_note("%s%s", one.fake.error, other.fake.error);
        REQUIRE(connected >= 0 && accepted >= 0);
        over = connected == WEFT_OK && accepted == WEFT_OK;
        if (!over) {
            sleep_on(&one, &other);
        }
    }
    kit_note("a descriptor stays readable");
    REQUIRE(over);
    kit->ops->conn_close(a);
    kit->ops->conn_close(b);
    side_close(&one);
    side_close(&other);
}

static void many_connections_at_once(const kit_t *kit)
{
    enum { MANY = 32 };
    kit_side_t side;
    kit_end_t a[MANY], b[MANY];
    side_open(kit, &side);
    for (int i = 0; i < MANY; i++) {
        pair_connect(&side, &side, &a[i], &b[i]);
    }
    for (int i = 0; i < MANY; i++) {
        check_info(&a[i], 1);
        check_info(&b[i], 0);
    }
    for (int i = 0; i < MANY; i++) {
        pair_close(&a[i], &b[i]);
    }
    side_close(&side);
}

const kit_case_t connect_cases[] = {
    {"properties are sane", 0, properties_are_sane},
    {"props fills no more than the caller has", 0, fills_no_more_than_the_caller_has},
    {"options have help and a default", 0, options_have_help_and_parse},
    {"accept has nobody at first", 0, accept_has_nobody_at_first},
    {"connects to itself", 0, connects_to_itself},
    {"connects two instances", 0, connects_two_instances},
    {"connects two processes", 0, connects_two_processes},
    {"accepted connection outlives its listener", 0, accepted_connection_outlives_listener},
    {"connection under way can be closed", 0, connection_under_way_can_be_closed},
    {"wait_fd tells of connections under way", 0, wait_fd_tells_of_connections_under_way},
    {"many connections at once", 0, many_connections_at_once},
    {NULL, 0, NULL},
};
