/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_sweep.h. */
#include "tests/support/plan_sweep.h"

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/unit.h"

static void expect_ok(const plan_sweep_t *sweep, weft_plan_t *const *plans, uint32_t slots,
                      uint32_t slices)
{
    uint32_t n = plans[0]->nranks;
    for (int in_place = 0; in_place < 2; in_place++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, in_place);
        if (report.verdict != WEFT_VERDICT_OK || !report.same_on_all_ranks) {
            fail_msg("%s of %u ranks, S %u L %u in place %d: %s: %s", weft_coll_name(sweep->coll),
                     n, slots, slices, in_place, weft_verdict_name(report.verdict), report.text);
        }
        if (sweep->coll != WEFT_ALL_REDUCE && !sweep->packs &&
            report.vector != WEFT_VECTOR_BLOCKS) {
            fail_msg("%s of %u ranks serves no vector collective", weft_coll_name(sweep->coll), n);
        }
    }
}

static weft_plan_t **write_plans(const plan_sweep_t *sweep, uint32_t n)
{
    weft_plan_t **plans = plan_fixture_write(sweep->write, sweep->coll, n);
    if (plans == NULL) {
        fail_msg("%s of %u ranks: %s", weft_coll_name(sweep->coll), n, weft_error_record()->text);
    }
    return plans;
}

void plan_sweep_expect_ok(const plan_sweep_t *sweep, uint32_t n, uint32_t slots, uint32_t slices)
{
    weft_plan_t **plans = write_plans(sweep, n);
    expect_ok(sweep, plans, slots, slices);
    plan_fixture_free(plans, n);
}

void plan_sweep_small(const plan_sweep_t *sweep)
{
    static const uint32_t depths[] = {2, 4, 8};
    for (uint32_t n = 2; n <= 40; n++) {
        weft_plan_t **plans = write_plans(sweep, n);
        for (uint32_t d = 0; d < 3; d++) {
            for (uint32_t slices = 1; slices<depths[d]; slices += n> 17 ? 3 : 1) {
                expect_ok(sweep, plans, depths[d], slices);
            }
        }
        plan_fixture_free(plans, n);
    }
}

void plan_sweep_large(const plan_sweep_t *sweep)
{
    static const uint32_t sizes[] = {63, 64, 65, 100, 128, 187, 255, 300};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        plan_sweep_expect_ok(sweep, sizes[i], 2, 1);
    }
}
