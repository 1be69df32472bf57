/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs do wrong: handles that have ended, ranks that do not agree, groups that stay open.
 * The process has no CUDA, so calls return when they are complete. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"

/* Ends ----------------------------------------------------------------------------------------- */

static void a_destroyed_communicator_is_none(void **state)
{
    ncclComm_t comm = make_single(), other = make_single();
    ncclWindow_t window = NULL;
    ncclResult_t async;
    char buffer[64];
    void *at;
    (void)state;
    assert_int_equal(ncclCommWindowRegister(comm, buffer, sizeof buffer, &window, 0), ncclSuccess);
    assert_int_equal(ncclCommWindowDeregister(other, window), ncclInvalidArgument);
    assert_int_equal(ncclCommWindowDeregister(comm, window), ncclSuccess);
    assert_int_equal(ncclCommWindowDeregister(comm, window), ncclInvalidArgument);
    assert_int_equal(ncclWinGetUserPtr(comm, window, &at), ncclInvalidArgument);
    assert_int_equal(ncclCommFinalize(comm), ncclSuccess);
    assert_int_equal(ncclCommFinalize(comm), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "finalized"));
    assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
    assert_int_equal(ncclCommDestroy(comm), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "destroyed"));
    assert_int_equal(ncclCommAbort(comm), ncclInvalidArgument);
    assert_int_equal(ncclCommGetAsyncError(comm, &async), ncclInvalidArgument);
    assert_int_equal(ncclAllReduce(buffer, buffer, 1, ncclInt8, ncclSum, comm, NULL),
                     ncclInvalidArgument);
    assert_int_equal(ncclCommDestroy(other), ncclSuccess);
}

static void no_communicator_can_be_ended(void **state)
{
    (void)state;
    assert_int_equal(ncclCommFinalize(NULL), ncclSuccess);
    assert_int_equal(ncclCommRevoke(NULL, NCCL_REVOKE_DEFAULT), ncclSuccess);
    assert_int_equal(ncclCommDestroy(NULL), ncclSuccess);
    assert_int_equal(ncclCommAbort(NULL), ncclSuccess);
}

/* Handles by the hundred, so that there are several blocks of them; each is its own. */
static void many_handles(void **state)
{
    enum { MANY = 70 };
    ncclComm_t comms[MANY];
    int number = -1;
    (void)state;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < MANY; i++) {
            comms[i] = make_single();
        }
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(ncclCommUserRank(comms[i], &number), ncclSuccess);
            assert_int_equal(ncclCommDestroy(comms[i]), ncclSuccess);
            assert_int_equal(ncclCommUserRank(comms[i], &number), ncclInvalidArgument);
        }
    }
}

/* A thread beside the one that gives the handles back. */
typedef struct crowd {
    ncclComm_t comm;
    ncclWindow_t window;
    _Atomic int ready, ended; /* threads; times that a handle was given back */
    _Atomic bool done;
} crowd_t;

/* Asks until it is told that nobody has the handle any longer, which this one may have given
 * back. */
static void *crowd_ask(void *arg)
{
    crowd_t *crowd = arg;
    ncclResult_t async;
    void *at;
    int number;
    atomic_fetch_add(&crowd->ready, 1);
    while (!atomic_load(&crowd->done)) {
        (void)ncclCommUserRank(crowd->comm, &number);
        (void)ncclCommGetAsyncError(crowd->comm, &async);
        (void)ncclWinGetUserPtr(crowd->comm, crowd->window, &at);
        (void)ncclRedOpDestroy((ncclRedOp_t)99, crowd->comm);
    }
    return NULL;
}

static void *crowd_end(void *arg)
{
    crowd_t *crowd = arg;
    const int number = atomic_fetch_add(&crowd->ready, 1);
    while (atomic_load(&crowd->ready) < 3) {
    }
    (void)ncclCommWindowDeregister(crowd->comm, crowd->window);
    ncclResult_t result =
        number % 2 == 0 ? ncclCommAbort(crowd->comm) : ncclCommDestroy(crowd->comm);
    atomic_fetch_add(&crowd->ended, result == ncclSuccess ? 1 : 0);
    return NULL;
}

/* One of the threads gives the handle back; it ends once, and is then given to one communicator
 * only. */
