/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators whose calls return at once: what their children have of them, what an abort ends,
 * and groups with communicators whose calls wait. The process has no CUDA. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"

static ncclComm_t make_single_without_waiting(void)
{
    ncclConfig_t config = config_without_waiting();
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t state = ncclInProgress;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
    while (state == ncclInProgress) {
        assert_int_equal(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    }
    assert_int_equal(state, ncclSuccess);
    return comm;
}

/* What becomes of a making, within some seconds. */
static ncclResult_t settled_soon(ncclComm_t comm)
{
    ncclResult_t result = ncclInProgress;
    for (int i = 0; i < 500 && result == ncclInProgress; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        assert_int_equal(ncclCommGetAsyncError(comm, &result), ncclSuccess);
    }
    return result;
}

/* A child without a config does as its parent. A config that says nothing of it makes one whose
 * children are waited for; the call that makes it returns as the parent's calls do. */
static void a_silent_config_is_no_parents(void **state)
{
    ncclConfig_t silent = config_that_is_silent();
    ncclConfig_t *const configs[] = {NULL, &silent};
    ncclComm_t parent = make_single_without_waiting();
    (void)state;
    for (int i = 0; i < 2; i++) {
        ncclComm_t child = NULL, grandchild = NULL;
        assert_int_equal(ncclCommSplit(parent, 0, 0, &child, configs[i]), ncclInProgress);
        assert_int_equal(settled_soon(child), ncclSuccess);
        assert_int_equal(settled_soon(parent), ncclSuccess);
        assert_int_equal(ncclCommSplit(child, 0, 0, &grandchild, NULL),
                         configs[i] == NULL ? ncclInProgress : ncclSuccess);
        assert_int_equal(settled_soon(grandchild), ncclSuccess);
        assert_int_equal(settled_soon(child), ncclSuccess);
        assert_int_equal(ncclCommDestroy(grandchild), ncclSuccess);
        assert_int_equal(ncclCommDestroy(child), ncclSuccess);
    }
    assert_int_equal(ncclCommDestroy(parent), ncclSuccess);
}

/* Rank 0 makes another communicator, and rank 1 does not: so rank 0 gives up. */
typedef enum { GIVES_UP_PARENT, GIVES_UP_CHILD } gives_up_t;

/* The child may have a config with which its own children are waited for: it is not waited for
 * itself. */
static void give_up(bool grows, gives_up_t what)
{
    ncclConfig_t config = config_without_waiting(), silent = config_that_is_silent();
    ncclConfig_t *of_child = what == GIVES_UP_CHILD ? &silent : NULL;
    ncclUniqueId id;
    ncclComm_t comms[2], child = NULL;
    int number;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config),
                         ncclInProgress);
    }
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(settled_soon(comms[rank]), ncclSuccess);
    }
    assert_int_equal(grows ? ncclCommGrow(comms[0], 3, &id, -1, &child, of_child)
                           : ncclCommSplit(comms[0], 0, 0, &child, of_child),
                     ncclInProgress);
    assert_int_equal(ncclCommUserRank(comms[0], &number), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "another one is still being made"));
    assert_int_equal(ncclCommAbort(what == GIVES_UP_PARENT ? comms[0] : child), ncclSuccess);
    /* It has failed, and so has the parent, on both ranks. */
    ncclComm_t left = what == GIVES_UP_PARENT ? child : comms[0];
    assert_int_equal(settled_soon(left), ncclRemoteError);
    ncclResult_t told = ncclSuccess;
    for (int i = 0; i < 500 && told == ncclSuccess; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        assert_int_equal(ncclCommGetAsyncError(comms[1], &told), ncclSuccess);
    }
    assert_int_equal(told, ncclRemoteError);
    assert_int_equal(ncclCommAbort(left), ncclSuccess);
    assert_int_equal(ncclCommAbort(comms[1]), ncclSuccess);
}

static void an_abort_ends_what_is_made_of_a_communicator(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        give_up(grows != 0, GIVES_UP_PARENT);
        give_up(grows != 0, GIVES_UP_CHILD);
    }
}

/* As with NCCL: what makes communicators is refused, operations are not. */
static void a_group_that_mixes_blocking_and_nonblocking_is_refused(void **state)
{
    ncclComm_t comms[2] = {make_single(), make_single_without_waiting()}, child[2];
    float value = 1;
    (void)state;
    for (int first = 0; first < 2; first++) {
        assert_int_equal(ncclGroupStart(), ncclSuccess);
        assert_int_equal(ncclCommSplit(comms[first], 0, 0, &child[0], NULL), ncclSuccess);
        assert_int_equal(ncclCommSplit(comms[1 - first], 0, 0, &child[1], NULL),
                         ncclInvalidArgument);
        assert_null(child[1]);
        assert_int_equal(ncclGroupEnd(), ncclInvalidArgument);
        assert_non_null(strstr(ncclGetLastError(NULL), "blocking = 0"));
        assert_null(child[0]);
    }
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comms[i], NULL),
                         ncclSuccess);
    }
    assert_int_equal(ncclGroupEnd(), ncclSuccess);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ncclCommDestroy(comms[i]), ncclSuccess);
    }
}

static void not_called(int number)
{
    (void)number;
}

/* While a thread of the binding makes a communicator, this one blocks a signal, so that no other
 * takes it. */
static void signals_are_for_the_threads_of_the_program(void **state)
{
    ncclConfig_t config = config_without_waiting();
    struct sigaction action = {.sa_handler = not_called}, before;
    sigset_t one, pending;
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    (void)state;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    nanosleep(&(struct timespec){.tv_nsec = 100000000},
              NULL); /* a thread that took it has it by now */
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    assert_int_equal(sigtimedwait(&one, NULL, &(struct timespec){.tv_sec = 10}), SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal(ncclCommAbort(comm), ncclSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abort_ends_what_is_made_of_a_communicator),
        cmocka_unit_test(a_silent_config_is_no_parents),
        cmocka_unit_test(a_group_that_mixes_blocking_and_nonblocking_is_refused),
        cmocka_unit_test(signals_are_for_the_threads_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
