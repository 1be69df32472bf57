/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection that is reset before a word came over it, while some rank has left: a rank that lives is
 * asked, and connected to again, not declared dead. Who cannot be reached, and who hears nobody. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "core/boot/auth.h"
#include "core/boot/boot.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/reconnect.h"
#include "core/boot/tree_repair.h"

enum { RANKS = 4 }; /* rank 3 has left */

/* The health of one rank, without a thread, and a listener that stands for all others. */
typedef struct stage {
    weft_boot_t boot;
    weft_join_request_t requests[RANKS];
    weft_health_t health;
    int listener;
} stage_t;

static void stage_begin(stage_t *s, uint32_t rank)
{
    uint16_t port = 0;
    memset(s, 0, sizeof *s);
    assert_int_equal(weft_os_listen(4, &s->listener, &port), WEFT_OK);
    s->boot.rank = rank;
    s->boot.nranks = RANKS;
    s->boot.requests = s->requests;
    for (uint32_t r = 0; r < RANKS; r++) {
        s->requests[r].rank = r;
        s->requests[r].addrs[0] =
            (weft_os_addr_t){.family = 4, .bytes = {127, 0, 0, 1}, .port = port};
    }
    s->health.boot = &s->boot;
    weft_health_own(&s->health);
    weft_detector_init(&s->health);
    assert_int_equal(weft_membership_init(&s->health.membership, rank, RANKS), WEFT_OK);
    assert_int_equal(weft_neighbours_init(&s->health.neighbours, &s->boot), WEFT_OK);
    s->health.membership.states[3] = WEFT_MEMBER_LEFT;
}

static void stage_end(stage_t *s)
{
    weft_reconnect_end(&s->health);
    weft_neighbours_fini(&s->health.neighbours);
    weft_membership_fini(&s->health.membership);
    weft_os_close(s->listener);
}

/* A new connection to `peer` ends by a reset before anything came. */
static void lose_fresh(stage_t *s, uint32_t peer)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(weft_neighbours_add(&s->health.neighbours, ends[0], peer), WEFT_OK);
    weft_neighbour_t *neighbour = weft_neighbours_find(&s->health.neighbours, peer);
    neighbour->fresh = true;
    weft_detector_stream_ended(&s->health, neighbour, ECONNRESET);
    weft_os_close(ends[1]);
    assert_int_equal(s->health.membership.states[peer], WEFT_MEMBER_SUSPECT);
}

static void look_later(stage_t *s, double seconds)
{
    weft_detector_step(&s->health, weft_os_deadline(seconds));
}

static void a_child_that_is_suspected_is_knocked_at(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 0);
    lose_fresh(&s, 1);
    look_later(&s, 1.5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    look_later(&s, 2.5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_LIVE);
    assert_true(s.health.knock.active);
    assert_int_equal(s.health.knock.rank, 1);
    stage_end(&s);
}

static void a_parent_that_is_suspected_is_connected_to(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 1);
    lose_fresh(&s, 0);
    look_later(&s, 2.5);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_true(s.health.reconnect.active);
    assert_int_equal(s.health.reconnect.rank, 0);
    stage_end(&s);
}

static void a_parent_that_knocks_is_connected_to(void **unused)
{
    (void)unused;
    stage_t s;
    int ends[2];
    uint8_t label[WEFT_AUTH_LABEL];
    stage_begin(&s, 1);
    lose_fresh(&s, 0);
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    weft_reconnect_accept(&s.health, ends[0], label);
    weft_os_close(ends[1]);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_true(s.health.reconnect.active);
    assert_int_equal(s.health.reconnect.rank, 0);
    stage_end(&s);
}

/* Behind a cut the next ancestor may be one of those that cannot be reached, too, and whoever is to become the parent
 * waits for as long as boot.unresponsive. */
static void a_parent_that_cannot_be_reached_is_given_up_in_time(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 1);
    s.health.detector.unresponsive = WEFT_NS_PER_S;
    weft_tree_repair(&s.health);
    assert_true(s.health.reconnect.active);
    assert_true(s.health.reconnect.connector.until <= weft_os_deadline(0.5));
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_is_suspected_is_knocked_at),
        cmocka_unit_test(a_parent_that_is_suspected_is_connected_to),
        cmocka_unit_test(a_parent_that_knocks_is_connected_to),
        cmocka_unit_test(a_parent_that_cannot_be_reached_is_given_up_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
