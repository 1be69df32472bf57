/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Revoking, agreeing and shrinking without deaths: who calls what, and what is told. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/holdings.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const shm[] = {"core.net=net-shm"};
static const char *const soon[] = {"core.net=net-shm", RANKS_SOON};

static void run_with(uint32_t nranks, ranks_work_t work, const char *const *settings,
                     uint32_t count)
{
    ranks_job_t job = {
        .nranks = nranks, .settings = settings, .settings_count = count, .work = work};
    assert_int_equal(ranks_run_both(&job), 0);
}

static int fails(weft_comm_t *comm, weft_status_t status, int32_t peer, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    if (weft_comm_error(comm, &error) == WEFT_OK && error.status == status && error.peer == peer &&
        strstr(error.text, words) != NULL) {
        return 1;
    }
    fprintf(stderr, "%s, peer %d: %s\n", weft_status_name(error.status), (int)error.peer,
            error.text);
    return 0;
}

static void await_failure(weft_comm_t *comm)
{
    weft_error_t error = {.size = sizeof error};
    uint64_t until = weft_os_deadline(20);
    while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK &&
           weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
}

static int last_error_says(weft_status_t status, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    if (weft_last_error(&error) == WEFT_OK && error.status == status &&
        strstr(error.text, words) != NULL) {
        return 1;
    }
    fprintf(stderr, "%s: %s; wanted %s with \"%s\"\n", weft_status_name(error.status), error.text,
            weft_status_name(status), words);
    return 0;
}

static int sums(weft_comm_t *comm, uint32_t one, uint32_t expected)
{
    uint32_t sum = 0;
    return weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK &&
           sum == expected;
}

static void *revoke_soon(void *arg)
{
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    return weft_comm_revoke(arg) == WEFT_OK ? arg : NULL;
}

/* Ranks that are through the first call: what revokes comes behind it on all of them. */
static _Atomic uint32_t through;

static void wait_for_all(uint32_t n)
{
    uint64_t until = weft_os_deadline(20);
    atomic_fetch_add(&through, 1);
    while (atomic_load(&through) < n && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
}

/* Rank 1 never calls. A thread of rank 0 revokes what its rank and the others wait in; then all
 * revoke, which changes nothing, and go on in a new communicator. */
static int revoke_while_waiting(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    pthread_t thread;
    void *good = comm;
    weft_comm_t *child = NULL;
    weft_request_t *request = NULL;
    uint32_t one = 1, sum = 0;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    int wrong = 0;
    (void)arg;
    NEED(sums(comm, 1, n));
    wait_for_all(n);
    if (rank == 0) {
        NEED(pthread_create(&thread, NULL, revoke_soon, comm) == 0);
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_ERR_REVOKED);
        NEED(pthread_join(thread, &good) == 0 && good == comm);
    } else if (rank == 1) {
        await_failure(comm);
        NEED(weft_barrier(comm, NULL) == WEFT_ERR_REVOKED);
    } else if (rank == 2) {
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, &call) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_ERR_REVOKED);
    } else {
        NEED(weft_barrier(comm, NULL) == WEFT_ERR_REVOKED);
    }
    NEED(weft_comm_revoke(comm) == WEFT_OK && weft_comm_revoke(comm) == WEFT_OK);
    NEED(fails(comm, WEFT_ERR_REVOKED, 0, "rank 0 called weft_comm_revoke"));
    NEED(weft_comm_split(comm, 0, 0, &child) == WEFT_ERR_REVOKED && child == NULL);
    NEED(weft_comm_shrink(comm, NULL, 0, &child) == WEFT_OK && sums(child, 1, n));
    NEED(weft_comm_destroy(child) == WEFT_OK);
    return wrong;
}

static void revoking_ends_the_calls_of_all(void **state)
{
    (void)state;
    atomic_store(&through, 0);
    run_with(4, revoke_while_waiting, shm, 1);
}

/* A communicator that is well agrees, too, beside its collectives. */
static int agree(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t bits = ~(UINT64_C(1) << (rank + i) % 64), all = 0;
        for (uint32_t r = 0; r < n; r++) {
            all |= UINT64_C(1) << (r + i) % 64;
        }
        NEED(weft_comm_agree(comm, &bits) == WEFT_OK && bits == ~all);
        NEED(sums(comm, 1, n));
    }
    return wrong;
}

static void all_agree_on_the_bits_that_all_have(void **state)
{
    (void)state;
    run_with(1, agree, shm, 1);
    run_with(2, agree, shm, 1);
    run_with(7, agree, shm, 1);
}

/* Ranks 1 and 3 are excluded and do not call. The parent goes on; the child can be shrunk, too, and
 * so can a communicator from which a rank has left. */
