/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole runs: where the buffers of all ranks lie in windows, a chunk is one message. The bits are
 * those of slices, whoever cannot takes part in slices, and none is read too early or too late. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/sums.h"
#include "tests/support/unit.h"
#include "tests/support/values.h"

enum { RANKS_MAX = 8, BYTES = 256 << 10, CHANNELS = 3 };

#define COMMON                                                                                     \
    "core.net=net-shm", "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),    \
        "exec.wait=sleep", "exec.slots=8", "plan.channel_bytes=64", "exec.op_timeout=20s",         \
        "figures.edge=kernel-cuda same whole latency=100ns overhead=100ns bandwidth=40GB/s",       \
        "figures.edge=kernel-cuda bus whole latency=100ns overhead=100ns bandwidth=40GB/s"
enum { ONE_SHOT, TWO_SHOT, LONG, BY_WORDS, BY_LINES, BY_SLOTS, BY_WHOLE };
static const char *const settings[][12] = {
    {COMMON, "exec.slot_bytes=4K", "plan.channels=3", "core.algo=algo-flat"},
    {COMMON, "exec.slot_bytes=4K", "plan.channels=3", "core.algo=algo-direct"},
    {COMMON, "exec.slot_bytes=1M", "plan.channels=1", "core.algo=algo-direct"},
    {COMMON, "plan.channels=3", "core.algo=algo-flat",
     "tuner.rule=any: algo-flat protocol=ll force"},
    {COMMON, "plan.channels=3", "core.algo=algo-flat",
     "tuner.rule=any: algo-flat protocol=ll128 force"},
    {COMMON, "plan.channels=3", "core.algo=algo-flat",
     "tuner.rule=any: algo-flat protocol=simple force"},
    {COMMON, "plan.channels=3", "core.algo=algo-flat", "tuner.rule=any: algo-flat protocol=whole"}};

static pthread_barrier_t barrier;

static int run_with(int algo, uint32_t n, const char *const *odd, ranks_work_t work, void *arg)
{
    ranks_job_t job = {.nranks = n,
                       .settings = settings[algo],
                       .settings_count = 12,
                       .odd = odd,
                       .work = work,
                       .arg = arg};
    pthread_barrier_init(&barrier, NULL, n);
    const int wrong = ranks_run_threads(&job);
    pthread_barrier_destroy(&barrier);
    return wrong;
}

/* A rank's memory. */
typedef struct desk {
    weft_comm_t *comm;
    uint32_t rank, n;
    uint8_t *in, *out;             /* of the device, in windows */
    uint8_t *plain_in, *plain_out; /* of the device, in none */
    uint8_t *host;
    weft_window_t *window[2];
} desk_t;

static bool desk_windows(desk_t *d)
{
    return weft_window_register(d->comm, d->in, BYTES, &d->window[0]) == WEFT_OK &&
           weft_window_register(d->comm, d->out, BYTES, &d->window[1]) == WEFT_OK;
}

static bool desk_no_windows(desk_t *d)
{
    return weft_window_deregister(d->comm, d->window[0]) == WEFT_OK &&
           weft_window_deregister(d->comm, d->window[1]) == WEFT_OK;
}

static int desk_open(desk_t *d, weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    int wrong = 0;
    *d = (desk_t){.comm = comm, .rank = rank, .n = n, .host = malloc(2 * BYTES)};
    uint8_t **const all[] = {&d->in, &d->out, &d->plain_in, &d->plain_out};
    for (int i = 0; i < 4; i++) {
        NEED(weft_mem_alloc_device(comm, BYTES, (void **)all[i]) == WEFT_OK);
    }
    NEED(desk_windows(d));
    return wrong;
}

static int desk_close(desk_t *d)
{
    const uint32_t rank = d->rank;
    int wrong = 0;
    NEED(desk_no_windows(d));
    NEED(weft_mem_free(d->comm, d->in) == WEFT_OK && weft_mem_free(d->comm, d->out) == WEFT_OK);
    NEED(weft_mem_free(d->comm, d->plain_in) == WEFT_OK);
    NEED(weft_mem_free(d->comm, d->plain_out) == WEFT_OK);
    free(d->host);
    return wrong;
}

