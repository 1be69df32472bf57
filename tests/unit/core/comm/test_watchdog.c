/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a peer that left is given up, and what counts as waiting: a clock of the test's, so that
 * nothing depends on time. */
#include "core/base/error.h"
#include "core/boot/health_state.h"
#include "core/comm/watchdog.h"
#include "core/exec/message_port.h"
#include "tests/support/unit.h"

#define LEFT (50 * WEFT_NS_PER_S) /* when that was heard */
#define SOON (LEFT + WEFT_LEFT_BEHIND_NS - 1)
#define LATER (LEFT + WEFT_LEFT_BEHIND_NS)
#define LATEST (LEFT + WEFT_LEFT_ON_WIRE_NS)

static bool message_is_here;

static bool can_receive(weft_port_t *port)
{
    (void)port;
    return message_is_here;
}

static const weft_port_ops_t ops = {.can_receive = can_receive};
static weft_peer_status_t peers[3];
static weft_comm_state_t comm = {.peers = peers};

static int peer_1_left(void **state)
{
    (void)state;
    atomic_init(&peers[1].left_at, 7);
    atomic_init(&peers[1].left_when, LEFT);
    message_is_here = false;
    return 0;
}

static bool given_up(weft_port_t *port, uint64_t idle_since, uint64_t now)
{
    return weft_watchdog_is_left_behind(&comm, 1, port, idle_since, now);
}

static void without_a_link_a_second_is_enough(void **state)
{
    (void)state;
    assert_false(given_up(NULL, 0, SOON));
    assert_true(given_up(NULL, 0, LATER));
}

static void the_second_begins_when_something_moved_last(void **state)
{
    (void)state;
    weft_port_t port = {.kind = WEFT_PORT_MAPPED, .ops = &ops};
    uint64_t moved = LEFT + WEFT_NS_PER_S / 2;
    assert_false(given_up(&port, moved, LATER));
    assert_true(given_up(&port, moved, moved + WEFT_LEFT_BEHIND_NS));
    assert_false(given_up(&port, 2 * LEFT, LATER)); /* it moves in this moment */
}

static void what_is_on_the_wire_has_more_time(void **state)
{
    (void)state;
    weft_port_t port = {.kind = WEFT_PORT_MESSAGE, .ops = &ops};
    assert_false(given_up(&port, 0, LATER));
    assert_false(given_up(&port, 0, LATEST - 1));
    assert_true(given_up(&port, 0, LATEST));
}

static void a_broken_link_brings_nothing_but_what_is_here(void **state)
{
    (void)state;
    weft_port_t receives = {.kind = WEFT_PORT_MESSAGE, .ops = &ops, .broken = WEFT_ERR_LINK};
    weft_port_t sends = receives;
    sends.sends = 1;
    message_is_here = true;
    assert_false(given_up(&receives, 0, LATER));
    assert_true(given_up(&sends, 0, LATER));
    message_is_here = false;
    assert_false(given_up(&receives, 0, SOON));
    assert_true(given_up(&receives, 0, LATER));
}

/* Word that it has left may be on the way on which its answer would come. */
static void a_broken_link_is_judged_when_its_peer_has_answered(void **state)
{
    (void)state;
    static weft_health_t health;
    static weft_boot_t boot = {.health = &health, .nranks = 3};
    static weft_family_t family = {.boot = &boot};
    static uint32_t family_rank[] = {0, 1, 2};
    weft_comm_state_t state_of_0 = {.peers = peers,
                                    .self = {.family = &family, .family_rank = family_rank}};
    uint32_t owner;
    assert_int_equal(weft_health_queue_init(&health.queue), WEFT_OK);
    assert_true(weft_comm_own(&state_of_0, WEFT_OWNER_USER, &owner));
    atomic_init(&peers[1].left_at, UINT64_MAX);
    atomic_init(&peers[1].answered, 0);
    weft_fail(WEFT_ERR_PEER_DEAD, 0, "1 closed the connection");
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 1);
    assert_int_equal(health.queue.posted, 1);
    state_of_0.stall.grace_until = 1;
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 1);
    assert_int_equal(health.queue.posted, 1); /* it is not asked again at once */
    assert_true(state_of_0.stall.grace_until > weft_os_clock_ns());
    assert_true(state_of_0.stall.grace_most > weft_os_clock_ns() + WEFT_NS_PER_S);
    assert_false(weft_failure_is_set(&state_of_0.failure));
    atomic_store(&peers[1].answered, state_of_0.stall.question);
    state_of_0.stall.grace_until = WEFT_NEVER;
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 1);
    assert_true(state_of_0.stall.grace_until == WEFT_NEVER); /* no longer than it was */
    /* An answer to this question is none to the next. */
    weft_stall_clear(&state_of_0.stall, false);
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 1);
    assert_int_equal(health.queue.posted, 2);
    weft_health_queue_fini(&health.queue);
}

