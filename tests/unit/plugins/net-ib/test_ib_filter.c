/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-ib's choice of adapters. */
#include "ib_filter.h"
#include "tests/support/unit.h"

static void empty_admits_everything(void **state)
{
    (void)state;
    assert_true(ib_filter_admits("", "mlx5_0", 1));
    assert_true(ib_filter_admits("^", "mlx5_0", 1));
    assert_true(ib_filter_admits("=", "rxe0", 2));
}

static void prefix_exact_and_exclusion(void **state)
{
    (void)state;
    assert_true(ib_filter_admits("mlx5", "mlx5_7", 1));
    assert_true(ib_filter_admits("rxe,mlx5", "mlx5_7", 1));
    assert_false(ib_filter_admits("mlx5_70", "mlx5_7", 1));
    assert_false(ib_filter_admits("=mlx5_1", "mlx5_10", 1));
    assert_true(ib_filter_admits("mlx5_1", "mlx5_10", 1));
    assert_true(ib_filter_admits("=mlx5_1,mlx5_2", "mlx5_2", 1));
    assert_false(ib_filter_admits("^mlx5_bond", "mlx5_bond_0", 1));
    assert_true(ib_filter_admits("^mlx5_bond", "mlx5_0", 1));
    assert_true(ib_filter_admits("^=mlx5_1", "mlx5_10", 1));
    assert_true(ib_filter_admits("rxe,,mlx5", "mlx5_0", 1));
    assert_false(ib_filter_admits("rxe,,mlx5", "bnxt_re0", 1));
}

static void port_after_the_name_limits_it(void **state)
{
    (void)state;
    assert_true(ib_filter_admits("mlx5_0:2", "mlx5_0", 2));
    assert_false(ib_filter_admits("mlx5_0:2", "mlx5_0", 1));
    assert_true(ib_filter_admits("=mlx5_0:2,mlx5_1:1", "mlx5_1", 1));
    assert_false(ib_filter_admits("=mlx5_0:2,mlx5_1:1", "mlx5_1", 2));
    assert_false(ib_filter_admits("^mlx5_0:2", "mlx5_0", 2));
    assert_true(ib_filter_admits("^mlx5_0:2", "mlx5_0", 1));
    assert_false(ib_filter_admits(":1", "mlx5_0", 1));
}

static void blanks_between_words_are_commas(void **state)
{
    (void)state;
    assert_false(ib_filter_admits("^fake0, fake1", "fake1", 1));
    assert_false(ib_filter_admits("^ fake0 ,\tfake1", "fake1", 1));
    assert_false(ib_filter_admits("^fake0, ^fake1", "fake1", 1));
    assert_true(ib_filter_admits("^fake0, fake1", "fake2", 1));
    assert_true(ib_filter_admits("mlx5_0:1, mlx5_1:1", "mlx5_1", 1));
    assert_true(ib_filter_admits("= mlx5_0:1 mlx5_1:1 ", "mlx5_1", 1));
    assert_false(ib_filter_admits("mlx5_0:1x", "mlx5_0", 1));
    assert_true(ib_filter_admits("mlx5, ^mlx5_1:2", "mlx5_1", 1));
    assert_false(ib_filter_admits("mlx5, ^mlx5_1:2", "mlx5_1", 2));
    assert_false(ib_filter_admits("mlx5, ^mlx5_1:2", "rxe0", 1));
}

static void check_word(const char *text, uint32_t number, const char *expected, bool left_out)
{
    char word[IB_FILTER_WORD];
    bool excludes = !left_out;
    assert_true(ib_filter_word(text, number, word, &excludes));
    assert_string_equal(word, expected);
    assert_int_equal(excludes, left_out);
}

static void words_are_choices_of_their_own(void **state)
{
    (void)state;
    char word[IB_FILTER_WORD];
    bool excludes;
    check_word("=mlx5_0:1,mlx5_1", 0, "=mlx5_0:1", false);
    check_word("=mlx5_0:1, mlx5_1", 1, "=mlx5_1", false);
    check_word("^mlx5_0, =mlx5_1", 0, "mlx5_0", true);
    check_word("^mlx5_0, =mlx5_1", 1, "=mlx5_1", true);
    check_word("mlx5,^mlx5_1", 1, "mlx5_1", true);
    assert_false(ib_filter_word("=mlx5_0:1,mlx5_1", 2, word, &excludes));
    assert_false(ib_filter_word("", 0, word, &excludes));
    assert_false(ib_filter_word("^", 0, word, &excludes));
}

static void the_sign_of_a_word_makes_it_exact(void **state)
{
    (void)state;
    assert_true(ib_filter_exact("=mlx5_0,mlx5_1", "mlx5_1", 1));
    assert_true(ib_filter_exact(" =mlx5_0,mlx5_1", "mlx5_1", 0));
    assert_true(ib_filter_exact("mlx5_0 =mlx5_1", "mlx5_1", 1));
    assert_true(ib_filter_exact("mlx5, =mlx5_1:2", "mlx5_1", 2));
    assert_true(ib_filter_exact("mlx5, =mlx5_1:2", "mlx5_1", 0));
    assert_false(ib_filter_exact("mlx5, =mlx5_1:2", "mlx5_1", 1));
    assert_false(ib_filter_exact("mlx5_0 =mlx5_1", "mlx5_0", 1));
    assert_false(ib_filter_exact("mlx5_0 =mlx5_1", "mlx5_10", 1));
    assert_false(ib_filter_exact("^=mlx5_0", "mlx5_0", 1));
    assert_false(ib_filter_exact("", "mlx5_0", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_admits_everything),
        cmocka_unit_test(prefix_exact_and_exclusion),
        cmocka_unit_test(port_after_the_name_limits_it),
        cmocka_unit_test(blanks_between_words_are_commas),
        cmocka_unit_test(words_are_choices_of_their_own),
        cmocka_unit_test(the_sign_of_a_word_makes_it_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
