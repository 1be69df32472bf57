/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signatures: equal only if every field is, and the difference in words names the field and both
 * values. */
#include <stdlib.h>
#include <string.h>

#include "core/base/signature.h"
#include "tests/support/unit.h"

static const weft_signature_t base = {
    .coll = WEFT_ALL_REDUCE, .dtype = WEFT_FP32, .count = 8, .sequence = 3, .plan = 77};

static void compare(const weft_signature_t *here, const weft_signature_t *there, const char *words)
{
    char text[WEFT_SIGNATURE_DIFF];
    assert_false(weft_signature_equal(here, there));
    weft_signature_diff(here, there, text, sizeof text);
    assert_string_equal(text, words);
}

static void check(const weft_signature_t *other, const char *words)
{
    compare(&base, other, words);
}

static void each_field_that_differs_is_named_with_both_values(void **state)
{
    weft_signature_t s;
    (void)state;
    s = base, s.coll = WEFT_BROADCAST;
    check(&s, "collective all_reduce here, broadcast there");
    s = base, s.dtype = WEFT_INT8;
    check(&s, "data type float here, int8 there");
    s = base, s.op = WEFT_MAX;
    check(&s, "operator sum here, max there");
    s = base, s.root = 2;
    check(&s, "root 0 here, 2 there");
    s = base, s.count = UINT64_C(1) << 40;
    check(&s, "count 8 here, 1099511627776 there");
    s = base, s.sequence = 4;
    check(&s, "operation number 3 (all_reduce of 8 float) here, 4 (all_reduce of 8 float) there: a "
              "rank made one call more, or "
              "an earlier call had another collective or root there");
    s = base, s.sequence = 4, s.coll = WEFT_BARRIER;
    check(&s, "operation number 3 (all_reduce of 8 float) here, 4 (barrier) there: a rank made one "
              "call more, or "
              "an earlier call had another collective or root there");
    s = base, s.plan = 78;
    check(
        &s,
        "plan 0000004d here, 0000004e there: weft_comm_set_channels() had another limit there, or "
        "a group other calls, or the plugin of the tuner or of the algorithm is of another build, "
        "or what it answers is "
        "not a function of its arguments");
    s = base, s.greets = 1;
    check(&s, "greeting 0 here, 1 there: the message was changed on its way");
    s = base, s.coll = 99;
    check(&s, "collective all_reduce here, unknown there");
}