/* Who leaves closes its links, and its word may come behind: the one that died after it is the
 * cause. */
static void a_broken_link_is_no_cause_when_its_peer_has_left(void **state)
{
    (void)state;
    static weft_boot_t boot;
    static weft_family_t family = {.boot = &boot};
    static uint32_t family_rank[] = {0, 1, 2};
    weft_comm_state_t state_of_0 = {.peers = peers,
                                    .self = {.family = &family, .family_rank = family_rank}};
    uint32_t owner;
    assert_true(weft_comm_own(&state_of_0, WEFT_OWNER_USER, &owner));
    atomic_init(&peers[1].left_at, UINT64_MAX);
    atomic_init(&peers[2].left_at, UINT64_MAX);
    weft_fail(WEFT_ERR_PEER_DEAD, 0, "1 closed the connection");
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 1);
    assert_int_equal(state_of_0.stall.link_error.peer, 1);
    atomic_store(&peers[1].left_at, 7);
    weft_fail(WEFT_ERR_PEER_DEAD, 0, "2 closed the connection");
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 2);
    assert_int_equal(state_of_0.stall.link_error.peer, 2);
    assert_string_equal(state_of_0.stall.link_error.text, "2 closed the connection");
    assert_true(state_of_0.stall.grace_until > 0);
    atomic_store(&peers[2].answered, state_of_0.stall.question);
    uint64_t until = state_of_0.stall.grace_until;
    weft_watchdog_link_broke(&state_of_0, WEFT_ERR_PEER_DEAD, 2);
    assert_int_equal(state_of_0.stall.grace_until, until);
}

/* Who has left called the operation, and its link broke before what it sent came. */
static void a_link_that_ended_says_why_nothing_comes(void **state)
{
    weft_error_t why = {.status = WEFT_ERR_LINK, .text = "no route to 10.0.0.7"};
    weft_message_port_t receives = {
        .port = {.kind = WEFT_PORT_MESSAGE, .ops = &ops, .broken = WEFT_ERR_LINK}, .why = &why};
    char text[160];
    (void)state;
    assert_string_equal(weft_watchdog_link_text(&receives.port, text, sizeof text),
                        " (its link ended: no route to 10.0.0.7)");
    receives.why = NULL;
    assert_string_equal(weft_watchdog_link_text(&receives.port, text, sizeof text), "");
    receives = (weft_message_port_t){.port = {.kind = WEFT_PORT_MESSAGE}, .why = &why};
    assert_string_equal(weft_watchdog_link_text(&receives.port, text, sizeof text), "");
    assert_string_equal(weft_watchdog_link_text(NULL, text, sizeof text), "");
}

static void the_own_stop_is_no_waiting_for_others(void **state)
{
    (void)state;
    weft_stall_t stall = {.late_told = true};
    uint64_t now = LEFT, stop = 5 * WEFT_NS_PER_S, beat = WEFT_STALL_OWN_NS;
    weft_stall_look(&stall, now);
    assert_int_equal(stall.idle_since, LEFT);
    assert_false(stall.late_told);
    stall.connecting_since = LEFT;
    for (int i = 0; i < 4; i++) {
        weft_stall_look(&stall, now += beat);
    }
    assert_int_equal(now - stall.idle_since, 4 * beat);
    weft_stall_look(&stall, now += stop);
    assert_int_equal(now - stall.idle_since, 4 * beat);
    assert_int_equal(now - stall.connecting_since, 4 * beat);
    weft_stall_clear(&stall, false);
    weft_stall_look(&stall, now += stop);
    assert_int_equal(stall.idle_since, now);
}

