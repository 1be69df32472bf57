/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls whose n-th allocation fails: they fail with a sentence, or not at all. They leave no handle
 * of a communicator that was not made, and what they were given is as it was. Without CUDA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dirent.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"
#include "tests/torture/fail_nth.h"

/* No call here makes as many allocations, but for joining: there each so many-th one fails. */
enum { MOST = 3000, JOIN_STEP = 61 };

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

/* Threads of the library may end a moment after the call that ends them. */
static void need_descriptors(unsigned before)
{
    for (int tries = 0; tries < 100 && descriptors() > before; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    assert_in_range(descriptors(), 0, before);
}

static void need_sum(ncclComm_t comm)
{
    int value = 7, sum = 0;
    assert_int_equal(ncclAllReduce(&value, &sum, 1, ncclInt32, ncclSum, comm, NULL), ncclSuccess);
    assert_int_equal(sum, 7);
}

/* The state of a handle once it is no longer in the making. */
static ncclResult_t settled(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    for (int tries = 0; tries < 60000 && state == ncclInProgress; tries++) {
        assert_int_equal(ncclCommGetAsyncError(comm, &state), ncclSuccess);
        nanosleep(&(struct timespec){.tv_nsec = state == ncclInProgress ? 1000000 : 0}, NULL);
    }
    return state;
}

/* Makes a child of the communicator. */
typedef ncclResult_t (*make_t)(ncclComm_t comm, ncclComm_t *child);

/* What was made works and ends; what was not made is no handle, unless nobody waited for it: then
 * the parent has the failure, too. */
static void need_child(ncclResult_t result, ncclComm_t child)
{
    if (result == ncclInProgress) {
        result = settled(child);
        if (result != ncclSuccess) {
            assert_int_equal(ncclCommAbort(child), ncclSuccess);
            return;
        }
    }
    if (result == ncclSuccess) {
        need_sum(child);
        assert_int_equal(ncclCommDestroy(child), ncclSuccess);
        return;
    }
    assert_int_equal(result, ncclSystemError);
    assert_true(strlen(ncclGetLastError(NULL)) > 0);
    assert_null(child);
}

static void torture(make_t make, bool joins)
{
    const unsigned before = descriptors();
    unsigned n = 1, failures = 0;
    bool fired = true;
    for (; fired && n < MOST; n += joins ? JOIN_STEP : 1) {
        ncclComm_t comm = make_single(), child = NULL;
        fail_nth_arm(FAIL_MEMORY, n);
        ncclResult_t result = make(comm, &child);
        fired = fail_nth_disarm();
        failures += result != ncclSuccess && result != ncclInProgress;
        need_child(result, child);
        const ncclResult_t parent = settled(comm);
        assert_true(parent == ncclSuccess || result == ncclInProgress);
        if (parent == ncclSuccess) {
            need_sum(comm);
        }
        assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
        if (n % 16 == 1) {
            need_descriptors(before);
        }
    }
    assert_false(fired && !joins);
    assert_true(failures > 0);
    need_descriptors(before);
}

static ncclResult_t split(ncclComm_t comm, ncclComm_t *child)
{
    return ncclCommSplit(comm, 0, 0, child, NULL);
}

static void a_split_without_memory(void **state)
{
    (void)state;
    torture(split, false);
}

static ncclResult_t split_in_group(ncclComm_t comm, ncclComm_t *child)
{
    int value = 7, sum = 0;
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    ncclResult_t noted = ncclCommSplit(comm, 0, 0, child, NULL);
    if (noted == ncclSuccess) {
        noted = ncclAllReduce(&value, &sum, 1, ncclInt32, ncclSum, comm, NULL);
    }
    ncclResult_t result = ncclGroupEnd();
    assert_true(noted == ncclSuccess || result == noted);
    if (result != ncclSuccess && *child != NULL) {
        /* The split was done before the call of the group that failed. */
        need_child(ncclSuccess, *child);
        *child = NULL;
    }
    return result;
}

static void a_group_without_memory(void **state)
{
    (void)state;
    torture(split_in_group, false);
}

static ncclResult_t split_without_waiting(ncclComm_t comm, ncclComm_t *child)
{
    ncclConfig_t config = config_without_waiting();
    ncclResult_t result = ncclCommSplit(comm, 0, 0, child, &config);
    if (result == ncclInProgress) {
        (void)settled(*child); /* the allocations are its thread's */
    }
    return result;
}

static void a_split_without_waiting_and_memory(void **state)
{
    (void)state;
    torture(split_without_waiting, false);
}

static ncclResult_t join_anew(ncclComm_t comm, ncclComm_t *child)
{
    ncclUniqueId id;
    (void)comm;
    ncclResult_t result = ncclGetUniqueId(&id);
    return result == ncclSuccess ? ncclCommInitRank(child, 1, id, 0) : result;
}

static void a_join_without_memory(void **state)
{
    (void)state;
    torture(join_anew, true);
}

static void need_put(ncclComm_t comm, ncclWindow_t window, const int *at)
{
    const int value = 7;
    ncclWaitSignalDesc_t wait = {.opCnt = 1};
    assert_int_equal(ncclPutSignal(&value, 1, ncclInt32, 0, window, 0, 0, 0, 0, comm, NULL),
                     ncclSuccess);
    assert_int_equal(ncclWaitSignal(1, &wait, comm, NULL), ncclSuccess);
    assert_int_equal(*at, 7);
}

/* A window that was not made is no handle, and the next one is made and works. */
static void a_window_without_memory(void **state)
{
    unsigned failures = 0;
    bool fired = true;
    (void)state;
    for (unsigned n = 1; fired && n < MOST; n++) {
        ncclComm_t comm = make_single();
        ncclWindow_t first = NULL, second = NULL;
        int one = 0, other = 0;
        fail_nth_arm(FAIL_MEMORY, n);
        ncclResult_t result = ncclCommWindowRegister(comm, &one, sizeof one, &first, 0);
        fired = fail_nth_disarm();
        failures += result != ncclSuccess;
        assert_true(result == ncclSuccess || (result == ncclSystemError && first == NULL));
        assert_int_equal(ncclCommWindowRegister(comm, &other, sizeof other, &second, 0),
                         ncclSuccess);
        need_put(comm, second, &other);
        if (result == ncclSuccess) {
            need_put(comm, first, &one);
        }
        assert_int_equal(ncclCommWindowDeregister(comm, first), ncclSuccess);
        assert_int_equal(ncclCommWindowDeregister(comm, second), ncclSuccess);
        assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
    }
    assert_false(fired);
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_without_memory),
        cmocka_unit_test(a_group_without_memory),
        cmocka_unit_test(a_split_without_waiting_and_memory),
        cmocka_unit_test(a_join_without_memory),
        cmocka_unit_test(a_window_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
