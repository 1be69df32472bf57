/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu-calls SETTING…: calls in streams in which the host has a part, by two ranks that are threads
 * and share a device: a collective in a group with messages, which is a host wait, a factor that is
 * read late, a sum of plain memory into a device's, and a put with its wait; in one communicator,
 * in two at the same time, and from graphs. What comes is compared, and every wait has a limit. */
#include <pthread.h>
#include <unistd.h>

#include "device.h"
#include "line.h"
#include "tests/support/ranks.h"

enum { RANKS = 2, SEATS = 2, COUNT = 5003, ROUNDS = 3, SECONDS = 30, CHANNELS = 4 };
#define BYTES (COUNT * sizeof(int32_t))

/* What a round moves: of the device, and pinned memory of the host. */
typedef struct memory {
    int32_t in[COUNT], factor, sum[COUNT], scaled[COUNT], mixed[COUNT], message[COUNT], box[COUNT];
} memory_t;

/* What a rank works with in one communicator. */
typedef struct seat {
    weft_comm_t *comm;
    uint32_t rank;
    memory_t *there, *here;
    cudaStream_t stream;
    weft_window_t *window; /* the box */
    cudaGraphExec_t graph;
    int32_t plain[COUNT]; /* a device behind a bus does not reach it */
} seat_t;

static memory_t *pinned; /* of each rank and seat */
static pthread_barrier_t meeting;
static _Thread_local const char *under_way = "beginning";
static int failures[RANKS];

static void tell_failure(const seat_t *seat)
{
    weft_error_t error = {.size = sizeof error};
    if (weft_comm_error(seat->comm, &error) == WEFT_OK && error.status != WEFT_OK) {
        fprintf(stderr, "rank %u: %s: %s\n", seat->rank, weft_status_name(error.status),
                error.text);
    }
}

/* A stream that does not end keeps all else of the process, too. */
static bool settle(const seat_t *seat)
{
    const double end = device_seconds() + SECONDS;
    cudaError_t error = cudaStreamQuery(seat->stream);
    while (error == cudaErrorNotReady && device_seconds() < end) {
        usleep(50);
        error = cudaStreamQuery(seat->stream);
    }
    if (error == cudaErrorNotReady) {
        tell_failure(seat);
        line_answer(under_way, "no end", SECONDS, "s");
        _exit(1);
    }
    return error == cudaSuccess;
}

static int32_t value(uint32_t rank, int round, uint32_t i)
{
    return (int32_t)(i % 1000 + 1000 * rank) + round;
}

static void fill(seat_t *seat, int round)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        seat->plain[i] = seat->here->in[i] = value(seat->rank, round, i);
    }
    seat->here->factor = round + 2 + (int32_t)seat->rank;
}

static bool is_right(const seat_t *seat, int round)
{
    const memory_t *got = seat->here;
    const uint32_t other = 1 - seat->rank;
    bool right = true;
    for (uint32_t i = 0; i < COUNT; i++) {
        const int32_t zero = value(0, round, i), one = value(1, round, i);
        const int32_t from = other == 0 ? zero : one;
        right = right && got->sum[i] == zero + one && got->message[i] == from &&
                got->scaled[i] == (round + 2) * zero + (round + 3) * one && got->box[i] == from &&
                got->mixed[i] == zero + one;
    }
    memset(seat->here, 0xee, sizeof *seat->here);
    return right;
}

/* Puts a round into the stream. The next one's sum keeps the other rank from putting before this
 * one has its box. */
static int enqueue(seat_t *seat)
{
    memory_t *there = seat->there, *here = seat->here;
    const weft_call_t call = {.size = sizeof call, .stream = (void *const *)&seat->stream};
    weft_call_t late = call;
    const uint32_t rank = seat->rank, other = 1 - rank;
    int wrong = 0;
    late.scalar = &there->factor;
    late.scalar_read = WEFT_SCALAR_AT_RUN;
    NEED(cudaMemcpyAsync(there->in, here->in, BYTES + sizeof here->factor, cudaMemcpyHostToDevice,
                         seat->stream) == cudaSuccess);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(there->in, there->sum, COUNT, WEFT_INT32, WEFT_SUM, seat->comm, &call) ==
         WEFT_OK);
    NEED(weft_send(there->in, COUNT, WEFT_INT32, other, seat->comm, &call) == WEFT_OK);
    NEED(weft_recv(there->message, COUNT, WEFT_INT32, other, seat->comm, &call) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_all_reduce(there->in, there->scaled, COUNT, WEFT_INT32, WEFT_PREMULSUM, seat->comm,
                         &late) == WEFT_OK);
    NEED(weft_all_reduce(seat->plain, there->mixed, COUNT, WEFT_INT32, WEFT_SUM, seat->comm,
                         &call) == WEFT_OK);
    NEED(weft_put_signal(there->in, COUNT, WEFT_INT32, other, seat->window, 0, seat->comm, &call) ==
         WEFT_OK);
    NEED(weft_wait_signal(other, 1, seat->comm, &call) == WEFT_OK);
    NEED(cudaMemcpyAsync(here->sum, there->sum, sizeof *here - offsetof(memory_t, sum),
                         cudaMemcpyDeviceToHost, seat->stream) == cudaSuccess);
    return wrong;
}

