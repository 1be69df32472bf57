/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of adapters and ports: errors within two seconds, and ports that come back. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/denied.h"
#include "tests/support/unit.h"
#include "traffic.h"

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

static void a_lid_that_changes_is_a_warning(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    fake_port_event(0, 1, IBV_EVENT_LID_CHANGE);
    fake_port_event(0, 1, IBV_EVENT_GID_CHANGE);
    traffic_post(&traffic);
    assert_true(traffic_wait(&traffic, 5));
    for (int i = 0; i < 2; i++) {
        (void)traffic.ops->conn_check(traffic.sides[i].conn);
    }
    assert_true(traffic_log_says(&traffic, "fake0:1: the port's LID changed; connections that"));
    traffic_check_all(&traffic, "LID", 0);
    traffic_end(&traffic);
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

/* The last test of this program: what the system refuses once, it refuses until the end. */
static void an_end_is_noticed_where_the_system_watches_nothing(void **state)
{
    static const char *const settings[] = {NULL};
    traffic_t traffic = {.wait = false};
    weft_net_completion_t completion = {.status = WEFT_OK};
    uint8_t byte;
    uint32_t count = 0;
    (void)state;
    if (!denied_call(SYS_epoll_ctl, ENOSPC)) {
        skip();
    }
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    traffic_side_t *side = &traffic.sides[0];
    const weft_net_op_t op = {.kind = WEFT_NET_RECV, .buffer = &byte, .bytes = 1};
    int fd = -1;
    /* Nobody sleeps on it, and what no event tells of is looked for. */
    assert_int_equal(traffic.ops->wait_fd(side->device, &fd), WEFT_ERR_RESOURCE);
    assert_non_null(strstr(side->fake.error, "fs.epoll.max_user_watches"));
    fake_port_state(0, 1, IBV_PORT_ACTIVE);
    traffic_poll(&traffic, 1000);
    assert_true(traffic_log_says(&traffic, "the port is up again"));
    assert_int_equal(traffic.ops->post(side->conn, &op, 1, &count), WEFT_OK);
    traffic.ops->conn_close(traffic.sides[1].conn);
    traffic.sides[1].conn = NULL;
    count = 0;
    for (double start = traffic_now(); count == 0 && traffic_now() - start < 2;) {
        assert_int_equal(traffic.ops->poll(side->device, &completion, 1, &count), WEFT_OK);
    }
    assert_int_equal(count, 1);
    assert_int_equal(completion.status, WEFT_ERR_PEER_DEAD);
    traffic_end(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_become_errors_within_two_seconds),
        cmocka_unit_test(events_of_a_port_are_noted_in_their_order),
        cmocka_unit_test(a_lid_that_changes_is_a_warning),
        cmocka_unit_test(failures_are_noticed_beside_a_busy_connection),
        cmocka_unit_test(a_port_that_comes_back_loses_nothing),
        cmocka_unit_test(an_end_is_noticed_where_the_system_watches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
