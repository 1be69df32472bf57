/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What may happen at any moment while a connection is being made: a port goes down, an adapter
 * fails, a table of GIDs changes, the connection manager tells events that do not belong there.
 * Either end comes to know of it, says whom it concerns, and leaves nothing; nobody waits for
 * ever. */
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

enum { MOMENTS_MAX = 40, EVENTS_MAX = 60 };

static const char *const first[] = {"devices==fake0", "qps=2", "timeout=8", "retry=1", NULL};
static const char *const second[] = {"devices==fake1", "qps=2", "timeout=8", "retry=1", NULL};

typedef enum link_kind { LINK_IB, LINK_ROCE, LINK_IWARP, LINK_KINDS } link_kind_t;

typedef struct ends {
    traffic_t traffic;
    weft_net_conn_t *conns[2];
    weft_status_t mine, theirs;
    uint32_t moment;
} ends_t;

static void begin(ends_t *e, link_kind_t kind)
{
    static const fake_cm_t nothing;
    *e = (ends_t){.mine = WEFT_IN_PROGRESS, .theirs = WEFT_AGAIN};
    fake_setup(2);
    fake_cm(&nothing);
    for (uint32_t i = 0; i < 2; i++) {
        if (kind == LINK_ROCE) {
            fake_port_roce(i, 1);
        } else if (kind == LINK_IWARP) {
            fake_device(i)->transport = IBV_TRANSPORT_IWARP;
            fake_device(i)->ports[0].attr.link_layer = IBV_LINK_LAYER_ETHERNET;
        }
    }
    assert_int_equal(traffic_begin_sides(&e->traffic, first, second), WEFT_OK);
    for (int i = 0; i < 2; i++) {
        e->traffic.ops->conn_close(e->traffic.sides[i].conn);
        e->traffic.sides[i].conn = NULL;
        e->traffic.sides[i].fake.host.clock_ns = traffic_later;
        e->traffic.sides[i].fake.log[0] = e->traffic.sides[i].fake.error[0] = '\0';
    }
}

static void connect_begin(ends_t *e)
{
    const weft_net_conn_params_t params = {.size = sizeof params};
    traffic_side_t *sides = e->traffic.sides;
    e->mine =
        e->traffic.ops->connect_begin(sides[0].device, &sides[1].address, &params, &e->conns[0]);
    e->conns[0] = e->mine == WEFT_OK ? e->conns[0] : NULL;
    e->mine = e->mine == WEFT_OK ? WEFT_IN_PROGRESS : e->mine;
}

static void step(ends_t *e)
{
    const weft_net_ops_t *ops = e->traffic.ops;
    if (e->mine == WEFT_IN_PROGRESS) {
        e->mine = ops->connect_poll(e->conns[0]);
    }
    if (e->mine < 0) { /* as the core does */
        ops->conn_close(e->conns[0]);
        e->conns[0] = NULL;
    }
    if (e->theirs == WEFT_AGAIN) {
        weft_net_conn_t *conn = NULL;
        e->theirs = ops->accept(e->traffic.sides[1].listener, &conn);
        e->conns[1] = e->theirs == WEFT_OK ? conn : NULL;
    }
    e->moment++;
}

static bool is_over(const ends_t *e)
{
    return e->mine != WEFT_IN_PROGRESS && (e->theirs != WEFT_AGAIN || e->mine < 0);
}

/* Goes on to the end, and exchanges messages if there is a connection. A patience is over after
 * some polls. */
static void finish(ends_t *e, const char *what)
{
    traffic_t *traffic = &e->traffic;
    double end = traffic_now() + 20;
    char error[512];
    for (uint32_t i = 0; !is_over(e); i++) {
        step(e);
        poll(NULL, 0, i > 20 ? 1 : 0);
        traffic_later_by_ns += i % 100 == 99 ? UINT64_C(31000000000) : 0;
        if (traffic_now() > end) {
            fail_msg("%s, moment %u: %d and %d", what, e->moment, e->mine, e->theirs);
        }
    }
    fake_host_take_error(&traffic->sides[0].fake, error, sizeof error);
    if (e->mine < 0 && strstr(error, "peer") == NULL && strstr(error, "127.0.0.1:") == NULL) {
        fail_msg("%s, moment %u: status %d, \"%s\"", what, e->moment, e->mine, error);
    }
    if (e->mine == WEFT_OK && e->theirs == WEFT_OK) {
        traffic->sides[0].conn = e->conns[0];
        traffic->sides[1].conn = e->conns[1];
        traffic_post(traffic);
        if (!traffic_wait(traffic, 20)) {
            fail_msg("%s, moment %u: %u of %u done", what, e->moment, traffic->done,
                     traffic->posted);
        }
        assert_true(traffic->failed == 0 || traffic->sides[0].cause[0] != '\0');
        traffic_verify(traffic);
    } else {
        for (int i = 0; i < 2; i++) {
            traffic->ops->conn_close(e->conns[i]);
        }
    }
    traffic_end(traffic);
    assert_int_equal(fake_cm_living(), 0);
}

