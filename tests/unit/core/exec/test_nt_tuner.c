/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ways of storing are tried, and that the best of them serves. */
#include "core/exec/nt_tuner.h"
#include "tests/support/unit.h"

enum { PERIOD = 256 };

/* Runs a period of calls; those that go way `good` are short. Returns the way of the last. */
static uint32_t run_period(weft_nt_tuner_t *tuner, uint64_t bytes, uint32_t good, uint32_t *seen)
{
    uint32_t way = 0;
    for (int call = 0; call < PERIOD; call++) {
        way = weft_nt_tuner_begin(tuner, bytes);
        *seen |= 1u << way;
        uint64_t until = weft_os_clock_ns() + (way == good || tuner->trial < 0 ? 0 : 2000000);
        while (weft_os_clock_ns() < until) {
        }
        weft_nt_tuner_end(tuner);
    }
    return way;
}

static void the_fastest_way_serves(void **state)
{
    static const struct {
        uint64_t bytes;
        uint32_t ways[3], count;
    } sizes[] = {{64 << 10, {0, WEFT_NT_SLOTS}, 2},
                 {2 << 20, {0, WEFT_NT_RESULTS, WEFT_NT_RESULTS | WEFT_NT_SLOTS}, 3},
                 {64 << 20, {WEFT_NT_RESULTS, WEFT_NT_RESULTS | WEFT_NT_SLOTS}, 2}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (uint32_t i = 0; i < sizes[s].count; i++) {
            weft_nt_tuner_t tuner = {.calls = 0};
            uint32_t seen = 0, all = 0;
            uint32_t way = run_period(&tuner, sizes[s].bytes, sizes[s].ways[i], &seen);
            assert_int_equal(way, sizes[s].ways[i]);
            for (uint32_t k = 0; k < sizes[s].count; k++) {
                all |= 1u << sizes[s].ways[k];
            }
            assert_int_equal(seen, all);
        }
    }
}

static void a_way_that_has_become_slow_is_left(void **state)
{
    weft_nt_tuner_t tuner = {.calls = 0};
    uint32_t seen = 0;
    (void)state;
    assert_int_equal(run_period(&tuner, 64 << 10, WEFT_NT_SLOTS, &seen), WEFT_NT_SLOTS);
    assert_int_equal(run_period(&tuner, 64 << 10, 0, &seen), 0);
}

static void without_trials_only_large_results_go_past_the_caches(void **state)
{
    (void)state;
    assert_int_equal(weft_nt_tuner_default(2 << 20), 0);
    assert_int_equal(weft_nt_tuner_default(8 << 20), WEFT_NT_RESULTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_way_serves),
        cmocka_unit_test(a_way_that_has_become_slow_is_left),
        cmocka_unit_test(without_trials_only_large_results_go_past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
