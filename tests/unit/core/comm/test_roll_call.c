/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call: which ranks count as missing, when it is over, and what it says. */
#include <stdlib.h>
#include <string.h>

#include "core/boot/boot_state.h"
#include "core/comm/roll_call.h"
#include "tests/support/unit.h"

enum { RANKS = 12 };

static weft_boot_t boot; /* without a health channel: questions go nowhere */
static weft_family_t family = {.boot = &boot};
static uint32_t family_rank[RANKS];
static weft_comm_identity_t self = {
    .family = &family, .id = 1, .nranks = RANKS, .family_rank = family_rank};
static weft_peer_status_t peers[RANKS];
static weft_roll_call_t roll;
static const weft_signature_t barrier = {.coll = WEFT_BARRIER, .sequence = 7};

static int make(void **state)
{
    (void)state;
    memset(&roll, 0, sizeof roll);
    memset(peers, 0, sizeof peers);
    self.rank = 0;
    return 0;
}

static bool step_at(uint64_t ms)
{
    return weft_roll_call_step(&roll, &self, peers, &barrier, WEFT_NS_PER_S + ms * WEFT_NS_PER_MS);
}

static uint32_t missing(uint32_t *ranks, uint32_t max)
{
    return weft_roll_call_missing(&roll, &self, peers, ranks, max);
}

static void answer_all_but(uint32_t a, uint32_t b)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        if (r != a && r != b) {
            weft_roll_call_note_begun(&roll, &peers[r], barrier.sequence);
        }
    }
}

static void it_is_over_when_all_have_answered(void **state)
{
    uint32_t ranks[2] = {99, 99};
    (void)state;
    assert_false(step_at(0));
    answer_all_but(3, 8);
    weft_roll_call_note_absent(&roll, &peers[3]);
    assert_false(step_at(2));
    assert_int_equal(missing(ranks, 2), 0); /* not over */
    weft_roll_call_note_absent(&roll, &peers[8]);
    assert_true(step_at(4));
    assert_int_equal(missing(ranks, 1), 2);
    assert_int_equal(ranks[0], 3);
    assert_int_equal(ranks[1], 99);
}

static void the_list_has_the_missing_ranks_once_it_is_over(void **state)
{
    uint32_t ranks[3] = {99, 99, 99};
    weft_missing_t list;
    (void)state;
    assert_false(step_at(0));
    answer_all_but(3, 8);
    weft_roll_call_list(&roll, &self, peers, &list);
    assert_int_equal(list.count, 0);
    assert_true(step_at(400));
    weft_roll_call_list(&roll, &self, peers, &list);
    assert_int_equal(list.count, 2);
    assert_int_equal(weft_missing_list(&list, ranks, 3), 2);
    assert_true(ranks[0] == 3 && ranks[1] == 8 && ranks[2] == 99);
}

static void the_silent_are_missing_after_some_time(void **state)
{
    uint32_t ranks[2];
    (void)state;
    assert_false(step_at(0));
    answer_all_but(5, 5);
    assert_false(step_at(299));
    assert_true(step_at(302));
    assert_int_equal(missing(ranks, 2), 1);
    assert_int_equal(ranks[0], 5);
}

static void who_begins_meanwhile_is_not_missing(void **state)
{
    (void)state;
    assert_false(step_at(0));
    weft_roll_call_note_absent(&roll, &peers[5]);
    answer_all_but(RANKS, RANKS);
    assert_true(step_at(2));
    assert_int_equal(missing(NULL, 0), 0);
}

static void answers_for_other_operations_do_not_count(void **state)
{
    (void)state;
    assert_false(step_at(0));
    answer_all_but(4, 4);
    weft_roll_call_note_begun(&roll, &peers[4], barrier.sequence - 1);
    assert_false(step_at(2));
    weft_roll_call_note_begun(&roll, &peers[4], barrier.sequence);
    assert_true(step_at(4));
}

static void nothing_changes_afterwards(void **state)
{
    (void)state;
    weft_roll_call_note_absent(&roll, &peers[1]); /* nobody has asked */
    assert_false(step_at(0));
    answer_all_but(4, 4);
    assert_true(step_at(400));
    weft_roll_call_note_begun(&roll, &peers[4], barrier.sequence);
    assert_int_equal(missing(NULL, 0), 1);
}