/* Both ranks have the graph before its first launch: what makes one may wait for kernels, and those
 * for this rank. */
static int record(seat_t *seat)
{
    const uint32_t rank = seat->rank;
    cudaGraph_t graph = NULL;
    int wrong = 0;
    NEED(cudaStreamBeginCapture(seat->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    wrong += enqueue(seat);
    NEED(cudaStreamEndCapture(seat->stream, &graph) == cudaSuccess);
    NEED(cudaGraphInstantiate(&seat->graph, graph, 0) == cudaSuccess);
    NEED(cudaGraphDestroy(graph) == cudaSuccess);
    pthread_barrier_wait(&meeting);
    return wrong;
}

static int replay(seat_t *seat)
{
    const uint32_t rank = seat->rank;
    int wrong = 0;
    NEED(cudaGraphLaunch(seat->graph, seat->stream) == cudaSuccess);
    return wrong;
}

/* Rounds of so many seats at once. */
static int play(seat_t *seats, int count, int (*start)(seat_t *seat), int first)
{
    const uint32_t rank = seats->rank;
    int wrong = 0;
    for (int round = first; round < first + ROUNDS && wrong == 0; round++) {
        for (int i = 0; i < count; i++) {
            fill(&seats[i], round + 10 * i);
            wrong += start(&seats[i]);
        }
        for (int i = 0; i < count && wrong == 0; i++) {
            NEED(settle(&seats[i]) && is_right(&seats[i], round + 10 * i));
        }
        for (int i = 0; i < count && wrong != 0; i++) {
            tell_failure(&seats[i]);
        }
    }
    return wrong;
}

static int sit_down(seat_t *seat, int number)
{
    const uint32_t rank = seat->rank;
    int wrong = 0;
    seat->here = &pinned[rank * SEATS + (uint32_t)number];
    NEED(weft_comm_set_channels(seat->comm, CHANNELS) == WEFT_OK);
    NEED(cudaStreamCreateWithFlags(&seat->stream, cudaStreamNonBlocking) == cudaSuccess);
    NEED(weft_mem_alloc_device(seat->comm, sizeof *seat->there, (void **)&seat->there) == WEFT_OK);
    if (wrong == 0) {
        NEED(weft_window_register_local(seat->comm, seat->there->box, BYTES, &seat->window) ==
             WEFT_OK);
    }
    return wrong;
}

static int get_up(seat_t *seat)
{
    const uint32_t rank = seat->rank;
    int wrong = 0;
    NEED(cudaGraphExecDestroy(seat->graph) == cudaSuccess);
    NEED(weft_window_deregister(seat->comm, seat->window) == WEFT_OK);
    NEED(cudaStreamDestroy(seat->stream) == cudaSuccess);
    return wrong;
}

/* Whether both ranks found all of it right; rank 0 says so. */
static bool all_right(uint32_t rank, int wrong)
{
    failures[rank] = wrong;
    pthread_barrier_wait(&meeting);
    const bool right = failures[0] + failures[1] == 0;
    if (rank == 0) {
        line_print(under_way, right, ROUNDS, "rounds");
    }
    pthread_barrier_wait(&meeting);
    return right;
}

static bool play_all(seat_t *seats, uint32_t rank)
{
    under_way = "calls that the host drives, in a stream";
    if (!all_right(rank, play(seats, 1, enqueue, 0))) {
        return false;
    }
    under_way = "the same in two communicators at once";
    if (!all_right(rank, play(seats, SEATS, enqueue, 100))) {
        return false;
    }
    under_way = "the same from a graph, launched again and again";
    int wrong = record(&seats[0]);
    if (!all_right(rank, wrong + (wrong == 0 ? play(seats, 1, replay, 200) : 0))) {
        return false;
    }
    under_way = "the same from the graphs of two communicators at once";
    wrong = record(&seats[1]);
    return all_right(rank, wrong + (wrong == 0 ? play(seats, SEATS, replay, 300) : 0));
}

static int rank_main(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    seat_t seats[SEATS] = {{.comm = comm, .rank = rank}, {.rank = rank}};
    int wrong = sit_down(&seats[0], 0);
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &seats[1].comm) == WEFT_OK);
    wrong += wrong == 0 ? sit_down(&seats[1], 1) : 0;
    if (!all_right(rank, wrong) || !play_all(seats, rank)) {
        return 1;
    }
    wrong += get_up(&seats[0]) + get_up(&seats[1]);
    NEED(weft_comm_destroy(seats[1].comm) == WEFT_OK);
    return wrong;
}

int main(int argc, char **argv)
{
    const ranks_job_t job = {.nranks = RANKS,
                             .settings = (const char *const *)argv + 1,
                             .settings_count = (uint32_t)argc - 1,
                             .work = rank_main};
    const cudaError_t error =
        cudaHostAlloc((void **)&pinned, RANKS * SEATS * sizeof *pinned, cudaHostAllocDefault);
    if (error != cudaSuccess) {
        fprintf(stderr, "no memory that the device reads: %s\n", cudaGetErrorString(error));
        return 1;
    }
    pthread_barrier_init(&meeting, NULL, RANKS);
    const int failed = ranks_run_threads(&job);
    return cudaFreeHost(pinned) != cudaSuccess || failed != 0;
}
