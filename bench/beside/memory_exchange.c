/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an all-reduce of two ranks takes that see nothing of each other but slots: each copies its
 * input into slots in chunks, and adds what the other put into its slots; or each adds one half,
 * and the sums go through slots, too. Nothing is checked, chosen or called, and nobody sleeps. The
 * faster way counts, with the fastest of several lengths of chunks.
 *
 *   memory_exchange SPAN SECONDS BYTES…
 *
 * Input and output move on inside SPAN bytes. A thread is a rank. Prints "RANK BYTES microseconds",
 * the median of single iterations. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RANKS 2
#define SLOTS 4u
#define SLOT 65536u
#define LINE 128 /* two lines: they are fetched in pairs */
#define MOST 20000
#define TRY 4 /* iterations by which the time of one is estimated, and the fewest */

/* Slots of one rank, which it writes and the other one reads. */
typedef struct exchange_fifo {
    struct {
        _Alignas(LINE) _Atomic unsigned long put; /* number of the chunk in the slot, from 1 */
    } flag[SLOTS];
    _Alignas(LINE) _Atomic unsigned long taken; /* chunks that the other one has read */
    _Alignas(4096) char slot[SLOTS][SLOT];
} exchange_fifo_t;

typedef struct exchange_rank {
    exchange_fifo_t *mine, *theirs;
    char *in, *out;
    bool first, halves;
    size_t span, bytes, chunk;
    long calls;
    unsigned long put, got; /* chunks, since the beginning */
    pthread_barrier_t *barrier;
    double times[MOST];
} exchange_rank_t;

static double exchange_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void exchange_add(float *restrict sum, const float *restrict a, const float *restrict b,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sum[i] = a[i] + b[i];
    }
}

static void exchange_put(exchange_rank_t *me, const char *from, size_t bytes)
{
    unsigned long at = me->put++ % SLOTS;
    while (me->put - atomic_load_explicit(&me->mine->taken, memory_order_acquire) > SLOTS) {
    }
    memcpy(me->mine->slot[at], from, bytes);
    atomic_store_explicit(&me->mine->flag[at].put, me->put, memory_order_release);
}

/* Adds the next chunk to `in`; NULL: copies it. */
static void exchange_get(exchange_rank_t *me, char *out, const char *in, size_t bytes)
{
    unsigned long at = me->got++ % SLOTS;
    while (atomic_load_explicit(&me->theirs->flag[at].put, memory_order_acquire) != me->got) {
    }
    const char *slot = me->theirs->slot[at];
    if (in == NULL) {
        memcpy(out, slot, bytes);
    } else {
        exchange_add((float *)(void *)out, (const float *)(const void *)in,
                     (const float *)(const void *)slot, bytes / sizeof(float));
    }
    atomic_store_explicit(&me->theirs->taken, me->got, memory_order_release);
}

static size_t exchange_part(const exchange_rank_t *me, size_t at, size_t end)
{
    return end - at < me->chunk ? end - at : me->chunk;
}

/* Both add all. A chunk is put before the one in front of it is awaited. */
static void exchange_whole(exchange_rank_t *me, const char *in, char *out)
{
    exchange_put(me, in, exchange_part(me, 0, me->bytes));
    for (size_t at = 0, next = me->chunk; at < me->bytes; at = next, next += me->chunk) {
        if (next < me->bytes) {
            exchange_put(me, in + next, exchange_part(me, next, me->bytes));
        }
        exchange_get(me, out + at, in + at, exchange_part(me, at, me->bytes));
    }
}

/* Each adds one half, and gives it to the other, a chunk after that was added. */
static void exchange_halves(exchange_rank_t *me, const char *in, char *out)
{
    const size_t half = me->bytes / 2, mine = me->first ? 0 : half, other = half - mine;
    for (size_t at = 0; at < half + me->chunk; at += me->chunk) {
        const size_t before = at - me->chunk;
        if (at < half) {
            exchange_put(me, in + other + at, exchange_part(me, at, half));
        }
        if (at > 0) {
            exchange_put(me, out + mine + before, exchange_part(me, before, half));
        }
        if (at < half) {
            exchange_get(me, out + mine + at, in + mine + at, exchange_part(me, at, half));
        }
        if (at > 0) {
            exchange_get(me, out + other + before, NULL, exchange_part(me, before, half));
        }
    }
}

static void exchange_call(exchange_rank_t *me, size_t offset)
{
    if (me->halves) {
        exchange_halves(me, me->in + offset, me->out + offset);
    } else {
        exchange_whole(me, me->in + offset, me->out + offset);
    }
}

