/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of ports with work: among a thousand message ports a flush calls the operations of those
 * that wait for resources, have a proxy, or broke, and of no others. */
#include <stdlib.h>

#include "core/exec/port.h"
#include "core/exec/proxy.h"
#include "tests/support/loaded_net.h"
#include "tests/support/unit.h"

enum { LINKS = 1001, SLOTS = 4, SLOT_BYTES = 256 };

/* The connection of one port: takes `room` posts. */
typedef struct fake_conn {
    uint32_t room, posted, asked;
    void *context; /* of the last post */
    weft_status_t status;
} fake_conn_t;

static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    fake_conn_t *fake = (fake_conn_t *)conn;
    assert_int_equal(count, 1);
    fake->asked++;
    fake->context = ops[0].context;
    *posted_p = fake->status == WEFT_OK && fake->posted < fake->room;
    fake->posted += *posted_p;
    return fake->status != WEFT_OK ? fake->status : *posted_p == 1 ? WEFT_OK : WEFT_AGAIN;
}

static const weft_net_ops_t fake_ops = {.size = sizeof fake_ops, .post = fake_post};

typedef struct fixture {
    weft_poll_list_t list;
    fake_conn_t conn[LINKS];
    weft_message_port_t port[LINKS];
    weft_port_ops_t counting; /* of the ports, but flush() counts */
} fixture_t;

static uint32_t flushes; /* calls of flush(), of all ports */

static weft_status_t counting_flush(weft_port_t *port, bool *moved_p)
{
    flushes++;
    return weft_message_port_flush(port, moved_p);
}

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    for (uint32_t i = 0; i < LINKS; i++) {
        weft_message_port_params_t params = {.loaded = &loaded_net,
                                             .net = &fake_ops,
                                             .conn = (weft_net_conn_t *)&f->conn[i],
                                             .list = &f->list,
                                             .slot_bytes = SLOT_BYTES,
                                             .slots = SLOTS,
                                             .peer = i,
                                             .sends = true};
        f->conn[i].room = UINT32_MAX;
        assert_int_equal(weft_message_port_init(&f->port[i], &params), WEFT_OK);
        assert_int_equal(weft_message_port_open(&f->port[i], NULL), WEFT_OK);
        f->counting = *f->port[i].port.ops;
        f->counting.flush = counting_flush;
        f->port[i].port.ops = &f->counting;
    }
    flushes = 0;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    for (uint32_t i = 0; i < LINKS; i++) {
        weft_port_fini(&f->port[i].port);
    }
    assert_null(f->list.first);
    assert_null(f->list.last);
    free(f);
    return 0;
}

static weft_status_t send_one(fixture_t *f, uint32_t i)
{
    weft_signature_t signature = {0};
    assert_true(weft_port_can_send(&f->port[i].port, WEFT_SLOT_INLINE));
    return weft_port_send(&f->port[i].port, &signature, 8, NULL);
}

static weft_status_t flush(fixture_t *f, uint32_t *peer_p)
{
    bool moved = false;
    uint32_t peer = UINT32_MAX;
    weft_status_t status = weft_poll_list_flush(&f->list, &moved, &peer);
    assert_false(moved);
    if (peer_p != NULL) {
        *peer_p = peer;
    }
    return status;
}

/* A thousand links have sent, and wait for nothing; one has no resources. */
static void a_flush_visits_the_busy_link_only(void **state)
{
    fixture_t *f = *state;
    f->conn[500].room = 0;
    for (uint32_t i = 0; i < LINKS; i++) {
        assert_int_equal(send_one(f, i), WEFT_OK);
    }
    for (uint32_t polls = 1; polls <= 100; polls++) {
        assert_int_equal(flush(f, NULL), WEFT_OK);
        assert_int_equal(flushes, polls);
        assert_int_equal(f->conn[500].asked, 1 + polls);
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        assert_int_equal(f->conn[i].asked, i == 500 ? 101 : 1);
    }
    /* Once it is served, nobody is visited. */
    f->conn[500].room = 1;
    assert_int_equal(flush(f, NULL), WEFT_OK);
    assert_int_equal(f->conn[500].posted, 1);
    flushes = 0;
    assert_int_equal(flush(f, NULL), WEFT_OK);
    assert_int_equal(flushes, 0);
}

