/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel among processes: death, silence, rubbish, reports, questions, orderly
 * leaving. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../support/family.h"
#include "../../../support/ranks.h"
#include "../../../support/resets.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void a_killed_rank_is_named_on_all_survivors_at_once(void **unused)
{
    (void)unused;
    enum { N = 8 };
    uint64_t times[N];
    for (uint32_t victim = 0; victim < N; victim++) {
        family_t f;
        family_start(&f, N, 0.5, 10);
        family_wait_joined(&f);
        uint64_t start = weft_os_clock_ns();
        kill(f.pids[victim], SIGKILL);
        times[victim] = family_assert_verdict(&f, victim, WEFT_ERR_PEER_DEAD, start);
        assert_true(times[victim] < WEFT_NS_PER_S);
        assert_int_equal(family_end(&f), 1);
    }
    qsort(times, N, sizeof *times, compare);
    print_message("all survivors of %d knew after %.2f ms (median), %.2f ms (worst)\n", N,
                  (double)times[N / 2] / 1e6, (double)times[N - 1] / 1e6);
}

static void a_killed_rank_whose_child_holds_its_connections_is_named_at_once(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 4, 0.5, 10);
    family_wait_joined(&f);
    family_order(&f, 1, FAMILY_FORK);
    assert_true(family_wait(&f.shared->records[1].heir, 10));
    pid_t heir = (pid_t)f.shared->records[1].heir;
    uint64_t start = weft_os_clock_ns();
    kill(f.pids[1], SIGKILL);
    assert_true(family_assert_verdict(&f, 1, WEFT_ERR_PEER_DEAD, start) < WEFT_NS_PER_S);
    kill(heir, SIGKILL);
    assert_int_equal(family_end(&f), 1);
}

static void a_rank_that_exits_without_leaving_is_dead(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 3, 0.5, 10);
    family_wait_joined(&f);
    uint64_t start = weft_os_clock_ns();
    family_order(&f, 1, FAMILY_EXIT);
    family_assert_verdict(&f, 1, WEFT_ERR_PEER_DEAD, start);
    assert_int_equal(family_end(&f), 0);
}

/* Whatever the moment, every survivor ends with an error that names the victim. */
static void a_rank_killed_at_a_random_moment_is_named(void **unused)
{
    (void)unused;
    unsigned seed = 12345;
    for (int round = 0; round < 12; round++) {
        family_t f;
        uint32_t victim = 1 + (uint32_t)rand_r(&seed) % 7;
        family_start(&f, 8, 0.5, 10);
        weft_os_sleep_ns((uint64_t)rand_r(&seed) % (40 * RANKS_SLOWER * WEFT_NS_PER_MS));
        kill(f.pids[victim], SIGKILL);
        for (uint32_t i = 0; i < f.count; i++) {
            family_record_t *record = &f.shared->records[i];
            char name[16];
            if (i == victim) {
                continue;
            }
            assert_true(family_wait(&record->joined, 7 + FAMILY_JOIN_S));
            assert_true(record->joined == 2 || family_wait(&record->failed, 5));
            snprintf(name, sizeof name, ": rank %u", victim);
            /* A rank that never came is named by the root's deadline, without more knowledge. */
            bool named = record->error.peer == (int32_t)victim ||
                         (record->error.status == WEFT_ERR_TIMEOUT &&
                          strstr(record->error.text, name) != NULL);
            if (!named) {
                fail_msg("round %d, victim %u, rank %u: %s: %s", round, victim, i,
                         weft_status_name(record->error.status), record->error.text);
            }
        }
        assert_int_equal(family_end(&f), 1);
    }
}

static void a_report_reaches_all_others_with_its_culprit(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 8, 0.5, 10);
    family_wait_joined(&f);
    uint64_t start = weft_os_clock_ns();
    family_order(&f, 6, FAMILY_REPORT);
    family_assert_verdict(&f, 6, WEFT_ERR_ABORTED, start);
    assert_string_equal(f.shared->records[3].error.text, "aborted by the test");
    assert_int_equal(f.shared->records[6].failed, 0);
    assert_int_equal(family_end(&f), 0);
}

