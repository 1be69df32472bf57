/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel among processes of which some are stopped for a time. */
#include <signal.h>
#include <unistd.h>

#include "../../../support/family.h"
#include "../../../support/ranks.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static void a_stopped_rank_is_unresponsive_after_the_limit(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 5, 0.1, 1);
    family_wait_joined(&f);
    uint64_t start = weft_os_clock_ns();
    family_stop(&f, 4);
    /* Rank 1 passes the question on, and shows rank 0 that it lives. */
    family_order(&f, 0, FAMILY_ASK_LAST);
    family_assert_verdict(&f, 4, WEFT_ERR_PEER_UNRESPONSIVE, start);
    assert_true(f.shared->records[0].failed_at - start > WEFT_NS_PER_S / 2);
    assert_int_equal(family_end(&f), 0);
}

/* They wait for nobody, so they do not find out by themselves that those above them are lost: rank
 * 1, and rank 3 below it. */
static void those_below_stopped_ranks_live_on(void **unused)
{
    (void)unused;
    const double limit = RANKS_SLOWER > 1 ? 3 : 1.5;
    for (uint32_t stopped = 1; stopped <= 2; stopped++) {
        family_t f;
        family_start(&f, 9, 0.1, limit);
        family_wait_joined(&f);
        for (uint32_t who = 1; who < 2 * stopped; who += 2) {
            family_stop(&f, who);
        }
        family_order(&f, 0, FAMILY_ASK_LAST);
        for (uint32_t who = 1; who < 2 * stopped; who += 2) {
            for (uint32_t i = 0; i < 9; i++) {
                bool runs = i != 1 && (stopped == 1 || i != 3);
                assert_true(!runs || family_wait(&f.shared->records[i].dead[who], 5 + 5 * limit));
            }
        }
        weft_os_sleep_ns((uint64_t)(2 * limit * (double)WEFT_NS_PER_S));
        for (uint32_t i = 0; i < 9; i++) {
            for (uint32_t who = 0; who < 9; who++) {
                bool runs = who != 1 && (stopped == 1 || who != 3);
                if (runs && f.shared->records[i].dead[who] != 0) {
                    fail_msg("rank %u takes rank %u for dead", i, who);
                }
            }
        }
        assert_int_equal(family_end(&f), 0);
    }
}

/* Nobody waits for it, so nobody asks, and the others sleep. */
static void a_stopped_rank_that_nobody_waits_for_is_left_alone(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 5, 0.1, 0.5);
    family_wait_joined(&f);
    family_stop(&f, 1);
    weft_os_sleep_ns(2 * WEFT_NS_PER_S);
    kill(f.pids[1], SIGCONT);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(f.shared->records[i].failed, 0);
    }
    assert_int_equal(family_end(&f), 0);
}

static void a_stop_shorter_than_the_limit_is_no_error(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 4, 0.1, 3);
    family_wait_joined(&f);
    family_stop(&f, 1);
    family_order(&f, 0, FAMILY_ASK_LAST);
    weft_os_sleep_ns(WEFT_NS_PER_S);
    kill(f.pids[1], SIGCONT);
    /* Longer than the limit from the beginning of the stop. */
    weft_os_sleep_ns(3 * WEFT_NS_PER_S);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(f.shared->records[i].failed, 0);
    }
    assert_int_equal(family_end(&f), 0);
}

/* Rank 0 would be the next parent of rank 3. Rank 2, which is that after it, brings it the word. */
static void who_leaves_below_a_stopped_rank_tells_the_next(void **unused)
{
    (void)unused;
    family_t f;
    family_start(&f, 4, 0.1, 30);
    family_wait_joined(&f);
    family_stop(&f, 0);
    family_order(&f, 1, FAMILY_STOP);
    assert_true(family_wait(&f.shared->records[3].gone[1], 10));
    family_order(&f, 3, FAMILY_STOP);
    assert_true(family_wait(&f.shared->records[3].leave_us, 40));
    assert_in_range(f.shared->records[3].leave_us, 0, 15000000);
    kill(f.pids[0], SIGCONT);
    assert_true(family_wait(&f.shared->records[0].gone[3], 10));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(f.shared->records[i].failed, 0);
    }
    assert_int_equal(family_end(&f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_rank_is_unresponsive_after_the_limit),
        cmocka_unit_test(those_below_stopped_ranks_live_on),
        cmocka_unit_test(a_stopped_rank_that_nobody_waits_for_is_left_alone),
        cmocka_unit_test(a_stop_shorter_than_the_limit_is_no_error),
        cmocka_unit_test(who_leaves_below_a_stopped_rank_tells_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
