/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a family keeps of consensuses, and until when. That a rank may leave with its record,
 * whenever it does, is in test_consensus.c: to the others it is a death. */
#include <string.h>

#include "core/comm/consensus_records.h"
#include "tests/support/unit.h"

enum { NRANKS = 4, HERE = 1 };

static weft_family_t family;

static int make(void **state)
{
    (void)state;
    memset(&family, 0, sizeof family);
    family.nranks = NRANKS;
    family.rank = HERE;
    return weft_consensus_prepare(&family.survival, NRANKS) == WEFT_OK ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    weft_consensus_forget(&family.survival);
    return 0;
}

static void send_nothing(void *arg, uint32_t to, const weft_word_t *word)
{
    (void)arg;
    (void)to;
    (void)word;
}

/* A consensus of all ranks of the family, of kind `base` in the communicator. */
static weft_consensus_record_t *add(uint64_t comm_id, uint64_t base, uint64_t call)
{
    weft_consensus_record_t *record = weft_os_alloc(sizeof *record, 0);
    assert_non_null(record);
    record->family_rank = weft_os_alloc(NRANKS * sizeof *record->family_rank, 0);
    assert_non_null(record->family_rank);
    for (uint32_t i = 0; i < NRANKS; i++) {
        record->family_rank[i] = i;
    }
    assert_int_equal(weft_consensus_init(&record->machine, NRANKS, HERE,
                                         (weft_consensus_outlet_t){.send = send_nothing}),
                     WEFT_OK);
    record->family = &family;
    record->comm_id = comm_id;
    record->base = base;
    record->call = call;
    record->key = base * 1000 + call;
    weft_os_lock(&family.lock);
    weft_consensus_add(record);
    weft_consensus_start(&record->machine, 0);
    weft_os_unlock(&family.lock);
    return record;
}

static bool is_kept(const weft_consensus_record_t *wanted)
{
    const weft_consensus_record_t *record = family.survival.records;
    while (record != NULL && record != wanted) {
        record = record->next;
    }
    return record != NULL;
}

static uint32_t count_records(void)
{
    uint32_t count = 0;
    for (const weft_consensus_record_t *r = family.survival.records; r != NULL; r = r->next) {
        count++;
    }
    return count;
}

/* Both consensuses of a shrink, and those of the call before it. */
static void the_last_two_calls_of_a_kind_are_kept(void **state)
{
    (void)state;
    for (uint64_t call = 0; call < 10; call++) {
        add(7, 70, call);
        add(7, 70, call);
        add(7, 71, call);
    }
    assert_int_equal(count_records(), 6);
}

static void a_call_that_waits_is_kept(void **state)
{
    (void)state;
    weft_consensus_record_t *waits = add(7, 70, 0);
    waits->awaited = true;
    for (uint64_t call = 1; call < 10; call++) {
        add(7, 70, call);
    }
    assert_true(is_kept(waits));
    weft_consensus_leave(&family, 7);
    assert_true(is_kept(waits));
    assert_int_equal(count_records(), 1);
}

static void who_leaves_a_communicator_keeps_nothing_of_it(void **state)
{
    (void)state;
    const weft_consensus_record_t *other = add(8, 80, 0);
    for (uint64_t base = 70; base < 75; base++) {
        add(7, base, 0);
    }
    weft_consensus_leave(&family, 7);
    assert_int_equal(count_records(), 1);
    assert_true(is_kept(other));
}

/* A rank that leaves a communicator is not waited for there, whatever the communicator's state; a
 * rank that leaves the family is waited for nowhere. */
static void who_has_left_is_gone_in_the_records_of_that_communicator(void **state)
{
    (void)state;
    const weft_consensus_record_t *here = add(7, 70, 0), *there = add(8, 80, 0);
    weft_missing_t awaited;
    uint32_t first = NRANKS;
    weft_os_lock(&family.lock);
    weft_consensus_note_end(&family, 7, 0);
    weft_consensus_awaited(&here->machine, &awaited);
    assert_int_equal(weft_missing_list(&awaited, &first, 1), 2); /* it leads: ranks 2 and 3 */
    assert_int_equal(first, 2);
    weft_consensus_awaited(&there->machine, &awaited);
    assert_int_equal(weft_missing_list(&awaited, &first, 1), 1);
    assert_int_equal(first, 0);
    weft_consensus_note_end(&family, 0, 0);
    weft_consensus_awaited(&there->machine, &awaited);
    assert_int_equal(weft_missing_list(&awaited, &first, 1), 2);
    weft_os_unlock(&family.lock);
}

/* Nobody waits for it until then, and its state is what it has come to meanwhile. */
static void one_that_was_given_up_is_taken_up_again(void **state)
{
    (void)state;
    weft_consensus_record_t *record = add(7, 70, 0);
    record->awaited = true;
    weft_os_lock(&family.lock);
    weft_consensus_stop_waiting(&family, 7);
    assert_int_equal(record->ended, 1);
    record->awaited = false;
    assert_null(weft_consensus_find(&family, record->key + 1));
    assert_ptr_equal(weft_consensus_find(&family, record->key), record);
    weft_consensus_resume(record);
    assert_true(record->awaited && record->ended == 0);
    record->machine.decided = true;
    weft_consensus_resume(record);
    assert_int_equal(record->ended, 1);
    record->machine.decided = false;
    weft_consensus_note_end(&family, 0, HERE);
    weft_consensus_resume(record);
    assert_int_equal(record->ended, 1);
    weft_os_unlock(&family.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_two_calls_of_a_kind_are_kept, make, unmake),
        cmocka_unit_test_setup_teardown(a_call_that_waits_is_kept, make, unmake),
        cmocka_unit_test_setup_teardown(who_leaves_a_communicator_keeps_nothing_of_it, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(who_has_left_is_gone_in_the_records_of_that_communicator,
                                        make, unmake),
        cmocka_unit_test_setup_teardown(one_that_was_given_up_is_taken_up_again, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
