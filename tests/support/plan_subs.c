/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_subs.h. */
#include "tests/support/plan_subs.h"

#include <string.h>

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

plan_fixture_t plan_subs_ring;
static plan_fixture_t flat;

weft_algo_ops_t plan_subs_own;
static const uint32_t one_host[64];

weft_status_t plan_subs_serves(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo, (void)call;
    return WEFT_OK;
}

static weft_status_t find(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                          weft_algo_t **algo_p)
{
    static const char *const names[] = {"algo-ring", "algo-flat", "own"};
    static plan_fixture_t *const loaded[] = {&plan_subs_ring, &flat};
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ops_p = loaded[i]->ops;
            *algo_p = loaded[i]->algo;
            return WEFT_OK;
        }
    }
    if (strcmp(name, "own") == 0) {
        *ops_p = &plan_subs_own;
        *algo_p = NULL;
        return WEFT_OK;
    }
    return weft_plan_no_algo(name, names, 3);
}

const weft_plan_finder_t plan_subs_finder = {.find = find};

int plan_subs_open(void **state)
{
    (void)state;
    plan_fixture_open(&plan_subs_ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    return 0;
}

int plan_subs_close(void **state)
{
    (void)state;
    plan_fixture_close(&flat);
    plan_fixture_close(&plan_subs_ring);
    return 0;
}

weft_plan_t **plan_subs_emit_with(plan_subs_emit_t emit, weft_coll_t coll, uint32_t n,
                                  uint32_t root, const weft_plan_finder_t *others)
{
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    plan_fixture_t fixture = {.ops = &ops};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = one_host};
    weft_algo_call_t call = {.coll = coll, .nranks = n, .root = root};
    weft_error_clear(weft_error_record());
    return plan_fixture_emit_view(&fixture, &call, &view, others);
}

weft_plan_t **plan_subs_emit(plan_subs_emit_t what, weft_coll_t coll, uint32_t n)
{
    return plan_subs_emit_with(what, coll, n, 0, &plan_subs_finder);
}

void plan_subs_expect_right(weft_plan_t **plans, uint32_t n)
{
    static const uint32_t depths[][2] = {{2, 1}, {4, 3}, {8, 4}};
    if (plans == NULL) {
        fail_msg("no plan: %s", weft_error_record()->text);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, depths[i][0], depths[i][1], 0);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("%u ranks, %u slots, %u slices: %s: %s", n, depths[i][0], depths[i][1],
                     weft_verdict_name(report.verdict), report.text);
        }
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        assert_int_equal(plan_reference_run(plans, n, 4, 2, seed), PLAN_RIGHT);
    }
    plan_fixture_free(plans, n);
}