static void several_threads_give_back_one_handle(void **state)
{
    enum { AGAIN = 150 };
    char buffer[64];
    (void)state;
    for (int i = 0; i < AGAIN; i++) {
        crowd_t crowd = {.comm = make_single()};
        pthread_t asks, ends[2];
        assert_int_equal(
            ncclCommWindowRegister(crowd.comm, buffer, sizeof buffer, &crowd.window, 0),
            ncclSuccess);
        pthread_create(&asks, NULL, crowd_ask, &crowd);
        for (int t = 0; t < 2; t++) {
            pthread_create(&ends[t], NULL, crowd_end, &crowd);
        }
        for (int t = 0; t < 2; t++) {
            pthread_join(ends[t], NULL);
        }
        atomic_store(&crowd.done, true);
        pthread_join(asks, NULL);
        assert_in_range(crowd.ended, 1, 2); /* an abort may help what another thread's call ends */
        ncclComm_t next[2] = {make_single(), make_single()};
        assert_ptr_not_equal(next[0], next[1]);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(ncclCommDestroy(next[t]), ncclSuccess);
        }
    }
}

/* Ranks that do not agree ---------------------------------------------------------------------- */

typedef struct pair pair_t;
typedef struct pair_rank {
    pair_t *pair;
    int rank;
    ncclComm_t comm, other;
    ncclResult_t result;
    char text[512];
    double seconds;
} pair_rank_t;

struct pair {
    ncclUniqueId id, other_id;
    void (*work)(pair_rank_t *rank);
    pthread_barrier_t made;
    pair_rank_t ranks[2];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *pair_thread(void *arg)
{
    pair_rank_t *rank = arg;
    ncclResult_t made = ncclCommInitRank(&rank->comm, 2, rank->pair->id, rank->rank);
    made = made == ncclSuccess ? ncclCommInitRank(&rank->other, 2, rank->pair->other_id, rank->rank)
                               : made;
    pthread_barrier_wait(&rank->pair->made);
    rank->result = made;
    if (made == ncclSuccess) {
        const double start = now();
        rank->pair->work(rank);
        rank->seconds = now() - start;
        snprintf(rank->text, sizeof rank->text, "%s", ncclGetLastError(NULL));
    }
    return NULL;
}

/* Runs `work` on two ranks with two communicators. */
static void pair_run(pair_t *pair, void (*work)(pair_rank_t *rank))
{
    pthread_t threads[2];
    memset(pair, 0, sizeof *pair);
    assert_int_equal(ncclGetUniqueId(&pair->id), ncclSuccess);
    assert_int_equal(ncclGetUniqueId(&pair->other_id), ncclSuccess);
    pthread_barrier_init(&pair->made, NULL, 2);
    pair->work = work;
    for (int i = 0; i < 2; i++) {
        pair->ranks[i].pair = pair;
        pair->ranks[i].rank = i;
        pthread_create(&threads[i], NULL, pair_thread, &pair->ranks[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&pair->made);
}

static void other_counts(pair_rank_t *rank)
{
    float values[16] = {1};
    ncclGroupStart();
    (void)ncclAllReduce(values, values, rank->rank == 0 ? 4 : 8, ncclFloat32, ncclSum, rank->comm,
                        NULL);
    rank->result = ncclGroupEnd();
    (void)ncclCommAbort(rank->comm);
    (void)ncclCommAbort(rank->other);
}

static void groups_with_other_counts_name_them(void **state)
{
    pair_t pair;
    (void)state;
    pair_run(&pair, other_counts);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pair.ranks[i].result, ncclInvalidUsage);
        if (strstr(pair.ranks[i].text, "count") == NULL ||
            strstr(pair.ranks[i].text, i == 0 ? "rank 1" : "rank 0") == NULL) {
            fail_msg("rank %d: %s", i, pair.ranks[i].text);
        }
    }
}

static void abort_what_waits(pair_rank_t *rank)
{
    float value = 1;
    if (rank->rank == 0) { /* alone: rank 1 never calls */
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, rank->comm, NULL);
    } else {
        const struct timespec pause = {.tv_nsec = 200000000}; /* rank 0 waits by then, or will */
        nanosleep(&pause, NULL);
        rank->result = ncclCommAbort(rank->pair->ranks[0].comm);
    }
}

