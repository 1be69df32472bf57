/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that a stream captures, and their graph launches, over a device that computes
 * nothing. */
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_device.h"
#include "tests/support/ranks.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

static int replay(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT] = {0}, out[STREAMS_COUNT] = {0}, got[STREAMS_COUNT] = {0};
    uint64_t counts[2] = {STREAMS_COUNT / 2, STREAMS_COUNT / 2};
    int32_t gathered[STREAMS_COUNT];
    int wrong = 0;
    uint32_t to = (rank + 1) % n;
    device->recording = true;
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(out, STREAMS_COUNT, WEFT_INT32, to, comm, &streams_call) == WEFT_OK);
    NEED(weft_recv(got, STREAMS_COUNT, WEFT_INT32, to, comm, &streams_call) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_all_gather_v(in, gathered, counts, NULL, WEFT_INT32, comm, &streams_call) == WEFT_OK);
    counts[0] = counts[1] = 0; /* read during the call */
    device->recording = false;
    for (int32_t i = 0; i < 10; i++) {
        streams_fill(in, rank, i);
        memset(got, 0, sizeof got);
        fake_device_replay(device);
        NEED(fake_device_drain(device) && streams_is_sum(got, n, i));
        NEED(gathered[STREAMS_COUNT / 2] == i && gathered[STREAMS_COUNT / 2 + 1] == i + 2);
        NEED(weft_barrier(comm, NULL) == WEFT_OK); /* its numbers are not disturbed */
    }
    return wrong;
}

static void captured_host_waits_come_with_every_graph_launch(void **state)
{
    (void)state;
    fake_device_run(2, replay, false);
}

static int replay_launches(weft_comm_t *comm, fake_device_t *device, uint32_t rank, uint32_t n)
{
    int32_t in[STREAMS_COUNT], out[STREAMS_COUNT] = {0};
    int wrong = 0;
    streams_fill(in, rank, 0);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    device->recording = true;
    for (int i = 0; i < 2; i++) {
        NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
             WEFT_OK);
        NEED(fake_device_sequence(device, i) == 0);
    }
    device->recording = false;
    NEED(device->launches == 2 && device->taped == 2);
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(streams_is_sum(out, n, 0));
    NEED(weft_all_reduce(in, out, STREAMS_COUNT, WEFT_INT32, WEFT_SUM, comm, &streams_call) ==
         WEFT_OK);
    NEED(fake_device_sequence(device, 2) == 3 && fake_device_drain(device));
    streams_meet();
    pthread_mutex_lock(&device->lock);
    device->holds_runs = true;
    device->ends = WEFT_ERR_SYSTEM;
    pthread_mutex_unlock(&device->lock);
    fake_device_replay(device);
    NEED(streams_failed(comm, WEFT_ERR_SYSTEM, "operation 0 (all_reduce of 300"));
    NEED(fake_device_drain(device));
    return wrong;
}

static void captured_launches_have_no_number_and_are_watched(void **state)
{
    (void)state;
    fake_device_run(2, replay_launches, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_host_waits_come_with_every_graph_launch),
        cmocka_unit_test(captured_launches_have_no_number_and_are_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
