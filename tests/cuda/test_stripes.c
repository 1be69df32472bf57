/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages in streams, which go over several stripes: how many blocks copy them, and that
 * devices and hosts at the two ends agree on it. */
#include <stdlib.h>
#include <time.h>

#include "tests/cuda/messages.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

/* Elements of messages of one stripe, two, four and eight. */
enum { ONE = 511, TWO = 512, FOUR = 1024, EIGHT = 2048, LONG = 8000 };

/* Around those that add a stripe. */
static const uint32_t lengths[] = {FOUR, 0, ONE, TWO,       TWO + 1,   FOUR - 1,
                                   2040, 1, 700, EIGHT - 1, EIGHT + 9, LONG};

enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static int exchange_all(desk_t *desk)
{
    return messages_exchange_lengths(desk, lengths, LENGTHS);
}

static void groups_of_long_messages_arrive(void **state)
{
    (void)state;
    messages_run(2, STRIPES, exchange_all);
    messages_run(3, STRIPES, exchange_all);
    messages_run(5, STRIPES, exchange_all);
    messages_run(8, STRIPES, exchange_all); /* more queues than lanes */
}

static void stripes_pass_over_a_network(void **state)
{
    (void)state;
    messages_run(2, STRIPES_SOCKET, exchange_all);
    messages_run(3, STRIPES_SOCKET, exchange_all);
}

static void first_long_messages_are_launched_where_streams_share_a_queue(void **state)
{
    desk_job_t at_desk = {.work = exchange_all};
    ranks_job_t job = messages_job(2, STRIPES, &at_desk);
    (void)state;
    assert_int_equal(desk_run_in_one_queue(&job), 0);
}

/* Blocks --------------------------------------------------------------------------------------- */

/* Rank 0 sends to rank 1. Returns the blocks that moved something, of both. */
static int send_one(desk_t *desk, uint32_t count, uint32_t *blocks_p)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(messages_put(desk, count) && desk_settle(desk));
    streams_meet();
    const uint32_t launches = atomic_load(&fake_cuda.launches);
    const uint32_t working = atomic_load(&fake_cuda.working);
    streams_meet();
    NEED((rank == 0 ? messages_send(desk, 1, count) : messages_receive(desk, 0, count)) == WEFT_OK);
    NEED(desk_settle(desk));
    NEED(rank == 0 || messages_has(desk, desk->out, 0, count));
    streams_meet();
    NEED(atomic_load(&fake_cuda.launches) - launches == 2); /* one a rank */
    *blocks_p = atomic_load(&fake_cuda.working) - working;
    streams_meet();
    return wrong;
}

static int count_blocks(desk_t *desk)
{
    static const uint32_t counts[][2] = {{0, 1},    {ONE, 1},   {TWO, 2},
                                         {FOUR, 4}, {EIGHT, 8}, {LONG, 8}};
    uint32_t rank = desk->rank, blocks = 0;
    int wrong = 0;
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        wrong += send_one(desk, counts[i][0], &blocks);
        NEED(blocks == 2 * counts[i][1]);
    }
    return wrong;
}

static void as_many_blocks_copy_a_message_as_it_has_stripes(void **state)
{
    (void)state;
    messages_run(2, STRIPES, count_blocks);
}

static int count_blocks_of_few_channels(desk_t *desk)
{
    uint32_t rank = desk->rank, blocks = 0;
    int wrong = 0;
    NEED(weft_comm_set_channels(desk->comm, 2) == WEFT_OK);
    wrong += send_one(desk, LONG, &blocks);
    NEED(blocks == 4);
    return wrong;
}

static void a_communicator_of_few_channels_has_few_stripes(void **state)
{
    (void)state;
    messages_run(2, STRIPES, count_blocks_of_few_channels);
}

/* What the kernel asks for, where nobody says how many channels there are: each of two ranks has 17
 * of the 34 blocks that are for lanes. */
static int count_blocks_by_kernel(desk_t *desk)
{
    uint32_t rank = desk->rank, blocks = 0;
    int wrong = 0;
    wrong += send_one(desk, LONG, &blocks);
    NEED(blocks == 2 * 16);
    return wrong;
}