static int exclude(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t excluded[] = {3, 1}, last[] = {2};
    weft_comm_t *child = NULL, *inner = NULL, *copy = NULL, *rest = NULL;
    uint32_t mine = 9;
    int wrong = 0;
    (void)arg;
    for (int again = 0; again < 3; again++) {
        if (rank != 1 && rank != 3) {
            NEED(weft_comm_shrink(comm, excluded, 2, &child) == WEFT_OK);
            NEED(weft_comm_rank(child, &mine) == WEFT_OK && mine == rank / 2);
            NEED(sums(child, rank, 0 + 2 + 4));
            if (rank != 4) {
                NEED(weft_comm_shrink(child, last, 1, &inner) == WEFT_OK && sums(inner, rank, 2));
                NEED(weft_comm_destroy(inner) == WEFT_OK);
            }
            NEED(weft_comm_destroy(child) == WEFT_OK);
        }
        NEED(sums(comm, 1, n));
    }
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    if (rank != 0) {
        NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK && sums(rest, 1, n - 1));
        NEED(weft_comm_destroy(rest) == WEFT_OK);
    }
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void excluded_ranks_do_nothing(void **state)
{
    (void)state;
    run_with(5, exclude, shm, 1);
}

/* Rank 0 gives up a communicator that has failed. The others take it for one that left; the parent
 * still has it. */
static int give_up(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL, *rest = NULL;
    weft_error_t error = {.size = sizeof error};
    uint64_t bits = 5;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_comm_revoke(copy) == WEFT_OK);
    if (rank != 0) {
        NEED(weft_comm_agree(copy, &bits) == WEFT_OK && bits == 5);
        NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK && sums(rest, 1, n - 1));
        NEED(weft_comm_destroy(rest) == WEFT_OK);
        NEED(weft_comm_error(copy, &error) == WEFT_OK && error.status == WEFT_ERR_REVOKED);
    }
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(sums(comm, 1, n));
    return wrong;
}

static void who_left_a_communicator_that_failed_is_not_waited_for(void **state)
{
    (void)state;
    run_with(3, give_up, soon, 2);
}

/* Rank 2 does not come in time, and then it does. */
static int come_late(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    uint64_t bits = 6;
    int wrong = 0;
    (void)arg;
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank != 2) {
        NEED(weft_comm_agree(comm, &bits) == WEFT_ERR_TIMEOUT && bits == 6);
        NEED(last_error_says(WEFT_ERR_TIMEOUT, "waits for rank 2"));
        NEED(weft_comm_shrink(comm, NULL, 0, &child) == WEFT_ERR_TIMEOUT && child == NULL);
        NEED(last_error_says(WEFT_ERR_TIMEOUT, "waits for rank 2"));
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    /* The others' calls are open still. */
    bits = rank == 2 ? 3 : 6;
    NEED(weft_comm_agree(comm, &bits) == WEFT_OK && bits == 2);
    bits = rank;
    NEED(weft_comm_agree(comm, &bits) == WEFT_OK && bits == 0);
    NEED(weft_comm_shrink(comm, NULL, 0, &child) == WEFT_OK && sums(child, 1, n));
    NEED(weft_comm_destroy(child) == WEFT_OK);
    return wrong;
}

static void who_does_not_come_is_named(void **state)
{
    (void)state;
    run_with(3, come_late, soon, 2);
}

/* Communicators that agree, fail, shrink and go, over and over, in a family that stays. The first
 * rounds fill what grows up to a limit, as the event log does. */
static int come_and_go(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { FIRST = 400, ROUNDS = 800, KIB_MORE = 512 };
    holdings_t before = {.kib = 0}, after;
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; i < FIRST + ROUNDS && wrong == 0; i++) {
        weft_comm_t *copy = NULL, *rest = NULL;
        uint64_t bits = 5;
        before = i == FIRST ? holdings_now() : before;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(weft_comm_agree(copy, &bits) == WEFT_OK && bits == 5);
        NEED(weft_comm_revoke(copy) == WEFT_OK);
        NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK);
        NEED(weft_comm_destroy(copy) == WEFT_OK && weft_comm_destroy(rest) == WEFT_OK);
    }
    after = holdings_now();
    if (rank == 0 && after.kib > before.kib + KIB_MORE) {
        fprintf(stderr, "%llu KiB of %u ranks after %d rounds, %llu after %d more\n",
                (unsigned long long)before.kib, n, FIRST, (unsigned long long)after.kib, ROUNDS);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    NEED(after.kib <= before.kib + KIB_MORE);
#endif
    return wrong;
}

static void communicators_that_come_and_go_leave_nothing(void **state)
{
    (void)state;
    ranks_job_t job = {
        .nranks = 2, RANKS_SET("core.net=net-shm", "core.log=error"), .work = come_and_go};
#ifndef __SANITIZE_THREAD__
    assert_int_equal(ranks_run_processes(&job, 120, -1), 0);
#else
    assert_int_equal(ranks_run_threads(&job), 0);
#endif
}

