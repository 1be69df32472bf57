/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tree per block: the arithmetic of rounds and distances, the proof of every plan, and its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "plugins/algo-pat/pat_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_sweep.h"

static const plan_sweep_t gather = {pat_all_gather, WEFT_ALL_GATHER};
static const plan_sweep_t scatter = {pat_reduce_scatter, WEFT_REDUCE_SCATTER};

static void rounds_are_the_logarithm_rounded_up(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 5000; n++) {
        uint64_t reach = UINT64_C(1) << pat_rounds(n);
        assert_true(reach >= n && reach / 2 < n);
    }
}

/* Each distance from 1 on is reached in exactly one round, from a distance reached before. */
static void every_block_gets_everywhere_once(void **state)
{
    (void)state;
    static uint8_t reached[600];
    for (uint32_t n = 2; n <= 600; n++) {
        memset(reached, 0, sizeof reached);
        reached[0] = 1;
        uint32_t total = 1;
        for (uint32_t i = pat_rounds(n); i-- > 0;) {
            uint32_t d = UINT32_C(1) << i, blocks = pat_blocks(n, d);
            for (uint32_t j = 0; j < blocks; j++) {
                uint32_t distance = d + 2 * d * j;
                assert_true(distance < n);
                assert_int_equal(reached[distance - d], 1);
                assert_int_equal(reached[distance]++, 0);
            }
            total += blocks;
        }
        assert_int_equal(total, n);
    }
}

static void the_far_hop_carries_one_block_and_the_near_one_half(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 600; n++) {
        assert_int_equal(pat_blocks(n, UINT32_C(1) << (pat_rounds(n) - 1)), 1);
        assert_int_equal(pat_blocks(n, 1), n / 2);
    }
}

static void before_and_after_are_inverse(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            for (uint32_t distance = 0; distance < n; distance++) {
                assert_int_equal(pat_before(rank, distance, n), (rank + n - distance) % n);
                assert_int_equal(pat_after(pat_before(rank, distance, n), distance, n), rank);
            }
        }
    }
}

static void every_plan_is_proved_for_2_to_40_ranks(void **state)
{
    (void)state;
    plan_sweep_small(&gather);
    plan_sweep_small(&scatter);
}

static void sampled_plans_are_proved_up_to_300_ranks(void **state)
{
    (void)state;
    plan_sweep_large(&gather);
    plan_sweep_large(&scatter);
}

static void more_slices_than_slots_do_no_harm(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 13; n++) {
        plan_sweep_expect_ok(&gather, n, 1, 5);
        plan_sweep_expect_ok(&scatter, n, 1, 5);
    }
}

/* Without operands if there is no MOVE. */
static weft_plan_view_t move_at(const weft_plan_t *plan, uint32_t lane, uint32_t pc)
{
    const weft_code_t *code = &plan->lanes[lane].code[pc];
    return code->opcode == WEFT_CODE_MOVE ? weft_plan_view(plan, code->n) : (weft_plan_view_t){0};
}

/* Round of the port that receives at `pc`. */
static uint32_t round_received(const weft_plan_t *plan, uint32_t pc)
{
    weft_plan_view_t move = move_at(plan, 1, pc);
    assert_int_not_equal(move.nsrc, 0);
    uint32_t port = move.src[move.nsrc - 1].index;
    assert_int_equal(plan->ports[port].sends, 0);
    return port / 2; /* ports are declared in pairs */
}

/* Hops on the longest chain of sends, each of which waits for the receives of a round. */
static uint32_t hops_in_a_row(const weft_plan_t *plan)
{
    uint32_t hops[32] = {0}, most = 0;
    for (uint32_t pc = 0; pc < plan->lanes[0].ncode; pc++) {
        weft_plan_view_t move = move_at(plan, 0, pc);
        if (move.ndst == 0) {
            continue;
        }
        uint32_t round = move.dst[0].index / 2, chain = 1;
        if (move.nafter > 0) {
            chain += hops[round_received(plan, move.after[0].pc)];
        }
        hops[round] = chain > hops[round] ? chain : hops[round];
        most = chain > most ? chain : most;
    }
    return most;
}

static void no_block_waits_for_more_hops_than_rounds(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 300; n += n < 70 ? 1 : 23) {
        for (uint32_t c = 0; c < 2; c++) {
            const plan_sweep_t *sweep = c == 0 ? &gather : &scatter;
            weft_plan_t **plans = plan_fixture_write(sweep->write, sweep->coll, n);
            uint32_t rounds = pat_rounds(n), hops = hops_in_a_row(plans[n / 2]);
            /* 2^p + 1 ranks: the farthest partial sum of a reduce-scatter is an input itself. */
            int spared = c == 1 && n > 2 && ((n - 1) & (n - 2)) == 0;
            assert_int_equal(hops, spared ? rounds - 1 : rounds);
            assert_int_equal(plans[n / 2]->nports, 2 * rounds);
            plan_fixture_free(plans, n);
        }
    }
}

static void code_grows_with_the_logarithm(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 4, 5, 100, 1000, 1025};
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t n = sizes[s];
        for (uint32_t c = 0; c < 2; c++) {
            const plan_sweep_t *sweep = c == 0 ? &gather : &scatter;
            weft_plan_t **plans = plan_fixture_write(sweep->write, sweep->coll, n);
            assert_non_null(plans);
            for (uint32_t rank = 0; rank < n; rank++) {
                assert_int_equal(plans[rank]->nlanes, 2);
                for (uint32_t lane = 0; lane < 2; lane++) {
                    assert_true(plans[rank]->lanes[lane].ncode <= 3 * pat_rounds(n) + 3);
                }
                assert_int_equal(plans[rank]->tmp_chunks, c == 1 && n > 2 ? n / 2 : 0);
            }
            plan_fixture_free(plans, n);
        }
    }
}

static void other_collectives_are_refused_by_name(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-pat");
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_REDUCE_SCATTER, .nranks = 7};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_OK);
    call.coll = WEFT_ALL_REDUCE;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "all_gather and reduce_scatter"));
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_the_logarithm_rounded_up),
        cmocka_unit_test(every_block_gets_everywhere_once),
        cmocka_unit_test(the_far_hop_carries_one_block_and_the_near_one_half),
        cmocka_unit_test(before_and_after_are_inverse),
        cmocka_unit_test(every_plan_is_proved_for_2_to_40_ranks),
        cmocka_unit_test(sampled_plans_are_proved_up_to_300_ranks),
        cmocka_unit_test(more_slices_than_slots_do_no_harm),
        cmocka_unit_test(no_block_waits_for_more_hops_than_rounds),
        cmocka_unit_test(code_grows_with_the_logarithm),
        cmocka_unit_test(other_collectives_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
