/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection that is reset before a word came over it, while some rank has left: a rank that
 * lives is asked, and connected to again, not declared dead. Who cannot be reached, and who hears
 * nobody. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/reconnect.h"
#include "core/boot/tree_repair.h"
#include "tests/support/health_stage.h"
#include "tests/support/unit.h"

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

static void a_child_that_is_suspected_is_knocked_at(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 0);
    lose_fresh(&s, 1);
    stage_look_later(&s, 1.5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    stage_look_later(&s, 2.5);
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
    stage_look_later(&s, 2.5);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_true(s.health.reconnect.active);
    assert_int_equal(s.health.reconnect.rank, 0);
    stage_end(&s);
}

static void be_knocked_at(stage_t *s, uint32_t by)
{
    int ends[2];
    uint8_t label[WEFT_AUTH_LABEL];
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, by);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    weft_reconnect_accept(&s->health, ends[0], label);
    if (by > s->boot.rank) {
        s->ends[by] = ends[1]; /* a child: this is its connection */
    } else {
        weft_os_close(ends[1]);
    }
}

static void a_parent_that_knocks_is_connected_to(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 1);
    lose_fresh(&s, 0);
    be_knocked_at(&s, 0);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_true(s.health.reconnect.active);
    assert_int_equal(s.health.reconnect.rank, 0);
    stage_end(&s);
}

/* Behind a cut the next ancestor may be one of those that cannot be reached, too, and whoever is to
 * become the parent waits for as long as boot.unresponsive. */
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

/* Away ----------------------------------------------------------------------------------------- */

/* Its connection broke, and nothing came back from its address. */
static void away_begin(stage_t *s, uint32_t rank, uint32_t parent, uint64_t asked)
{
    stage_begin(s, rank);
    s->health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    stage_break_off(s, parent, asked);
    assert_int_equal(s->health.reconnect.rank, parent);
    weft_reconnect_end(&s->health);
    s->health.reconnect.active = false;
    weft_detector_unreachable(&s->health, parent, s->health.reconnect.since,
                              WEFT_BREAK_UNREACHABLE);
}

static void a_parent_that_is_away_is_looked_for_until_the_limit(void **unused)
{
    (void)unused;
    stage_t s;
    away_begin(&s, 1, 0, stage_ago(3));
    stage_look_later(&s, 6.5);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    assert_true(s.health.knock.active);
    assert_int_equal(s.health.knock.rank, 0);
    stage_look_later(&s, 7.5); /* it was asked 3 s before */
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_DEAD);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PEER_UNRESPONSIVE);
    stage_end(&s);
}

static void a_child_is_waited_for_since_it_was_asked(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 0);
    s.health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    stage_break_off(&s, 1, stage_ago(3));
    stage_look_later(&s, 6.5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_LIVE);
    stage_look_later(&s, 7.5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_DEAD);
    stage_end(&s);
}

/* With rank 1 away rank 0 is the parent of rank 3, until rank 1 is back. */
static void who_would_be_the_parent_is_looked_for_further(void **unused)
{
    (void)unused;
    stage_t s;
    away_begin(&s, 3, 1, 0);
    assert_int_equal(s.health.reconnect.rank, 0);
    stage_meet(&s, 0);
    weft_tree_repair(&s.health);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    assert_int_equal(s.health.knock.rank, 1);
    stage_end(&s);
}

static void who_would_not_be_the_parent_is_left_to_others(void **unused)
{
    (void)unused;
    stage_t s;
    away_begin(&s, 3, 1, 0);
    weft_reconnect_end(&s.health);
    s.health.reconnect.active = false;
    weft_detector_unreachable(&s.health, 0, s.health.reconnect.since, WEFT_BREAK_UNREACHABLE);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    weft_detector_trust(&s.health, 1);
    stage_meet(&s, 1);
    weft_tree_repair(&s.health);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_false(s.health.knock.active);
    stage_end(&s);
}