static bool put(desk_t *d, uint8_t *to, uint32_t count, uint32_t round)
{
    int32_t *host = (int32_t *)(void *)d->host;
    for (uint32_t i = 0; i < count; i++) {
        host[i] = sums_value(d->rank, round, i);
    }
    return weft_mem_copy(d->comm, to, host, count * 4) == WEFT_OK;
}

static bool has_sum(desk_t *d, const uint8_t *from, uint32_t count, uint32_t round)
{
    int32_t *host = (int32_t *)(void *)d->host;
    bool same = weft_mem_copy(d->comm, host, from, count * 4) == WEFT_OK;
    for (uint32_t i = 0; i < count; i++) {
        same = same && host[i] == sums_all(d->n, round, i);
    }
    return same;
}

static bool sum(desk_t *d, const uint8_t *in, uint8_t *out, uint32_t count)
{
    return weft_all_reduce(in, out, count, WEFT_INT32, WEFT_SUM, d->comm, NULL) == WEFT_OK;
}

/* Bits ----------------------------------------------------------------------------------------- */

#define TYPE_BYTES(value, name, bytes, text) bytes,
static const uint8_t type_bytes[] = {WEFT_DTYPE_MAP(TYPE_BYTES)};

/* In windows, and once more not in windows. */
static int same_bits(desk_t *d, weft_dtype_t dtype, weft_op_t op, uint32_t count, bool in_place)
{
    const size_t bytes = count * (size_t)type_bytes[dtype];
    uint8_t *in[] = {d->in, d->plain_in}, *out[] = {d->out, d->plain_out};
    uint8_t *found[] = {d->host, d->host + BYTES};
    const uint32_t rank = d->rank;
    int wrong = 0;
    for (uint32_t i = 0; i < count; i++) {
        values_put(d->host, i, dtype, values_input(dtype, op, d->n, rank, i));
    }
    for (int i = 0; i < 2; i++) {
        NEED(weft_mem_copy(d->comm, in[i], d->host, bytes) == WEFT_OK);
    }
    for (int i = 0; i < 2; i++) {
        uint8_t *to = in_place ? in[i] : out[i];
        NEED(weft_all_reduce(in[i], to, count, dtype, op, d->comm, NULL) == WEFT_OK);
        NEED(weft_mem_copy(d->comm, found[i], to, bytes) == WEFT_OK);
    }
    if (memcmp(found[0], found[1], bytes) != 0) {
        fprintf(stderr, "rank %u: type %d, operator %d, %u elements%s\n", rank, (int)dtype, (int)op,
                count, in_place ? " in place" : "");
        wrong++;
    }
    return wrong;
}

static int all_types(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const weft_op_t ops[] = {WEFT_SUM, WEFT_PROD, WEFT_MIN, WEFT_MAX, WEFT_AVG};
    static const uint32_t counts[] = {9, 40, 257, 5003, 30011};
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT && wrong == 0; dtype++) {
        for (uint32_t i = 0; i < 10 && wrong == 0; i++) {
            wrong += same_bits(&d, (weft_dtype_t)dtype, ops[(i + (uint32_t)dtype) % 5],
                               counts[i % 5], i >= 5);
        }
    }
    return wrong + desk_close(&d);
}

static void the_bits_are_those_of_slices(void **state)
{
    static const uint32_t ranks[] = {2, 3, 5, 8};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run_with(ONE_SHOT, ranks[i], NULL, all_types, NULL), 0);
        assert_int_equal(run_with(TWO_SHOT, ranks[i], NULL, all_types, NULL), 0);
    }
}

/* Counts --------------------------------------------------------------------------------------- */

typedef struct counts {
    uint32_t tells, fences, host;
} counts_t;

static counts_t counts_now(void)
{
    return (counts_t){atomic_load(&fake_cuda.tells), atomic_load(&fake_cuda.fences),
                      atomic_load(&fake_cuda.reads_host)};
}

