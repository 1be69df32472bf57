/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of prepared programs: how often calls are prepared, what is dropped, what is kept. */
#include <stdlib.h>

#include "core/comm/programs.h"
#include "tests/support/unit.h"

static weft_programs_t programs;
static const weft_plan_t plan = {.nmoves = 99};

static weft_args_t call_of(uint64_t count)
{
    return (weft_args_t){.coll = WEFT_ALL_REDUCE, .dtype = WEFT_FP32, .count = count};
}

static weft_prepared_t *prepare(uint64_t count)
{
    weft_args_t args = call_of(count);
    weft_prepared_t *prepared = weft_os_alloc(sizeof *prepared, 0);
    assert_non_null(prepared);
    prepared->key = weft_programs_key(&programs, &args);
    prepared->program.plan = &plan;
    weft_programs_insert(&programs, prepared);
    return prepared;
}

static weft_prepared_t *find(uint64_t count)
{
    weft_args_t args = call_of(count);
    return weft_programs_find(&programs, &args);
}

/* Makes `calls` calls of `sizes` sizes in turns. Returns how many were prepared. */
static uint64_t call_in_turns(uint64_t calls, uint64_t sizes)
{
    uint64_t before = programs.prepared;
    for (uint64_t i = 0; i < calls; i++) {
        uint64_t count = 1 + i % sizes;
        const weft_prepared_t *prepared = find(count);
        prepared = prepared != NULL ? prepared : prepare(count);
        assert_int_equal(prepared->key.count, count);
    }
    return programs.prepared - before;
}

static uint64_t bytes_of_one(void)
{
    prepare(UINT64_MAX);
    uint64_t bytes = programs.bytes;
    weft_programs_fini(&programs);
    programs = (weft_programs_t){.hand = NULL};
    return bytes;
}

/* Room for `n` programs. */
static void make_room_for(uint64_t n)
{
    uint64_t one = bytes_of_one();
    weft_programs_init(&programs, n * one);
}

static int end(void **state)
{
    (void)state;
    weft_programs_fini(&programs);
    programs = (weft_programs_t){.hand = NULL};
    return 0;
}

static int begin(void **state)
{
    (void)state;
    weft_programs_init(&programs, UINT64_C(16) << 20);
    return 0;
}

static void a_thousand_sizes_are_prepared_once_each(void **state)
{
    (void)state;
    assert_int_equal(call_in_turns(10 * 1000, 1000), 1000);
    assert_int_equal(programs.count, 1000);
    assert_true(programs.nchains >= 512);
}

static void calls_that_differ_in_one_field_have_programs_of_their_own(void **state)
{
    weft_args_t args[] = {call_of(8), call_of(9), call_of(8), call_of(8), call_of(8), call_of(8)};
    (void)state;
    args[2].root = 1;
    args[3].coll = WEFT_REDUCE;
    args[4].dtype = WEFT_FP64;
    args[5].op = WEFT_MAX;
    prepare(8);
    assert_non_null(weft_programs_find(&programs, &args[0]));
    for (size_t i = 1; i < sizeof args / sizeof args[0]; i++) {
        assert_null(weft_programs_find(&programs, &args[i]));
    }
}

static void memory_is_bounded(void **state)
{
    (void)state;
    make_room_for(100);
    assert_int_equal(call_in_turns(100, 100), 100);
    assert_int_equal(programs.count, 100);
    call_in_turns(1000, 1000);
    assert_int_equal(programs.count, 100);
    assert_true(programs.bytes <= programs.limit);
}

static void a_program_larger_than_the_limit_is_kept_alone(void **state)
{
    (void)state;
    weft_programs_init(&programs, 1);
    prepare(1);
    assert_non_null(find(1));
    prepare(2);
    assert_null(find(1));
    assert_non_null(find(2));
    assert_int_equal(programs.count, 1);
}

static void what_is_called_all_the_time_stays(void **state)
{
    (void)state;
    make_room_for(10);
    prepare(1000);
    for (uint64_t i = 0; i < 200; i++) {
        prepare(1 + i);
        assert_non_null(find(1000));
    }
}

static void a_program_in_use_outlives_its_place(void **state)
{
    (void)state;
    make_room_for(2);
    weft_prepared_t *used = prepare(1);
    weft_programs_retain(used);
    call_in_turns(20, 10);
    assert_ptr_not_equal(find(1), used);
    assert_ptr_equal(programs.retired, used);
    weft_programs_release(&programs, used);
    assert_null(programs.retired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thousand_sizes_are_prepared_once_each, begin, end),
        cmocka_unit_test_setup_teardown(calls_that_differ_in_one_field_have_programs_of_their_own,
                                        begin, end),
        cmocka_unit_test_setup_teardown(memory_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(a_program_larger_than_the_limit_is_kept_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_is_called_all_the_time_stays, begin, end),
        cmocka_unit_test_setup_teardown(a_program_in_use_outlives_its_place, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
