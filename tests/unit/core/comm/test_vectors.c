/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of counts that differ in one block: sum and hash of both tell which. */
#include "core/comm/vectors.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { N = 5, PLAN = 0x12345678 };

static const weft_comm_identity_t self = {.nranks = N, .rank = 2};

static weft_bound_vectors_t *bind_counts(weft_coll_t coll, const uint64_t *counts)
{
    const weft_blocks_t blocks = {counts, NULL};
    const bool gathers = coll == WEFT_ALL_GATHER_V;
    const weft_args_t args = {.coll = coll,
                              .count = counts[self.rank],
                              .in_blocks = gathers ? NULL : &blocks,
                              .out_blocks = gathers ? &blocks : NULL};
    weft_bound_vectors_t *bound = NULL;
    assert_int_equal(weft_vectors_bind(&self, &args, &bound), WEFT_OK);
    return bound;
}

static weft_signature_t sign(weft_coll_t coll, const weft_bound_vectors_t *bound, uint32_t plan)
{
    return (weft_signature_t){
        .coll = (uint8_t)coll, .count = bound->total, .plan = plan + bound->hash};
}

/* What a rank with the counts `mine` finds in the signature of one with `theirs`. */
static uint32_t find(weft_coll_t coll, const uint64_t *mine, const uint64_t *theirs, uint32_t plan)
{
    weft_bound_vectors_t *here = bind_counts(coll, mine), *there = bind_counts(coll, theirs);
    const weft_signature_t a = sign(coll, here, PLAN), b = sign(coll, there, plan);
    const uint32_t block = weft_vectors_find(here, N, &a, &b);
    if (block < N) {
        assert_int_equal(weft_vectors_count(here, coll, block), mine[block]);
        assert_int_equal(mine[block] + b.count - a.count, theirs[block]);
    }
    weft_os_free(here);
    weft_os_free(there);
    return block;
}

static const weft_coll_t colls[] = {WEFT_ALL_GATHER_V, WEFT_REDUCE_SCATTER_V};

static void one_block_is_found_wherever_it_is(void **state)
{
    static const uint64_t others[] = {0, 1, 119, 121, UINT64_C(1) << 40};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        for (uint32_t b = 0; b < N; b++) {
            for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                const uint64_t mine[N] = {120, 120, 7, 120, 120};
                uint64_t theirs[N] = {120, 120, 7, 120, 120};
                theirs[b] = others[i];
                assert_int_equal(find(colls[c], mine, theirs, PLAN), b);
                assert_int_equal(find(colls[c], theirs, mine, PLAN), b);
            }
        }
    }
}

static void what_is_not_one_block_is_not_named(void **state)
{
    static const uint64_t mine[N] = {8, 8, 8, 8, 8}, moved[N] = {8, 9, 7, 8, 8};
    static const uint64_t two[N] = {8, 9, 8, 9, 8}, one[N] = {8, 8, 8, 9, 8};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(find(colls[c], mine, mine, PLAN), N);
        assert_int_equal(find(colls[c], mine, moved, PLAN), N);
        assert_int_equal(find(colls[c], mine, two, PLAN), N);
        assert_int_equal(find(colls[c], mine, one, PLAN + 1), N);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_is_found_wherever_it_is),
        cmocka_unit_test(what_is_not_one_block_is_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