static void rubbish_on_a_control_connection_names_its_sender(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 6, 0.5, 10);
    family_wait_joined(&f);
    family_order(&f, 2, FAMILY_RUBBISH);
    family_record_t *record = &f.shared->records[0];
    assert_true(family_wait(&record->failed, 10));
    assert_int_equal(record->error.status, WEFT_ERR_PROTO);
    assert_int_equal(record->error.peer, 2);
    assert_non_null(strstr(record->error.text, "bad type"));
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(i == 2 || family_wait(&f.shared->records[i].failed, 10));
    }
    assert_int_equal(family_end(&f), 0);
}

static void a_question_reaches_its_rank_only(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 8, 0.5, 10);
    family_wait_joined(&f);
    family_order(&f, 4, FAMILY_ASK_LAST);
    family_record_t *record = &f.shared->records[7];
    assert_true(family_wait(&record->asked_by, 10));
    assert_int_equal(record->asked_by, 1 + 4);
    assert_int_equal(record->asked.coll, WEFT_REDUCE);
    assert_int_equal(record->asked.root, 2);
    assert_true(record->asked.count == 12345);
    assert_true(record->asked_in == FAMILY_COMM);
    /* The answer comes back to who asked. */
    record = &f.shared->records[4];
    assert_true(family_wait(&record->answered_by, 10));
    assert_int_equal(record->answered_by, 1 + 7);
    assert_true(record->answered_in == FAMILY_COMM);
    assert_true(record->answer.comm_id == 77 && record->answer.waits_for == 3);
    assert_int_equal(record->answer.signature.root, 2);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(f.shared->records[i].asked_by, 0);
    }
    assert_int_equal(family_end(&f), 0);
}

static void an_orderly_goodbye_is_told_to_all_and_is_no_failure(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 8, 0.5, 10);
    family_wait_joined(&f);
    family_order(&f, 1, FAMILY_LEAVE);
    for (uint32_t i = 0; i < 8; i++) {
        if (i != 1) {
            assert_true(family_wait(&f.shared->records[i].left[1], 10));
            assert_int_equal(f.shared->records[i].left[1], 1 + 42);
            assert_int_equal(f.shared->records[i].failed, 0);
        }
    }
    assert_int_equal(family_end(&f), 0);
}

/* After any set of ranks has left, the others still hear of a death at once. */
static void survivors_of_orderly_leavers_still_hear_of_a_death(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t leavers[4], victim;
    } cases[] = {{{0, 99}, 5}, {{1, 99}, 2}, {{0, 1, 99}, 6}, {{0, 1, 2, 99}, 3}, {{2, 0, 99}, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        family_t f;
        bool gone[8] = {false};
        family_start(&f, 8, 0.1, 10);
        family_wait_joined(&f);
        for (uint32_t k = 0; cases[c].leavers[k] != 99; k++) {
            uint32_t leaver = cases[c].leavers[k];
            family_order(&f, leaver, FAMILY_LEAVE);
            gone[leaver] = true;
            for (uint32_t i = 0; i < 8; i++) {
                assert_true(gone[i] || family_wait(&f.shared->records[i].left[leaver], 10));
            }
            /* New connections cannot be seen from here. On a busy machine they may take longer than
             * the next leaver would wait for them. */
            weft_os_sleep_ns(200 * WEFT_NS_PER_MS);
        }
        uint64_t start = weft_os_clock_ns();
        kill(f.pids[cases[c].victim], SIGKILL);
        for (uint32_t i = 0; i < 8; i++) {
            family_record_t *record = &f.shared->records[i];
            if (!gone[i] && i != cases[c].victim) {
                assert_true(family_wait(&record->failed, 10));
                if (record->error.status != WEFT_ERR_PEER_DEAD ||
                    record->error.peer != (int32_t)cases[c].victim) {
                    fail_msg("case %zu, rank %u: %s", c, i, record->error.text);
                }
                /* The worst case is a victim that had not connected to its new parent yet. */
                assert_true(record->failed_at - start < 4 * WEFT_NS_PER_S);
            }
        }
        assert_int_equal(family_end(&f), 1);
    }
}