static int bad_arguments(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    const uint32_t beyond[] = {n}, myself[] = {rank};
    uint64_t bits = 0;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_shrink(comm, NULL, 1, &child) == WEFT_ERR_ARG);
    NEED(weft_comm_shrink(comm, NULL, 0, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_shrink(NULL, NULL, 0, &child) == WEFT_ERR_ARG);
    NEED(weft_comm_shrink(comm, beyond, 1, &child) == WEFT_ERR_ARG);
    NEED(last_error_says(WEFT_ERR_ARG, "excluded[0] is 2, out of range"));
    NEED(weft_comm_shrink(comm, myself, 1, &child) == WEFT_ERR_ARG);
    NEED(last_error_says(WEFT_ERR_ARG, "excludes itself"));
    NEED(weft_comm_agree(comm, NULL) == WEFT_ERR_ARG &&
         weft_comm_agree(NULL, &bits) == WEFT_ERR_ARG);
    NEED(weft_comm_revoke(NULL) == WEFT_ERR_ARG);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_comm_agree(comm, &bits) == WEFT_ERR_STATE);
    NEED(weft_comm_shrink(comm, NULL, 0, &child) == WEFT_ERR_STATE && child == NULL);
    (void)!weft_group_end();
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void bad_arguments_are_named(void **state)
{
    (void)state;
    run_with(2, bad_arguments, shm, 1);
}

/* Two groups that take each other for gone, as in a divided network: ranks below n / 2 are one. */
static int divide(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const bool *majority = arg;
    uint32_t others[8], count = 0;
    bool low = rank < n / 2, goes_on = n % 2 == 0 ? low : !low;
    weft_comm_t *child = NULL;
    int wrong = 0;
    for (uint32_t r = 0; r < n; r++) {
        if ((r < n / 2) != low) {
            others[count++] = r;
        }
    }
    weft_status_t status = weft_comm_shrink(comm, others, count, &child);
    if (goes_on || !*majority) {
        NEED(status == WEFT_OK && sums(child, 1, n - count));
        NEED(weft_comm_destroy(child) == WEFT_OK);
    } else {
        NEED(status == WEFT_ERR_PEER_DEAD && child == NULL);
        NEED(last_error_says(WEFT_ERR_PEER_DEAD, "no quorum: "));
        NEED(last_error_says(WEFT_ERR_PEER_DEAD, "boot.quorum"));
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void one_side_goes_on_where_a_quorum_is_asked_for(void **state)
{
    static const char *const asked[] = {"core.net=net-shm", "boot.quorum=majority"};
    static bool majority[] = {true, false};
    (void)state;
    for (uint32_t n = 2; n <= 5; n++) {
        for (uint32_t without = 0; without < 2; without++) {
            assert_int_equal(ranks_run_threads(&(ranks_job_t){.nranks = n,
                                                              .settings = asked,
                                                              .settings_count = 2 - without,
                                                              .work = divide,
                                                              .arg = &majority[without]}),
                             0);
        }
    }
}

/* Stops this process. A child lets it go on. */
static void stop_for(unsigned seconds)
{
    pid_t self = getpid();
    if (fork() == 0) {
        sleep(seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
}

/* Rank 1 goes on when the others, which took it for dead, have gone on, ended and left. */
static int late_to_shrink(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == 1) {
        stop_for(3);
        usleep(500000);
    } else {
        NEED(weft_barrier(comm, NULL) == WEFT_ERR_PEER_UNRESPONSIVE);
    }
    weft_status_t status = weft_comm_shrink(comm, NULL, 0, &child);
    if (rank == 1) {
        NEED(status == WEFT_ERR_PEER_DEAD && child == NULL);
        NEED(last_error_says(WEFT_ERR_PEER_DEAD, "the others have declared this rank, 1, dead"));
    } else {
        NEED(status == WEFT_OK && sums(child, 1, n - 1));
    }
    if (child != NULL) {
        NEED(weft_comm_destroy(child) == WEFT_OK);
    }
    return wrong;
}

static void who_was_declared_dead_does_not_go_on_alone(void **state)
{
    static const char *const settings[] = {"core.net=net-shm", "boot.unresponsive=1",
                                           "core.log=error"};
    (void)state;
    ranks_job_t job = {
        .nranks = 4, .settings = settings, .settings_count = 3, .work = late_to_shrink};
#ifndef __SANITIZE_THREAD__
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
#else
    (void)job;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revoking_ends_the_calls_of_all),
        cmocka_unit_test(all_agree_on_the_bits_that_all_have),
        cmocka_unit_test(excluded_ranks_do_nothing),
        cmocka_unit_test(who_left_a_communicator_that_failed_is_not_waited_for),
        cmocka_unit_test(who_does_not_come_is_named),
        cmocka_unit_test(communicators_that_come_and_go_leave_nothing),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(one_side_goes_on_where_a_quorum_is_asked_for),
        cmocka_unit_test(who_was_declared_dead_does_not_go_on_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
