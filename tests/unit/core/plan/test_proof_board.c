/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board between processes: one makes a value, the others find it, and the next one makes
 * what a dead one did not. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os_host_memory.h"
#include "core/plan/proof_board.h"
#include "tests/support/unit.h"

#define BYTES ((size_t)1 << 20)
#define SOON 20.0
#define USED 8192 /* bytes that a few entries take */
#define SKIPPED 77

static weft_os_host_memory_t memory;
static weft_proof_board_t *board;

static int make_board(void **unused)
{
    (void)unused;
    return weft_os_host_memory_create("weft-test-board", BYTES, &memory) != WEFT_OK ||
           weft_proof_board_init(memory.memory, BYTES, &board) != WEFT_OK;
}

static int close_board(void **unused)
{
    (void)unused;
    weft_proof_board_close(board);
    weft_os_host_memory_close(&memory);
    return 0;
}

static weft_proof_answer_t ask(weft_proof_board_t *on, const char *key, uint64_t *value,
                               weft_proof_ticket_t *ticket)
{
    return weft_proof_board_ask(on, key, strlen(key) + 1, value, sizeof *value, SOON, ticket);
}

/* Runs in another process, which finds the board as a rank would; returns its exit code. */
static int in_child(int (*run)(weft_proof_board_t *found))
{
    pid_t child = fork();
    if (child == 0) {
        weft_os_host_memory_t mine;
        bool found = weft_os_host_memory_find(getppid(), "weft-test-board", BYTES, &mine);
        _exit(found ? run(weft_proof_board_at(mine.memory, BYTES)) : 99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int make_value(weft_proof_board_t *found)
{
    weft_proof_ticket_t ticket;
    uint64_t value = 0;
    if (ask(found, "one", &value, &ticket) != WEFT_PROOF_OURS) {
        return 1;
    }
    value = 4711;
    weft_proof_board_answer(&ticket, &value);
    return 0;
}

static void a_value_of_one_process_is_found_by_another(void **unused)
{
    (void)unused;
    weft_proof_ticket_t ticket;
    uint64_t value = 0;
    assert_int_equal(in_child(make_value), 0);
    assert_int_equal(ask(board, "one", &value, &ticket), WEFT_PROOF_FOUND);
    assert_int_equal(value, 4711);
    assert_int_equal(ask(board, "two", &value, &ticket), WEFT_PROOF_OURS);
    weft_proof_board_answer(&ticket, NULL);
    assert_int_equal(ask(board, "two", &value, &ticket), WEFT_PROOF_OURS);
    weft_proof_board_answer(&ticket, NULL);
}

static int die_making(weft_proof_board_t *found)
{
    weft_proof_ticket_t ticket;
    uint64_t value = 0;
    if (ask(found, "three", &value, &ticket) == WEFT_PROOF_OURS) {
        kill(getpid(), SIGKILL);
    }
    return 1;
}

static void who_asks_next_makes_what_a_dead_process_did_not(void **unused)
{
    (void)unused;
    weft_proof_ticket_t ticket;
    uint64_t value = 1;
    assert_int_equal(in_child(die_making), 128 + SIGKILL);
    assert_int_equal(ask(board, "three", &value, &ticket), WEFT_PROOF_OURS);
    weft_proof_board_answer(&ticket, &value);
    assert_int_equal(ask(board, "three", &value, &ticket), WEFT_PROOF_FOUND);
}

static int wait_in_vain(weft_proof_board_t *found)
{
    weft_proof_ticket_t ticket;
    uint64_t value = 0;
    return weft_proof_board_ask(found, "four", 5, &value, sizeof value, 0.2, &ticket) !=
           WEFT_PROOF_ALONE;
}

static void who_waits_too_long_is_alone(void **unused)
{
    (void)unused;
    weft_proof_ticket_t ticket;
    uint64_t value = 1;
    assert_int_equal(ask(board, "four", &value, &ticket), WEFT_PROOF_OURS);
    assert_int_equal(in_child(wait_in_vain), 0);
    weft_proof_board_answer(&ticket, &value);
}

static void a_full_board_helps_nobody_and_keeps_what_it_has(void **unused)
{
    (void)unused;
    weft_proof_ticket_t ticket;
    uint64_t value = 7;
    weft_proof_answer_t answer = WEFT_PROOF_OURS;
    assert_int_equal(ask(board, "first", &value, &ticket), WEFT_PROOF_OURS);
    weft_proof_board_answer(&ticket, &value);
    for (uint32_t i = 0; answer == WEFT_PROOF_OURS; i++) {
        assert_true(i < BYTES / 64);
        answer = weft_proof_board_ask(board, &i, sizeof i, &value, sizeof value, SOON, &ticket);
        if (answer == WEFT_PROOF_OURS) {
            weft_proof_board_answer(&ticket, &value);
        }
    }
    assert_int_equal(answer, WEFT_PROOF_ALONE);
    assert_int_equal(ask(board, "first", &value, &ticket), WEFT_PROOF_FOUND);
    assert_int_equal(ask(NULL, "first", &value, &ticket), WEFT_PROOF_ALONE);
}

static void memory_of_another_name_or_size_is_not_found(void **unused)
{
    (void)unused;
    weft_os_host_memory_t found;
    assert_false(weft_os_host_memory_find(getpid(), "weft-test-other", BYTES, &found));
    assert_false(weft_os_host_memory_find(getpid(), "weft-test-board", 2 * BYTES, &found));
    assert_false(weft_os_host_memory_find(-1, "weft-test-board", BYTES, &found));
    assert_true(weft_os_host_memory_find(getpid(), "weft-test-board", BYTES, &found));
    weft_os_host_memory_close(&found);
}

/* Overwrites every offset and length with each of these in turn: no answer but "alone", and no
 * fault, whatever the words mean. The lock, which the first words after size and magic hold, is
 * left. */
static void damaged_numbers_lead_nowhere(void **unused)
{
    static const uint64_t bad[] = {1,          64,         BYTES - 8,      BYTES,
                                   BYTES + 64, UINT64_MAX, UINT64_MAX - 63};
    uint64_t *words = memory.memory, value = 5;
    weft_proof_ticket_t ticket;
    (void)unused;
    assert_int_equal(ask(board, "five", &value, &ticket), WEFT_PROOF_OURS);
    weft_proof_board_answer(&ticket, &value);
    size_t lock_end = 2 + (sizeof(weft_os_host_lock_t) + 7) / 8, changed = 0;
    for (size_t at = lock_end; at < lock_end + 257; at++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            uint64_t kept = words[at];
            bool used = kept != 0; /* `used`, or the chain of "five" */
            changed += used && i == 0;
            words[at] = used ? bad[i] : kept;
            weft_proof_answer_t answer = ask(board, "five", &value, &ticket);
            if (answer == WEFT_PROOF_OURS) {
                weft_proof_board_answer(&ticket, NULL);
            }
            words[at] = kept;
        }
    }
    assert_int_equal(changed, 2);
    assert_int_equal(ask(board, "five", &value, &ticket), WEFT_PROOF_FOUND);
    assert_int_equal(value, 5);
}

/* Words of an entry that its maker has not answered yet. */
static void a_damaged_length_is_not_believed_in_an_answer(void **unused)
{
    uint64_t *words = memory.memory, value = 5;
    weft_proof_ticket_t ticket;
    size_t changed = 0;
    (void)unused;
    assert_int_equal(ask(board, "six", &value, &ticket), WEFT_PROOF_OURS);
    for (size_t at = 0; at < 1024; at++) {
        if (words[at] == strlen("six") + 1 || words[at] == sizeof value) {
            words[at] = UINT64_C(1) << 40;
            changed++;
        }
    }
    assert_int_equal(changed, 2);
    weft_proof_board_answer(&ticket, &value);
}

#ifdef __x86_64__
/* Runs `run` in a child that finds the board, instruction by instruction, and kills it behind its
 * store number `stores` to the board. False: it ended before. */
static bool kill_behind_a_store(int (*run)(weft_proof_board_t *found), uint32_t stores)
{
    static uint8_t seen[USED];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(SKIPPED);
        }
        raise(SIGSTOP);
        _exit(run(board));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    memcpy(seen, memory.memory, sizeof seen);
    while (WIFSTOPPED(status) && stores > 0) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (memcmp(seen, memory.memory, sizeof seen) != 0) {
            memcpy(seen, memory.memory, sizeof seen);
            stores--;
        }
    }
    if (WIFSTOPPED(status)) {
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        return true;
    }
    if (WEXITSTATUS(status) == SKIPPED) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* Whatever a dead process has left, no key has another one's value. */
static void check_what_is_left(void)
{
    static const char *const keys[] = {"one", "two", "three"};
    weft_proof_ticket_t tickets[3];
    weft_proof_answer_t answers[3];
    uint64_t values[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        answers[i] = ask(board, keys[i], &values[i], &tickets[i]);
        assert_int_not_equal(answers[i], WEFT_PROOF_ALONE);
        assert_true(answers[i] == WEFT_PROOF_OURS || (i == 0 && values[0] == 4711));
    }
    for (size_t i = 0; i < 3; i++) {
        values[i] = i == 0 ? 4711 : i;
        if (answers[i] == WEFT_PROOF_OURS) {
            weft_proof_board_answer(&tickets[i], &values[i]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        uint64_t value = 0;
        assert_int_equal(ask(board, keys[i], &value, &tickets[i]), WEFT_PROOF_FOUND);
        assert_int_equal(value, values[i]);
    }
}

static void a_process_that_is_killed_anywhere_leaves_nothing_wrong(void **unused)
{
    bool killed = true;
    uint32_t stores = 0;
    (void)unused;
    while (killed) {
        assert_int_equal(make_board(NULL), 0);
        killed = kill_behind_a_store(make_value, ++stores);
        check_what_is_left();
        (void)close_board(NULL);
    }
    assert_true(stores > 10);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_of_one_process_is_found_by_another, make_board,
                                        close_board),
        cmocka_unit_test_setup_teardown(who_asks_next_makes_what_a_dead_process_did_not, make_board,
                                        close_board),
        cmocka_unit_test_setup_teardown(who_waits_too_long_is_alone, make_board, close_board),
        cmocka_unit_test_setup_teardown(a_full_board_helps_nobody_and_keeps_what_it_has, make_board,
                                        close_board),
        cmocka_unit_test_setup_teardown(damaged_numbers_lead_nowhere, make_board, close_board),
        cmocka_unit_test_setup_teardown(a_damaged_length_is_not_believed_in_an_answer, make_board,
                                        close_board),
#ifdef __x86_64__
        cmocka_unit_test(a_process_that_is_killed_anywhere_leaves_nothing_wrong),
#endif
        cmocka_unit_test_setup_teardown(memory_of_another_name_or_size_is_not_found, make_board,
                                        close_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