static void kernels_say_how_many_stripes_there_are(void **state)
{
    static const char *const settings[] = {"core.kernel=kernel-cuda",
                                           ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                           "core.net=net-shm",
                                           "exec.op_timeout=20s",
                                           DESK_SHARE,
                                           "plan.channel_bytes=512"};
    desk_job_t at_desk = {.work = count_blocks_by_kernel};
    ranks_job_t job = messages_job(2, STRIPES, &at_desk);
    const int processors = fake_cuda.processors;
    (void)state;
    fake_cuda.processors = 9;
    job.settings = settings;
    job.settings_count = sizeof settings / sizeof settings[0];
    assert_int_equal(ranks_run_threads(&job), 0);
    fake_cuda.processors = processors;
}

/* Orders --------------------------------------------------------------------------------------- */

/* Long and short messages of one direction, in one group and one behind the other. */
static int send_several(desk_t *desk)
{
    static const uint32_t counts[] = {FOUR, 3, EIGHT, 0, TWO, ONE, 1500};
    const uint32_t n = sizeof counts / sizeof counts[0];
    uint32_t rank = desk->rank, to = (rank + 1) % desk->n, from = (rank + desk->n - 1) % desk->n;
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        uint32_t at = 0;
        NEED(cudaMemsetAsync(desk->out, 0, MESSAGES_ROOM * sizeof(int32_t), desk->stream[0]) ==
             cudaSuccess);
        NEED(weft_group_start() == WEFT_OK);
        for (uint32_t i = 0; i < n; at += counts[i++]) {
            NEED(weft_send(desk->in + at, counts[i], WEFT_INT32, to, desk->comm, &desk->call[0]) ==
                 WEFT_OK);
            NEED(weft_recv(desk->out + at, counts[i], WEFT_INT32, from, desk->comm,
                           &desk->call[0]) == WEFT_OK);
        }
        NEED(weft_group_end() == WEFT_OK && desk_settle(desk));
        at = 0;
        for (uint32_t i = 0; i < n; at += counts[i++]) {
            NEED(rank % 2 == 0 || weft_recv(desk->out + at, counts[i], WEFT_INT32, from, desk->comm,
                                            &desk->call[0]) == WEFT_OK);
            NEED(rank % 2 != 0 || weft_send(desk->in + at, counts[i], WEFT_INT32, to, desk->comm,
                                            &desk->call[0]) == WEFT_OK);
        }
        NEED(desk_settle(desk));
    }
    return wrong;
}

static int send_several_rows(desk_t *desk)
{
    uint32_t rank = desk->rank, from = (rank + desk->n - 1) % desk->n;
    int32_t *row = calloc(MESSAGES_ROOM, sizeof *row);
    int wrong = 0;
    for (uint32_t i = 0; i < MESSAGES_ROOM; i++) {
        row[i] = messages_element(rank, 0, i);
    }
    NEED(weft_mem_copy(desk->comm, desk->in, row, MESSAGES_ROOM * sizeof *row) == WEFT_OK);
    wrong += send_several(desk);
    NEED(weft_mem_copy(desk->comm, row, desk->out, MESSAGES_ROOM * sizeof *row) == WEFT_OK);
    for (uint32_t i = 0; i < FOUR + 3 + EIGHT + TWO + ONE + 1500; i++) {
        NEED(row[i] == messages_element(from, 0, i));
    }
    free(row);
    return wrong;
}

static void messages_of_several_lengths_keep_their_order(void **state)
{
    (void)state;
    messages_run(2, STRIPES, send_several_rows);
    messages_run(4, STRIPES, send_several_rows);
    messages_run(2, STRIPES_SOCKET, send_several_rows);
}

