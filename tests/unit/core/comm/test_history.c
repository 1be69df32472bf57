/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The history of calls: runs of equal calls share an entry, the oldest entries are forgotten,
 * sequence numbers wrap. */
#include <stdlib.h>

#include "core/comm/history.h"
#include "tests/support/unit.h"

static weft_history_t *history;

static int make(void **state)
{
    (void)state;
    history = calloc(1, sizeof *history);
    return history != NULL ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    free(history);
    return 0;
}

static void put(uint32_t sequence, uint64_t count)
{
    weft_signature_t s = {.coll = WEFT_ALL_REDUCE, .count = count, .sequence = sequence};
    weft_history_put(history, &s);
}

static void an_empty_history_knows_nothing(void **state)
{
    weft_signature_t s;
    (void)state;
    assert_false(weft_history_get(history, 1, &s));
    assert_false(weft_history_get_last(history, &s));
    weft_signature_run_t run;
    weft_history_get_run(history, &run);
    assert_int_equal(run.length, 0);
}

static void equal_calls_share_an_entry(void **state)
{
    weft_signature_t s;
    (void)state;
    for (uint32_t i = 1; i <= 100000; i++) {
        put(i, 8);
    }
    put(100001, 16);
    assert_int_equal(history->runs, 2);
    assert_true(weft_history_get(history, 1, &s));
    assert_int_equal(s.count, 8);
    assert_true(weft_history_get(history, 100000, &s));
    assert_int_equal(s.count, 8);
    assert_int_equal(s.sequence, 100000);
    assert_true(weft_history_get_last(history, &s));
    assert_int_equal(s.count, 16);
    put(100002, 16);
    weft_signature_run_t run;
    weft_history_get_run(history, &run);
    assert_true(run.length == 2 && run.last.count == 16 && run.last.sequence == 100002);
}

static void a_call_that_has_not_begun_is_unknown(void **state)
{
    weft_signature_t s;
    (void)state;
    put(1, 8);
    assert_false(weft_history_get(history, 2, &s));
}

static void the_oldest_runs_are_forgotten(void **state)
{
    weft_signature_t s;
    (void)state;
    for (uint32_t i = 1; i <= WEFT_HISTORY + 10; i++) {
        put(i, i);
    }
    assert_false(weft_history_get(history, 10, &s));
    assert_true(weft_history_get(history, 11, &s));
    assert_int_equal(s.count, 11);
}

static void sequence_numbers_may_wrap(void **state)
{
    weft_signature_t s;
    (void)state;
    put(UINT32_MAX, 8);
    put(0, 16);
    assert_true(weft_history_get(history, UINT32_MAX, &s));
    assert_int_equal(s.count, 8);
    assert_true(weft_history_get(history, 0, &s));
    assert_int_equal(s.count, 16);
}

/* In steps, as a job takes days for so many calls. */
static void equal_calls_are_known_however_many_they_are(void **state)
{
    const uint64_t step = WEFT_HISTORY_RUN / 4, most = 3 * (UINT64_C(1) << 32);
    weft_signature_t s;
    (void)state;
    put(1, 16);
    for (uint64_t i = 2; i < most; i += step) {
        put((uint32_t)i, 8);
        assert_true(weft_history_get(history, (uint32_t)i, &s));
        assert_int_equal(s.count, 8);
        assert_true(i <= step || weft_history_get(history, (uint32_t)(i - step), &s));
        assert_int_equal(s.count, 8);
        assert_false(weft_history_get(history, (uint32_t)(i + 1), &s));
        weft_signature_run_t run;
        weft_history_get_run(history, &run);
        assert_true(run.length > 0 && run.length <= WEFT_HISTORY_RUN);
        assert_int_equal(run.last.sequence, (uint32_t)i);
    }
    put((uint32_t)most, 16);
    assert_true(weft_history_get(history, (uint32_t)most, &s));
    assert_int_equal(s.count, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_history_knows_nothing, make, unmake),
        cmocka_unit_test_setup_teardown(equal_calls_share_an_entry, make, unmake),
        cmocka_unit_test_setup_teardown(a_call_that_has_not_begun_is_unknown, make, unmake),
        cmocka_unit_test_setup_teardown(the_oldest_runs_are_forgotten, make, unmake),
        cmocka_unit_test_setup_teardown(sequence_numbers_may_wrap, make, unmake),
        cmocka_unit_test_setup_teardown(equal_calls_are_known_however_many_they_are, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
