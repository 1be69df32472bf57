/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The timed run agrees with the verifier, with which it shares no code, about what hangs. */
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"
#include "tools/timeline.h"

static timeline_t run(weft_plan_t *const *plans, uint32_t n, uint32_t slots, uint32_t slices,
                      int record)
{
    timeline_t timeline;
    timeline_input_t input = {.plans = plans,
                              .nranks = n,
                              .slots = slots,
                              .slices = slices,
                              .limit = 1000000,
                              .record = record};
    assert_int_equal(timeline_run(&input, &timeline), WEFT_OK);
    return timeline;
}

static void compare_with_verifier(const char *name, weft_coll_t coll, uint32_t n)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, name);
    weft_plan_t **plans = plan_fixture_emit(&fixture, coll, n, 0);
    assert_non_null(plans);
    for (uint32_t slots = 1; slots <= 6; slots++) {
        for (uint32_t slices = 1; slices <= 5; slices++) {
            weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, 0);
            timeline_t timeline = run(plans, n, slots, slices, 0);
            assert_int_equal(timeline.stuck, report.verdict == WEFT_VERDICT_DEADLOCK);
            timeline_free(&timeline);
        }
    }
    plan_fixture_free(plans, n);
    plan_fixture_close(&fixture);
}

static void hangs_where_the_verifier_says_deadlock(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 7; n++) {
        compare_with_verifier("algo-ring", WEFT_ALL_REDUCE, n);
        compare_with_verifier("algo-ring", WEFT_BROADCAST, n);
        compare_with_verifier("algo-flat", WEFT_ALL_REDUCE, n);
    }
}

static void ring_takes_a_step_for_every_move(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    for (uint32_t n = 3; n <= 9; n++) {
        weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, n, 0);
        timeline_t t = run(plans, n, 4, 1, 1);
        assert_true(t.end == 2.0 * n - 1);
        assert_int_equal(t.nevents, n * (2 * n - 1));
        assert_int_equal(t.nmessages, n * 2 * (n - 1));
        for (uint32_t i = 0; i < t.nmessages; i++) {
            const timeline_event_t *from = &t.events[t.messages[i].from];
            const timeline_event_t *to = &t.events[t.messages[i].to];
            assert_int_equal(to->rank, (from->rank + 1) % n);
            assert_int_equal(to->chunk, from->chunk);
            assert_true(to->start >= from->end);
        }
        timeline_free(&t);
        plan_fixture_free(plans, n);
    }
    plan_fixture_close(&fixture);
}

static void least_depth_is_the_edge_of_deadlock(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, 5, 0);
    for (uint32_t slices = 1; slices <= 4; slices++) {
        timeline_input_t input = {.plans = plans, .nranks = 5, .slices = slices, .limit = 100000};
        assert_int_equal(timeline_least_slots(input, 64), slices + 1);
        assert_int_equal(timeline_least_slots(input, slices), 0);
    }
    plan_fixture_free(plans, 5);
    plan_fixture_close(&fixture);
}

static void a_run_past_its_limit_is_refused(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    timeline_t timeline;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, 5, 0);
    timeline_input_t input = {.plans = plans, .nranks = 5, .slots = 4, .slices = 1, .limit = 10};
    assert_int_equal(timeline_run(&input, &timeline), WEFT_ERR_ARG);
    timeline_free(&timeline);
    plan_fixture_free(plans, 5);
    plan_fixture_close(&fixture);
}

static void write_barriers(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    (void)call;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    b->loop(b, lane, 100);
    b->bar(b, lane, 1);
    b->end(b, lane);
}

static void barriers_count_for_the_limit(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(write_barriers, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    for (uint64_t limit = 199; limit <= 200; limit++) {
        timeline_t timeline;
        timeline_input_t input = {
            .plans = plans, .nranks = 2, .slots = 4, .slices = 1, .limit = limit};
        assert_int_equal(timeline_run(&input, &timeline), limit < 200 ? WEFT_ERR_ARG : WEFT_OK);
        timeline_free(&timeline);
    }
    plan_fixture_free(plans, 2);
}

/* Two lanes: lane 1 starts after lane 0, both meet at a barrier; a PAR of an exchange. */
static void write_lanes(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    b->grid(b, 2, 1);
    uint32_t one = b->lane(b), two = b->lane(b);
    uint32_t to = b->port(b, one, peer, 0, 1), from = b->port(b, one, peer, 0, 0);
    weft_move_t send = {
        .dst = {weft_port(to)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 2};
    weft_move_t take = {.dst = {weft_out(0, 0)},
                        .src = {weft_port(from), weft_in(0, 0)},
                        .ndst = 1,
                        .nsrc = 2,
                        .cnt = 2,
                        .flags = WEFT_MOVE_FINAL};
    b->par(b, one, 2);
    b->move(b, one, &send);
    uint32_t last = b->move(b, one, &take);
    b->bar(b, one, 3);
    weft_move_t copy = {.dst = {weft_tmp(0, 0)},
                        .src = {weft_out(0, 0)},
                        .ndst = 1,
                        .nsrc = 1,
                        .nafter = 1,
                        .after = {{one, last}}};
    b->move(b, two, &copy);
    b->bar(b, two, 3);
}

static void members_waits_and_barriers_have_their_time(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(write_lanes, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    timeline_t t = run(plans, 2, 2, 1, 1);
    assert_false(t.stuck);
    assert_int_equal(t.nevents, 10);
    for (uint32_t i = 0; i < t.nevents; i++) {
        const timeline_event_t *e = &t.events[i];
        assert_int_equal(e->members, e->lane == 0 ? 2 : 1);
        if (e->lane == 1) {
            assert_float_equal(e->start, 3, 1e-9);
            assert_float_equal(e->end, 3.5, 1e-9);
        }
    }
    timeline_free(&t);
    plan_fixture_free(plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_where_the_verifier_says_deadlock),
        cmocka_unit_test(ring_takes_a_step_for_every_move),
        cmocka_unit_test(least_depth_is_the_edge_of_deadlock),
        cmocka_unit_test(a_run_past_its_limit_is_refused),
        cmocka_unit_test(barriers_count_for_the_limit),
        cmocka_unit_test(members_waits_and_barriers_have_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