/* Of all ranks, in one call of each. */
static counts_t count_call(desk_t *d, uint32_t count, bool in_place)
{
    (void)put(d, d->in, count, count);
    pthread_barrier_wait(&barrier);
    const counts_t before = counts_now();
    pthread_barrier_wait(&barrier);
    const bool good = sum(d, d->in, in_place ? d->in : d->out, count) &&
                      has_sum(d, in_place ? d->in : d->out, count, count);
    pthread_barrier_wait(&barrier);
    const counts_t now = counts_now();
    pthread_barrier_wait(&barrier);
    return good ? (counts_t){now.tells - before.tells, now.fences - before.fences,
                             now.host - before.host}
                : (counts_t){0, 0, 1};
}

/* For each block and peer: the greeting, the result of two-shot, the release; and a block's end.
 * Fences: greeting, finding, release, end; of two-shot also results and what is found of them. */
static int count_all(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const int algo = *(const int *)arg;
    const uint32_t blocks = n * CHANNELS, words = algo == ONE_SHOT ? 2 : 3;
    const uint32_t results = algo == ONE_SHOT ? 0 : 1 + (n - 1 > 3 ? (n - 1 - 3 + 3) / 4 : 0);
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    for (uint32_t count = 1000; count <= 60000 && wrong == 0; count += 11800) {
        const counts_t c = count_call(&d, count, algo == TWO_SHOT && count % 3 == 0);
        NEED(c.tells == blocks * (words * (n - 1) + 1));
        NEED(c.host == 0);
        NEED(c.fences >= blocks * (4 + results) && c.fences <= blocks * (4 + 2 * results + n));
    }
    return wrong + desk_close(&d);
}

static void what_a_call_takes_does_not_depend_on_its_length(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    for (int algo = ONE_SHOT; algo <= TWO_SHOT; algo++) {
        for (uint32_t n = 2; n <= RANKS_MAX; n += 3) {
            assert_int_equal(run_with(algo, n, NULL, count_all, &algo), 0);
        }
    }
    fake_cuda.counts = false;
}

/* A rule that names a protocol is what blocks do, beside windows: only the end of a block needs a
 * fence among flagged units, each slice through slots, none of many in a whole run. */
static int count_by(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const int how = *(const int *)arg;
    const uint32_t blocks = n * CHANNELS, once = blocks * (2 * (n - 1) + 1);
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    for (uint32_t count = 20000; count <= 60000 && wrong == 0; count += 40000) {
        const counts_t c = count_call(&d, count, false);
        NEED(how == BY_WHOLE ? c.tells == once : c.tells >= once);
        NEED(how == BY_WORDS || how == BY_LINES ? c.fences == blocks : c.fences >= 4 * blocks);
        NEED(how != BY_WORDS || c.tells >= 2 * blocks * (count * 4 / CHANNELS / 8192));
    }
    return wrong + desk_close(&d);
}

static void a_rule_says_by_which_protocol(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    for (int how = BY_WORDS; how <= BY_WHOLE; how++) {
        if (run_with(how, 2, NULL, count_by, &how) != 0) {
            fail_msg("%s", settings[how][11]);
        }
    }
    fake_cuda.counts = false;
}

/* Not whole ------------------------------------------------------------------------------------ */

static int expect_slices(desk_t *d, const uint8_t *in, uint8_t *out)
{
    const uint32_t rank = d->rank, count = 60000, one = d->n * CHANNELS * (3 * (d->n - 1) + 1);
    int wrong = 0;
    NEED(put(d, (uint8_t *)(uintptr_t)in, count, 7));
    pthread_barrier_wait(&barrier);
    const uint32_t before = atomic_load(&fake_cuda.tells);
    pthread_barrier_wait(&barrier);
    NEED(sum(d, in, out, count) && has_sum(d, out, count, 7));
    pthread_barrier_wait(&barrier);
    NEED(atomic_load(&fake_cuda.tells) - before > one);
    pthread_barrier_wait(&barrier);
    return wrong;
}

