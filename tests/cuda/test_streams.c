/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA runtime of the tests itself, where a wrong one would hide faults: what a stream does
 * happens in order and not at once, events order streams, copies take pageable memory when CUDA
 * does, and no host touches memory of a device. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake.h"
#include "tests/support/unit.h"

static cudaStream_t first, second;
static cudaEvent_t event;
static _Atomic uint32_t gate, passed;

static int open_streams(void **state)
{
    (void)state;
    atomic_store(&gate, 0);
    atomic_store(&passed, 0);
    assert_int_equal(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    return 0;
}

static int close_streams(void **state)
{
    (void)state;
    atomic_store(&gate, 1);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(first), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(second), cudaSuccess);
    assert_int_equal(atomic_load(&fake_cuda.streams), 0);
    assert_int_equal(atomic_load(&fake_cuda.events), 0);
    return 0;
}

/* A kernel that waits for the test. */
static void wait_work(const void *arg)
{
    (void)arg;
    while (atomic_load(&gate) == 0) {
        sched_yield();
    }
}

static void hold(cudaStream_t stream)
{
    assert_int_equal(fake_put(stream, wait_work, NULL, 0), cudaSuccess);
}

static void note_work(const void *arg)
{
    uint32_t expected;
    memcpy(&expected, arg, sizeof expected);
    if (atomic_fetch_add(&passed, 1) != expected) {
        abort();
    }
}

/* A kernel that wants to be number `turn`. */
static void note(cudaStream_t stream, uint32_t turn)
{
    assert_int_equal(fake_put(stream, note_work, &turn, sizeof turn), cudaSuccess);
}

static void a_stream_works_in_order_and_behind_the_callers_back(void **state)
{
    (void)state;
    hold(first);
    for (uint32_t turn = 0; turn < 100; turn++) {
        note(first, turn);
    }
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(second), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 0);
    atomic_store(&gate, 1);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 100);
    assert_int_equal(cudaStreamQuery(first), cudaSuccess);
}

static void streams_do_not_wait_for_each_other(void **state)
{
    (void)state;
    hold(first);
    note(second, 0);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    note(cudaStreamPerThread, 1);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    note(NULL, 2);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
}

static void an_event_orders_two_streams(void **state)
{
    (void)state;
    assert_int_equal(cudaStreamWaitEvent(second, event, 0),
                     cudaSuccess); /* not recorded: nothing */
    note(second, 0);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    hold(first);
    note(first, 1);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    note(second, 2);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    atomic_store(&gate, 1);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 3);
}

/* Who waits does so for the event as it is when the call is made. */
static void an_event_may_be_recorded_again_while_a_stream_waits(void **state)
{
    (void)state;
    note(first, 0);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    hold(first);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    note(second, 1);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
}

static void events_tell_the_time_between_them(void **state)
{
    cudaEvent_t end;
    float ms = -1;
    (void)state;
    assert_int_equal(cudaEventCreateWithFlags(&end, cudaEventDefault), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(&ms, event, end), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    hold(first);
    assert_int_equal(cudaEventRecord(end, first), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(&ms, event, end), cudaErrorNotReady);
    atomic_store(&gate, 1);
    assert_int_equal(cudaEventSynchronize(end), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(&ms, event, end), cudaSuccess);
    assert_true(ms >= 0 && ms < 60000);
    assert_int_equal(cudaEventDestroy(end), cudaSuccess);
}

/* As CUDA: page-locked memory is read when the stream comes to the copy, other memory by the
 * call. */
static void a_copy_takes_pageable_memory_at_once(void **state)
{
    void *locked = NULL, *there[2] = {NULL, NULL};
    char pageable[8] = "before", back[2][8];
    (void)state;
    assert_int_equal(cudaHostAlloc(&locked, 8, cudaHostAllocDefault), cudaSuccess);
    memcpy(locked, pageable, 8);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaMalloc(&there[i], 8), cudaSuccess);
    }
    hold(first);
    assert_int_equal(cudaMemcpyAsync(there[0], pageable, 8, cudaMemcpyHostToDevice, first),
                     cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(there[1], locked, 8, cudaMemcpyHostToDevice, first),
                     cudaSuccess);
    memcpy(pageable, "after", 6);
    memcpy(locked, "after", 6);
    atomic_store(&gate, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaMemcpyAsync(back[i], there[i], 8, cudaMemcpyDeviceToHost, first),
                         cudaSuccess);
        assert_int_equal(cudaFree(there[i]), cudaSuccess);
    }
    assert_string_equal(back[0], "before");
    assert_string_equal(back[1], "after");
    assert_int_equal(cudaFreeHost(locked), cudaSuccess);
}

