/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that has done its part may leave while others still work: its closed links are no failure
 * of theirs. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/ranks.h"
#include "tests/support/unit.h"

/* Longer than a broken link waits for the health channel's verdict. */
static void be_late(void)
{
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

/* Rank 2 gives its share and leaves, rank 1 comes late, rank 0 waits for it. */
static int reduce_and_leave(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in = (int32_t)rank + 1, out = 0;
    (void)n;
    (void)arg;
    if (weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 1) {
        be_late();
    }
    weft_status_t status = weft_reduce(&in, &out, 1, WEFT_INT32, WEFT_SUM, 0, comm, NULL);
    return status != WEFT_OK || (rank == 0 && out != 6);
}

static int gather_and_leave(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in = (int32_t)rank, out[3] = {0};
    (void)n;
    (void)arg;
    if (weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 1) {
        be_late();
    }
    weft_status_t status = weft_gather(&in, out, 1, WEFT_INT32, 0, comm, NULL);
    return status != WEFT_OK || (rank == 0 && (out[1] != 1 || out[2] != 2));
}

enum { MANY = 16, MOST = 13 * 1024 };

/* All but rank 0 give their blocks, in several messages each, and are gone when it begins to take
 * them: more messages than one look at the transport brings. */
static int leave_before_the_root_begins(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static uint8_t out[MANY * MOST]; /* rank 0's */
    uint8_t in[MOST];
    const uint64_t *count = arg;
    memset(in, (int)rank + 1, sizeof in);
    if (weft_gather(in, out, *count, WEFT_UINT8, 0, comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 0) {
        memset(out, 0, sizeof out);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    }
    weft_status_t status = weft_gather(in, out, *count, WEFT_UINT8, 0, comm, NULL);
    for (uint64_t i = 0; rank == 0 && i < n * *count; i++) {
        if (out[i] != i / *count + 1) {
            return 1;
        }
    }
    return status != WEFT_OK;
}

/* Waits until all but the last rank are here. */
static bool meet_all_but_the_last(_Atomic uint32_t *here, uint32_t n)
{
    atomic_fetch_add(here, 1);
    for (int i = 0; i < 60000 && atomic_load(here) < n - 1; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return atomic_load(here) == n - 1;
}

/* All but the last rank give their blocks in a communicator of their own and are done with it. The
 * last one takes connections meanwhile, of which those of the second channel carry nothing. It does
 * so until it is connected in the second communicator, so nobody goes there before all have given
 * their blocks. */
static int leave_before_the_root_looks(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint64_t counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
    const weft_blocks_t blocks = {.counts = counts, .displs = places};
    int32_t in = (int32_t)rank + 1, out[3] = {0};
    weft_comm_t *first = NULL, *second = NULL;
    int wrong = 0;
    NEED(weft_comm_dup(comm, &first) == WEFT_OK && weft_comm_dup(comm, &second) == WEFT_OK);
    NEED(rank != n - 1 || weft_barrier(second, NULL) == WEFT_OK);
    NEED(weft_gather_v(&in, 1, out, &blocks, WEFT_INT32, n - 1, first, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(first) == WEFT_OK);
    NEED(rank == n - 1 || meet_all_but_the_last(arg, n));
    NEED(rank == n - 1 || weft_barrier(second, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(second) == WEFT_OK);
    NEED(rank != n - 1 || (out[0] == 1 && out[1] == 2 && out[2] == 3));
    return wrong;
}

/* Rank `leaver` hears from rank 0 in the first communicator, tries to connect to the last rank
 * meanwhile, and is done with it. The last rank takes that connection while it waits in `other`,
 * and finds it closed when it receives from any rank in the first. */
static int leave_while_the_last_is_elsewhere(weft_comm_t **first, weft_comm_t *other,
                                             uint32_t leaver, uint32_t n)
{
    const struct timespec awhile = {.tv_nsec = 300000000};
    uint32_t rank, value = leaver;
    int wrong = 0;
    NEED(weft_comm_rank(other, &rank) == WEFT_OK);
    if (rank == 0) {
        nanosleep(&awhile, NULL);
        NEED(weft_send(&value, 1, WEFT_UINT32, leaver, *first, NULL) == WEFT_OK);
    } else if (rank == leaver) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, *first, NULL) == WEFT_OK);
        NEED(weft_comm_destroy(*first) == WEFT_OK);
        *first = NULL;
    }
    NEED(weft_barrier(other, NULL) == WEFT_OK);
    if (rank == 0) {
        nanosleep(&awhile, NULL);
        NEED(weft_send(&value, 1, WEFT_UINT32, n - 1, *first, NULL) == WEFT_OK);
    } else if (rank == n - 1) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, *first, NULL) == WEFT_OK);
    }
    return wrong;
}