/* Rank 1 alone is elsewhere: with its input, its output, then with a rank that has no windows. */
static int one_is_elsewhere(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const int algo = *(const int *)arg;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    wrong += expect_slices(&d, rank == 1 ? d.plain_in : d.in, d.out);
    if (algo == TWO_SHOT) {
        wrong += expect_slices(&d, d.in, rank == 1 ? d.plain_out : d.out);
    } else {
        wrong += expect_slices(&d, d.in, rank == 1 ? d.in : d.out); /* what it sends changes */
    }
    NEED(desk_no_windows(&d));
    wrong += expect_slices(&d, d.in, d.out);
    NEED(desk_windows(&d));
    const counts_t c = count_call(&d, 60000, false);
    NEED(c.tells == n * CHANNELS * ((algo == ONE_SHOT ? 2 : 3) * (n - 1) + 1));
    return wrong + desk_close(&d);
}

static void all_run_in_slices_if_one_has_to(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    for (int algo = ONE_SHOT; algo <= TWO_SHOT; algo++) {
        assert_int_equal(run_with(algo, 4, NULL, one_is_elsewhere, &algo), 0);
    }
    fake_cuda.counts = false;
}

static int no_call_is_whole(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    wrong += expect_slices(&d, d.in, d.out);
    return wrong + desk_close(&d);
}

/* Of all ranks, with short messages and buffers in no window: a block's end alone is behind one. */
static int count_refusal(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t count = 600, blocks = n * CHANNELS;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    NEED(put(&d, d.plain_in, count, 3));
    pthread_barrier_wait(&barrier);
    const counts_t before = counts_now();
    pthread_barrier_wait(&barrier);
    NEED(sum(&d, d.plain_in, d.plain_out, count) && has_sum(&d, d.plain_out, count, 3));
    pthread_barrier_wait(&barrier);
    const counts_t now = counts_now();
    pthread_barrier_wait(&barrier);
    /* A greeting, a message, and both released. */
    NEED(now.tells - before.tells >= blocks * (4 * (n - 1) + 1));
    NEED(now.fences - before.fences == blocks);
    return wrong + desk_close(&d);
}

static void greetings_that_refuse_have_no_fence(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    assert_int_equal(run_with(ONE_SHOT, 3, NULL, count_refusal, NULL), 0);
    assert_int_equal(run_with(TWO_SHOT, 3, NULL, count_refusal, NULL), 0);
    fake_cuda.counts = false;
}

static void one_rank_can_switch_it_off(void **state)
{
    static const char *const off[] = {"kernel-cuda.whole=no", NULL};
    (void)state;
    fake_cuda.counts = true;
    assert_int_equal(run_with(TWO_SHOT, 3, off, no_call_is_whole, NULL), 0);
    fake_cuda.counts = false;
}

/* Tells of all ranks, in an all-reduce of two halves of `half` bytes in a window. */
static uint32_t count_long(weft_comm_t *comm, size_t half)
{
    weft_window_t *window = NULL;
    void *memory = NULL;
    bool good = weft_mem_alloc_device(comm, 2 * half, &memory) == WEFT_OK &&
                weft_window_register(comm, memory, 2 * half, &window) == WEFT_OK;
    pthread_barrier_wait(&barrier);
    const uint32_t before = atomic_load(&fake_cuda.tells);
    pthread_barrier_wait(&barrier);
    good = good &&
           weft_all_reduce(memory, memory, 2 * half, WEFT_UINT8, WEFT_SUM, comm, NULL) == WEFT_OK;
    pthread_barrier_wait(&barrier);
    const uint32_t tells = atomic_load(&fake_cuda.tells) - before;
    pthread_barrier_wait(&barrier);
    good = good && weft_window_deregister(comm, window) == WEFT_OK;
    return good && weft_mem_free(comm, memory) == WEFT_OK ? tells : 0;
}

