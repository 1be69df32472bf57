/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of collectives, against the facts as the manual states them. */
#include <stdlib.h>
#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/weft.h>

#include "core/base/coll.h"
#include "tests/support/unit.h"

/* Blocks of IN and OUT on 5 ranks, and whether only the root has that buffer. */
typedef struct sides {
    weft_coll_t coll;
    uint32_t in, out;
    bool in_at_root, out_at_root;
    weft_in_place_t at_root, elsewhere;
} sides_t;

static const sides_t sides[] = {
    {WEFT_ALL_REDUCE, 1, 1, false, false, WEFT_IN_PLACE_SAME, WEFT_IN_PLACE_SAME},
    {WEFT_REDUCE_SCATTER, 5, 1, false, false, WEFT_IN_PLACE_OUT_IN, WEFT_IN_PLACE_OUT_IN},
    {WEFT_ALL_GATHER, 1, 5, false, false, WEFT_IN_PLACE_IN_OUT, WEFT_IN_PLACE_IN_OUT},
    {WEFT_BROADCAST, 1, 1, true, false, WEFT_IN_PLACE_SAME, WEFT_IN_PLACE_ONE_SIDED},
    {WEFT_REDUCE, 1, 1, false, true, WEFT_IN_PLACE_SAME, WEFT_IN_PLACE_ONE_SIDED},
    {WEFT_ALL_TO_ALL, 5, 5, false, false, WEFT_IN_PLACE_SAME, WEFT_IN_PLACE_SAME},
    {WEFT_GATHER, 1, 5, false, true, WEFT_IN_PLACE_IN_OUT, WEFT_IN_PLACE_ONE_SIDED},
    {WEFT_SCATTER, 5, 1, true, false, WEFT_IN_PLACE_OUT_IN, WEFT_IN_PLACE_ONE_SIDED},
};

static void buffers_are_those_of_the_collective(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        const sides_t *s = &sides[i];
        assert_int_equal(weft_coll_blocks(s->coll, 5, WEFT_OPERAND_IN), s->in);
        assert_int_equal(weft_coll_blocks(s->coll, 5, WEFT_OPERAND_OUT), s->out);
        assert_true(weft_coll_has_input(s->coll, true));
        assert_true(weft_coll_has_output(s->coll, true));
        assert_int_equal(weft_coll_has_input(s->coll, false), !s->in_at_root);
        assert_int_equal(weft_coll_has_output(s->coll, false), !s->out_at_root);
        assert_int_equal(weft_coll_in_place(s->coll, true), s->at_root);
        assert_int_equal(weft_coll_in_place(s->coll, false), s->elsewhere);
    }
}

static void a_vector_collective_has_the_buffers_of_its_fixed_form(void **state)
{
    uint32_t vectors = 0;
    (void)state;
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        weft_coll_t base = weft_coll_base(coll);
        size_t length = strlen(weft_coll_name(coll));
        bool named = strcmp(weft_coll_name(coll) + length - 2, "_v") == 0;
        assert_int_equal(weft_coll_has_vectors(coll), named);
        assert_int_equal(weft_coll_base(base), base);
        assert_int_equal(weft_coll_blocks(coll, 7, WEFT_OPERAND_IN),
                         weft_coll_blocks(base, 7, WEFT_OPERAND_IN));
        assert_int_equal(weft_coll_blocks(coll, 7, WEFT_OPERAND_OUT),
                         weft_coll_blocks(base, 7, WEFT_OPERAND_OUT));
        assert_int_equal(weft_coll_is_rooted(coll), weft_coll_is_rooted(base));
        assert_int_equal(weft_coll_is_rooted(coll), weft_algo_coll_is_rooted(coll));
        vectors += named;
    }
    assert_int_equal(vectors, 5);
}

static void only_base_collectives_have_plans(void **state)
{
    uint32_t plans = 0;
    (void)state;
    for (int coll = -1; coll <= WEFT_COLL_COUNT; coll++) {
        plans += weft_coll_has_plan((weft_coll_t)coll);
    }
    assert_int_equal(plans, sizeof sides / sizeof *sides);
    assert_false(weft_coll_has_plan(WEFT_SEND_RECV));
    assert_false(weft_coll_has_plan(WEFT_BARRIER));
    assert_int_equal(weft_coll_base(WEFT_BARRIER), WEFT_ALL_REDUCE);
}

static void names_are_those_of_the_entry_points(void **state)
{
    (void)state;
    assert_string_equal(weft_coll_name(WEFT_ALL_TO_ALL_V), "all_to_all_v");
    assert_string_equal(weft_coll_call(WEFT_ALL_TO_ALL_V), "weft_all_to_all_v");
    assert_null(weft_coll_name(WEFT_COLL_COUNT));
    assert_null(weft_coll_name((weft_coll_t)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_those_of_the_collective),
        cmocka_unit_test(a_vector_collective_has_the_buffers_of_its_fixed_form),
        cmocka_unit_test(only_base_collectives_have_plans),
        cmocka_unit_test(names_are_those_of_the_entry_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
