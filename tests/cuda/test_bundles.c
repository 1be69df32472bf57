/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives in streams, from weft.h down to a CUDA runtime of threads: what the device
 * does, what the host does for it, and how the two meet in the same queues. */
#include <string.h>

#include "tests/cuda/messages.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

enum { COUNT = STREAMS_COUNT };

/* What a device does --------------------------------------------------------------------------- */

/* From nothing to more than all slots of a link hold, first ones and others. */
static const uint32_t lengths[] = {COUNT, 0, 1, 9, COUNT, 2040};

enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static int exchange_all(desk_t *desk)
{
    return messages_exchange_lengths(desk, lengths, LENGTHS);
}

static void a_group_of_messages_is_done_by_the_device(void **state)
{
    (void)state;
    messages_run(2, PLAIN, exchange_all);
    messages_run(3, PLAIN, exchange_all);
    messages_run(8, PLAIN, exchange_all);
}

static void messages_longer_than_all_slots_pass_in_both_directions(void **state)
{
    (void)state;
    messages_run(3, SMALL_SLOTS, exchange_all);
}

static void one_lane_takes_messages_of_many_peers(void **state)
{
    (void)state;
    messages_run(4, ONE_LANE, exchange_all);
}

static void messages_pass_over_a_network(void **state)
{
    (void)state;
    messages_run(3, SOCKET, exchange_all);
}

static int count_launches(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    streams_meet();
    const uint32_t before = atomic_load(&fake_cuda.launches);
    streams_meet();
    wrong += messages_exchange(desk, COUNT);
    NEED(desk_settle(desk));
    streams_meet();
    NEED(atomic_load(&fake_cuda.launches) - before == 2); /* one a rank */
    return wrong + messages_check(desk, COUNT);
}

static void a_group_of_messages_is_one_launch(void **state)
{
    (void)state;
    messages_run(2, PLAIN, count_launches);
}

static void first_messages_are_launched_where_streams_share_a_queue(void **state)
{
    desk_job_t at_desk = {.work = exchange_all};
    ranks_job_t job = messages_job(2, PLAIN, &at_desk);
    (void)state;
    assert_int_equal(desk_run_in_one_queue(&job), 0);
}

/* One call after another, as a pipeline has them. */
static int hand_on(desk_t *desk)
{
    uint32_t rank = desk->rank, last = desk->n - 1;
    int wrong = 0;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    for (int i = 0; i < 5; i++) {
        NEED(rank == 0 || messages_receive(desk, rank - 1, COUNT) == WEFT_OK);
        NEED(rank == last || messages_send(desk, rank + 1, COUNT) == WEFT_OK);
    }
    NEED(desk_settle(desk) &&
         (rank == 0 || messages_has(desk, desk->out + (rank - 1) * COUNT, rank - 1, COUNT)));
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    return wrong;
}

static void single_messages_are_launches_too(void **state)
{
    (void)state;
    messages_run(3, PLAIN, hand_on);
}