static int count_limit(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const size_t limit = (size_t)64 << 20;
    int wrong = 0;
    (void)arg;
    NEED(count_long(comm, limit) == n * 4);
    NEED(count_long(comm, limit + 64) > n * 4);
    return wrong;
}

/* A run has to look whether it should stop. */
static void chunks_that_would_take_long_are_cut(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    assert_int_equal(run_with(LONG, 2, NULL, count_limit, NULL), 0);
    fake_cuda.counts = false;
}

/* Who runs a call, and where its buffers are, each rank draws for itself. */
static int take_turns(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t counts[] = {1, 8, 9, 100, 5000, 20011};
    uint32_t random = rank + 1;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    uint8_t *memory = malloc(2 * BYTES);
    (void)arg;
    for (uint32_t round = 0; round < 90 && wrong == 0; round++) {
        const uint32_t count = counts[round % 6];
        random = random * 1664525u + 1013904223u;
        const uint32_t draw = random >> 20 & 7, place = random >> 24 & 1;
        uint8_t *in = draw == 0 ? memory : draw == 1 ? d.plain_in : d.in;
        uint8_t *out = place ? in : draw == 0 ? memory + BYTES : draw == 2 ? d.plain_out : d.out;
        if (draw == 0) {
            for (uint32_t i = 0; i < count; i++) {
                ((int32_t *)(void *)in)[i] = sums_value(rank, round, i);
            }
        } else {
            NEED(put(&d, in, count, round));
        }
        NEED(sum(&d, in, out, count));
        if (draw == 0) {
            bool same = true;
            for (uint32_t i = 0; i < count; i++) {
                same = same && ((int32_t *)(void *)out)[i] == sums_all(n, round, i);
            }
            NEED(same);
        } else {
            NEED(has_sum(&d, out, count, round));
        }
    }
    free(memory);
    return wrong + desk_close(&d);
}

static void hosts_and_devices_and_places_take_turns(void **state)
{
    /* Of ranks of odd number: each chooses how it sends. */
    static const char *const other[] = {"kernel-cuda.device=1", "kernel-cuda.protocol=ll", NULL};
    static const char *const slots[] = {"kernel-cuda.protocol=simple", NULL};
    const char *const *odd[] = {NULL, other, slots};
    (void)state;
    fake_cuda.not_pageable = fake_cuda.reorders = true;
    for (uint32_t n = 2; n <= 4; n++) {
        assert_int_equal(run_with(ONE_SHOT, n, odd[n - 2], take_turns, NULL), 0);
        assert_int_equal(run_with(TWO_SHOT, n, odd[n - 2], take_turns, NULL), 0);
    }
    fake_cuda.not_pageable = fake_cuda.reorders = false;
}

/* Order ---------------------------------------------------------------------------------------- */

/* Each rank in turn comes late, and changes its input as soon as its call has ended. */
static int reuse(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const int algo = *(const int *)arg;
    const uint32_t count = 40000;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    for (uint32_t round = 0; round < 30 && wrong == 0; round++) {
        const bool in_place = algo == TWO_SHOT && round % 2 != 0;
        if (round % n == rank) {
            nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        }
        NEED(put(&d, d.in, count, round));
        NEED(sum(&d, d.in, in_place ? d.in : d.out, count));
        if (!in_place) {
            NEED(put(&d, d.in, count, round + 1000));
        }
        NEED(has_sum(&d, in_place ? d.in : d.out, count, round));
    }
    return wrong + desk_close(&d);
}

static void nobody_reads_too_early_or_is_read_too_late(void **state)
{
    (void)state;
    fake_cuda.reorders = true;
    for (int algo = ONE_SHOT; algo <= TWO_SHOT; algo++) {
        assert_int_equal(run_with(algo, 3, NULL, reuse, &algo), 0);
    }
    fake_cuda.reorders = false;
}

