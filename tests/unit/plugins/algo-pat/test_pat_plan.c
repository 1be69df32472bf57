/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tree per block: the arithmetic of rounds and distances, the proof of every plan, and its
 * size. */
#include <string.h>

#include "core/base/error.h"
#include "core/plan/facts.h"
#include "core/plan/stable.h"
#include "plugins/algo-pat/pat_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_sweep.h"
#include "tests/support/unit.h"

static const plan_sweep_t gather = {.write = pat_all_gather, .coll = WEFT_ALL_GATHER};
static const plan_sweep_t scatter = {.write = pat_reduce_scatter, .coll = WEFT_REDUCE_SCATTER};

static uint32_t pack; /* blocks that fit into a message */

static weft_algo_call_t packed_call(const weft_algo_call_t *call)
{
    weft_algo_call_t packed = *call;
    packed.size = sizeof packed;
    packed.pack = pack;
    return packed;
}

static void packed_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    weft_algo_call_t packed = packed_call(call);
    pat_all_gather(&packed, builder);
}

static void packed_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    weft_algo_call_t packed = packed_call(call);
    pat_reduce_scatter(&packed, builder);
}

static const plan_sweep_t packed_gather = {packed_all_gather, WEFT_ALL_GATHER, true};
static const plan_sweep_t packed_scatter = {packed_reduce_scatter, WEFT_REDUCE_SCATTER, true};

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

static void packed_plans_are_proved_for_any_number_in_a_message(void **state)
{
    (void)state;
    for (pack = 2; pack <= 20; pack += pack < 4 ? 1 : 4) {
        for (uint32_t n = 2; n <= 40; n++) {
            plan_sweep_expect_ok(&packed_gather, n, 2, 1);
            plan_sweep_expect_ok(&packed_scatter, n, 2, 1);
        }
        plan_sweep_expect_ok(&packed_gather, 23, 4, 3);
        plan_sweep_expect_ok(&packed_scatter, 23, 4, 3);
    }
    pack = WEFT_PACK_MAX;
    plan_sweep_large(&packed_gather);
    plan_sweep_large(&packed_scatter);
}

/* Messages that a rank sends in a pass. */
static uint64_t messages_of(const weft_plan_t *plan)
{
    uint64_t messages[2 * ROUNDS_MAX] = {0}, chunks[2 * ROUNDS_MAX] = {0}, sum = 0;
    (void)weft_plan_facts(plan, chunks, messages);
    for (uint32_t i = 0; i < plan->nports; i++) {
        sum += plan->ports[i].sends ? messages[i] : 0;
    }
    return sum;
}

/* Once a round if all fit; at most one more, where a reduce-scatter sends an input as it is. */
static void a_round_sends_as_few_messages_as_its_blocks_fill(void **state)
{
    (void)state;
    for (pack = 1; pack <= 9; pack++) {
        for (uint32_t n = 2; n <= 40; n++) {
            uint32_t least = 0;
            for (uint32_t d = 1; d < n; d *= 2) {
                least += (pat_blocks(n, d) + pack - 1) / pack;
            }
            for (int i = 0; i < 2; i++) {
                const plan_sweep_t *sweep = i == 0 ? &packed_gather : &packed_scatter;
                weft_plan_t **plans = plan_fixture_write(sweep->write, sweep->coll, n);
                uint64_t messages = messages_of(plans[n / 2]);
                assert_true(messages >= least && messages <= least + (i == 1));
                plan_fixture_free(plans, n);
            }
        }
    }
}

/* Every chunk of OUT is written once, packed or not: so the first block may be sent without a
 * copy. */
static void the_first_block_stays_where_it_is(void **state)
{
    const weft_stable_arithmetic_t arithmetic = {.pre = false};
    uint8_t marks[32];
    (void)state;
    for (pack = 1; pack <= 4; pack++) {
        weft_plan_t **plans = plan_fixture_write(packed_all_gather, WEFT_ALL_GATHER, 8);
        assert_int_equal(weft_plan_stable(plans[0], &arithmetic, marks), WEFT_OK);
        assert_int_equal(marks[0], WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE);
        plan_fixture_free(plans, 8);
    }
}

static void plans_without_packing_are_those_of_calls_that_know_nothing_of_it(void **state)
{
    (void)state;
    pack = 1;
    weft_plan_t **plain = plan_fixture_write(pat_all_gather, WEFT_ALL_GATHER, 13);
    weft_plan_t **packed = plan_fixture_write(packed_all_gather, WEFT_ALL_GATHER, 13);
    for (uint32_t rank = 0; rank < 13; rank++) {
        assert_true(weft_plan_hash(plain[rank]) == weft_plan_hash(packed[rank]));
    }
    plan_fixture_free(packed, 13);
    plan_fixture_free(plain, 13);
}

static void the_parameter_limits_the_blocks_of_a_message(void **state)
{
    (void)state;
    weft_algo_call_t call = {.size = sizeof call, .nranks = 33};
    assert_int_equal(pat_wanted(&call), 16);
    call.params[PAT_AGGREGATE] = 5;
    assert_int_equal(pat_wanted(&call), 5);
    call.params[PAT_AGGREGATE] = 17;
    assert_int_equal(pat_wanted(&call), 16);
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
        cmocka_unit_test(packed_plans_are_proved_for_any_number_in_a_message),
        cmocka_unit_test(a_round_sends_as_few_messages_as_its_blocks_fill),
        cmocka_unit_test(the_first_block_stays_where_it_is),
        cmocka_unit_test(plans_without_packing_are_those_of_calls_that_know_nothing_of_it),
        cmocka_unit_test(the_parameter_limits_the_blocks_of_a_message),
        cmocka_unit_test(no_block_waits_for_more_hops_than_rounds),
        cmocka_unit_test(code_grows_with_the_logarithm),
        cmocka_unit_test(other_collectives_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
