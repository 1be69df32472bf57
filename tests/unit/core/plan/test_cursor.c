/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cursor on lanes written by hand: loops, PARs, waits and barriers. */
#include "core/plan/cursor.h"
#include "tests/support/unit.h"

enum { MOVE = WEFT_CODE_MOVE, PAR = WEFT_CODE_PAR, LOOP = WEFT_CODE_LOOP, END = WEFT_CODE_END };
enum { STOP = WEFT_CODE_STOP, LANES = 3 };

/* LOOP 3, MOVE, PAR of 2, END; then MOVE. */
static const weft_code_t looped[] = {
    {.opcode = LOOP, .n = 3, .mate = 5},
    {.opcode = MOVE},
    {.opcode = PAR, .n = 2},
    {.opcode = MOVE},
    {.opcode = MOVE},
    {.opcode = END, .mate = 0},
    {.opcode = MOVE},
    {.opcode = STOP},
};

static void a_loop_runs_its_body_as_often_as_it_says(void **state)
{
    static const uint32_t pcs[] = {1, 2, 1, 2, 1, 2, 6, 7};
    static const uint32_t moves[] = {1, 2, 1, 2, 1, 2, 1, 1};
    weft_cursor_t cursor = {.code = looped};
    (void)state;
    for (size_t i = 0; i < sizeof pcs / sizeof *pcs; i++) {
        const weft_code_t *code = weft_cursor_seek(&cursor);
        assert_int_equal(cursor.pc, pcs[i]);
        assert_int_equal(weft_cursor_moves(code), moves[i]);
        assert_int_equal(cursor.iteration, i < 6 ? i / 2 : 0);
        assert_ptr_equal(weft_cursor_seek(&cursor), code);
        if (code->opcode != STOP) {
            weft_cursor_next(&cursor);
        }
    }
    weft_cursor_end_pass(&cursor);
    assert_int_equal(cursor.pc, 0);
    assert_int_equal(cursor.pass, 1);
}

static void a_loop_without_body_ends(void **state)
{
    static const weft_code_t code[] = {
        {.opcode = LOOP, .n = 2, .mate = 1}, {.opcode = END, .mate = 0}, {.opcode = STOP}};
    weft_cursor_t cursor = {.code = code};
    (void)state;
    assert_int_equal(weft_cursor_seek(&cursor)->opcode, STOP);
    assert_int_equal(cursor.pc, 2);
}

static void only_the_last_iteration_finishes_an_instruction(void **state)
{
    uint32_t finished[8] = {0};
    weft_cursor_t cursor = {.code = looped, .finished = finished, .pass = 4};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        weft_cursor_seek(&cursor);
        assert_int_equal(weft_cursor_finish(&cursor, 1), i == 2);
        assert_int_equal(finished[1], i == 2 ? 5 : 0);
        weft_cursor_next(&cursor);
        weft_cursor_seek(&cursor);
        weft_cursor_next(&cursor);
    }
    cursor.finished = NULL;
    assert_false(weft_cursor_finish(&cursor, 6));
}

static void waits_are_over_when_all_have_finished_in_this_pass(void **state)
{
    uint32_t finished[LANES][2] = {{0}};
    const weft_after_t after[] = {{.lane = 1, .pc = 0}, {.lane = 2, .pc = 1}};
    const weft_plan_view_t move = {.after = after, .nafter = 2};
    weft_cursor_t cursors[LANES] = {{0}};
    const weft_cursors_t all = {cursors, sizeof *cursors, LANES};
    (void)state;
    for (uint32_t i = 0; i < LANES; i++) {
        cursors[i].finished = finished[i];
    }
    assert_false(weft_cursor_waits_over(&all, &cursors[0], &move));
    assert_true(weft_cursor_finish(&cursors[1], 0));
    assert_false(weft_cursor_waits_over(&all, &cursors[0], &move));
    assert_true(weft_cursor_finish(&cursors[2], 1));
    assert_true(weft_cursor_waits_over(&all, &cursors[0], &move));
    weft_cursor_end_pass(&cursors[0]);
    assert_false(weft_cursor_waits_over(&all, &cursors[0], &move));
}

static void the_last_lane_of_a_mask_opens_its_barrier(void **state)
{
    weft_cursor_t cursors[LANES] = {{0}};
    const weft_cursors_t all = {cursors, sizeof *cursors, LANES};
    (void)state;
    assert_false(weft_cursor_arrive(&all, &cursors[0], 5));
    assert_false(weft_cursor_arrive(&all, &cursors[0], 5));
    assert_false(weft_cursor_arrive(&all, &cursors[1], 6));
    assert_int_equal(cursors[0].bar, 5);
    assert_true(weft_cursor_arrive(&all, &cursors[2], 5));
    assert_int_equal(cursors[0].bar, 0);
    assert_int_equal(cursors[1].bar, 6);
    assert_true(weft_cursor_arrive(&all, &cursors[2], 6));
    assert_int_equal(cursors[1].bar, 0);
}

static void the_widest_par_counts(void **state)
{
    const weft_plan_lane_t lane = {(weft_code_t *)(uintptr_t)looped, 8};
    const weft_plan_lane_t tail = {(weft_code_t *)(uintptr_t)&looped[6], 2};
    (void)state;
    assert_int_equal(weft_cursor_widest_par(&lane), 2);
    assert_int_equal(weft_cursor_width(&lane), 2);
    assert_int_equal(weft_cursor_widest_par(&tail), 0);
    assert_int_equal(weft_cursor_width(&tail), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_runs_its_body_as_often_as_it_says),
        cmocka_unit_test(a_loop_without_body_ends),
        cmocka_unit_test(only_the_last_iteration_finishes_an_instruction),
        cmocka_unit_test(waits_are_over_when_all_have_finished_in_this_pass),
        cmocka_unit_test(the_last_lane_of_a_mask_opens_its_barrier),
        cmocka_unit_test(the_widest_par_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
