/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What memory allows for an all-reduce: each input is read once and each output written once, by
 * as many threads as there are ranks, each of which has a share of the elements. There is no rank,
 * no message and no wait but one barrier at the ends. Results are stored past the caches or through
 * them; the faster way counts.
 *
 * cc -O3 memory_limit.c -o memory_limit -lpthread       (x86 with AVX2)
 * memory_limit [-n threads] [-s bytes] [-p span bytes] [-t seconds]
 * prints: threads, bytes, microseconds of an all-reduce (median of the trials of the better way) */
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, TRIALS = 10001 };

typedef struct job {
    unsigned nthreads;
    size_t bytes, span;
    double seconds;
    float *in[THREADS_MAX], *out[THREADS_MAX];
    atomic_uint arrived, phase;
    atomic_int stop;
} job_t;

static job_t job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void meet(void)
{
    unsigned phase = atomic_load(&job.phase);
    if (atomic_fetch_add(&job.arrived, 1) + 1 == job.nthreads) {
        atomic_store(&job.arrived, 0);
        atomic_fetch_add(&job.phase, 1);
    } else {
        for (unsigned i = 0; atomic_load(&job.phase) == phase; i++) {
            if (i > 1000 || job.nthreads > (unsigned)sysconf(_SC_NPROCESSORS_ONLN)) {
                sched_yield();
            } else {
                _mm_pause();
            }
        }
    }
}

/* Elements [from, to) of the buffers at `at` (in floats): a line at a time. */
__attribute__((target("avx2"))) static void reduce(size_t at, size_t from, size_t to, int past)
{
    for (size_t e = at + from; e < at + to; e += 16) {
        __m256 a = _mm256_load_ps(job.in[0] + e), b = _mm256_load_ps(job.in[0] + e + 8);
        for (unsigned i = 1; i < job.nthreads; i++) {
            a = _mm256_add_ps(a, _mm256_load_ps(job.in[i] + e));
            b = _mm256_add_ps(b, _mm256_load_ps(job.in[i] + e + 8));
        }
        for (unsigned i = 0; i < job.nthreads; i++) {
            if (past) {
                _mm256_stream_ps(job.out[i] + e, a);
                _mm256_stream_ps(job.out[i] + e + 8, b);
            } else {
                _mm256_store_ps(job.out[i] + e, a);
                _mm256_store_ps(job.out[i] + e + 8, b);
            }
        }
    }
    _mm_sfence();
}

static double trial[2][TRIALS];
static unsigned trials[2];

static void *run(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;
    size_t floats = job.bytes / sizeof(float), part = floats / job.nthreads / 16 * 16;
    size_t from = self * part, to = self + 1 == job.nthreads ? floats / 16 * 16 : from + part;
    size_t at = 0;
    double end = now() + job.seconds;
    for (unsigned n = 0; n < 2 * TRIALS; n++) {
        meet();
        if (self == 0) {
            atomic_store(&job.stop, now() > end);
        }
        meet();
        if (atomic_load(&job.stop)) {
            break;
        }
        double began = now();
        reduce(at, from, to, n % 2 == 0);
        meet();
        if (self == 0 && n >= 4) {
            trial[n % 2][trials[n % 2]++] = now() - began;
        }
        at = at + 2 * floats <= job.span / sizeof(float) ? at + floats : 0;
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int way)
{
    qsort(trial[way], trials[way], sizeof(double), compare);
    return trials[way] > 0 ? trial[way][trials[way] / 2] : 1e9;
}

static float *buffer(size_t bytes)
{
    size_t huge = (size_t)2 << 20, all = (bytes + huge - 1) / huge * huge;
    void *memory = aligned_alloc(huge, all);
    if (memory == NULL) {
        fprintf(stderr, "no memory for a buffer\n");
        exit(1);
    }
    madvise(memory, all, MADV_HUGEPAGE);
    memset(memory, 1, all);
    return memory;
}

int main(int argc, char **argv)
{
    int c;
    job = (job_t){.nthreads = 2, .bytes = 8 << 20, .seconds = 1};
    while ((c = getopt(argc, argv, "n:s:p:t:")) != -1) {
        switch (c) {
        case 'n':
            job.nthreads = (unsigned)atoi(optarg);
            break;
        case 's':
            job.bytes = (size_t)atoll(optarg);
            break;
        case 'p':
            job.span = (size_t)atoll(optarg);
            break;
        case 't':
            job.seconds = atof(optarg);
            break;
        default:
            return 2;
        }
    }
    job.span = job.span < job.bytes ? job.bytes : job.span;
    if (job.nthreads < 1 || job.nthreads > THREADS_MAX) {
        fprintf(stderr, "1 to %d threads\n", (int)THREADS_MAX);
        return 2;
    }
    pthread_t thread[THREADS_MAX];
    for (unsigned i = 0; i < job.nthreads; i++) {
        job.in[i] = buffer(job.span);
        job.out[i] = buffer(job.span);
    }
    for (unsigned i = 0; i < job.nthreads; i++) {
        pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i);
    }
    for (unsigned i = 0; i < job.nthreads; i++) {
        pthread_join(thread[i], NULL);
    }
    double past = median(0), through = median(1);
    printf("%u threads, %zu bytes: %.1f us (past the caches %.1f, through them %.1f)\n",
           job.nthreads, job.bytes, (past < through ? past : through) * 1e6, past * 1e6,
           through * 1e6);
    return 0;
}