/* Captured before the windows end, launched with and without them. */
static int replay(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t count = 20000;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    const weft_call_t call = {.size = sizeof call, .stream = (void *const *)&stream};
    NEED(weft_all_reduce(d.in, d.out, count, WEFT_INT32, WEFT_SUM, comm, &call) == WEFT_OK);
    NEED(cudaStreamSynchronize(stream) == cudaSuccess);
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    NEED(weft_all_reduce(d.in, d.out, count, WEFT_INT32, WEFT_SUM, comm, &call) == WEFT_OK);
    NEED(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    NEED(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (uint32_t round = 0; round < 11 && wrong == 0; round++) {
        NEED(put(&d, d.in, count, round));
        pthread_barrier_wait(&barrier);
        const uint32_t before = atomic_load(&fake_cuda.tells);
        pthread_barrier_wait(&barrier);
        NEED(cudaGraphLaunch(exec, stream) == cudaSuccess);
        NEED(cudaStreamSynchronize(stream) == cudaSuccess && has_sum(&d, d.out, count, round));
        pthread_barrier_wait(&barrier);
        const uint32_t tells = atomic_load(&fake_cuda.tells) - before;
        const uint32_t whole = n * CHANNELS * (3 * (n - 1) + 1);
        NEED(round / 4 % 2 == 0 ? tells == whole : tells > whole);
        pthread_barrier_wait(&barrier);
        NEED(round % 8 != 3 || desk_no_windows(&d));
        NEED(round % 8 != 7 || desk_windows(&d));
    }
    NEED(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    NEED(cudaStreamDestroy(stream) == cudaSuccess);
    return wrong + desk_close(&d);
}

static void a_graph_is_whole_whenever_there_are_windows(void **state)
{
    (void)state;
    fake_cuda.counts = true;
    assert_int_equal(run_with(TWO_SHOT, 3, NULL, replay, NULL), 0);
    fake_cuda.counts = false;
}

/* Failures ------------------------------------------------------------------------------------- */

static int stay_away(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    const weft_call_t call = {.size = sizeof call, .timeout = 0.5};
    (void)arg;
    NEED(put(&d, d.in, 5000, 0) && sum(&d, d.in, d.out, 5000) && has_sum(&d, d.out, 5000, 0));
    if (rank != 2) {
        NEED(weft_all_reduce(d.in, d.out, 5000, WEFT_INT32, WEFT_SUM, comm, &call) != WEFT_OK);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 2"));
    }
    pthread_barrier_wait(&barrier);
    free(d.host);
    return wrong;
}

static void who_stays_away_is_named(void **state)
{
    (void)state;
    assert_int_equal(run_with(ONE_SHOT, 3, NULL, stay_away, NULL), 0);
    assert_int_equal(run_with(TWO_SHOT, 3, NULL, stay_away, NULL), 0);
}

static int disagree(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    NEED(weft_all_reduce(d.in, d.out, 5000, WEFT_INT32, rank == 1 ? WEFT_MAX : WEFT_SUM, comm,
                         NULL) != WEFT_OK);
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    NEED(error.status == WEFT_ERR_MISMATCH);
    pthread_barrier_wait(&barrier);
    free(d.host);
    return wrong;
}

static void calls_that_differ_are_found(void **state)
{
    (void)state;
    assert_int_equal(run_with(ONE_SHOT, 2, NULL, disagree, NULL), 0);
    assert_int_equal(run_with(TWO_SHOT, 3, NULL, disagree, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_are_those_of_slices),
        cmocka_unit_test(what_a_call_takes_does_not_depend_on_its_length),
        cmocka_unit_test(a_rule_says_by_which_protocol),
        cmocka_unit_test(all_run_in_slices_if_one_has_to),
        cmocka_unit_test(greetings_that_refuse_have_no_fence),
        cmocka_unit_test(one_rank_can_switch_it_off),
        cmocka_unit_test(chunks_that_would_take_long_are_cut),
        cmocka_unit_test(hosts_and_devices_and_places_take_turns),
        cmocka_unit_test(nobody_reads_too_early_or_is_read_too_late),
        cmocka_unit_test(a_graph_is_whole_whenever_there_are_windows),
        cmocka_unit_test(who_stays_away_is_named),
        cmocka_unit_test(calls_that_differ_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
