/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deterministic mode: an element's result has the same bits whatever the size of the message it is
 * in, how that is cut, which transport carries it, and which ranks share a host. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/ranks.h"
#include "tests/support/unit.h"

#define ELEMENTS 60000u

/* Bits of every element, from the first job that computed them; ranks of a job are threads. */
typedef struct table {
    uint32_t bits[ELEMENTS];
    int known;
    int differs; /* elements with other bits were seen */
    pthread_mutex_t lock;
} table_t;

typedef struct work {
    weft_coll_t coll;
    weft_dtype_t dtype;
    table_t *table;
} work_t;

static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Values of very different size, so that the order of a sum shows. */
static float value(uint32_t rank, uint64_t i)
{
    uint64_t x = scramble(i * 1000 + rank + 1);
    float mantissa = 1.0f + (float)(x & 0xfffff) / (float)0x100000;
    int shift = (int)(x >> 20 & 15);
    return (x >> 40 & 1 ? -mantissa : mantissa) * (float)(1 << shift);
}

/* Half and bfloat16 are the upper bits of what they should be: any bits will do, if they are
 * finite. */
static void put(void *buffer, weft_dtype_t dtype, uint64_t at, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dtype == WEFT_FP32) {
        ((float *)buffer)[at] = x;
    } else {
        ((uint16_t *)buffer)[at] = (uint16_t)(bits >> 16);
    }
}

static uint32_t get(const void *buffer, weft_dtype_t dtype, uint64_t at)
{
    return dtype == WEFT_FP32 ? ((const uint32_t *)buffer)[at] : ((const uint16_t *)buffer)[at];
}

static void compare(table_t *table, const void *out, weft_dtype_t dtype, uint64_t first,
                    uint64_t count)
{
    pthread_mutex_lock(&table->lock);
    for (uint64_t i = 0; i < count; i++) {
        table->differs += table->known && table->bits[first + i] != get(out, dtype, i);
        if (!table->known) {
            table->bits[first + i] = get(out, dtype, i);
        }
    }
    pthread_mutex_unlock(&table->lock);
}

static weft_status_t call(const work_t *w, weft_comm_t *comm, const void *in, void *out,
                          uint64_t count, uint32_t n)
{
    switch (w->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(in, out, count, w->dtype, WEFT_SUM, comm, NULL);
    case WEFT_REDUCE:
        return weft_reduce(in, out, count, w->dtype, WEFT_SUM, n - 1, comm, NULL);
    default:
        return weft_reduce_scatter(in, out, count, w->dtype, WEFT_SUM, comm, NULL);
    }
}

/* Elements first … first + count of the job's data; a reduce_scatter gives block r of them to rank
 * r. */
static int piece(const work_t *w, weft_comm_t *comm, uint32_t rank, uint32_t n, uint64_t first,
                 uint64_t count)
{
    int scatters = w->coll == WEFT_REDUCE_SCATTER;
    uint64_t all = scatters ? count * n : count;
    void *in = malloc(all * 4), *out = malloc(all * 4);
    if (in == NULL || out == NULL) {
        free(in);
        free(out);
        return 1;
    }
    for (uint64_t i = 0; i < all; i++) {
        put(in, w->dtype, i, value(rank, first + i));
    }
    weft_status_t status = call(w, comm, in, out, count, n);
    if (status == WEFT_OK && (w->coll != WEFT_REDUCE || rank == n - 1)) {
        compare(w->table, out, w->dtype, first + (scatters ? rank * count : 0), count);
    }
    free(in);
    free(out);
    return status != WEFT_OK;
}