/* What a call has that all ranks of it agree on: the core's own exchanges, too. */
static void no_bit_differs_without_words(void **state)
{
    const weft_signature_t calls[] = {
        base,
        {.coll = WEFT_ALL_GATHER, .count = 8},
        {.coll = WEFT_ALL_GATHER, .dtype = WEFT_UINT8, .count = 16, .root = WEFT_ROOT_SPLIT},
        {.coll = WEFT_ALL_GATHER, .dtype = WEFT_UINT8, .root = WEFT_ROOT_WINDOW_IMPORT},
        {.coll = WEFT_ALL_GATHER_V, .count = 8},
        {.coll = WEFT_BROADCAST, .count = 8, .root = 2},
        {.coll = WEFT_SEND_RECV, .count = 8, .sequence = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (size_t bit = 0; bit < 8 * sizeof *calls; bit++) {
            char text[WEFT_SIGNATURE_DIFF] = "";
            weft_signature_t other = calls[i];
            ((unsigned char *)&other)[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_false(weft_signature_equal(&calls[i], &other));
            weft_signature_diff(&calls[i], &other, text, sizeof text);
            if (strstr(text, " here, ") == NULL && strstr(text, "vectors of counts") == NULL) {
                fail_msg("call %zu, bit %zu: \"%s\"", i, bit, text);
            }
            assert_true(strlen(text) + 1 < sizeof text);
        }
    }
}

static weft_signature_t exchange(uint32_t root, uint64_t count)
{
    return (weft_signature_t){
        .coll = WEFT_ALL_GATHER, .dtype = WEFT_UINT8, .root = root, .count = count};
}

/* Their counts differ, too, and nobody called an all_gather. */
static void exchanges_of_the_core_have_the_names_of_their_functions(void **state)
{
    const weft_signature_t split = exchange(WEFT_ROOT_SPLIT, 16);
    const weft_signature_t opens = exchange(WEFT_ROOT_WINDOW_EXPORT + 3, 200);
    const weft_signature_t imports = exchange(WEFT_ROOT_WINDOW_IMPORT, 1);
    const weft_signature_t closes = exchange(WEFT_ROOT_WINDOW_END + 15, 1);
    const weft_signature_t grow = exchange(WEFT_ROOT_GROW, 136);
    const weft_signature_t group = exchange(WEFT_ROOT_GROUP, 8);
    const weft_signature_t gather = {.coll = WEFT_ALL_GATHER, .count = 4};
    const weft_signature_t barrier = {.coll = WEFT_BARRIER};
    char text[64];
    (void)state;
    compare(&split, &opens,
            "function comm_split or comm_dup here, window_register of window 3 there");
    compare(&grow, &split, "function comm_grow here, comm_split or comm_dup there");
    compare(&imports, &closes,
            "function window_register's imports of window 0 here, window_deregister of window 15 "
            "there");
    compare(&group, &gather, "function comm_create_group here, all_gather there");
    compare(&barrier, &opens, "function barrier here, window_register of window 3 there");
    weft_signature_text(&grow, text, sizeof text);
    assert_string_equal(text, "comm_grow");
    weft_signature_text(&opens, text, sizeof text);
    assert_string_equal(text, "window_register of window 3");
}

/* Messages have numbers of their own, and no roots. */
static void the_number_of_a_message_says_nothing_of_calls(void **state)
{
    const weft_signature_t here = {.coll = WEFT_SEND_RECV, .sequence = 1};
    const weft_signature_t there = {.coll = WEFT_SEND_RECV, .sequence = 2};
    (void)state;
    compare(&here, &there, "message number 1 here, 2 there");
}

static void equal_signatures_have_no_difference(void **state)
{
    weft_signature_t same = base;
    char text[8] = "x";
    (void)state;
    assert_true(weft_signature_equal(&base, &same));
    weft_signature_diff(&base, &same, text, sizeof text);
    assert_string_equal(text, "");
}

static void a_text_names_the_root_where_there_is_one(void **state)
{
    weft_signature_t s = base;
    char text[64];
    (void)state;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "all_reduce of 8 float");
    s.coll = WEFT_BROADCAST, s.root = 2;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "broadcast of 8 float, root 2");
    s.coll = 99;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "unknown of 8 float");
}

/* Each pair of ranks has a number of elements of its own; 0 where a text is of no pair. */
static void a_text_of_blocks_between_pairs_names_no_number_that_is_none(void **state)
{
    weft_signature_t s = {.coll = WEFT_GATHER_V, .dtype = WEFT_FP32, .root = 1};
    char text[80];
    (void)state;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "gather_v of float, root 1");
    s.count = 8;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "gather_v of 8 float, root 1");
    s.coll = WEFT_ALL_TO_ALL_V, s.count = 0;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "all_to_all_v of float");
    s.coll = WEFT_ALL_GATHER_V; /* its number is the sum of all blocks */
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "all_gather_v of 0 float");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_that_differs_is_named_with_both_values),
        cmocka_unit_test(no_bit_differs_without_words),
        cmocka_unit_test(exchanges_of_the_core_have_the_names_of_their_functions),
        cmocka_unit_test(the_number_of_a_message_says_nothing_of_calls),
        cmocka_unit_test(a_text_names_the_root_where_there_is_one),
        cmocka_unit_test(a_text_of_blocks_between_pairs_names_no_number_that_is_none),
        cmocka_unit_test(equal_signatures_have_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