/* Ports, adapters, tables ---------------------------------------------------------------------- */

static void port_down(uint32_t index)
{
    fake_port_state(index, 1, IBV_PORT_DOWN);
}

static void port_down_and_up(uint32_t index)
{
    fake_port_state(index, 1, IBV_PORT_DOWN);
    fake_port_state(index, 1, IBV_PORT_ACTIVE);
}

static void table_empty(uint32_t index)
{
    fake_device(index)->ports[0].ngids = 0;
}

static void table_moved(uint32_t index)
{
    fake_port_t *port = &fake_device(index)->ports[0];
    for (uint32_t i = 0; i < port->ngids; i++) {
        port->gids[i].gid_index += 7;
    }
}

static void table_changed(uint32_t index)
{
    fake_port_t *port = &fake_device(index)->ports[0];
    for (uint32_t i = 0; i < port->ngids; i++) {
        port->gids[i].gid.raw[2] ^= 0x55;
        port->gids[i].gid.raw[13] ^= 0x55;
    }
}

static void lid_and_mtu_changed(uint32_t index)
{
    fake_device(index)->ports[0].attr.lid += 100;
    fake_device(index)->ports[0].attr.active_mtu = IBV_MTU_256;
}

static const struct {
    const char *name;
    void (*happen)(uint32_t index);
} events[] = {{"port down", port_down},
              {"port down and up", port_down_and_up},
              {"adapter fails", fake_device_fatal},
              {"no GIDs", table_empty},
              {"GIDs have other indices", table_moved},
              {"other GIDs", table_changed},
              {"other LID and MTU", lid_and_mtu_changed}};

static void anything_may_change_at_any_moment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        for (uint32_t run = 0; run < 2 * LINK_KINDS; run++) {
            uint32_t moment = 0;
            for (bool over = false; !over && moment < MOMENTS_MAX; moment++) {
                ends_t e;
                begin(&e, (link_kind_t)(run / 2));
                if (moment == 0) {
                    events[i].happen(run % 2);
                }
                connect_begin(&e);
                while (e.moment + 1 < moment && !is_over(&e)) {
                    step(&e);
                }
                over = moment > 0 && is_over(&e);
                if (moment > 0) {
                    events[i].happen(run % 2);
                }
                finish(&e, events[i].name);
            }
            assert_true(moment > 3);
        }
    }
}

/* The connection manager ----------------------------------------------------------------------- */

static void odd_events_of_the_connection_manager_end_a_connection(void **state)
{
    static const int types[] = {RDMA_CM_EVENT_ADDR_RESOLVED,    RDMA_CM_EVENT_ROUTE_RESOLVED,
                                RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_UNREACHABLE,
                                RDMA_CM_EVENT_REJECTED,         RDMA_CM_EVENT_ESTABLISHED,
                                RDMA_CM_EVENT_DISCONNECTED,     RDMA_CM_EVENT_DEVICE_REMOVAL,
                                RDMA_CM_EVENT_ADDR_CHANGE,      RDMA_CM_EVENT_TIMEWAIT_EXIT};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (uint32_t instead = 0; instead < 2; instead++) {
            uint32_t nth = 0, ended = 0;
            for (bool odd = true; odd && nth < EVENTS_MAX;) {
                ends_t e;
                begin(&e, LINK_IWARP);
                fake_cm(&(fake_cm_t){
                    .odd_nth = ++nth, .odd_event = types[i], .odd_instead = instead != 0});
                connect_begin(&e);
                for (int k = 0; k < 20; k++) {
                    step(&e);
                }
                assert_true(instead != 0 || is_over(&e)); /* no patience was over */
                odd = fake_cm_was_odd();
                assert_true(odd || (e.mine == WEFT_OK && e.theirs == WEFT_OK));
                ended += e.mine < 0 ? 1 : 0;
                finish(&e, rdma_event_str((enum rdma_cm_event_type)types[i]));
            }
            assert_true(nth > 10 && nth < EVENTS_MAX);
            assert_true(ended > 5 || types[i] == RDMA_CM_EVENT_ESTABLISHED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_may_change_at_any_moment),
        cmocka_unit_test(odd_events_of_the_connection_manager_end_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
