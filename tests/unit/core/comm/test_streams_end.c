/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How operations in streams end when something goes wrong: mismatches, deadlines, aborts, ranks
 * that leave, communicators that are destroyed; over a device that computes nothing. */
#include <stdio.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/support/fake_device.h"
#include "tests/support/ranks.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

/* A launch that stays under way, on both ranks. */
static int hold(weft_comm_t *comm, fake_device_t *device, uint32_t rank, double timeout)
{
    int32_t *buffer = NULL;
    int wrong = 0;
    weft_call_t call = {.size = sizeof call, .stream = &streams_handle, .timeout = timeout};
    NEED(weft_mem_alloc(comm, 4 * STREAMS_COUNT, (void **)&buffer) == WEFT_OK);
    NEED(weft_all_reduce(buffer, buffer, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) ==
         WEFT_OK);
    device->holds_runs = true;
    device->state.blocked = 0;
    NEED(weft_all_reduce(buffer, buffer, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &call) ==
         WEFT_OK);
    NEED(device->launches == 1);
    streams_meet();
    return wrong;
}

static int meet_another(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    weft_signature_t mine = {.coll = WEFT_ALL_REDUCE, .count = 8, .sequence = 2}, theirs = mine;
    char words[64];
    int wrong = hold(comm, device, rank, 0);
    (void)n;
    theirs.count = 16;
    pthread_mutex_lock(&device->lock);
    memcpy(device->state.mine, &mine, sizeof mine);
    memcpy(device->state.theirs, &theirs, sizeof theirs);
    device->state.mismatch = 0;
    device->ends = WEFT_ERR_MISMATCH;
    pthread_mutex_unlock(&device->lock);
    snprintf(words, sizeof words, "rank %u", 1 - rank);
    NEED(streams_failed(comm, WEFT_ERR_MISMATCH, words) &&
         streams_failed(comm, WEFT_ERR_MISMATCH, "count"));
    NEED(weft_barrier(comm, &streams_call) == WEFT_ERR_MISMATCH);
    NEED(fake_device_drain(device) && device->aborts > 0);
    return wrong;
}

static void a_mismatch_in_a_stream_names_both_ranks(void **state)
{
    (void)state;
    fake_device_run(2, meet_another, true);
}

static int overrun(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int wrong = 0;
    (void)n;
    fake_device_halt(device, true);
    wrong += hold(comm, device, rank, 0.2);
    weft_os_sleep_ns(400 * WEFT_NS_PER_MS);
    weft_error_t error = {.size = sizeof error};
    NEED(weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK);
    weft_barrier(comm, &(weft_call_t){.size = sizeof(weft_call_t), .stream = &streams_handle});
    fake_device_halt(device, false); /* now its time runs */
    NEED(streams_failed(comm, WEFT_ERR_TIMEOUT, "operation 2 (all_reduce of 300"));
    NEED(fake_device_drain(device));
    return wrong;
}

static void time_runs_from_the_moment_the_stream_has_come(void **state)
{
    (void)state;
    fake_device_run(2, overrun, true);
}

static int be_aborted(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int wrong = hold(comm, device, rank, 0);
    (void)n;
    uint64_t start = weft_os_clock_ns();
    if (rank == 0) {
        NEED(weft_comm_abort(comm) == WEFT_OK);
    }
    NEED(streams_failed(comm, WEFT_ERR_ABORTED, "rank 0 called weft_comm_abort"));
    NEED(fake_device_drain(device) && weft_os_clock_ns() - start < WEFT_NS_PER_S);
    NEED(device->aborts > 0 && device->broken);
    return wrong;
}

static void an_abort_stops_runs_and_ends_host_waits(void **state)
{
    (void)state;
    fake_device_run(2, be_aborted, true);
}

static int be_left(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t buffer[STREAMS_COUNT] = {0};
    int wrong = 0;
    (void)n;
    NEED(weft_all_reduce(buffer, buffer, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) ==
         WEFT_OK);
    device->holds_runs = true;
    device->state.blocked = 0;
    if (rank == 0) {
        NEED(weft_all_reduce(buffer, buffer, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm,
                             &streams_call) == WEFT_OK);
        NEED(streams_failed(comm, WEFT_ERR_PEER_LEFT,
                            "rank 1 left the communicator after operation 1"));
        NEED(fake_device_drain(device));
    }
    return wrong;
}

static void a_run_that_waits_for_a_rank_that_left_fails(void **state)
{
    (void)state;
    fake_device_run(2, be_left, true);
}

static int leave_early(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int wrong = 0;
    weft_comm_t *other = NULL;
    fake_device_t mine;
    (void)n;
    (void)device;
    NEED(weft_comm_dup(comm, &other) == WEFT_OK);
    fake_device_enter(&mine, other);
    fake_device_halt(&mine, true);
    NEED(weft_barrier(other, &streams_call) == WEFT_OK);
    uint64_t start = weft_os_clock_ns();
    NEED(weft_comm_destroy(other) == WEFT_OK);
    uint64_t took = weft_os_clock_ns() - start;
    NEED(took > 1900 * WEFT_NS_PER_MS && took < 6000 * WEFT_NS_PER_MS);
    NEED(mine.broken && mine.queues == 0);
    fake_device_leave(&mine);
    return wrong;
}

static void destroy_waits_no_longer_than_an_operation_may_take(void **state)
{
    (void)state;
    fake_device_run(1, leave_early, false);
}

static int leave_in_time(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT];
    static int32_t out[2][STREAMS_COUNT];
    weft_comm_t *other = NULL;
    fake_device_t mine;
    int wrong = 0;
    (void)device;
    streams_fill(in, rank, 4);
    NEED(weft_comm_dup(comm, &other) == WEFT_OK);
    fake_device_enter(&mine, other);
    NEED(weft_all_reduce(in, out[rank], STREAMS_COUNT, WEFT_INT32, WEFT_SUM, other,
                         &streams_call) == WEFT_OK);
    NEED(weft_comm_destroy(other) == WEFT_OK);
    NEED(streams_is_sum(out[rank], n, 4) && mine.items == 0 && !mine.recording);
    fake_device_leave(&mine);
    return wrong;
}

static void destroy_waits_for_what_is_in_a_stream(void **state)
{
    (void)state;
    fake_device_run(2, leave_in_time, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mismatch_in_a_stream_names_both_ranks),
        cmocka_unit_test(time_runs_from_the_moment_the_stream_has_come),
        cmocka_unit_test(an_abort_stops_runs_and_ends_host_waits),
        cmocka_unit_test(a_run_that_waits_for_a_rank_that_left_fails),
        cmocka_unit_test(destroy_waits_no_longer_than_an_operation_may_take),
        cmocka_unit_test(destroy_waits_for_what_is_in_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
