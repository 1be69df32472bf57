/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stepped runs: short calls by plans without loops go step by step, with all threads of a block;
 * whatever is not as they expect is the leader's, wherever the run has got to: ranks whose host
 * runs its part, windows, long calls, calls that differ, ranks that stay away. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/sums.h"
#include "tests/support/unit.h"

enum { BYTES = 256 << 10 };

#define COMMON                                                                                     \
    "core.net=net-shm", "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),    \
        "exec.wait=sleep", "plan.channel_bytes=64"
static const char *const settings[][8] = {
    {COMMON, "exec.op_timeout=20s", "core.algo=algo-flat", "plan.channels=2"},
    {COMMON, "exec.op_timeout=20s", "core.algo=algo-direct", "plan.channels=2"},
    {COMMON, "exec.op_timeout=2s", "core.algo=algo-direct", "plan.channels=2"}};
enum { ONE_SHOT, TWO_SHOT, SOON };

static pthread_barrier_t barrier;

static int run_with(int how, uint32_t n, const char *const *odd, ranks_work_t work, void *arg)
{
    ranks_job_t job = {.nranks = n,
                       .settings = settings[how],
                       .settings_count = 8,
                       .odd = odd,
                       .work = work,
                       .arg = arg};
    fake_cuda.counts = true;
    pthread_barrier_init(&barrier, NULL, n);
    const int wrong = ranks_run_threads(&job);
    pthread_barrier_destroy(&barrier);
    fake_cuda.counts = false;
    return wrong;
}

/* A rank's memory: of the device, and of the host, which a device cannot reach. */
typedef struct desk {
    weft_comm_t *comm;
    uint32_t rank, n;
    uint8_t *in, *out, *host, *host_out;
} desk_t;

static int desk_open(desk_t *d, weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    int wrong = 0;
    *d = (desk_t){.comm = comm, .rank = rank, .n = n, .host = malloc(BYTES)};
    d->host_out = malloc(BYTES);
    NEED(weft_mem_alloc_device(comm, BYTES, (void **)&d->in) == WEFT_OK);
    NEED(weft_mem_alloc_device(comm, BYTES, (void **)&d->out) == WEFT_OK);
    return wrong;
}

static int desk_close(desk_t *d)
{
    const uint32_t rank = d->rank;
    int wrong = 0;
    NEED(weft_mem_free(d->comm, d->in) == WEFT_OK && weft_mem_free(d->comm, d->out) == WEFT_OK);
    free(d->host);
    free(d->host_out);
    return wrong;
}

/* An all-reduce of elements that begin `skew` bytes behind an aligned address, by the host or the
 * device. Returns whether the sums are right, and nothing behind them was touched. */
static bool reduces(desk_t *d, uint32_t count, uint32_t round, uint32_t skew, bool by_host)
{
    int32_t *values = (int32_t *)(void *)d->host;
    uint8_t *in = by_host ? d->host : d->in + skew, *out = by_host ? d->host_out : d->out + skew;
    const int32_t guard = 0x5a5a5a5a;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = sums_value(d->rank, round, i);
    }
    good = weft_mem_copy(d->comm, out + 4 * (size_t)count, &guard, 4) == WEFT_OK &&
           (by_host || weft_mem_copy(d->comm, in, values, 4 * (size_t)count) == WEFT_OK) &&
           weft_all_reduce(in, out, count, WEFT_INT32, WEFT_SUM, d->comm, NULL) == WEFT_OK &&
           weft_mem_copy(d->comm, values, out, 4 * (size_t)count + 4) == WEFT_OK;
    for (uint32_t i = 0; i < count; i++) {
        good = good && values[i] == sums_all(d->n, round, i);
    }
    return good && values[count] == guard;
}

/* Blocks of all ranks that went stepped through in what all of them do between two of these. */
static uint32_t stepped_now(void)
{
    pthread_barrier_wait(&barrier);
    const uint32_t now = atomic_load(&fake_cuda.stepped);
    pthread_barrier_wait(&barrier);
    return now;
}