/* The first call of its kind is captured. */
static int replay(desk_t *desk)
{
    uint32_t rank = desk->rank, count = MESSAGES_ROOM / desk->n;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int wrong = 0;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    NEED(cudaStreamBeginCapture(desk->stream[0], cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    wrong += messages_exchange(desk, count);
    NEED(cudaStreamEndCapture(desk->stream[0], &graph) == cudaSuccess);
    NEED(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int i = 0; i < 8; i++) {
        NEED(messages_put(desk, count) && desk_settle(desk));
        NEED(cudaGraphLaunch(exec, desk->stream[0]) == cudaSuccess && desk_settle(desk));
        wrong += messages_check(desk, count);
        NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
    }
    NEED(messages_put(desk, count) && desk_settle(desk));
    wrong += messages_exchange(desk, count);
    NEED(desk_settle(desk));
    wrong += messages_check(desk, count);
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    NEED(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    return wrong;
}

static void a_graph_of_long_messages_is_replayed(void **state)
{
    (void)state;
    messages_run(2, STRIPES, replay);
    messages_run(3, STRIPES, replay);
}

/* Where hosts and devices meet ----------------------------------------------------------------- */

/* Of long messages and short ones, by the device, by the host, and from any rank. */
static int take_turns(desk_t *desk)
{
    static const uint32_t counts[] = {LONG, 5, FOUR, TWO + 7, 2040};
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    for (uint32_t i = 0; i < 30; i++) {
        const uint32_t count = counts[i / 2 % 5];
        weft_request_t *request = NULL;
        weft_call_t async = {.size = sizeof async, .request_p = &request};
        const weft_call_t *call = (i / (2 * rank + 2)) % 2 == 0 ? &desk->call[0]
                                  : i % 3 == 0                  ? &async
                                                                : NULL;
        NEED(messages_put(desk, count) && desk_settle(desk));
        if ((rank + i) % 2 == 0) {
            NEED(weft_send(desk->in + peer * count, count, WEFT_INT32, peer, desk->comm, call) ==
                 WEFT_OK);
        } else {
            bool any = call == NULL && i % 4 == 1;
            NEED(weft_recv(desk->out, count, WEFT_INT32, any ? WEFT_ANY_RANK : peer, desk->comm,
                           call) == WEFT_OK);
        }
        NEED(request == NULL || weft_request_wait(&request) == WEFT_OK);
        NEED(desk_settle(desk));
        NEED((rank + i) % 2 == 0 || messages_has(desk, desk->out, peer, count));
    }
    return wrong;
}

static void hosts_and_devices_meet_on_the_same_stripes(void **state)
{
    (void)state;
    messages_run(2, STRIPES, take_turns);
    messages_run(2, STRIPES_SOCKET, take_turns);
}

static void ranks_without_a_device_take_part(void **state)
{
    (void)state;
    messages_run_beside_hosts(4, STRIPES, exchange_all, lengths, LENGTHS);
    messages_run_beside_hosts(4, STRIPES_SOCKET, exchange_all, lengths, LENGTHS);
}

/* Faults --------------------------------------------------------------------------------------- */

/* Both have long messages behind them. */
static int disagree(desk_t *desk, uint32_t sent, uint32_t received)
{
    char words[128];
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    NEED(messages_put(desk, LONG) && desk_settle(desk));
    wrong += messages_exchange(desk, LONG);
    NEED(desk_settle(desk));
    streams_meet();
    NEED((rank == 0 ? messages_send(desk, peer, sent) : messages_receive(desk, peer, received)) ==
         WEFT_OK);
    snprintf(words, sizeof words,
             "message 2 from rank 0 (there) to rank 1 (here) differs: count %u here, %u there",
             received, sent);
    NEED(streams_failed(desk->comm, WEFT_ERR_MISMATCH, words));
    NEED(desk_settle(desk));
    return wrong;
}

static int receive_less(desk_t *desk)
{
    return disagree(desk, LONG, ONE);
}

static int receive_more(desk_t *desk)
{
    return disagree(desk, 7, LONG);
}

static int receive_a_little_more(desk_t *desk)
{
    return disagree(desk, FOUR, FOUR + 1);
}

static void lengths_that_differ_are_named_whatever_their_stripes(void **state)
{
    (void)state;
    messages_run(2, STRIPES, receive_less);
    messages_run(2, STRIPES, receive_more);
    messages_run(2, STRIPES, receive_a_little_more);
}

/* The message is moved by hosts, which connect stripes when they need them. */
static int disagree_at_first(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    weft_status_t status = rank == 0 ? weft_send(desk->in, LONG, WEFT_INT32, 1, desk->comm, NULL)
                                     : weft_recv(desk->out, ONE, WEFT_INT32, 0, desk->comm, NULL);
    NEED(status == WEFT_ERR_MISMATCH &&
         ranks_error_says(WEFT_ERR_MISMATCH, "differs: count 511 here, 8000 there"));
    return wrong;
}

static void first_lengths_that_differ_are_named_by_hosts(void **state)
{
    (void)state;
    messages_run(2, STRIPES, disagree_at_first);
}

/* The first long message between two ranks: no slice is there that could tell. */
static int disagree_at_once(desk_t *desk, uint32_t sent, uint32_t received, const char *words)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    NEED(messages_put(desk, LONG) && desk_settle(desk));
    streams_meet();
    const time_t begin = time(NULL);
    (void)(rank == 0 ? messages_send(desk, peer, sent) : messages_receive(desk, peer, received));
    NEED(streams_failed(desk->comm, WEFT_ERR_MISMATCH, words));
    NEED(time(NULL) - begin < 5); /* half of what a first call waits for its peers */
    NEED(desk_settle(desk));
    return wrong;
}

/* Who compares the stripes names bytes and stripes, a slice that overtakes them names the
 * counts. */
static int receive_less_at_first(desk_t *desk)
{
    return disagree_at_once(desk, LONG, ONE,
                            "message 1 from rank 0 (there) to rank 1 (here) differs: ");
}

static int receive_more_at_first(desk_t *desk)
{
    return disagree_at_once(desk, 7, LONG, "message 1 from rank 0 (");
}

/* Rank 0 allows two channels, rank 1 all of them. */
static int limit_one_rank(desk_t *desk)
{
    const uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(rank != 0 || weft_comm_set_channels(desk->comm, 2) == WEFT_OK);
    return wrong + disagree_at_once(desk, LONG, LONG, "32000 bytes in ");
}

static void first_long_messages_that_are_cut_otherwise_are_told_at_once(void **state)
{
    (void)state;
    messages_run(2, STRIPES, receive_less_at_first);
    messages_run(2, STRIPES, receive_more_at_first);
    messages_run(2, STRIPES_SOCKET, receive_less_at_first);
    messages_run(2, STRIPES, limit_one_rank);
}

static int leave(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = 0;
    NEED(messages_put(desk, LONG) && desk_settle(desk));
    wrong += messages_exchange(desk, LONG);
    NEED(desk_settle(desk));
    streams_meet();
    if (rank == 0) {
        NEED(messages_receive(desk, peer, LONG) == WEFT_OK);
        NEED(streams_failed(desk->comm, WEFT_ERR_PEER_LEFT,
                            "rank 1 left the communicator; rank 0 waits for it for data"));
        NEED(desk_settle(desk));
    }
    return wrong;
}

static void a_peer_that_left_ends_all_blocks(void **state)
{
    (void)state;
    messages_run(2, STRIPES, leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Processes first: they begin without threads of the runtime. */
        cmocka_unit_test(first_long_messages_are_launched_where_streams_share_a_queue),
        cmocka_unit_test(groups_of_long_messages_arrive),
        cmocka_unit_test(stripes_pass_over_a_network),
        cmocka_unit_test(as_many_blocks_copy_a_message_as_it_has_stripes),
        cmocka_unit_test(a_communicator_of_few_channels_has_few_stripes),
        cmocka_unit_test(kernels_say_how_many_stripes_there_are),
        cmocka_unit_test(messages_of_several_lengths_keep_their_order),
        cmocka_unit_test(a_graph_of_long_messages_is_replayed),
        cmocka_unit_test(hosts_and_devices_meet_on_the_same_stripes),
        cmocka_unit_test(ranks_without_a_device_take_part),
        cmocka_unit_test(lengths_that_differ_are_named_whatever_their_stripes),
        cmocka_unit_test(first_lengths_that_differ_are_named_by_hosts),
        cmocka_unit_test(first_long_messages_that_are_cut_otherwise_are_told_at_once),
        cmocka_unit_test(a_peer_that_left_ends_all_blocks),
    };
    fake_cuda.processors = 36; /* of four blocks each */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