/* Rank 1 may know that rank 2 has left, and cannot say it before it is back. */
static void a_suspect_is_not_judged_behind_a_cut(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 0);
    s.health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    lose_fresh(&s, 2);
    stage_break_off(&s, 1, 0);
    stage_look_later(&s, 4);
    assert_int_equal(s.health.membership.states[2], WEFT_MEMBER_SUSPECT);
    s.health.membership.since[2] = stage_ago(4);
    be_knocked_at(&s, 1);
    stage_look_later(&s, 1);
    assert_int_equal(s.health.membership.states[2], WEFT_MEMBER_SUSPECT);
    stage_look_later(&s, 2.5);
    assert_int_equal(s.health.membership.states[2], WEFT_MEMBER_LIVE); /* it is asked */
    stage_end(&s);
}

/* Nobody listens at the address of rank 0 when the way there is free again: rank 2, which has come
 * back, too, may know that it left. */
static void who_was_away_and_is_gone_may_have_left(void **unused)
{
    (void)unused;
    stage_t s;
    away_begin(&s, 1, 0, stage_ago(9));
    s.health.membership.breaks[0] = WEFT_BREAK_SEEN;
    s.health.membership.breaks[2] = WEFT_BREAK_NEW;
    be_knocked_at(&s, 2);
    stage_look_later(&s, 1);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    stage_look_later(
        &s, 2.5); /* rank 2 is asked: there may be another cut, of which nobody has heard yet */
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    stage_say(&s, 2, WEFT_FRAME_BEAT);
    stage_look_later(&s, 2.5);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_DEAD);
    stage_end(&s);
}

/* Rank 2 stands still, which it may do for ever. */
static void who_is_refused_is_dead_where_nobody_is_ever_given_up(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 1);
    assert_int_equal(s.health.detector.unresponsive, 0);
    stage_break_off(&s, 0, 0);
    weft_reconnect_end(&s.health);
    s.health.reconnect.active = s.health.knock.active = false;
    stage_meet(&s, 2);
    weft_detector_refused(&s.health, 0);
    assert_false(weft_tree_is_cut(&s.health));
    stage_look_later(&s, 1);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_ASK), 1);
    stage_look_later(&s, 9);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    stage_look_later(&s, 11);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_DEAD);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PEER_DEAD);
    stage_end(&s);
}

/* Rank 1 has left. Rank 0 has gone, too, and rank 2, which may know that it left, is connected
 * to. */
static void who_seeks_its_parent_judges_no_suspect(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 3);
    s.health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    s.health.membership.states[1] = WEFT_MEMBER_LEFT;
    stage_break_off(&s, 0, stage_ago(3));
    weft_detector_suspect(&s.health, 0);
    assert_true(s.health.reconnect.active);
    assert_int_equal(s.health.reconnect.rank, 2);
    stage_look_later(&s, 4);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    stage_end(&s);
}

/* Rank 0 is judged when rank 2, which is here now, has had the time to say what it knows. */
static void who_is_connected_to_is_heard_first(void **unused)
{
    (void)unused;
    stage_t s;
    away_begin(&s, 1, 0, stage_ago(9));
    s.health.membership.breaks[0] = WEFT_BREAK_SEEN;
    be_knocked_at(&s, 2);
    stage_look_later(&s, 1);
    assert_int_equal(s.health.membership.states[0], WEFT_MEMBER_SUSPECT);
    stage_end(&s);
}

/* Rank 0 is connected to and says nothing, until it is given up. */
static void miss_parent(stage_t *s, uint8_t broke)
{
    stage_begin(s, 1);
    s->health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    s->health.membership.breaks[0] = broke;
    weft_tree_repair(&s->health);
    for (uint32_t i = 0; i < 20; i++) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
        weft_reconnect_step(&s->health);
    }
    s->health.reconnect.connector.until = 1;
    weft_reconnect_step(&s->health);
    assert_int_equal(s->health.membership.states[0], WEFT_MEMBER_SUSPECT);
    assert_true(weft_tree_is_cut(&s->health));
}

/* Who leaves, and has told another, does not wait for a rank that stands still: but for one that
 * had a connection to it, which will look for it. */