/* By another thread, as the watchdogs of programs do it. The handle ends with the call. */
static void abort_ends_a_call_that_waits(void **state)
{
    pair_t pair;
    int number;
    (void)state;
    pair_run(&pair, abort_what_waits);
    assert_int_equal(pair.ranks[1].result, ncclSuccess);
    /* Called a moment too late, the communicator is none. */
    if (pair.ranks[0].result != ncclRemoteError && pair.ranks[0].result != ncclInvalidArgument) {
        fail_msg("result %d: %s", pair.ranks[0].result, pair.ranks[0].text);
    }
    assert_true(pair.ranks[0].seconds < 5); /* and not the deadline's 10 */
    assert_int_equal(ncclCommUserRank(pair.ranks[0].comm, &number), ncclInvalidArgument);
    assert_int_equal(ncclCommAbort(pair.ranks[0].comm), ncclInvalidArgument);
    (void)ncclCommAbort(pair.ranks[1].comm);
    (void)ncclCommAbort(pair.ranks[0].other);
    (void)ncclCommAbort(pair.ranks[1].other);
}

/* Returns when another thread is inside a call of the communicator: then nothing is pinned. It asks
 * seldom, because a call that came just then would be refused. */
static ncclResult_t wait_until_inside(ncclComm_t comm)
{
    static char memory[64];
    ncclResult_t result = ncclSuccess;
    void *handle = memory;
    while (result == ncclSuccess && handle != NULL) {
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        result = ncclCommRegister(comm, memory, sizeof memory, &handle);
        result = result == ncclSuccess ? ncclCommDeregister(comm, handle) : result;
    }
    return result;
}

static void destroy_and_abort_what_waits(pair_rank_t *rank)
{
    ncclComm_t waits = rank->pair->ranks[0].comm;
    float value = 1;
    int number;
    if (rank->rank == 0) {
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, waits, NULL);
        return;
    }
    (void)wait_until_inside(waits);
    const bool ended = ncclCommDestroy(waits) == ncclSuccess &&
                       ncclCommUserRank(waits, &number) == ncclInvalidArgument;
    rank->result = ended ? ncclCommAbort(waits) : ncclInternalError;
}

/* The handle is gone, and not what another thread does with the communicator. */
static void abort_ends_a_call_that_waits_in_a_destroyed_communicator(void **state)
{
    pair_t pair;
    (void)state;
    pair_run(&pair, destroy_and_abort_what_waits);
    assert_int_equal(pair.ranks[1].result, ncclSuccess);
    assert_int_equal(pair.ranks[0].result, ncclRemoteError);
    assert_true(pair.ranks[0].seconds < 5); /* and not the deadline's 10 */
    assert_int_equal(ncclCommAbort(pair.ranks[0].comm), ncclInvalidArgument);
    (void)ncclCommAbort(pair.ranks[1].comm);
    (void)ncclCommAbort(pair.ranks[0].other);
    (void)ncclCommAbort(pair.ranks[1].other);
}

/* Registered by rank 0, and given back by another thread while rank 0 is inside a call. */
typedef struct beside {
    char buffer[64];
    void *region;
    ncclWindow_t window;
} beside_t;

static beside_t beside;

static void *register_beside(ncclComm_t comm)
{
    ncclResult_t pinned =
        ncclCommRegister(comm, beside.buffer, sizeof beside.buffer, &beside.region);
    ncclResult_t exported =
        ncclCommWindowRegister(comm, beside.buffer, sizeof beside.buffer, &beside.window, 0);
    return pinned == ncclSuccess && exported == ncclSuccess ? beside.region : NULL;
}

/* As frameworks do: their allocators, and their watchdogs before they abort. */
static ncclResult_t deregister_beside(ncclComm_t comm)
{
    ncclResult_t result = wait_until_inside(comm);
    result = result == ncclSuccess ? ncclCommDeregister(comm, beside.region) : result;
    return result == ncclSuccess ? ncclCommWindowDeregister(comm, beside.window) : result;
}

static void deregister_and_abort(pair_rank_t *rank)
{
    ncclComm_t waits = rank->pair->ranks[0].comm;
    float value = 1;
    if (rank->rank == 0) {
        rank->result = register_beside(waits) != NULL
                           ? ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, waits, NULL)
                           : ncclInternalError;
    } else {
        rank->result = deregister_beside(waits);
        rank->result = rank->result == ncclSuccess ? ncclCommAbort(waits) : rank->result;
    }
}