static void *exchange_calls(void *arg)
{
    exchange_rank_t *me = arg;
    size_t steps = me->span / me->bytes;
    pthread_barrier_wait(me->barrier);
    double last = exchange_now();
    for (long i = 0; i < me->calls; i++) {
        exchange_call(me, (size_t)i % steps * me->bytes);
        double now = exchange_now();
        me->times[i] = now - last;
        last = now;
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of one iteration on each rank. */
static void exchange_run(exchange_rank_t *ranks, size_t bytes, size_t chunk, bool halves,
                         long calls, double medians[RANKS])
{
    pthread_barrier_t barrier;
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, RANKS);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].bytes = bytes;
        ranks[r].chunk = chunk;
        ranks[r].halves = halves;
        ranks[r].calls = calls;
        ranks[r].barrier = &barrier;
    }
    if (pthread_create(&other, NULL, exchange_calls, &ranks[1]) != 0) {
        fprintf(stderr, "memory_exchange: no thread\n");
        exit(1);
    }
    exchange_calls(&ranks[0]);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&barrier);
    for (int r = 0; r < RANKS; r++) {
        const float *sum = (const float *)(const void *)ranks[r].out;
        if (sum[0] != 3 || sum[bytes / sizeof(float) - 1] != 3) { /* 1 of rank 0, 2 of rank 1 */
            fprintf(stderr, "memory_exchange: wrong sum of %zu bytes\n", bytes);
            exit(1);
        }
        memset(ranks[r].out, 0, bytes);
        qsort(ranks[r].times, (size_t)calls, sizeof(double), ascending);
        medians[r] = ranks[r].times[calls / 2];
    }
}

static void exchange_size(exchange_rank_t *ranks, size_t bytes, double seconds)
{
    const size_t chunks[] = {1024, 4096, 16384, SLOT};
    const size_t kinds = 2 * sizeof chunks / sizeof *chunks;
    double best[RANKS] = {0}, found[RANKS];
    for (size_t k = 0; k < kinds; k++) {
        const bool halves = k % 2 != 0;
        if (k > 1 && chunks[k / 2 - 1] >= bytes) {
            continue; /* a call is one chunk already */
        }
        exchange_run(ranks, bytes, chunks[k / 2], halves, TRY, found);
        double fit = seconds * 1e6 / (double)kinds / (found[0] > 0.1 ? found[0] : 0.1);
        exchange_run(ranks, bytes, chunks[k / 2], halves,
                     fit < TRY    ? TRY
                     : fit > MOST ? MOST
                                  : (long)fit,
                     found);
        if (best[0] == 0 || found[0] + found[1] < best[0] + best[1]) {
            memcpy(best, found, sizeof best);
        }
    }
    for (int r = 0; r < RANKS; r++) {
        printf("%d %zu %.4f\n", r, bytes, best[r]);
    }
    fflush(stdout);
}

static void *exchange_alloc(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory) {
        fprintf(stderr, "memory_exchange: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memset(memory, 0, bytes);
}

int main(int argc, char **argv)
{
    if (argc < 4 || sysconf(_SC_NPROCESSORS_ONLN) < RANKS) {
        fprintf(stderr, "usage: memory_exchange SPAN SECONDS BYTES… (on %d cores and more)\n",
                RANKS);
        return 2;
    }
    size_t span = (size_t)atoll(argv[1]);
    exchange_rank_t *ranks = exchange_alloc(RANKS * sizeof *ranks);
    exchange_fifo_t *fifo = exchange_alloc(RANKS * sizeof *fifo);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].first = r == 0;
        ranks[r].mine = &fifo[r];
        ranks[r].theirs = &fifo[1 - r];
        ranks[r].in = exchange_alloc(span);
        ranks[r].out = exchange_alloc(span);
        ranks[r].span = span;
        for (size_t i = 0; i < span / sizeof(float); i++) {
            ((float *)(void *)ranks[r].in)[i] = (float)(r + 1);
        }
    }
    for (int i = 3; i < argc; i++) {
        size_t bytes = (size_t)atoll(argv[i]);
        if (bytes < RANKS * sizeof(float) || bytes > span) {
            fprintf(stderr, "memory_exchange: %s bytes do not fit into a span of %zu\n", argv[i],
                    span);
            return 2;
        }
        exchange_size(ranks, bytes, atof(argv[2]));
    }
    return 0;
}