/* One after the other: what the first closed connection was like is long past when the second one
 * comes. */
static int leave_one_by_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *first = NULL, *others[2] = {NULL, NULL};
    int wrong = 0;
    (void)rank;
    (void)arg;
    NEED(weft_comm_dup(comm, &first) == WEFT_OK);
    for (uint32_t i = 0; i < 2; i++) {
        NEED(weft_comm_dup(comm, &others[i]) == WEFT_OK);
    }
    for (uint32_t i = 0; wrong == 0 && i < 2; i++) {
        wrong += leave_while_the_last_is_elsewhere(&first, others[i], i + 1, n);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        NEED(weft_comm_destroy(others[i]) == WEFT_OK);
    }
    NEED(weft_comm_destroy(first) == WEFT_OK);
    return wrong;
}

/* The last rank is gone before the others begin. In each of the two trees another rank waits for
 * it, and in the other tree for somebody who is there. */
static int reduce_without_the_last(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 45830 };
    static uint64_t in[5][COUNT], out[5][COUNT];
    (void)arg;
    weft_status_t status =
        weft_all_reduce(in[rank], out[rank], COUNT, WEFT_UINT64, WEFT_SUM, comm, NULL);
    if (status != WEFT_OK || rank == n - 1) {
        return status != WEFT_OK;
    }
    be_late();
    status = weft_all_reduce(in[rank], out[rank], COUNT, WEFT_UINT64, WEFT_SUM, comm, NULL);
    return status != WEFT_ERR_PEER_LEFT ||
           !ranks_error_says(WEFT_ERR_PEER_LEFT, "rank 4 left the communicator");
}