/* The system answers for a host that would crash. */
static bool host_reaches(const void *at)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const ssize_t written = write(ends[1], at, 1);
    assert_true(written == 1 || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return written == 1;
}

static void no_host_reaches_memory_of_a_device(void **state)
{
    void *here = NULL, *there = NULL, *later = NULL;
    (void)state;
    assert_int_equal(cudaHostAlloc(&here, 8, cudaHostAllocDefault), cudaSuccess);
    assert_int_equal(cudaMalloc(&there, 8), cudaSuccess);
    assert_int_equal(cudaMallocAsync(&later, 8, first), cudaSuccess);
    assert_true(host_reaches(here));
    assert_false(host_reaches(there));
    assert_false(host_reaches(later));
    assert_true(host_reaches(fake_memory_real(there)));
    assert_true(host_reaches(fake_memory_real(later)));
    assert_int_equal(cudaFreeHost(here), cudaSuccess);
    assert_int_equal(cudaFree(there), cudaSuccess);
    assert_int_equal(cudaFree(there), cudaErrorInvalidValue);
    assert_int_equal(cudaFreeAsync(later, first), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(cudaFreeAsync(later, first), cudaErrorInvalidValue);
    assert_false(host_reaches(there));
    assert_false(host_reaches(later));
}

/* What a kernel is given: one address inside, one at the end, and numbers. */
static void aim_work(const void *arg)
{
    uint8_t *at;
    memcpy(&at, arg, sizeof at);
    uintptr_t words[4] = {(uintptr_t)at + 3, (uintptr_t)at + 8, 5, UINTPTR_MAX};
    fake_memory_aim(words, sizeof words);
    atomic_store(&passed, words[0] == (uintptr_t)fake_memory_real(at) + 3 &&
                              words[0] != (uintptr_t)at + 3 && words[1] == (uintptr_t)at + 8 &&
                              words[2] == 5 && words[3] == UINTPTR_MAX);
}

static void memory_that_a_stream_frees_is_there_for_what_comes_before(void **state)
{
    void *at = NULL;
    (void)state;
    assert_int_equal(cudaMallocAsync(&at, 8, first), cudaSuccess);
    hold(first);
    assert_int_equal(fake_put(first, aim_work, &at, sizeof at), cudaSuccess);
    assert_int_equal(cudaFreeAsync(at, first), cudaSuccess);
    atomic_store(&gate, 1);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 1);
    assert_ptr_equal(fake_memory_real(at), at);
}

static void a_stream_may_be_destroyed_while_it_works(void **state)
{
    cudaStream_t third;
    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking), cudaSuccess);
    hold(third);
    note(third, 0);
    assert_int_equal(cudaEventRecord(event, third), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(third), cudaSuccess);
    assert_int_equal(cudaStreamQuery(third), cudaErrorInvalidResourceHandle);
    atomic_store(&gate, 1);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 1);
}

static void a_kernel_needs_the_device_of_its_stream(void **state)
{
    (void)state;
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(fake_launch(first, wait_work, NULL, 0), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(fake_launch(first, wait_work, NULL, 0), cudaSuccess);
}

int main(void)
{
#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, open_streams, close_streams)
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(a_stream_works_in_order_and_behind_the_callers_back),
        WITH_STREAMS(streams_do_not_wait_for_each_other),
        WITH_STREAMS(an_event_orders_two_streams),
        WITH_STREAMS(an_event_may_be_recorded_again_while_a_stream_waits),
        WITH_STREAMS(events_tell_the_time_between_them),
        WITH_STREAMS(a_copy_takes_pageable_memory_at_once),
        WITH_STREAMS(no_host_reaches_memory_of_a_device),
        WITH_STREAMS(memory_that_a_stream_frees_is_there_for_what_comes_before),
        WITH_STREAMS(a_stream_may_be_destroyed_while_it_works),
        WITH_STREAMS(a_kernel_needs_the_device_of_its_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
