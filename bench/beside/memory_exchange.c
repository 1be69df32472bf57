/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an all-reduce of two ranks takes that see nothing of each other but slots: each copies its
 * input into slots in chunks, and adds what the other put into its slots. Nothing is checked,
 * chosen or called, and nobody sleeps. The fastest of several lengths of chunks counts.
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
#define TRY 20 /* iterations by which the time of one is estimated */

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

/* Puts chunks while there are slots, `sent` of the call's bytes so far. */
static size_t exchange_put(exchange_rank_t *me, const char *in, size_t sent)
{
    while (sent < me->bytes &&
           me->put - atomic_load_explicit(&me->mine->taken, memory_order_acquire) < SLOTS) {
        size_t part = me->bytes - sent < me->chunk ? me->bytes - sent : me->chunk;
        unsigned long at = me->put++ % SLOTS;
        memcpy(me->mine->slot[at], in + sent, part);
        atomic_store_explicit(&me->mine->flag[at].put, me->put, memory_order_release);
        sent += part;
    }
    return sent;
}

static void exchange_call(exchange_rank_t *me, size_t offset)
{
    const char *in = me->in + offset;
    size_t sent = 0;
    for (size_t done = 0; done < me->bytes; done += me->chunk) {
        size_t part = me->bytes - done < me->chunk ? me->bytes - done : me->chunk;
        unsigned long at = me->got++ % SLOTS;
        sent = exchange_put(me, in, sent);
        while (atomic_load_explicit(&me->theirs->flag[at].put, memory_order_acquire) != me->got) {
        }
        exchange_add((float *)(void *)(me->out + offset + done),
                     (const float *)(const void *)(in + done),
                     (const float *)(const void *)me->theirs->slot[at], part / sizeof(float));
        atomic_store_explicit(&me->theirs->taken, me->got, memory_order_release);
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
static void exchange_run(exchange_rank_t *ranks, size_t bytes, size_t chunk, long calls,
                         double medians[RANKS])
{
    pthread_barrier_t barrier;
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, RANKS);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].bytes = bytes;
        ranks[r].chunk = chunk;
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
    const size_t kinds = sizeof chunks / sizeof *chunks;
    double best[RANKS] = {0}, found[RANKS];
    for (size_t k = 0; k < kinds; k++) {
        if (k > 0 && chunks[k - 1] >= bytes) {
            continue; /* a call is one chunk already */
        }
        exchange_run(ranks, bytes, chunks[k], TRY, found);
        double fit = seconds * 1e6 / (double)kinds / (found[0] > 0.1 ? found[0] : 0.1);
        exchange_run(ranks, bytes, chunks[k],
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
        if (bytes < sizeof(float) || bytes > span) {
            fprintf(stderr, "memory_exchange: %s bytes do not fit into a span of %zu\n", argv[i],
                    span);
            return 2;
        }
        exchange_size(ranks, bytes, atof(argv[2]));
    }
    return 0;
}
