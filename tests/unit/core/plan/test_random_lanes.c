/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is the verifier right about plans of several lanes, whether it proves or refuses them? Plans of
 * the algorithms are spread over random lanes, with a few waits and barriers left out. The oracle
 * is the full order of all MOVEs, and one run of the reference executor, out of place and in
 * place. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/plan/plan_print.h"
#include "core/plan/verify.h"
#include "tests/support/plan_faults.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_lanes.h"
#include "tests/support/plan_order.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

/* Checked and sanitized, a round takes many times as long. */
#ifdef WEFT_CHECKED
#define ROUNDS 30
#else
#define ROUNDS 120
#endif
#define LEAST (ROUNDS * 8u) /* of the plans of a kind */
#define RANKS_MAX 4u

static uint32_t counts[2][2][2]; /* damaged and whole, by form, refused and proved */

static bool is_sound(const weft_verify_input_t *of, int in_place)
{
    plan_outcome_t outcome =
        in_place ? plan_reference_run_in_place(of->plans, of->nranks, of->slots, of->slices, 1)
                 : plan_reference_run(of->plans, of->nranks, of->slots, of->slices, 1);
    return outcome == PLAN_RIGHT && plan_order_of(of->plans, of->nranks, in_place) == PLAN_ORDERED;
}

static void complain(const weft_verify_input_t *of, const weft_verify_report_t *report,
                     const char *where, int in_place)
{
    for (uint32_t rank = 0; rank < of->nranks; rank++) {
        weft_plan_print(of->plans[rank], stdout);
    }
    fail_msg("%s, in place %d, %u slots, %u slices: %s (%s), and that is not so", where, in_place,
             of->slots, of->slices, weft_verdict_name(report->verdict), report->text);
}

/* Proofs must hold. So must refusals of plans that are whole: all but the damaged ones. */
static void judge(const weft_verify_input_t *of, const char *where, bool whole)
{
    weft_verify_report_t reports[2];
    assert_int_equal(weft_plan_prove(of, reports), WEFT_OK);
    for (int in_place = 0; in_place < 2; in_place++) {
        bool proved = reports[in_place].verdict == WEFT_VERDICT_OK;
        if (in_place && reports[0].verdict != WEFT_VERDICT_OK) {
            continue; /* such a plan is used in neither form */
        }
        counts[whole][in_place][proved]++;
        if ((proved || whole) && proved != is_sound(of, in_place)) {
            complain(of, &reports[in_place], where, in_place);
        }
    }
}

static void damage_and_judge(const weft_verify_input_t *of, const char *where)
{
    plan_place_t at = {.plan = of->plans[plan_dice(of->nranks)]};
    const plan_fault_t *fault = &plan_faults[plan_dice(PLAN_FAULTS)];
    at.lane = &at.plan->lanes[plan_dice(at.plan->nlanes)];
    at.pc = at.lane->ncode == 1 ? 0 : plan_dice(at.lane->ncode - 1);
    if (at.lane->ncode > 1 && fault->damage(&at)) {
        char text[128];
        snprintf(text, sizeof text, "%s, rank %u lane %u pc %u, %s", where, at.plan->rank,
                 (uint32_t)(at.lane - at.plan->lanes), at.pc, fault->name);
        judge(of, text, false);
    }
}

static void try_spread(weft_plan_t *const *sound, uint32_t n, const char *where)
{
    weft_plan_t *plans[RANKS_MAX];
    uint32_t made = 0;
    while (made < n && (plans[made] = plan_lanes_spread(sound[made])) != NULL) {
        made++;
    }
    weft_verify_input_t input = {
        .plans = plans, .nranks = n, .slots = 1 + plan_dice(4), .slices = 1 + plan_dice(3)};
    if (made == n) {
        judge(&input, where, true);
        damage_and_judge(&input, where);
    }
    while (made-- > 0) {
        weft_plan_destroy(plans[made]);
    }
}

static void try_algo(const char *name)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, name);
    for (uint32_t n = 2; n <= RANKS_MAX; n++) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_COLL_COUNT; coll++) {
            char where[64];
            if (!weft_coll_has_plan(coll)) {
                continue;
            }
            uint32_t root = weft_coll_is_rooted(coll) ? n - 1 : 0;
            weft_plan_t **sound = plan_fixture_emit(&fixture, coll, n, root);
            snprintf(where, sizeof where, "%s %s of %u", name, weft_coll_name(coll), n);
            for (uint32_t i = 0; sound != NULL && i < ROUNDS; i++) {
                try_spread(sound, n, where);
            }
            if (sound != NULL) {
                plan_fixture_free(sound, n);
            }
        }
    }
    plan_fixture_close(&fixture);
}

static void plans_of_random_lanes_are_judged_rightly(void **state)
{
    static const char *const names[] = {"algo-ring", "algo-tree",   "algo-halving",
                                        "algo-flat", "algo-direct", "algo-wide"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        try_algo(names[i]);
    }
    for (int whole = 0; whole < 2; whole++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            const uint32_t *count = counts[whole][in_place];
            printf("%s, in place %d: %u proved, %u refused\n", whole ? "whole" : "damaged",
                   in_place, count[1], count[0]);
            assert_true(count[1] >= (whole ? LEAST : 1) && count[0] >= (in_place ? 0 : LEAST));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_random_lanes_are_judged_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