static void who_stands_still_hears_from_others(void **unused)
{
    (void)unused;
    stage_t s;
    miss_parent(&s, WEFT_BREAK_NONE);
    s.health.taken = true;
    assert_false(weft_tree_is_cut(&s.health));
    stage_end(&s);
    miss_parent(&s, WEFT_BREAK_NEW);
    s.health.taken = true;
    assert_true(weft_tree_is_cut(&s.health));
    stage_end(&s);
}

/* Silence -------------------------------------------------------------------------------------- */

#define LIMIT 2.0 /* boot.unresponsive */

/* Rank 0 and its children 1 and 2, of which 1 was asked for a sign of life `seconds` ago. */
static void silence_begin(stage_t *s, double seconds)
{
    stage_begin(s, 0);
    s->health.detector.unresponsive = (uint64_t)(LIMIT * (double)WEFT_NS_PER_S);
    stage_meet(s, 1)->asked = weft_os_clock_ns() - (uint64_t)(seconds * (double)WEFT_NS_PER_S);
    stage_meet(s, 2);
}

static void who_asks_has_not_answered(void **unused)
{
    (void)unused;
    stage_t s;
    silence_begin(&s, LIMIT / 2);
    stage_say(&s, 1, WEFT_FRAME_ASK);
    assert_true(weft_neighbours_find(&s.health.neighbours, 1)->asked != 0);
    stage_say(&s, 1, WEFT_FRAME_BEAT);
    assert_true(weft_neighbours_find(&s.health.neighbours, 1)->asked == 0);
    stage_end(&s);
}

static void others_are_asked_when_somebody_is_silent(void **unused)
{
    (void)unused;
    stage_t s;
    silence_begin(&s, LIMIT / 8);
    stage_look_later(&s, 0);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_ASK), 0);
    stage_look_later(&s, LIMIT / 4);
    stage_look_later(&s, LIMIT / 2);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_ASK), 1);
    stage_end(&s);
}

static void who_hears_others_tells_them_of_the_silent(void **unused)
{
    (void)unused;
    stage_t s;
    silence_begin(&s, LIMIT);
    weft_detector_look(&s.health);
    stage_say(&s, 2, WEFT_FRAME_BEAT);
    stage_look_later(&s, 0.1);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_DEAD);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_DEATH), 1);
    stage_end(&s);
}

static void who_hears_nobody_tells_nobody(void **unused)
{
    (void)unused;
    stage_t s;
    silence_begin(&s, LIMIT);
    stage_look_later(&s, 0.1);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_DEAD);
    assert_int_equal(s.health.membership.states[2], WEFT_MEMBER_LIVE);
    assert_int_equal(stage_heard_by(&s, 1, WEFT_FRAME_DEATH), 0);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_DEATH), 0);
    stage_say(&s, 2, WEFT_FRAME_BEAT); /* so it was the other end after all */
    assert_int_equal(stage_heard_by(&s, 1, WEFT_FRAME_DEATH), 1);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_DEATH), 1);
    stage_end(&s);
}

/* One that was stopped and goes on hears it. */
static void who_is_alone_tells_the_silent(void **unused)
{
    (void)unused;
    stage_t s;
    silence_begin(&s, LIMIT);
    weft_neighbours_find(&s.health.neighbours, 2)->asked =
        weft_neighbours_find(&s.health.neighbours, 1)->asked;
    stage_look_later(&s, 0.1);
    assert_int_equal(s.health.membership.states[2], WEFT_MEMBER_DEAD);
    assert_int_equal(stage_heard_by(&s, 1, WEFT_FRAME_DEATH), 2);
    assert_int_equal(stage_heard_by(&s, 2, WEFT_FRAME_DEATH), 2);
    stage_end(&s);
}

/* Lost by another rank ------------------------------------------------------------------------- */

/* Rank 3 with its parent, 1, which rank 0 has lost: it knocks. */
static void doubt_begin(stage_t *s, bool connected)
{
    stage_begin(s, 3);
    s->health.detector.unresponsive = (uint64_t)(LIMIT * (double)WEFT_NS_PER_S);
    if (connected) {
        stage_meet(s, 1);
    }
    be_knocked_at(s, 0);
}

