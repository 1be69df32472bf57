/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races are found in every group of ranks, also when clocks of one rank only fit into memory. */
#define RACE_WORDS_MAX 1

#include <string.h>

#include "core/plan/race.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

#define RANKS 4

static uint32_t culprit;

/* The root sends to all. Elsewhere lane 0 receives into TMP and lane 1 stores it; a barrier at the
 * end keeps the next pass out of TMP, but not on the culprit. */
static void write_plan(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 1);
    uint32_t get = b->lane(b);
    if (call->rank == 0) {
        weft_move_t send = {.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
        for (uint32_t peer = 1; peer < RANKS; peer++) {
            send.dst[send.ndst++] = weft_port(b->port(b, get, peer, 0, 1));
        }
        b->move(b, get, &send);
        return;
    }
    uint32_t keep = b->lane(b);
    weft_move_t receive = {.dst = {weft_tmp(0, 0)},
                           .src = {weft_port(b->port(b, get, 0, 0, 0))},
                           .ndst = 1,
                           .nsrc = 1,
                           .like = weft_out(0, 0)};
    weft_move_t store = {.dst = {weft_out(0, 0)},
                         .src = {weft_tmp(0, 0)},
                         .ndst = 1,
                         .nsrc = 1,
                         .nafter = 1,
                         .after = {{get, 0}}};
    b->move(b, get, &receive);
    b->move(b, keep, &store);
    if (call->rank != culprit) {
        b->bar(b, get, 3);
        b->bar(b, keep, 3);
    }
}

static weft_verify_report_t verify_with(uint32_t rank)
{
    culprit = rank;
    weft_plan_t **plans = plan_fixture_write(write_plan, WEFT_BROADCAST, RANKS);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, RANKS, 1, 1, 0);
    plan_fixture_free(plans, RANKS);
    return report;
}

static void every_group_is_looked_at(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RANKS).verdict, WEFT_VERDICT_OK);
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        weft_verify_report_t report = verify_with(rank);
        assert_int_equal(report.verdict, WEFT_VERDICT_RACE);
        assert_int_equal(report.rank, rank);
        assert_non_null(strstr(report.text, "writes tmp[0] while lane 1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_group_is_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
