/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has gone where cuts follow each other: it is asked about before it is taken for dead, and who
 * leaves looks for those who may not know. */
#include "core/base/error.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/reconnect.h"
#include "core/boot/tree_repair.h"
#include "tests/support/health_stage.h"
#include "tests/support/unit.h"

/* Rank 0 and its children 1 and 2. Nobody listens at the address of rank 1, whose connection
 * broke. */
static void refused_begin(stage_t *s)
{
    stage_begin(s, 0);
    s->health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    stage_break_off(s, 1, stage_ago(3));
    stage_meet(s, 2);
    s->health.membership.breaks[1] = WEFT_BREAK_SEEN;
    weft_detector_refused(&s->health, 1);
    assert_int_equal(s->health.membership.states[1], WEFT_MEMBER_SUSPECT);
    stage_look_later(s, 0.1);
    assert_int_equal(s->health.membership.states[1], WEFT_MEMBER_SUSPECT);
    assert_int_equal(stage_heard_by(s, 2, WEFT_FRAME_ASK), 1);
}

static void who_is_refused_asks_the_others_first(void **unused)
{
    (void)unused;
    stage_t s;
    refused_begin(&s);
    stage_look_later(&s, 5);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    stage_say(&s, 2, WEFT_FRAME_BEAT);
    stage_look_later(&s, 0.2);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_DEAD);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PEER_DEAD);
    stage_end(&s);
}

static void who_is_refused_may_hear_that_it_left(void **unused)
{
    (void)unused;
    stage_t s;
    refused_begin(&s);
    weft_disseminate_leave_family(&s.health, weft_neighbours_find(&s.health.neighbours, 2), 1);
    stage_say(&s, 2, WEFT_FRAME_BEAT);
    stage_look_later(&s, 0.2);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_LEFT);
    stage_end(&s);
}

/* Rank 0 leaves, and so does rank 1, whose child, rank 3, has no word of that yet. */
static void leave_beside(stage_t *s, bool takes)
{
    stage_begin(s, 0);
    s->health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    s->health.membership.states[3] = WEFT_MEMBER_LIVE;
    s->health.leaving = true;
    s->health.seek_until = weft_os_deadline(10);
    stage_meet(s, 1);
    stage_meet(s, 2);
    weft_disseminate_leave_family(&s->health, NULL, 0);
    weft_neighbours_flush(&s->health.neighbours);
    if (takes) {
        assert_int_equal(stage_heard_by(s, 1, WEFT_FRAME_LEAVE_FAMILY), 1);
    }
    weft_neighbour_t *neighbour = weft_neighbours_find(&s->health.neighbours, 1);
    weft_disseminate_leave_family(&s->health, neighbour, 1);
    weft_detector_stream_ended(&s->health, neighbour, 0);
}

static void who_leaves_looks_for_those_below_one_that_left_unaware(void **unused)
{
    (void)unused;
    stage_t s;
    leave_beside(&s, false);
    assert_true(weft_tree_is_cut(&s.health));
    assert_true(s.health.knock.active);
    assert_int_equal(s.health.knock.rank, 3);
    stage_end(&s);
    leave_beside(&s, true);
    assert_false(weft_tree_is_cut(&s.health));
    stage_end(&s);
}

/* Rank 1, a process of this host that does not run any more, may have left: rank 0 may know it, to
 * which there is no connection. */
static void who_is_cut_off_takes_no_ended_process_for_dead(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s, 2);
    s.health.detector.unresponsive = 10 * WEFT_NS_PER_S;
    s.health.membership.leavers = false;
    s.requests[1].space = s.requests[2].space = 1;
    s.requests[1].pid = INT32_MAX;
    stage_break_off(&s, 0, 0);
    weft_membership_suspect(&s.health.membership, 1, stage_ago(1));
    assert_true(weft_tree_is_cut(&s.health));
    stage_look_later(&s, 1);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    weft_reconnect_end(&s.health);
    s.health.reconnect.active = s.health.knock.active = false;
    s.health.membership.breaks[0] = WEFT_BREAK_NONE;
    stage_meet(&s, 0);
    weft_tree_repair(&s.health);
    stage_look_later(&s, 1.1);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_SUSPECT);
    stage_say(&s, 0, WEFT_FRAME_BEAT);
    stage_look_later(&s, 1.2);
    assert_int_equal(s.health.membership.states[1], WEFT_MEMBER_DEAD);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_refused_asks_the_others_first),
        cmocka_unit_test(who_is_refused_may_hear_that_it_left),
        cmocka_unit_test(who_is_cut_off_takes_no_ended_process_for_dead),
        cmocka_unit_test(who_leaves_looks_for_those_below_one_that_left_unaware),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