/* Several messages of each direction, of several types, at odd addresses. */
static int send_several(desk_t *desk)
{
    uint32_t rank = desk->rank, to = (rank + 1) % desk->n, from = (rank + desk->n - 1) % desk->n;
    uint8_t bytes[4096], got[4096];
    int wrong = 0;
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 31 + rank * 7 + i / 256);
    }
    NEED(weft_mem_copy(desk->comm, desk->in, bytes, sizeof bytes) == WEFT_OK);
    NEED(cudaMemsetAsync(desk->out, 0, sizeof bytes, desk->stream[0]) == cudaSuccess);
    const uint8_t *in = (const uint8_t *)desk->in;
    uint8_t *out = (uint8_t *)desk->out;
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_recv(out + 1, 1500, WEFT_UINT8, from, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_send(in + 1, 1500, WEFT_UINT8, to, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_send(in + 1504, 7, WEFT_FP64, to, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_send(in + 1562, 1, WEFT_FP16, to, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_recv(out + 1504, 7, WEFT_FP64, from, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_recv(out + 1562, 1, WEFT_FP16, from, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_send(in + 2000, 500, WEFT_INT32, to, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_recv(out + 2000, 500, WEFT_INT32, from, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK && desk_settle(desk));
    NEED(weft_mem_copy(desk->comm, got, out, sizeof got) == WEFT_OK);
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 31 + from * 7 + i / 256);
    }
    NEED(got[0] == 0 && memcmp(got + 1, bytes + 1, 1500) == 0);
    NEED(memcmp(got + 1504, bytes + 1504, 56) == 0 && memcmp(got + 1562, bytes + 1562, 2) == 0);
    NEED(memcmp(got + 2000, bytes + 2000, 2000) == 0 && got[4000] == 0);
    return wrong;
}

static int send_several_by_device(desk_t *desk)
{
    uint32_t rank = desk->rank;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    int wrong = send_several(desk);
    NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    return wrong;
}

static int send_several_by_host(desk_t *desk)
{
    uint32_t rank = desk->rank;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    int wrong = send_several(desk);
    NEED(atomic_load(&fake_cuda.host_waits) > waits);
    return wrong;
}

static void messages_of_one_peer_keep_their_order(void **state)
{
    (void)state;
    messages_run(3, PLAIN, send_several_by_device);
    messages_run(2, SMALL_SLOTS, send_several_by_device);
    /* They would have to progress together with those of the other direction, in one lane. */
    messages_run(3, ONE_LANE, send_several_by_host);
}

static int between_sums(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    for (int i = 0; i < 5; i++) {
        streams_fill(in, rank, i);
        NEED(cudaMemcpyAsync(desk->in, in, sizeof in, cudaMemcpyHostToDevice, desk->stream[0]) ==
             cudaSuccess);
        NEED(weft_all_reduce(desk->in, desk->in, COUNT, WEFT_INT32, WEFT_SUM, desk->comm,
                             &desk->call[0]) == WEFT_OK);
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_send(desk->in, COUNT, WEFT_INT32, peer, desk->comm, &desk->call[0]) == WEFT_OK);
        NEED(weft_recv(desk->out, COUNT, WEFT_INT32, peer, desk->comm, &desk->call[0]) == WEFT_OK);
        NEED(weft_group_end() == WEFT_OK);
        NEED(weft_all_reduce(desk->out, desk->out, COUNT, WEFT_INT32, WEFT_MAX, desk->comm,
                             &desk->call[0]) == WEFT_OK);
        NEED(cudaMemcpyAsync(out, desk->out, sizeof out, cudaMemcpyDeviceToHost, desk->stream[0]) ==
             cudaSuccess);
        NEED(desk_settle(desk) && streams_is_sum(out, 2, i));
    }
    return wrong;
}

static void messages_have_their_place_among_collectives(void **state)
{
    (void)state;
    messages_run(2, PLAIN, between_sums);
}

static int replay(desk_t *desk)
{
    uint32_t rank = desk->rank;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int wrong = 0;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    NEED(cudaStreamBeginCapture(desk->stream[0], cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    wrong += messages_exchange(desk, COUNT);
    NEED(cudaMemcpyAsync(desk->in, desk->out, desk->n * COUNT * sizeof(int32_t),
                         cudaMemcpyDeviceToDevice, desk->stream[0]) == cudaSuccess);
    wrong += messages_exchange(desk, COUNT);
    NEED(cudaStreamEndCapture(desk->stream[0], &graph) == cudaSuccess);
    NEED(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int i = 0; i < 8; i++) {
        int32_t row[MESSAGES_ROOM];
        NEED(messages_put(desk, COUNT) && desk_settle(desk));
        NEED(cudaGraphLaunch(exec, desk->stream[0]) == cudaSuccess && desk_settle(desk));
        /* There and back. */
        NEED(weft_mem_copy(desk->comm, row, desk->out, sizeof row) == WEFT_OK);
        for (uint32_t k = 0; k < desk->n * COUNT; k++) {
            NEED(row[k] == messages_element(rank, k / COUNT, k % COUNT));
        }
    }
    NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    wrong += messages_exchange(desk, COUNT);
    NEED(desk_settle(desk));
    wrong += messages_check(desk, COUNT);
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    NEED(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    return wrong;
}

static void a_graph_of_messages_is_replayed(void **state)
{
    (void)state;
    messages_run(2, PLAIN, replay);
    messages_run(3, SMALL_SLOTS, replay);
}

/* Where hosts and devices meet ----------------------------------------------------------------- */

/* Messages of one queue, moved by the device, by the host for a call that waits, by the host behind
 * the device, and taken from any rank. */
static int take_turns(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    weft_call_t stream = desk->call[0];
    int wrong = 0;
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    for (uint32_t i = 0; i < 12; i++) {
        weft_request_t *request = NULL;
        weft_call_t async = {.size = sizeof async, .request_p = &request};
        const weft_call_t *call = (i / (rank + 1)) % 2 == 0 ? &stream : i % 3 == 0 ? &async : NULL;
        if ((rank + i) % 2 == 0) {
            NEED(weft_send(desk->in + peer * COUNT, COUNT, WEFT_INT32, peer, desk->comm, call) ==
                 WEFT_OK);
        } else {
            bool any = call == NULL && i % 4 == 1;
            NEED(weft_recv(desk->out, COUNT, WEFT_INT32, any ? WEFT_ANY_RANK : peer, desk->comm,
                           call) == WEFT_OK);
        }
        NEED(request == NULL || weft_request_wait(&request) == WEFT_OK);
        NEED(desk_settle(desk));
    }
    NEED(messages_has(desk, desk->out, peer, COUNT));
    return wrong;
}

static void hosts_and_devices_meet_in_one_queue(void **state)
{
    (void)state;
    messages_run(2, PLAIN, take_turns);
    messages_run(2, SMALL_SLOTS, take_turns);
    messages_run(2, SOCKET, take_turns);
}

/* The host's messages are called while the device has others under way. */
static int queue_up(desk_t *desk)
{
    uint32_t rank = desk->rank;
    weft_request_t *request[2] = {NULL, NULL};
    const weft_call_t async[2] = {{.size = sizeof async[0], .request_p = &request[0]},
                                  {.size = sizeof async[0], .request_p = &request[1]}};
    int wrong = 0;
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    for (uint32_t i = 0; i < 2; i++) {
        NEED((rank == 0 ? messages_send(desk, 1, COUNT) : messages_receive(desk, 0, COUNT)) ==
             WEFT_OK);
        NEED((rank == 0 ? weft_send(desk->in + COUNT, COUNT, WEFT_INT32, 1, desk->comm, &async[i])
                        : weft_recv(desk->out + MESSAGES_ROOM / 2, COUNT, WEFT_INT32, 0, desk->comm,
                                    &async[i])) == WEFT_OK);
    }
    NEED((rank == 0 ? messages_send(desk, 1, COUNT) : messages_receive(desk, 0, COUNT)) == WEFT_OK);
    NEED(weft_request_wait(&request[0]) == WEFT_OK && weft_request_wait(&request[1]) == WEFT_OK);
    NEED(desk_settle(desk));
    NEED(rank == 0 || (messages_has(desk, desk->out, 0, COUNT) &&
                       messages_has(desk, desk->out + MESSAGES_ROOM / 2, 0, COUNT)));
    return wrong;
}

static void messages_of_the_host_wait_for_those_of_the_device(void **state)
{
    (void)state;
    messages_run(2, PLAIN, queue_up);
}

static void a_rank_without_a_device_takes_part(void **state)
{
    (void)state;
    messages_run_beside_hosts(4, SMALL_SLOTS, exchange_all, lengths, LENGTHS);
}

/* In a group they progress together, so the host does both. */
static int mix_with_collectives(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    NEED(weft_group_start() == WEFT_OK);
    NEED(rank == 0 || weft_barrier(desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(messages_send(desk, peer, COUNT) == WEFT_OK &&
         messages_receive(desk, peer, COUNT) == WEFT_OK);
    NEED(rank == 1 || weft_barrier(desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK && desk_settle(desk));
    NEED(messages_has(desk, desk->out + peer * COUNT, peer, COUNT));
    NEED(atomic_load(&fake_cuda.host_waits) > waits);
    return wrong;
}

static void messages_and_collectives_of_a_group_are_the_hosts(void **state)
{
    (void)state;
    messages_run(2, SMALL_SLOTS, mix_with_collectives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Processes first: they begin without threads of the runtime. */
        cmocka_unit_test(first_messages_are_launched_where_streams_share_a_queue),
        cmocka_unit_test(a_group_of_messages_is_done_by_the_device),
        cmocka_unit_test(a_group_of_messages_is_one_launch),
        cmocka_unit_test(messages_longer_than_all_slots_pass_in_both_directions),
        cmocka_unit_test(one_lane_takes_messages_of_many_peers),
        cmocka_unit_test(messages_pass_over_a_network),
        cmocka_unit_test(single_messages_are_launches_too),
        cmocka_unit_test(messages_of_one_peer_keep_their_order),
        cmocka_unit_test(messages_have_their_place_among_collectives),
        cmocka_unit_test(a_graph_of_messages_is_replayed),
        cmocka_unit_test(hosts_and_devices_meet_in_one_queue),
        cmocka_unit_test(messages_of_the_host_wait_for_those_of_the_device),
        cmocka_unit_test(a_rank_without_a_device_takes_part),
        cmocka_unit_test(messages_and_collectives_of_a_group_are_the_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