/* Lengths in headers, words, lines; whole parts of words or not; aligned or not. */
static int short_calls(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t counts[] = {1, 2, 3, 8, 9, 33, 1000, 1001, 4100, 8001};
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    for (uint32_t i = 0; i < 20 && wrong == 0; i++) {
        const uint32_t before = stepped_now();
        NEED(reduces(&d, counts[i % 10], i, i >= 10 ? 4 : 0, false));
        const uint32_t blocks = stepped_now() - before;
        NEED(blocks >= n && blocks <= 2 * n && blocks % n == 0);
    }
    return wrong + desk_close(&d);
}

static void short_calls_go_step_by_step(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 5; n++) {
        assert_int_equal(run_with(ONE_SHOT, n, NULL, short_calls, NULL), 0);
        assert_int_equal(run_with(TWO_SHOT, n, NULL, short_calls, NULL), 0);
    }
}

/* Through slots, or in more than a pass. */
static int long_calls(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    const uint32_t before = stepped_now();
    NEED(reduces(&d, 60000, 1, 0, false));
    NEED(stepped_now() == before);
    NEED(reduces(&d, 100, 2, 0, false));
    NEED(stepped_now() > before);
    return wrong + desk_close(&d);
}

static void long_calls_are_the_leaders(void **state)
{
    (void)state;
    assert_int_equal(run_with(ONE_SHOT, 2, NULL, long_calls, NULL), 0);
    assert_int_equal(run_with(ONE_SHOT, 3, NULL, long_calls, NULL), 0);
}

/* In each round some ranks have buffers that only their hosts reach: their peers may have done some
 * steps when they find that. Devices show stores in any order. */
static int take_turns(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t counts[] = {1, 8, 9, 100, 3000, 8000};
    uint32_t random = rank + 1;
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    for (uint32_t round = 0; round < 30 && wrong == 0; round++) {
        random = random * 1664525u + 1013904223u;
        NEED(reduces(&d, counts[round % 6], round, random >> 19 & 4, (random >> 24 & 3) == 0));
    }
    return wrong + desk_close(&d);
}

static void hosts_and_devices_take_turns(void **state)
{
    (void)state;
    fake_cuda.not_pageable = fake_cuda.reorders = true;
    for (uint32_t n = 2; n <= 4; n++) {
        assert_int_equal(run_with(ONE_SHOT, n, NULL, take_turns, NULL), 0);
        assert_int_equal(run_with(TWO_SHOT, n, NULL, take_turns, NULL), 0);
    }
    fake_cuda.not_pageable = fake_cuda.reorders = false;
}

static int differ(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    (void)arg;
    NEED(reduces(&d, 100, 1, 0, false));
    NEED(weft_all_reduce(d.in, d.out, rank == 0 ? 100 : 101, WEFT_INT32, WEFT_SUM, comm, NULL) ==
         WEFT_ERR_MISMATCH);
    NEED(ranks_error_says(WEFT_ERR_MISMATCH, "operation 2 differs between rank"));
    return wrong + desk_close(&d);
}

static void calls_that_differ_are_found(void **state)
{
    (void)state;
    assert_int_equal(run_with(ONE_SHOT, 2, NULL, differ, NULL), 0);
    assert_int_equal(run_with(TWO_SHOT, 3, NULL, differ, NULL), 0);
}

static int stay_away(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t who = *(const uint32_t *)arg;
    char words[32];
    desk_t d;
    int wrong = desk_open(&d, comm, rank, n);
    NEED(reduces(&d, who == 1 ? 1 : 3000, 1, 0, false));
    if (rank != who) {
        snprintf(words, sizeof words, "rank %u", who);
        NEED(!reduces(&d, who == 1 ? 1 : 3000, 2, 0, false));
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, words));
    }
    pthread_barrier_wait(&barrier);
    return wrong + desk_close(&d);
}

static void who_stays_away_is_named(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 2; who++) {
        assert_int_equal(run_with(SOON, 2, NULL, stay_away, &who), 0);
        assert_int_equal(run_with(SOON, 4, NULL, stay_away, &who), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_calls_go_step_by_step), cmocka_unit_test(long_calls_are_the_leaders),
        cmocka_unit_test(hosts_and_devices_take_turns),
        cmocka_unit_test(calls_that_differ_are_found), cmocka_unit_test(who_stays_away_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