/* All ranks but those that are gone hear that this one is gone too. */
static void the_others_hear(family_t *f, bool gone[], uint32_t who)
{
    gone[who] = true;
    for (uint32_t i = 0; i < f->count; i++) {
        assert_true(gone[i] || family_wait(&f->shared->records[i].dead[who], 15));
    }
}

/* Communicators without the dead rank live on: the tree closes its gaps, and carries what comes
 * next. */
static void survivors_of_a_death_hear_of_the_next_and_of_reports(void **unused)
{
    (void)unused;
    static const uint32_t victims[] = {1, 0, 3};
    family_t f;
    bool dead[8] = {false};
    family_start(&f, 8, 0.1, 10);
    family_wait_joined(&f);
    for (size_t v = 0; v < sizeof victims / sizeof *victims; v++) {
        kill(f.pids[victims[v]], SIGKILL);
        the_others_hear(&f, dead, victims[v]);
    }
    family_order(&f, 7, FAMILY_REPORT_OTHER);
    for (uint32_t i = 0; i < 7; i++) {
        assert_true(dead[i] || family_wait(&f.shared->records[i].reports, 10));
        assert_true(dead[i] || f.shared->records[i].reports == 1);
    }
    assert_int_equal(family_end(&f), 3);
}

/* A reset ends a connection and nobody's life: the tree is whole again, and carries what comes
 * next. */
static void ranks_whose_connections_are_reset_live_on(void **unused)
{
    (void)unused;
    enum { N = 8 };
    for (uint32_t victim = 0; victim < N; victim++) {
        family_t f;
        bool dead[N] = {false};
        family_start(&f, N, 0.1, 10);
        family_wait_joined(&f);
        uint32_t resets = 0;
        for (int round = 0; round < 3; round++) {
            resets += reset_connections(f.pids[victim]);
        }
        assert_true(resets > 0);
        family_order(&f, victim, FAMILY_REPORT_OTHER);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(i == victim || family_wait(&f.shared->records[i].reports, 10));
        }
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(f.shared->records[i].failed, 0);
        }
        reset_connections(f.pids[victim]);
        kill(f.pids[victim], SIGKILL);
        the_others_hear(&f, dead, victim);
        assert_int_equal(family_end(&f), 1);
    }
}

/* A rank whose join fails when others have it behind them is gone for all of them, or they would
 * wait for it. They hear why, and the detector goes on. */
static void a_rank_that_gives_up_behind_the_others_is_gone(void **unused)
{
    (void)unused;
    enum { N = 5, QUITTER = 3, VICTIM = 0 };
    family_t f;
    bool gone[N] = {false};
    family_start_quitting(&f, N, QUITTER, 25);
    family_wait_joined(&f);
    family_order(&f, QUITTER, FAMILY_GIVE_UP);
    the_others_hear(&f, gone, QUITTER);
    for (uint32_t i = 0; i < N; i++) {
        const weft_error_t *error = &f.shared->records[i].error;
        assert_true(i == QUITTER || error->status == WEFT_ERR_RESOURCE);
        assert_true(i == QUITTER || strstr(error->text, "out of luck") != NULL);
    }
    kill(f.pids[VICTIM], SIGKILL);
    the_others_hear(&f, gone, VICTIM);
    assert_int_equal(family_end(&f), 1);
}

/* Its parent, to which it would say so, has died: those that should hear of it next find that it
 * does not listen any more, long before boot.unresponsive. */
static void a_rank_that_gives_up_and_has_nobody_to_tell_is_gone(void **unused)
{
    (void)unused;
    enum { N = 5, QUITTER = 3, PARENT = 1 };
    family_t f;
    bool gone[N] = {[QUITTER] = true}; /* it is told nothing */
    family_start_quitting(&f, N, QUITTER, 25);
    family_wait_joined(&f);
    kill(f.pids[PARENT], SIGKILL);
    the_others_hear(&f, gone, PARENT);
    family_order(&f, QUITTER, FAMILY_GIVE_UP);
    the_others_hear(&f, gone, QUITTER);
    assert_int_equal(family_end(&f), 1);
}