static void links_that_get_busy_again_are_visited_again(void **state)
{
    static const uint32_t busy[] = {3, 999, 0, 500};
    fixture_t *f = *state;
    for (uint32_t round = 0; round < 3; round++) {
        flushes = 0;
        for (uint32_t i = 0; i < 4; i++) {
            fake_conn_t *conn = &f->conn[busy[i]];
            conn->room = conn->posted;
            assert_int_equal(send_one(f, busy[i]), WEFT_OK);
        }
        assert_int_equal(flush(f, NULL), WEFT_OK);
        assert_int_equal(flushes, 4);
        /* They get their resources back in another order. */
        for (uint32_t i = 0; i < 4; i++) {
            f->conn[busy[(i + round) % 4]].room = UINT32_MAX;
            assert_int_equal(flush(f, NULL), WEFT_OK);
            assert_int_equal(flushes, 4 + (i + 1) * 4 - i * (i + 1) / 2);
        }
        assert_null(f->list.first);
        for (uint32_t i = 0; i < 4; i++) {
            weft_message_port_complete(
                &(weft_net_completion_t){.context = f->conn[busy[i]].context});
        }
    }
}

static void every_poll_tells_of_the_link_that_broke_first(void **state)
{
    fixture_t *f = *state;
    uint32_t peer;
    f->conn[7].status = WEFT_ERR_LINK;
    f->conn[9].status = WEFT_ERR_PEER_DEAD;
    f->conn[8].room = 0;
    assert_int_equal(send_one(f, 9), WEFT_ERR_PEER_DEAD);
    assert_int_equal(send_one(f, 8), WEFT_OK);
    assert_int_equal(send_one(f, 7), WEFT_ERR_LINK);
    for (uint32_t polls = 0; polls < 3; polls++) {
        f->conn[8].room = polls;
        assert_int_equal(flush(f, &peer), WEFT_ERR_PEER_DEAD);
        assert_int_equal(peer, 9);
    }
    /* Those behind it were served. */
    assert_int_equal(f->conn[8].posted, 1);
}

static void a_completion_that_failed_is_told_by_the_next_poll(void **state)
{
    fixture_t *f = *state;
    uint32_t peer;
    assert_int_equal(send_one(f, 20), WEFT_OK);
    assert_int_equal(flush(f, NULL), WEFT_OK);
    weft_message_port_complete(
        &(weft_net_completion_t){.context = f->conn[20].context, .status = WEFT_ERR_LINK});
    assert_int_equal(flush(f, &peer), WEFT_ERR_LINK);
    assert_int_equal(peer, 20);
}

/* The device may move at any time. */
static void links_with_a_proxy_stay_in_the_list(void **state)
{
    fixture_t *f = *state;
    assert_int_equal(weft_proxy_ensure(&f->port[1]), WEFT_OK);
    assert_int_equal(weft_proxy_ensure(&f->port[1]), WEFT_OK);
    for (uint32_t polls = 0; polls < 3; polls++) {
        assert_int_equal(flush(f, NULL), WEFT_OK);
        assert_ptr_equal(f->list.first, &f->port[1].entry);
        assert_ptr_equal(f->list.last, f->list.first);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_flush_visits_the_busy_link_only),
        CASE(links_that_get_busy_again_are_visited_again),
        CASE(every_poll_tells_of_the_link_that_broke_first),
        CASE(a_completion_that_failed_is_told_by_the_next_poll),
        CASE(links_with_a_proxy_stay_in_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
