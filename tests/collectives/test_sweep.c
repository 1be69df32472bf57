/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correctness sweep: every collective × data type × operator × count × in and out of place, bit-exact
 * against an independent reference, for one number of ranks and one set of transports:
 * mixed: full, with ranks in two domains of shared memory joined by the next transport of the list.
 *   test-collectives-sweep RANKS threads|processes full|large|mixed section.key=value… */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/ranks.h"
#include "tests/support/values.h"

static const uint64_t small_counts[] = {0, 1, 2, 3, 7, 16, 65, 1000, 4099};
static const uint64_t large_counts[] = {65537, 1u << 20};

typedef struct sweep_case {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint64_t count;
    uint32_t root;
    int in_place;
} sweep_case_t;

typedef struct buffers {
    uint8_t *send, *recv, *expected; /* send and recv may alias */
    size_t send_bytes, recv_bytes;
    int checks; /* this rank's recv has a defined result */
} buffers_t;

static int reduces(weft_coll_t coll)
{
    return coll == WEFT_ALL_REDUCE || coll == WEFT_REDUCE || coll == WEFT_REDUCE_SCATTER;
}

/* Element j of rank r's send buffer, as a number. */
static double input(const sweep_case_t *c, uint32_t n, uint32_t r, uint64_t j)
{
    return reduces(c->coll) ? values_input(c->dtype, c->op, n, r, j)
                            : (double)((r * 31 + j * 7) % 7);
}

static double output(const sweep_case_t *c, uint32_t n, uint32_t rank, uint64_t j)
{
    switch (c->coll) {
    case WEFT_ALL_REDUCE:
    case WEFT_REDUCE:
        return values_reduced(c->dtype, c->op, n, j);
    case WEFT_REDUCE_SCATTER:
        return values_reduced(c->dtype, c->op, n, rank * c->count + j);
    case WEFT_ALL_GATHER:
        return input(c, n, (uint32_t)(j / c->count), j % c->count);
    default:
        return input(c, n, c->root, j);
    }
}

static void *take(size_t bytes)
{
    void *memory = malloc(bytes + 64);
    assert_non_null(memory);
    return memset(memory, 0x5a, bytes + 64);
}

static void prepare(const sweep_case_t *c, uint32_t n, uint32_t rank, buffers_t *b)
{
    size_t elem = weft_dtype_size(c->dtype);
    uint64_t in = c->coll == WEFT_REDUCE_SCATTER ? n * c->count : c->count;
    uint64_t out = c->coll == WEFT_ALL_GATHER ? n * c->count : c->count;
    b->send_bytes = in * elem;
    b->recv_bytes = out * elem;
    b->checks = c->coll != WEFT_REDUCE || rank == c->root;
    b->expected = take(b->recv_bytes);
    b->recv = take(b->recv_bytes > b->send_bytes ? b->recv_bytes : b->send_bytes);
    if (!c->in_place) {
        b->send = take(b->send_bytes);
    } else if (c->coll == WEFT_REDUCE_SCATTER) {
        b->send = b->recv;
        b->recv = b->send + rank * c->count * elem;
    } else {
        b->send = b->recv + (c->coll == WEFT_ALL_GATHER ? rank * c->count * elem : 0);
    }
    for (uint64_t j = 0; j < in; j++) {
        values_put(b->send, j, c->dtype, input(c, n, rank, j));
    }
    for (uint64_t j = 0; b->checks && j < out; j++) {
        values_put(b->expected, j, c->dtype, output(c, n, rank, j));
    }
}

static void release(const sweep_case_t *c, buffers_t *b)
{
    free(b->expected);
    if (!c->in_place) {
        free(b->send);
        free(b->recv);
    } else {
        free(b->send < b->recv ? b->send : b->recv);
    }
}