/* What happened to a communicator before it was made here is told when it is made. */
static void the_past_of_a_communicator_is_told_to_who_comes_late(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 4, 0.1, 10);
    family_wait_joined(&f);
    family_order(&f, 2, FAMILY_LEAVE_OTHER);
    family_order(&f, 1, FAMILY_REPORT_OTHER);
    family_record_t *record = &f.shared->records[3];
    assert_true(family_wait(&record->left[2], 10) && family_wait(&record->reports, 10));
    kill(f.pids[2], SIGKILL);
    assert_true(family_wait(&record->dead[2], 10));
    atomic_store(&record->left[2], 0);
    atomic_store(&record->reports, 0);
    atomic_store(&record->dead[2], 0);
    family_order(&f, 3, FAMILY_OPEN_OTHER);
    assert_true(family_wait(&record->left[2], 10) && family_wait(&record->reports, 10) &&
                family_wait(&record->dead[2], 10));
    assert_int_equal(record->left[2], 1 + 6);
    assert_int_equal(family_end(&f), 1);
}

static void all_leave_together_without_a_failure(void **unused)
{
    (void)unused;
    uint64_t longest = 0;
    for (int round = 0; round < 5; round++) {
        family_t f;
        family_start(&f, 8, 0.5, 10);
        family_wait_joined(&f);
        for (uint32_t i = 0; i < 8; i++) {
            family_order(&f, i, FAMILY_LEAVE);
        }
        for (uint32_t i = 0; i < 8; i++) {
            family_record_t *record = &f.shared->records[i];
            assert_true(family_wait(&record->leave_us, 10));
            assert_int_equal(record->failed, 0);
            longest = record->leave_us > longest ? record->leave_us : longest;
        }
        assert_int_equal(family_end(&f), 0);
    }
    print_message("leaving took at most %.1f ms\n", (double)longest / 1e3);
}

/* Its last words have gone, and nobody answers to them: it waited a second for what would not come.
 * A busy machine may make one of them wait as long. */
static void who_leaves_alone_waits_for_nobody(void **unused)
{
    (void)unused;
    uint32_t slow = 0;
    for (int round = 0; round < 4; round++) {
        family_t f;
        family_start(&f, 2, 0.5, 10);
        family_wait_joined(&f);
        weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
        family_order(&f, 1, FAMILY_STOP);
        assert_true(family_wait(&f.shared->records[1].leave_us, 10));
        slow += f.shared->records[1].leave_us >= 900000;
        assert_true(family_wait(&f.shared->records[0].gone[1], 10));
        assert_int_equal(f.shared->records[0].failed, 0);
        assert_int_equal(family_end(&f), 0);
    }
    assert_in_range(slow, 0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_is_named_on_all_survivors_at_once),
        cmocka_unit_test(a_killed_rank_whose_child_holds_its_connections_is_named_at_once),
        cmocka_unit_test(a_rank_that_exits_without_leaving_is_dead),
        cmocka_unit_test(a_rank_killed_at_a_random_moment_is_named),
        cmocka_unit_test(a_report_reaches_all_others_with_its_culprit),
        cmocka_unit_test(rubbish_on_a_control_connection_names_its_sender),
        cmocka_unit_test(a_question_reaches_its_rank_only),
        cmocka_unit_test(an_orderly_goodbye_is_told_to_all_and_is_no_failure),
        cmocka_unit_test(survivors_of_orderly_leavers_still_hear_of_a_death),
        cmocka_unit_test(survivors_of_a_death_hear_of_the_next_and_of_reports),
        cmocka_unit_test(ranks_whose_connections_are_reset_live_on),
        cmocka_unit_test(a_rank_that_gives_up_behind_the_others_is_gone),
        cmocka_unit_test(a_rank_that_gives_up_and_has_nobody_to_tell_is_gone),
        cmocka_unit_test(the_past_of_a_communicator_is_told_to_who_comes_late),
        cmocka_unit_test(all_leave_together_without_a_failure),
        cmocka_unit_test(who_leaves_alone_waits_for_nobody),
    };
    /* Whatever happens, the test ends. */
    alarm(110);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
