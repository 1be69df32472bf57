/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit of memory on this machine: so many threads read so many inputs and write so many outputs
 * once, with no other rank to wait for. Stores go through the caches and past them; the faster counts.
 *
 *   memory_limit line                                     half a round trip of one cache line
 *   memory_limit THREADS INPUTS OUTPUTS SPAN SECONDS BYTES…
 *
 * Each thread reads INPUTS times BYTES and writes OUTPUTS times BYTES. Prints "0 BYTES microseconds". */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#define BLOCK 4096
#define MOST 16   /* inputs or outputs */
#define BATCHES 9 /* whose median counts */

typedef struct limit_work {
    int inputs, outputs;
    size_t span;
    size_t bytes;
    long calls;
    bool past; /* the caches */
    pthread_barrier_t *barrier;
    char *in[MOST], *out[MOST];
} limit_work_t;

static double limit_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void limit_store(char *to, const char *from, size_t bytes, bool past)
{
#ifdef __AVX__
    if (past && bytes % 32 == 0 && (size_t)to % 32 == 0) {
        for (size_t i = 0; i < bytes; i += 32) {
            _mm256_stream_ps((float *)(void *)(to + i),
                             _mm256_loadu_ps((const float *)(const void *)(from + i)));
        }
        return;
    }
#endif
    (void)past;
    memcpy(to, from, bytes);
}

static void limit_add(char *to, const char *a, const char *b, size_t bytes)
{
    float *sum = (float *)(void *)to;
    const float *x = (const float *)(const void *)a;
    const float *y = (const float *)(const void *)b;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        sum[i] = x[i] + y[i];
    }
}

#ifdef __AVX__
/* Sums and stores without a detour; the numbers are constants where it is inlined. */
static inline __attribute__((always_inline)) void limit_fused(const limit_work_t *work, size_t at,
                                                              int inputs, int outputs)
{
    for (size_t i = at; i < at + work->bytes; i += 32) {
        __m256 sum = _mm256_loadu_ps((const float *)(const void *)(work->in[0] + i));
        for (int q = 1; q < inputs; q++) {
            sum =
                _mm256_add_ps(sum, _mm256_loadu_ps((const float *)(const void *)(work->in[q] + i)));
        }
        for (int q = 0; q < outputs; q++) {
            float *to = (float *)(void *)(work->out[q] + i);
            if (work->past) {
                _mm256_stream_ps(to, sum);
            } else {
                _mm256_storeu_ps(to, sum);
            }
        }
    }
}
#endif

static bool limit_try_fused(const limit_work_t *work, size_t at)
{
#ifdef __AVX__
    if (work->bytes % 32 == 0 && at % 32 == 0) {
        switch (work->inputs * 100 + work->outputs) {
        case 202:
            limit_fused(work, at, 2, 2);
            return true;
        case 404:
            limit_fused(work, at, 4, 4);
            return true;
        case 808:
            limit_fused(work, at, 8, 8);
            return true;
        case 201:
            limit_fused(work, at, 2, 1);
            return true;
        case 401:
            limit_fused(work, at, 4, 1);
            return true;
        case 801:
            limit_fused(work, at, 8, 1);
            return true;
        default:
            break;
        }
    }
#endif
    (void)work;
    (void)at;
    return false;
}

static void limit_pass(const limit_work_t *work, size_t at)
{
    _Alignas(64) char block[BLOCK];
    if (limit_try_fused(work, at)) {
        return;
    }
    for (size_t i = 0; i < work->bytes; i += BLOCK) {
        size_t part = work->bytes - i < BLOCK ? work->bytes - i : BLOCK;
        const char *from = work->in[0] + at + i;
        for (int q = 1; q < work->inputs; q++) {
            limit_add(block, from, work->in[q] + at + i, part);
            from = block;
        }
        for (int q = 0; q < work->outputs; q++) {
            limit_store(work->out[q] + at + i, from, part, work->past);
        }
    }
}