/* The whole at first, then pieces of it, small ones and large ones, at odd places. */
static int work(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const work_t *w = arg;
    static const struct {
        uint32_t first, count;
    } pieces[] = {{0, 1}, {17, 3}, {59999, 1}, {1, 64}, {1000, 4097}, {12345, 30011}, {3, 20000}};
    uint64_t whole = ELEMENTS / n;
    int failed = piece(w, comm, rank, n, 0, w->coll == WEFT_REDUCE_SCATTER ? whole : ELEMENTS);
    if (!w->table->known) {
        /* All ranks have put their part in before anybody compares. */
        failed |= weft_barrier(comm, NULL) != WEFT_OK;
        pthread_mutex_lock(&w->table->lock);
        w->table->known = 1;
        pthread_mutex_unlock(&w->table->lock);
        failed |= weft_barrier(comm, NULL) != WEFT_OK;
    }
    for (uint32_t i = 0; i < sizeof pieces / sizeof pieces[0] && !failed; i++) {
        uint64_t first = pieces[i].first, count = pieces[i].count;
        if (w->coll == WEFT_REDUCE_SCATTER) {
            count = (count + n - 1) / n;
            first = first + count * n <= whole * n ? first : 0;
        }
        failed |= piece(w, comm, rank, n, first, count);
    }
    return failed;
}

/* Jobs on the same data that differ in everything that must not matter. Elements that differed. */
static int run_jobs(weft_coll_t coll, weft_dtype_t dtype, uint32_t n, const char *mode)
{
    static const struct {
        const char *net, *cut, *slots;
        uint32_t domains;
    } jobs[] = {{"core.net=net-shm", "exec.slot_bytes=0", "exec.slots=0", 0},
                {"core.net=net-socket", "exec.slot_bytes=0", "exec.slots=0", 0},
                {"core.net=net-shm net-socket", "exec.slot_bytes=4096", "exec.slots=8", 2},
                {"core.net=net-shm net-socket", "exec.slot_bytes=8192", "exec.slots=2", 3}};
    table_t *table = calloc(1, sizeof *table);
    assert_non_null(table);
    pthread_mutex_init(&table->lock, NULL);
    work_t w = {.coll = coll, .dtype = dtype, .table = table};
    for (uint32_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        const char *settings[] = {mode, jobs[i].net, jobs[i].cut, jobs[i].slots};
        ranks_job_t job = {.nranks = n,
                           .settings = settings,
                           .settings_count = 4,
                           .domains = jobs[i].domains < n ? jobs[i].domains : 0,
                           .work = work,
                           .arg = &w};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
    int differs = table->differs;
    pthread_mutex_destroy(&table->lock);
    free(table);
    return differs;
}

static void sums_have_the_same_bits_everywhere(void **state)
{
    static const uint32_t sizes[] = {2, 3, 5, 8};
    static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_REDUCE, WEFT_REDUCE_SCATTER};
    (void)state;
    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (uint32_t c = 0; c < 3; c++) {
            assert_int_equal(run_jobs(colls[c], WEFT_FP32, sizes[s], "plan.deterministic=yes"), 0);
        }
    }
}

/* Rounding after every combination of four makes narrow types tell more. */
static void narrow_sums_too(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(WEFT_ALL_REDUCE, WEFT_BF16, 7, "plan.deterministic=yes"), 0);
    assert_int_equal(run_jobs(WEFT_ALL_REDUCE, WEFT_FP16, 6, "plan.deterministic=yes"), 0);
}

/* A ring begins the sum of each chunk at another rank. */
static void without_the_mode_this_test_sees_other_bits(void **state)
{
    (void)state;
    assert_int_not_equal(run_jobs(WEFT_ALL_REDUCE, WEFT_FP32, 5, "core.algo=algo-ring"), 0);
}

static int refused(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float x = 1;
    weft_error_t error = {.size = sizeof error};
    (void)rank;
    (void)n;
    (void)arg;
    if (weft_all_reduce(&x, &x, 1, WEFT_FP32, WEFT_SUM, comm, NULL) != WEFT_ERR_UNSUPPORTED ||
        weft_last_error(&error) != WEFT_OK) {
        return 1;
    }
    return strstr(error.text, "deterministic") == NULL || strstr(error.text, "algo-ring") == NULL;
}

static void an_algorithm_that_cannot_is_refused(void **state)
{
    static const char *const settings[] = {"plan.deterministic=yes", "core.algo=algo-ring"};
    ranks_job_t job = {.nranks = 4, .settings = settings, .settings_count = 2, .work = refused};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_same_bits_everywhere),
        cmocka_unit_test(narrow_sums_too),
        cmocka_unit_test(without_the_mode_this_test_sees_other_bits),
        cmocka_unit_test(an_algorithm_that_cannot_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