static void assert_passed_over(const stage_t *s)
{
    assert_int_equal(s->health.membership.states[1], WEFT_MEMBER_SUSPECT);
    assert_int_equal(s->health.membership.states[0], WEFT_MEMBER_LIVE);
    assert_true(s->health.reconnect.active);
    assert_int_equal(s->health.reconnect.rank, 0);
}

/* It stands still, and rank 0 does not wait for ever. */
static void a_parent_that_another_rank_has_lost_is_asked(void **unused)
{
    (void)unused;
    stage_t s;
    doubt_begin(&s, true);
    assert_int_equal(stage_heard_by(&s, 1, WEFT_FRAME_ASK), 1);
    stage_look_later(&s, LIMIT * 0.4);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_LIVE);
    assert_false(s.health.reconnect.active);
    stage_look_later(&s, LIMIT * 0.6);
    assert_passed_over(&s);
    stage_end(&s);
}

/* There are two sides: whoever listened to both would tell each that the other is dead. */
static void a_parent_that_answers_is_not_left(void **unused)
{
    (void)unused;
    stage_t s;
    doubt_begin(&s, true);
    stage_say(&s, 1, WEFT_FRAME_BEAT);
    stage_look_later(&s, LIMIT * 0.6);
    stage_look_later(&s, LIMIT * 2);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_LIVE);
    assert_false(s.health.reconnect.active);
    stage_end(&s);
}

static void a_parent_without_a_connection_is_passed_over_at_once(void **unused)
{
    (void)unused;
    stage_t s;
    doubt_begin(&s, false);
    assert_passed_over(&s);
    stage_end(&s);
}

/* Who is below it may know nothing of the death yet, and would believe that it left in order. */
static void who_is_declared_dead_and_leaves_tells_its_death(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 1);
    s.health.membership.states[3] = WEFT_MEMBER_LIVE;
    stage_meet(&s, 3);
    weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0, "rank 1 does not answer");
    weft_detector_declare_dead(&s.health, 1);
    weft_disseminate_leave_family(&s.health, NULL, 1);
    assert_int_equal(stage_heard_by(&s, 3, WEFT_FRAME_DEATH), 1);
    weft_disseminate_leave_family(&s.health, NULL, 1);
    assert_int_equal(stage_heard_by(&s, 3, WEFT_FRAME_LEAVE_FAMILY), 0);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_is_suspected_is_knocked_at),
        cmocka_unit_test(a_parent_that_is_suspected_is_connected_to),
        cmocka_unit_test(a_parent_that_knocks_is_connected_to),
        cmocka_unit_test(a_parent_that_cannot_be_reached_is_given_up_in_time),
        cmocka_unit_test(a_parent_that_is_away_is_looked_for_until_the_limit),
        cmocka_unit_test(a_child_is_waited_for_since_it_was_asked),
        cmocka_unit_test(a_suspect_is_not_judged_behind_a_cut),
        cmocka_unit_test(who_was_away_and_is_gone_may_have_left),
        cmocka_unit_test(who_is_refused_is_dead_where_nobody_is_ever_given_up),
        cmocka_unit_test(who_seeks_its_parent_judges_no_suspect),
        cmocka_unit_test(who_is_connected_to_is_heard_first),
        cmocka_unit_test(who_stands_still_hears_from_others),
        cmocka_unit_test(who_would_be_the_parent_is_looked_for_further),
        cmocka_unit_test(who_would_not_be_the_parent_is_left_to_others),
        cmocka_unit_test(who_asks_has_not_answered),
        cmocka_unit_test(others_are_asked_when_somebody_is_silent),
        cmocka_unit_test(who_hears_others_tells_them_of_the_silent),
        cmocka_unit_test(who_hears_nobody_tells_nobody),
        cmocka_unit_test(who_is_alone_tells_the_silent),
        cmocka_unit_test(a_parent_that_another_rank_has_lost_is_asked),
        cmocka_unit_test(a_parent_that_answers_is_not_left),
        cmocka_unit_test(a_parent_without_a_connection_is_passed_over_at_once),
        cmocka_unit_test(who_is_declared_dead_and_leaves_tells_its_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
