/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic of the ring, exhaustively for small n, and the size of its plans for large n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/algo-ring/ring_plan.c"
#include "tests/support/plan_fixture.h"

static void next_and_previous_are_inverse(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            assert_int_equal(ring_rank(ring_rank(rank, 1, n), -1, n), rank);
            assert_int_equal(ring_rank(rank, n, n), rank);
            assert_int_equal(ring_rank(rank, -3 * (int64_t)n, n), rank);
        }
    }
}

static void what_comes_in_is_what_goes_on(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t prev = ring_rank(rank, -1, n);
            for (uint32_t step = 0; step + 1 < n; step++) {
                assert_int_equal(ring_chunk(prev, step, n), ring_chunk(rank, step + 1, n));
            }
        }
    }
}

static void a_chain_visits_every_rank_once(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n++) {
        for (uint32_t head = 0; head < n; head++) {
            uint64_t seen = 0;
            for (uint32_t rank = 0; rank < n; rank++) {
                seen |= UINT64_C(1) << ring_position(rank, head, n);
            }
            assert_int_equal(ring_position(head, head, n), 0);
            assert_true(seen == (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1));
        }
    }
}

static void plans_do_not_grow_with_the_ranks(void **state)
{
    (void)state;
    static void (*const emitters[])(const weft_algo_call_t *, weft_plan_builder_t *) = {
        ring_all_reduce, ring_reduce_scatter, ring_all_gather, ring_broadcast, ring_reduce};
    static const uint32_t most[] = {10, 6, 6, 2, 2};
    for (uint32_t coll = 0; coll < 5; coll++) {
        weft_plan_t **plans = plan_fixture_write(emitters[coll], (weft_coll_t)coll, 1000);
        assert_non_null(plans);
        for (uint32_t rank = 0; rank < 1000; rank++) {
            assert_true(plans[rank]->nlanes == 1);
            assert_true(plans[rank]->lanes[0].ncode <= most[coll]);
        }
        plan_fixture_free(plans, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_and_previous_are_inverse),
        cmocka_unit_test(what_comes_in_is_what_goes_on),
        cmocka_unit_test(a_chain_visits_every_rank_once),
        cmocka_unit_test(plans_do_not_grow_with_the_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
