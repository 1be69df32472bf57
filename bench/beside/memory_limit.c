/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit of memory on this machine: so many threads read so many inputs and write so many
 * outputs once, with no other rank to wait for. Stores go through the caches and past them, and
 * sums are made without a detour where the processor has vectors for it; the fastest counts.
 *
 *   memory_limit line                                     half a round trip of one cache line
 *   memory_limit [huge] THREADS INPUTS OUTPUTS SPAN SECONDS BYTES…
 *
 * Each thread reads INPUTS times BYTES and writes OUTPUTS times BYTES. The memory is what
 * aligned_alloc gives, as in the programs of the libraries; `huge`: shared between processes, in
 * huge pages as far as the system has them, as that of weft_mem_alloc. Prints "0 BYTES
 * microseconds". */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#define BLOCK 4096
#define MOST 16   /* inputs or outputs */
#define BATCHES 9 /* whose median counts */
#define HUGE ((size_t)2 << 20)
#define COLLAPSE 25 /* MADV_COLLAPSE; the library may be older than the kernel */

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

#if defined(__AVX512F__)
#define FUSED 1
typedef __m512 limit_vector_t;
#define limit_load(from) _mm512_loadu_ps(from)
#define limit_sum(a, b) _mm512_add_ps(a, b)
#define limit_keep(to, x) _mm512_storeu_ps(to, x)
#define limit_stream(to, x) _mm512_stream_ps(to, x)
#elif defined(__AVX__)
#define FUSED 1
typedef __m256 limit_vector_t;
#define limit_load(from) _mm256_loadu_ps(from)
#define limit_sum(a, b) _mm256_add_ps(a, b)
#define limit_keep(to, x) _mm256_storeu_ps(to, x)
#define limit_stream(to, x) _mm256_stream_ps(to, x)
#endif

#ifdef FUSED
#define GROUP 4 /* vectors of each input in flight */
#define STEP (GROUP * sizeof(limit_vector_t))

/* Sums and stores without a detour; the numbers are constants where it is inlined. */
static inline __attribute__((always_inline)) void limit_fused(const limit_work_t *work, size_t at,
                                                              int inputs, int outputs, bool past)
{
    for (size_t i = at; i < at + work->bytes; i += STEP) {
        limit_vector_t sum[GROUP];
        for (int q = 0; q < inputs; q++) {
            const float *from = (const float *)(const void *)(work->in[q] + i);
            for (size_t v = 0; v < GROUP; v++, from += sizeof *sum / sizeof *from) {
                sum[v] = q == 0 ? limit_load(from) : limit_sum(sum[v], limit_load(from));
            }
        }
        for (int q = 0; q < outputs; q++) {
            float *to = (float *)(void *)(work->out[q] + i);
            for (size_t v = 0; v < GROUP; v++, to += sizeof *sum / sizeof *to) {
                if (past) {
                    limit_stream(to, sum[v]);
                } else {
                    limit_keep(to, sum[v]);
                }
            }
        }
    }
}

#define LIMIT_SHAPE(in, outs)                                                                      \
    case (in)*100 + (outs):                                                                        \
        if (work->past) {                                                                          \
            limit_fused(work, at, in, outs, true);                                                 \
        } else {                                                                                   \
            limit_fused(work, at, in, outs, false);                                                \
        }                                                                                          \
        return true;
#endif

static bool limit_try_fused(const limit_work_t *work, size_t at)
{
#ifdef FUSED
    if (work->bytes % STEP == 0 && at % STEP == 0) {
        switch (work->inputs * 100 + work->outputs) {
            LIMIT_SHAPE(2, 2)
            LIMIT_SHAPE(4, 4)
            LIMIT_SHAPE(8, 8)
            LIMIT_SHAPE(2, 1)
            LIMIT_SHAPE(4, 1)
            LIMIT_SHAPE(8, 1)
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

/* As weft_mem_alloc takes it, without weft. The pages become huge one by one, once they are
 * there. */
static char *limit_alloc_huge(size_t bytes)
{
    size_t whole = (bytes + HUGE - 1) / HUGE * HUGE;
    int fd = memfd_create("memory_limit", 0);
    char *room = mmap(NULL, whole + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fd < 0 || ftruncate(fd, (off_t)whole) != 0 || room == MAP_FAILED) {
        return NULL;
    }
    char *memory = mmap(room + -(size_t)room % HUGE, whole, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, whole, MADV_HUGEPAGE);
    for (size_t at = 0; at < whole; at += HUGE) {
        memory[at] = 0;
        (void)madvise(memory + at, HUGE, COLLAPSE);
    }
    return memory;
}

static void *limit_alloc(size_t bytes, bool huge)
{
    char *memory =
        huge ? limit_alloc_huge(bytes) : aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
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
    bool huge = argc > 1 && strcmp(argv[1], "huge") == 0;
    argc -= huge;
    argv += huge;
    int threads = argc > 6 ? atoi(argv[1]) : 0;
    limit_work_t proto = {.inputs = argc > 6 ? atoi(argv[2]) : 0,
                          .outputs = argc > 6 ? atoi(argv[3]) : 0,
                          .span = argc > 6 ? (size_t)atoll(argv[4]) : 0};
    if (threads < 1 || threads > 1024 || proto.inputs < 1 || proto.inputs > MOST ||
        proto.outputs < 1 || proto.outputs > MOST) {
        fprintf(stderr,
                "usage: memory_limit line | [huge] THREADS INPUTS OUTPUTS SPAN SECONDS BYTES…\n");
        return 2;
    }
    limit_work_t *work = calloc((size_t)threads, sizeof *work);
    for (int t = 0; t < threads && work; t++) {
        work[t] = proto;
        for (int q = 0; q < proto.inputs; q++) {
            work[t].in[q] = limit_alloc(proto.span, huge);
        }
        for (int q = 0; q < proto.outputs; q++) {
            work[t].out[q] = limit_alloc(proto.span, huge);
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