static void the_lowest_rank_that_came_has_the_first_word(void **state)
{
    (void)state;
    self.rank = 2;
    assert_false(step_at(0));
    answer_all_but(0, 1);
    weft_roll_call_note_absent(&roll, &peers[0]);
    weft_roll_call_note_absent(&roll, &peers[1]);
    assert_true(step_at(2));
    make(NULL);
    self.rank = 2;
    assert_false(step_at(0));
    answer_all_but(0, RANKS);
    weft_roll_call_note_absent(&roll, &peers[0]);
    assert_false(step_at(49));
    assert_int_equal(missing(NULL, 0), 1); /* it knows who is missing, too */
    assert_true(step_at(51));
}

static void the_next_operation_has_a_call_of_its_own(void **state)
{
    const weft_signature_t next = {.coll = WEFT_BARRIER, .sequence = 8};
    (void)state;
    self.rank = 2;
    assert_false(step_at(0));
    answer_all_but(5, RANKS);
    weft_roll_call_note_absent(&roll, &peers[5]);
    assert_false(step_at(2)); /* a lower rank has the word, and meanwhile rank 5 comes */
    assert_int_equal(missing(NULL, 0), 1);
    assert_false(weft_roll_call_step(&roll, &self, peers, &next, 9 * WEFT_NS_PER_S));
    assert_int_equal(missing(NULL, 0), 0);
}

static void captured_operations_have_no_roll_call(void **state)
{
    const weft_signature_t captured = {.coll = WEFT_BARRIER};
    (void)state;
    assert_true(weft_roll_call_step(&roll, &self, peers, &captured, WEFT_NS_PER_S));
    assert_int_equal(missing(NULL, 0), 0);
}

static void the_words_name_who_was_not_named(void **state)
{
    char text[160];
    (void)state;
    assert_false(step_at(0));
    answer_all_but(4, 4);
    assert_true(step_at(400));
    assert_string_equal(weft_roll_call_text(&roll, &self, peers, 4, text, sizeof text), "");
    assert_string_equal(weft_roll_call_text(&roll, &self, peers, 3, text, sizeof text),
                        "; missing is rank 4");
}

static void the_blame_is_on_a_missing_rank(void **state)
{
    (void)state;
    assert_int_equal(weft_roll_call_culprit(&roll, &self, peers, 3), 3);
    assert_false(step_at(0));
    answer_all_but(4, 6);
    assert_true(step_at(400));
    assert_int_equal(weft_roll_call_culprit(&roll, &self, peers, 6), 6);
    assert_int_equal(weft_roll_call_culprit(&roll, &self, peers, 3), 4);
    assert_int_equal(weft_roll_call_culprit(&roll, &self, peers, -1), 4);
}

static void many_missing_ranks_are_counted(void **state)
{
    char text[160], little[16];
    (void)state;
    assert_false(step_at(0));
    assert_true(step_at(400));
    assert_string_equal(weft_roll_call_text(&roll, &self, peers, 4, text, sizeof text),
                        "; missing are ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more");
    weft_roll_call_text(&roll, &self, peers, 4, little, sizeof little);
    assert_string_equal(little, "; missing are r");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_is_over_when_all_have_answered, make),
        cmocka_unit_test_setup(the_list_has_the_missing_ranks_once_it_is_over, make),
        cmocka_unit_test_setup(the_silent_are_missing_after_some_time, make),
        cmocka_unit_test_setup(who_begins_meanwhile_is_not_missing, make),
        cmocka_unit_test_setup(answers_for_other_operations_do_not_count, make),
        cmocka_unit_test_setup(nothing_changes_afterwards, make),
        cmocka_unit_test_setup(the_lowest_rank_that_came_has_the_first_word, make),
        cmocka_unit_test_setup(the_next_operation_has_a_call_of_its_own, make),
        cmocka_unit_test_setup(captured_operations_have_no_roll_call, make),
        cmocka_unit_test_setup(the_words_name_who_was_not_named, make),
        cmocka_unit_test_setup(the_blame_is_on_a_missing_rank, make),
        cmocka_unit_test_setup(many_missing_ranks_are_counted, make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