/* Both make two calls. By the second one the registrations have ended. */
static void deregister_and_go_on(pair_rank_t *rank)
{
    ncclComm_t first = rank->pair->ranks[0].comm;
    float value = 1;
    rank->result = ncclSuccess;
    if (rank->rank == 1) {
        rank->result = deregister_beside(first);
    } else if (register_beside(first) == NULL) {
        rank->result = ncclInternalError;
    }
    for (int i = 0; i < 2 && rank->result == ncclSuccess; i++) {
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, rank->comm, NULL);
    }
    if (rank->rank == 0 && rank->result == ncclSuccess &&
        ncclCommDeregister(first, beside.region) != ncclInvalidArgument) {
        rank->result = ncclInternalError;
    }
}

static void memory_is_given_back_beside_a_call(void **state)
{
    static void (*const works[])(pair_rank_t *) = {deregister_and_abort, deregister_and_go_on};
    (void)state;
    for (int i = 0; i < 2; i++) {
        pair_t pair;
        pair_run(&pair, works[i]);
        assert_int_equal(pair.ranks[1].result, ncclSuccess);
        assert_int_equal(pair.ranks[0].result, i == 0 ? ncclRemoteError : ncclSuccess);
        for (int rank = 0; rank < 2; rank++) {
            (void)ncclCommAbort(pair.ranks[rank].comm);
            (void)ncclCommAbort(pair.ranks[rank].other);
        }
    }
}

static void call_in_opposite_order(pair_rank_t *rank)
{
    float value = 1;
    ncclComm_t first = rank->rank == 0 ? rank->comm : rank->other;
    ncclComm_t second = rank->rank == 0 ? rank->other : rank->comm;
    rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, first, NULL);
    if (rank->result == ncclSuccess) {
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, second, NULL);
    }
    (void)ncclCommAbort(rank->comm);
    (void)ncclCommAbort(rank->other);
}

/* Two communicators of the same ranks, called the other way round: each waits for the other. The
 * deadline ends it, and names whom the ranks wait for. */
static void opposite_orders_end_in_an_error(void **state)
{
    pair_t pair;
    (void)state;
    pair_run(&pair, call_in_opposite_order);
    for (int i = 0; i < 2; i++) {
        if (pair.ranks[i].result != ncclTimeout && pair.ranks[i].result != ncclRemoteError &&
            pair.ranks[i].result != ncclInvalidUsage) {
            fail_msg("rank %d: %d %s", i, pair.ranks[i].result, pair.ranks[i].text);
        }
        assert_non_null(strstr(pair.ranks[i].text, i == 0 ? "rank 1" : "rank 0"));
    }
}

/* Groups that stay open ------------------------------------------------------------------------ */

static void *leave_group_open(void *arg)
{
    ncclComm_t *comms = arg;
    static float value = 1;
    (void)ncclGroupStart();
    (void)ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comms[0], NULL);
    (void)ncclCommSplit(comms[0], 0, 0, &comms[1], NULL);
    return NULL;
}

/* What a thread without an error of its own is told. */
static void *hear_last_error(void *arg)
{
    snprintf(arg, 512, "%s", ncclGetLastError(NULL));
    return NULL;
}

static void a_thread_that_ends_drops_its_open_group(void **state)
{
    static void *(*const work[])(void *) = {leave_group_open, hear_last_error};
    ncclComm_t comms[2] = {make_single(), NULL};
    char text[512] = "";
    int number = -1;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, work[i], i == 0 ? (void *)comms : text), 0);
        pthread_join(thread, NULL);
    }
    assert_non_null(strstr(text, "ended with an open group, whose 2 calls are dropped"));
    assert_int_equal(ncclCommUserRank(comms[1], &number), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "destroyed"));
    assert_int_equal(ncclCommDestroy(comms[0]), ncclSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_destroyed_communicator_is_none),
        cmocka_unit_test(no_communicator_can_be_ended),
        cmocka_unit_test(many_handles),
        cmocka_unit_test(several_threads_give_back_one_handle),
        cmocka_unit_test(groups_with_other_counts_name_them),
        cmocka_unit_test(abort_ends_a_call_that_waits),
        cmocka_unit_test(abort_ends_a_call_that_waits_in_a_destroyed_communicator),
        cmocka_unit_test(memory_is_given_back_beside_a_call),
        cmocka_unit_test(opposite_orders_end_in_an_error),
        cmocka_unit_test(a_thread_that_ends_drops_its_open_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