/* The peer tells of the operation by 32 bits of its number. */
static void the_time_for_connecting_runs_once_the_peer_is_in_the_operation(void **state)
{
    static weft_family_t family;
    weft_comm_state_t state_of_0 = {.peers = peers, .self.family = &family};
    weft_pending_t pending = {.sequence = (UINT64_C(1) << 32) + 7,
                              .signature.sequence = 7,
                              .deadline = WEFT_NEVER,
                              .peer = 1};
    uint32_t owner;
    (void)state;
    family.settings.boot.connect_timeout = 1;
    assert_true(weft_comm_own(&state_of_0, WEFT_OWNER_USER, &owner));
    atomic_init(&peers[1].left_at, WEFT_NOT_LEFT);
    atomic_init(&peers[1].met_at, 6);
    state_of_0.stall.asked = LEFT; /* nobody is asked */
    weft_watchdog_look(&state_of_0, &pending, LEFT);
    assert_int_equal(state_of_0.stall.connecting_since, 0);
    atomic_store(&peers[1].met_at, 7);
    weft_watchdog_look(&state_of_0, &pending, LEFT + 1);
    assert_int_equal(state_of_0.stall.connecting_since, LEFT + 1);
}

/* Firewalls are between hosts only. */
static void the_network_is_suspected_between_hosts_only(void **state)
{
    (void)state;
    static weft_boot_peer_t seats[3] = {{.host = 0}, {.host = 0}, {.host = 1}};
    static weft_boot_t boot = {.nranks = 3, .peers = seats};
    static weft_family_t family = {.boot = &boot, .settings.boot.connect_timeout = 1};
    static uint32_t family_rank[] = {0, 1, 2};
    for (int32_t peer = 1; peer < 3; peer++) {
        weft_comm_state_t state_of_0 = {.peers = peers,
                                        .self = {.family = &family, .family_rank = family_rank}};
        weft_pending_t pending = {
            .sequence = 7, .signature.sequence = 7, .deadline = WEFT_NEVER, .peer = peer};
        uint32_t owner;
        assert_true(weft_comm_own(&state_of_0, WEFT_OWNER_USER, &owner));
        atomic_init(&peers[peer].left_at, WEFT_NOT_LEFT);
        atomic_init(&peers[peer].met_at, 7);
        state_of_0.stall.asked = LEFT + 2 * WEFT_NS_PER_S; /* nobody is asked */
        state_of_0.stall.connecting_since = LEFT;
        atomic_store(&state_of_0.failure.failed, 1); /* it has failed: nobody is told */
        weft_watchdog_look(&state_of_0, &pending, LEFT + 2 * WEFT_NS_PER_S);
        assert_int_equal(weft_error_record()->peer, peer);
        assert_says(weft_error_record()->text, "could not connect over");
        assert_int_equal(strstr(weft_error_record()->text, "firewalls") != NULL, peer == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_link_is_judged_when_its_peer_has_answered),
        cmocka_unit_test(a_broken_link_is_no_cause_when_its_peer_has_left),
        cmocka_unit_test(the_time_for_connecting_runs_once_the_peer_is_in_the_operation),
        cmocka_unit_test(the_network_is_suspected_between_hosts_only),
        cmocka_unit_test(the_own_stop_is_no_waiting_for_others),
        cmocka_unit_test(a_link_that_ended_says_why_nothing_comes),
        cmocka_unit_test_setup(without_a_link_a_second_is_enough, peer_1_left),
        cmocka_unit_test_setup(the_second_begins_when_something_moved_last, peer_1_left),
        cmocka_unit_test_setup(what_is_on_the_wire_has_more_time, peer_1_left),
        cmocka_unit_test_setup(a_broken_link_brings_nothing_but_what_is_here, peer_1_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