static void run(ranks_work_t work, const char *algos)
{
    static const char *const nets[] = {"core.net=net-socket", "core.net=net-shm"};
    for (int i = 0; i < 2; i++) {
        const char *settings[] = {nets[i], algos};
        ranks_job_t job = {.nranks = 3, .settings = settings, .settings_count = 2, .work = work};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void a_reduction_outlives_a_rank_that_gave_its_share(void **state)
{
    (void)state;
    run(reduce_and_leave, "core.algo=algo-flat");
}

static void a_gather_outlives_a_rank_that_gave_its_block(void **state)
{
    (void)state;
    run(gather_and_leave, "core.algo=algo-direct algo-flat");
}

static void all_that_was_sent_is_taken_however_much_it_is(void **state)
{
    (void)state;
    const char *settings[] = {"core.net=net-socket", "core.algo=algo-direct algo-flat",
                              "exec.slots=16", "exec.slot_bytes=1K"};
    for (uint64_t count = 7 * 1024; count <= MOST; count += 1024) {
        ranks_job_t job = {.nranks = MANY,
                           .settings = settings,
                           .settings_count = 4,
                           .work = leave_before_the_root_begins,
                           .arg = &count};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void a_connection_that_carried_nothing_is_taken_as_it_is(void **state)
{
    (void)state;
    _Atomic uint32_t here = 0;
    const char *settings[] = {"core.net=net-socket", "plan.channels=2", "exec.op_timeout=60s"};
    ranks_job_t job = {.nranks = 3,
                       .settings = settings,
                       .settings_count = 3,
                       .work = leave_before_the_root_looks,
                       .arg = &here};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void no_message_is_missed_over_connections_that_ended(void **state)
{
    (void)state;
    const char *settings[] = {"core.net=net-socket", "exec.op_timeout=30s"};
    ranks_job_t job = {
        .nranks = 4, .settings = settings, .settings_count = 2, .work = leave_one_by_one};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void who_left_is_missed_in_whichever_tree_it_is_waited_for(void **state)
{
    (void)state;
    static const char *const nets[] = {"core.net=net-socket", "core.net=net-shm"};
    for (int i = 0; i < 2; i++) {
        const char *settings[] = {nets[i], "core.algo=algo-tree", "exec.slot_bytes=16K",
                                  "exec.op_timeout=30s"};
        ranks_job_t job = {.nranks = 5,
                           .settings = settings,
                           .settings_count = 4,
                           .work = reduce_without_the_last};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static long brief = 20000000, lasting = 400000000; /* ns */

/* Is a communicator's operator for a while, in the progress thread; `arg`: for how long. */
static void operate_slowly(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                           void *arg)
{
    (void)inout;
    (void)in;
    (void)count;
    (void)dtype;
    nanosleep(&(struct timespec){.tv_nsec = *(const long *)arg}, NULL);
}

static const char *const quiet[] = {"core.net=net-shm", "core.log=error"};

/* Devices refuse operators of the program, and tests/cuda runs these tests, too. */
static void skip_on_devices(void)
{
    if (getenv("WEFT_CORE_KERNEL") != NULL) {
        print_message("SKIPPED: operators are functions of the host\n");
        skip();
    }
}

/* Calls until the communicator is in another call, or has ended. */
static void *call_to_the_end(void *comm)
{
    weft_status_t status;
    while ((status = weft_op_destroy(comm, WEFT_SUM)) == WEFT_ERR_ARG) {
    }
    return status == WEFT_ERR_STATE ? NULL : comm;
}

/* Both threads wait until the progress thread gives the communicator back. */
static int end_beside_a_call(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    weft_request_t *request = NULL;
    const weft_call_t later = {.size = sizeof later, .request_p = &request};
    weft_op_t op = WEFT_SUM;
    uint32_t value = rank;
    pthread_t thread;
    void *failed = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_op_create(copy, operate_slowly, &brief, &op) == WEFT_OK);
    NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, op, copy, &later) == WEFT_OK);
    NEED(pthread_create(&thread, NULL, call_to_the_end, copy) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    weft_status_t status;
    while ((status = weft_comm_destroy(copy)) == WEFT_ERR_STATE) {
        sched_yield();
    }
    NEED(status == WEFT_OK);
    NEED(pthread_join(thread, &failed) == 0 && failed == NULL);
    (void)weft_request_wait(&request);
    return wrong;
}

static void a_call_beside_the_end_is_refused(void **state)
{
    ranks_job_t job = {
        .nranks = 2, .settings = quiet, .settings_count = 2, .work = end_beside_a_call};
    (void)state;
    skip_on_devices();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void *call_once(void *comm)
{
    (void)weft_op_destroy(comm, WEFT_SUM);
    return NULL;
}

/* A thread is cancelled while its call waits for the progress thread. */
static int end_behind_a_cancel(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    weft_request_t *request = NULL;
    const weft_call_t later = {.size = sizeof later, .request_p = &request};
    weft_op_t op = WEFT_SUM;
    uint32_t value = rank, number = UINT32_MAX;
    pthread_t thread;
    void *ended = NULL;
    int wrong = 0;
    (void)n;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_op_create(copy, operate_slowly, &lasting, &op) == WEFT_OK);
    NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, op, copy, &later) == WEFT_OK);
    nanosleep(&(struct timespec){.tv_nsec = lasting / 4}, NULL);
    NEED(pthread_create(&thread, NULL, call_once, copy) == 0);
    nanosleep(&(struct timespec){.tv_nsec = lasting / 4}, NULL);
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_join(thread, &ended) == 0);
    atomic_fetch_add((_Atomic int *)arg, ended == PTHREAD_CANCELED);
    NEED(weft_request_wait(&request) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_comm_rank(comm, &number) == WEFT_OK && number == rank);
    return wrong;
}

static void a_call_that_is_cancelled_while_it_waits_keeps_nobody_from_the_end(void **state)
{
    _Atomic int cancelled = 0; /* the operator runs on one rank at least */
    ranks_job_t job = {.nranks = 2,
                       .settings = quiet,
                       .settings_count = 2,
                       .work = end_behind_a_cancel,
                       .arg = &cancelled};
    (void)state;
    skip_on_devices();
#ifdef __SANITIZE_ADDRESS__
    print_message(
        "SKIPPED: AddressSanitizer of gcc 12 takes a cancelled thread's stack for broken\n");
    skip();
#endif
    assert_int_equal(ranks_run_threads(&job), 0);
    assert_int_not_equal(cancelled, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_outlives_a_rank_that_gave_its_share),
        cmocka_unit_test(a_gather_outlives_a_rank_that_gave_its_block),
        cmocka_unit_test(all_that_was_sent_is_taken_however_much_it_is),
        cmocka_unit_test(a_connection_that_carried_nothing_is_taken_as_it_is),
        cmocka_unit_test(no_message_is_missed_over_connections_that_ended),
        cmocka_unit_test(who_left_is_missed_in_whichever_tree_it_is_waited_for),
        cmocka_unit_test(a_call_beside_the_end_is_refused),
        cmocka_unit_test(a_call_that_is_cancelled_while_it_waits_keeps_nobody_from_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