static weft_status_t call(const sweep_case_t *c, const buffers_t *b, weft_comm_t *comm,
                          const weft_call_t *options)
{
    switch (c->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(b->send, b->recv, c->count, c->dtype, c->op, comm, options);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(b->send, b->recv, c->count, c->dtype, c->op, comm, options);
    case WEFT_ALL_GATHER:
        return weft_all_gather(b->send, b->recv, c->count, c->dtype, comm, options);
    case WEFT_BROADCAST:
        return weft_broadcast(b->send, b->recv, c->count, c->dtype, c->root, comm, options);
    case WEFT_REDUCE:
        return weft_reduce(b->send, b->recv, c->count, c->dtype, c->op, c->root, comm, options);
    default:
        return weft_barrier(comm, options);
    }
}

static int run_case(const sweep_case_t *c, weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    buffers_t b;
    uint8_t scalar[8];
    values_put(scalar, 0, c->dtype, values_scalar(rank));
    weft_call_t options = {.size = sizeof options, .scalar = scalar};
    prepare(c, n, rank, &b);
    weft_status_t status = call(c, &b, comm, &options);
    int wrong = status != WEFT_OK || (b.checks && memcmp(b.recv, b.expected, b.recv_bytes) != 0) ||
                (b.recv[b.recv_bytes] != 0x5a && !c->in_place);
    if (wrong) {
        fprintf(stderr, "rank %u of %u: %s %s %s count %llu root %u in place %d: %s\n", rank, n,
                weft_coll_name(c->coll), weft_dtype_name(c->dtype), weft_op_name(c->op),
                (unsigned long long)c->count, c->root, c->in_place, weft_status_name(status));
    }
    release(c, &b);
    return wrong;
}

/* All operators where there is a reduction, one otherwise. */
static int run_counts(sweep_case_t c, weft_comm_t *comm, uint32_t rank, uint32_t n,
                      const uint64_t *counts, size_t ncounts)
{
    unsigned ops = reduces(c.coll) ? WEFT_OP_COUNT : 1;
    int wrong = 0;
    for (unsigned op = 0; op < ops && wrong == 0; op++) {
        for (size_t i = 0; i < ncounts * 2 && wrong == 0; i++) {
            c.op = (weft_op_t)op;
            c.count = counts[i / 2];
            c.in_place = i % 2 != 0;
            c.root = (uint32_t)(i + op) % n;
            wrong += run_case(&c, comm, rank, n);
        }
    }
    return wrong;
}

static int work_full(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)arg;
    for (unsigned coll = 0; coll < WEFT_BARRIER; coll++) {
        for (unsigned dtype = 0; dtype < WEFT_DTYPE_COUNT && wrong == 0; dtype++) {
            sweep_case_t c = {.coll = (weft_coll_t)coll, .dtype = (weft_dtype_t)dtype};
            wrong += run_counts(c, comm, rank, n, small_counts,
                                sizeof small_counts / sizeof *small_counts);
        }
    }
    return wrong != 0 || weft_barrier(comm, NULL) != WEFT_OK;
}

static int work_large(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const weft_dtype_t dtypes[] = {WEFT_FP32, WEFT_BF16, WEFT_UINT8};
    int wrong = 0;
    (void)arg;
    for (unsigned coll = 0; coll < WEFT_BARRIER; coll++) {
        for (unsigned d = 0; d < 3 && wrong == 0; d++) {
            sweep_case_t c = {.coll = (weft_coll_t)coll, .dtype = dtypes[d]};
            wrong += run_counts(c, comm, rank, n, large_counts, 2);
        }
    }
    return wrong != 0;
}

static ranks_job_t job;
static int by_threads;

static void every_result_is_bit_exact(void **state)
{
    (void)state;
    int failed = by_threads ? ranks_run_threads(&job) : ranks_run_processes(&job, 280, -1);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s RANKS threads|processes full|large|mixed [section.key=value…]\n",
                argv[0]);
        return 2;
    }
    by_threads = strcmp(argv[2], "threads") == 0;
    job = (ranks_job_t){.nranks = (uint32_t)strtoul(argv[1], NULL, 10),
                        .work = strcmp(argv[3], "large") == 0 ? work_large : work_full,
                        .domains = strcmp(argv[3], "mixed") == 0 ? 2 : 0,
                        .settings = (const char *const *)argv + 4,
                        .settings_count = (uint32_t)(argc - 4)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_result_is_bit_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
