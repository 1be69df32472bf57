/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams, over a device that computes nothing: what is launched, what waits for the
 * host, in which order, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "core/comm/handle.h"
#include "core/comm/progress.h"
#include "core/os/os.h"
#include "tests/support/fake_device.h"
#include "tests/support/ranks.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

/* Gates ---------------------------------------------------------------------------------------- */

static int wait_for_the_stream(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT] = {0}, out[STREAMS_COUNT] = {0};
    int wrong = 0;
    fake_device_halt(device, true);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(weft_all_reduce(out, out, STREAMS_COUNT, WEFT_INT32, WEFT_MAX, comm, &streams_call) ==
         WEFT_OK);
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    NEED(out[STREAMS_COUNT - 1] == 0 && device->gates == 2 && device->launches == 0);
    streams_fill(in, rank, 7); /* what was before them in the stream */
    fake_device_halt(device, false);
    NEED(fake_device_drain(device) && streams_is_sum(out, n, 7));
    return wrong;
}

static void the_host_does_it_when_the_stream_has_come(void **state)
{
    (void)state;
    fake_device_run(3, wait_for_the_stream, false);
    fake_device_run(1, wait_for_the_stream, false);
}

/* A device that works alone is looked after now and then; a stream that waits for the host wants it
 * at once. */
static int leave_work(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT] = {0}, out[STREAMS_COUNT] = {0};
    weft_comm_state_t *state = NULL;
    int wrong = 0;
    (void)n;
    fake_device_halt(device, true);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(weft_comm_enter(comm, "test", &state) == WEFT_OK);
    const weft_progress_need_t need = weft_progress_need(state);
    weft_comm_leave(state);
    NEED(need == (device->prepares ? WEFT_PROGRESS_SOON : WEFT_PROGRESS_NOW));
    fake_device_halt(device, false);
    NEED(fake_device_drain(device));
    return wrong;
}

static void only_what_needs_the_host_wakes_it(void **state)
{
    (void)state;
    fake_device_run(2, leave_work, true);
    fake_device_run(2, leave_work, false);
}

static int send_around(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT], out[2][STREAMS_COUNT] = {{0}};
    uint32_t to = (rank + 1) % n, from = (rank + n - 1) % n;
    int wrong = 0;
    streams_fill(in, rank, 3);
    fake_device_halt(device, true);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(in, STREAMS_COUNT, WEFT_INT32, to, comm, &streams_call) == WEFT_OK);
    NEED(weft_recv(out[0], STREAMS_COUNT, WEFT_INT32, from, comm, &streams_call) == WEFT_OK);
    NEED(weft_barrier(comm, &streams_call) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(device->gates == 1);
    /* The second message waits for the first, whoever carries it. */
    weft_request_t *sent = NULL, *received = NULL;
    weft_call_t async = {.size = sizeof async, .request_p = &sent};
    NEED(weft_send(&in[1], STREAMS_COUNT - 1, WEFT_INT32, to, comm, &async) == WEFT_OK);
    async.request_p = &received;
    NEED(weft_recv(out[1], STREAMS_COUNT - 1, WEFT_INT32, from, comm, &async) == WEFT_OK);
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    NEED(weft_request_test(&received) == WEFT_IN_PROGRESS);
    fake_device_halt(device, false);
    NEED(weft_request_wait(&sent) == WEFT_OK && weft_request_wait(&received) == WEFT_OK);
    NEED(fake_device_drain(device));
    streams_fill(in, from, 3);
    NEED(memcmp(in, out[0], sizeof in) == 0);
    NEED(memcmp(&in[1], out[1], sizeof in - 4) == 0);
    return wrong;
}

static void messages_keep_the_order_of_their_calls(void **state)
{
    (void)state;
    fake_device_run(3, send_around, false);
}

static int stay_behind(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT], sum[STREAMS_COUNT] = {0}, twice[STREAMS_COUNT] = {0};
    int wrong = 0;
    weft_request_t *first = NULL, *request = NULL;
    weft_call_t async = {.size = sizeof async, .request_p = &first};
    streams_fill(in, rank, 1);
    fake_device_halt(device, true);
    NEED(weft_barrier(comm, &async) == WEFT_OK);
    NEED(weft_all_reduce(in, sum, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    async.request_p = &request;
    NEED(weft_all_reduce(sum, twice, STREAMS_COUNT, WEFT_INT32, WEFT_MAX, comm, &async) == WEFT_OK);
    NEED(weft_request_wait(&first) == WEFT_OK);
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    NEED(weft_request_test(&request) == WEFT_IN_PROGRESS);
    fake_device_halt(device, false);
    NEED(weft_request_wait(&request) == WEFT_OK && streams_is_sum(twice, n, 1));
    NEED(fake_device_drain(device));
    return wrong;
}

static void a_call_without_a_stream_waits_for_those_before_it(void **state)
{
    (void)state;
    fake_device_run(2, stay_behind, false);
}

static int lose_patience(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int wrong = 0;
    weft_call_t soon = {.size = sizeof soon, .timeout = 0.1};
    (void)n;
    fake_device_halt(device, true);
    NEED(weft_barrier(comm, &streams_call) == WEFT_OK);
    weft_status_t status = weft_barrier(comm, &soon);
    NEED(streams_told(status, WEFT_ERR_TIMEOUT, "not begun") &&
         streams_told(status, WEFT_ERR_TIMEOUT, "operation 1, to which its stream has not come"));
    NEED(weft_barrier(comm, &streams_call) == WEFT_ERR_TIMEOUT);
    NEED(device->broken);
    return wrong;
}

static void its_deadline_says_what_it_waits_for(void **state)
{
    (void)state;
    fake_device_run(1, lose_patience, false);
}

/* Launches ------------------------------------------------------------------------------------- */

static int launch(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT], out[STREAMS_COUNT] = {0};
    int wrong = 0;
    (void)n;
    streams_fill(in, rank, 2);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(fake_device_drain(device));
    NEED(device->gates == 0 && device->launches == 1); /* also the first of its kind */
    weft_barrier(comm, NULL);                          /* 2 */
    fake_device_halt(device, true);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(device->gates == 0 && device->launches == 2);
    NEED(fake_device_sequence(device, 1) == 3 && device->call[1].in == in &&
         device->call[1].out == out);
    NEED(weft_group_start() == WEFT_OK);
    for (int i = 0; i < 3; i++) {
        NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
             WEFT_OK);
    }
    NEED(weft_group_end() == WEFT_OK);
    NEED(device->launches == 3 && device->runs == 5 && fake_device_sequence(device, 4) == 6);
    /* One that was never called before, and one behind it. */
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_MIN, comm, &streams_call) ==
         WEFT_OK);
    NEED(device->launches == 4 && fake_device_sequence(device, 5) == 7);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(device->gates == 0 && device->launches == 5 && fake_device_sequence(device, 6) == 8);
    fake_device_halt(device, false);
    NEED(fake_device_drain(device));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void the_device_runs_what_it_can(void **state)
{
    (void)state;
    fake_device_run(2, launch, true);
}