static void limit_calls(const limit_work_t *work)
{
    size_t steps = work->span / work->bytes > 1 ? work->span / work->bytes : 1;
    for (long i = 0; i < work->calls; i++) {
        limit_pass(work, (size_t)i % steps * work->bytes);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

/* Batches between two barriers: the first of it is the starter's, who looks at the clock. */
static void *limit_thread(void *arg)
{
    limit_work_t *work = arg;
    for (int i = 0; i < BATCHES + 1; i++) {
        pthread_barrier_wait(work->barrier);
        limit_calls(work);
        pthread_barrier_wait(work->barrier);
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double limit_batches(limit_work_t *work, int threads, long calls, bool past)
{
    pthread_barrier_t barrier;
    pthread_t ids[1024];
    double times[BATCHES + 1];
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        work[t].calls = calls;
        work[t].past = past;
        work[t].barrier = &barrier;
        if (t > 0 && pthread_create(&ids[t], NULL, limit_thread, &work[t]) != 0) {
            exit(1);
        }
    }
    for (int i = 0; i < BATCHES + 1; i++) {
        pthread_barrier_wait(&barrier);
        double begin = limit_now();
        limit_calls(&work[0]);
        pthread_barrier_wait(&barrier);
        times[i] = limit_now() - begin;
    }
    for (int t = 1; t < threads; t++) {
        pthread_join(ids[t], NULL);
    }
    pthread_barrier_destroy(&barrier);
    qsort(times + 1, BATCHES, sizeof *times, ascending);
    return times[1 + BATCHES / 2] / (double)calls;
}

static double limit_size(limit_work_t *work, int threads, size_t bytes, double seconds)
{
    double best = 0;
    for (int t = 0; t < threads; t++) {
        work[t].bytes = bytes;
    }
    for (int past = 0; past < 2; past++) {
        double one = limit_batches(work, threads, 1, past);
        double fit = seconds * 1e6 / 2 / (BATCHES + 1) / (one > 0.01 ? one : 0.01);
        double time = limit_batches(work, threads, fit < 1 ? 1 : (long)fit, past);
        best = best == 0 || time < best ? time : best;
    }
    return best;
}

static void *limit_alloc(size_t bytes)
{
    char *memory = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
    if (!memory) {
        fprintf(stderr, "no memory for a buffer of %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static _Alignas(128) _Atomic int ball[64];

static void *limit_answer(void *arg)
{
    int rounds = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        while (atomic_load_explicit(&ball[0], memory_order_acquire) != 2 * i + 1) {
        }
        atomic_store_explicit(&ball[0], 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static int limit_line(void)
{
    int rounds = 200000;
    pthread_t id;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
        pthread_create(&id, NULL, limit_answer, &rounds) != 0) {
        return 1;
    }
    double begin = 0;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10) {
            begin = limit_now();
        }
        atomic_store_explicit(&ball[0], 2 * i + 1, memory_order_release);
        while (atomic_load_explicit(&ball[0], memory_order_acquire) != 2 * i + 2) {
        }
    }
    double time = limit_now() - begin;
    pthread_join(id, NULL);
    printf("0 0 %.4f\n", time / (rounds - rounds / 10) / 2);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "line") == 0) {
        return limit_line();
    }
    int threads = argc > 6 ? atoi(argv[1]) : 0;
    limit_work_t proto = {.inputs = argc > 6 ? atoi(argv[2]) : 0,
                          .outputs = argc > 6 ? atoi(argv[3]) : 0,
                          .span = argc > 6 ? (size_t)atoll(argv[4]) : 0};
    if (threads < 1 || threads > 1024 || proto.inputs < 1 || proto.inputs > MOST ||
        proto.outputs < 1 || proto.outputs > MOST) {
        fprintf(stderr, "usage: memory_limit line | THREADS INPUTS OUTPUTS SPAN SECONDS BYTES…\n");
        return 2;
    }
    limit_work_t *work = calloc((size_t)threads, sizeof *work);
    for (int t = 0; t < threads && work; t++) {
        work[t] = proto;
        for (int q = 0; q < proto.inputs; q++) {
            work[t].in[q] = limit_alloc(proto.span);
        }
        for (int q = 0; q < proto.outputs; q++) {
            work[t].out[q] = limit_alloc(proto.span);
        }
    }
    for (int i = 6; i < argc && work; i++) {
        size_t bytes = (size_t)atoll(argv[i]);
        if (bytes < 1 || bytes > proto.span) {
            fprintf(stderr, "memory_limit: %s bytes do not fit into a span of %zu\n", argv[i],
                    proto.span);
            return 2;
        }
        printf("0 %zu %.4f\n", bytes, limit_size(work, threads, bytes, atof(argv[5])));
        fflush(stdout);
    }
    free(work);
    return 0;
}