static int launch_nothing(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT], out[STREAMS_COUNT] = {0};
    weft_request_t *request = NULL;
    weft_call_t async = {.size = sizeof async, .request_p = &request};
    int wrong = 0;
    streams_fill(in, rank, 2);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    fake_device_halt(device, true);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(device->launches == 1);
    /* With a call of the host between them the next one has to wait for the host. */
    NEED(weft_barrier(comm, &async) == WEFT_OK);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(device->launches == 1 && device->gates == 1);
    fake_device_halt(device, false);
    NEED(fake_device_drain(device) && streams_is_sum(out, n, 2));
    NEED(weft_request_wait(&request) == WEFT_OK);
    device->refuse = WEFT_ERR_ARG;
    NEED(streams_told(
        weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call),
        WEFT_ERR_ARG, "another's"));
    NEED(streams_told(
        weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_MIN, comm, &streams_call),
        WEFT_ERR_ARG, "another's"));
    device->refuse = WEFT_OK;
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    return wrong;
}

static void behind_the_host_nothing_is_launched(void **state)
{
    (void)state;
    fake_device_run(2, launch_nothing, true);
}

static int launch_in_place(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t blocks[4][STREAMS_COUNT];
    int wrong = 0;
    (void)n;
    for (int call = 0; call < 2; call++) {
        for (int k = 0; k < 4; k++) {
            streams_fill(blocks[k], rank, k);
        }
        NEED(weft_all_to_all(blocks, blocks, STREAMS_COUNT, WEFT_INT32, comm, &streams_call) ==
             WEFT_OK);
        NEED(fake_device_drain(device));
        weft_barrier(comm, NULL);
    }
    const weft_lanes_call_t *run = &device->call[0];
    NEED(device->launches == 2);
    /* Staged where the plan would overwrite what it still reads. */
    NEED(run->staging == NULL || run->staging_bytes == n * sizeof blocks[0]);
    return wrong;
}

static void an_input_that_would_be_overwritten_is_staged(void **state)
{
    (void)state;
    fake_device_run(3, launch_in_place, true);
}

/* Arguments ------------------------------------------------------------------------------------ */

static int be_refused(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .stream = &streams_handle, .request_p = &request};
    int wrong = 0;
    (void)n;
    NEED(
        streams_told(weft_barrier(comm, &call), WEFT_ERR_ARG, "stream and request_p are both set"));
    NEED(device->gates == 0 && request == NULL);
    /* A program that was built before there were streams says a smaller size. */
    call = (weft_call_t){.size = offsetof(weft_call_t, stream), .stream = &streams_handle};
    NEED(weft_barrier(comm, &call) == WEFT_OK && device->gates == 0);
    return wrong;
}

static void a_stream_and_a_request_exclude_each_other(void **state)
{
    (void)state;
    fake_device_run(1, be_refused, false);
}

static int have_no_streams(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(streams_told(weft_barrier(comm, &streams_call), WEFT_ERR_UNSUPPORTED,
                      "kernel kernel-cpu has no streams"));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void a_kernel_without_streams_is_named(void **state)
{
    (void)state;
    static const char *const settings[] = {"core.net=net-shm"};
    ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 1, .work = have_no_streams};
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_needs_the_host_wakes_it),
        cmocka_unit_test(the_host_does_it_when_the_stream_has_come),
        cmocka_unit_test(messages_keep_the_order_of_their_calls),
        cmocka_unit_test(a_call_without_a_stream_waits_for_those_before_it),
        cmocka_unit_test(its_deadline_says_what_it_waits_for),
        cmocka_unit_test(the_device_runs_what_it_can),
        cmocka_unit_test(behind_the_host_nothing_is_launched),
        cmocka_unit_test(an_input_that_would_be_overwritten_is_staged),
        cmocka_unit_test(a_stream_and_a_request_exclude_each_other),
        cmocka_unit_test(a_kernel_without_streams_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
