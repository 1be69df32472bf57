/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short collectives of a group that are alike run as one call: with the results that they have one
 * by one, and with fewer operations. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { CALLS = 6, MOST = 16, RANKS_MOST = 4, ROOM = CALLS * MOST * RANKS_MOST };

static const uint64_t counts[CALLS] = {3, 0, 7, 1, MOST, 2};

/* The buffers of the calls, each as large as any collective needs. */
typedef struct buffers {
    int32_t send[ROOM], recv[ROOM];
} buffers_t;

static void fill(buffers_t *b, uint32_t rank)
{
    for (int32_t i = 0; i < ROOM; i++) {
        b->send[i] = (i * 31 + (int32_t)rank * 1009) % 257;
        b->recv[i] = -1;
    }
}

/* Call `i` of a collective, in place where `in_place` says so. */
static weft_status_t call(weft_coll_t coll, buffers_t *b, int i, bool in_place, weft_comm_t *comm,
                          const weft_call_t *options)
{
    uint32_t n, rank;
    const uint64_t count = counts[i];
    int32_t *send = b->send + (size_t)i * MOST * RANKS_MOST;
    int32_t *recv = in_place ? send : b->recv + (size_t)i * MOST * RANKS_MOST;
    weft_comm_size(comm, &n);
    weft_comm_rank(comm, &rank);
    const uint32_t root = n - 1;
    switch (coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(send, recv, count, WEFT_INT32, WEFT_SUM, comm, options);
    case WEFT_BROADCAST:
        return weft_broadcast(send, recv, count, WEFT_INT32, root, comm, options);
    case WEFT_REDUCE:
        return weft_reduce(send, recv, count, WEFT_INT32, WEFT_MAX, root, comm, options);
    case WEFT_ALL_GATHER:
        return weft_all_gather(in_place ? recv + rank * count : send, recv, count, WEFT_INT32, comm,
                               options);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(send, in_place ? send + rank * count : recv, count, WEFT_INT32,
                                   WEFT_SUM, comm, options);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(send, recv, count, WEFT_INT32, comm, options);
    case WEFT_GATHER:
        return weft_gather(in_place && rank == root ? recv + rank * count : send, recv, count,
                           WEFT_INT32, root, comm, options);
    default:
        return weft_scatter(send, in_place && rank == root ? send + rank * count : recv, count,
                            WEFT_INT32, root, comm, options);
    }
}

/* All calls of a collective one by one, then in a group: with the same results. */
static int compare(weft_coll_t coll, bool in_place, weft_comm_t *comm, uint32_t rank)
{
    static _Thread_local buffers_t apart, fused;
    int wrong = 0;
    fill(&apart, rank);
    fill(&fused, rank);
    for (int i = 0; i < CALLS; i++) {
        NEED(call(coll, &apart, i, in_place, comm, NULL) == WEFT_OK);
    }
    NEED(weft_group_start() == WEFT_OK);
    for (int i = 0; i < CALLS; i++) {
        NEED(call(coll, &fused, i, in_place, comm, NULL) == WEFT_OK);
    }
    NEED(weft_group_end() == WEFT_OK);
    NEED(memcmp(&apart, &fused, sizeof apart) == 0);
    return wrong;
}

static const weft_coll_t colls[] = {WEFT_ALL_REDUCE,     WEFT_BROADCAST,  WEFT_REDUCE,
                                    WEFT_ALL_GATHER,     WEFT_ALL_TO_ALL, WEFT_GATHER,
                                    WEFT_REDUCE_SCATTER, WEFT_SCATTER};

enum { COLLS = sizeof colls / sizeof *colls };

/* Ends the communicator by calls of which no two are alike, which tell how many there were. */
static uint64_t operations(weft_comm_t *comm, uint32_t rank)
{
    int32_t x[RANKS_MOST] = {0};
    weft_error_t error = {.size = sizeof error};
    (void)weft_all_reduce(x, x, 1 + rank, WEFT_INT32, WEFT_SUM, comm, NULL);
    (void)weft_comm_error(comm, &error);
    return error.sequence;
}

static int have_the_same_results(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)n;
    (void)arg;
    for (int i = 0; i < COLLS; i++) {
        wrong += compare(colls[i], false, comm, rank);
        wrong += compare(colls[i], true, comm, rank);
    }
    NEED(operations(comm, rank) == 2 * COLLS * (CALLS + 1) + 1);
    return wrong;
}

static weft_status_t sum(int32_t *send, int32_t *recv, weft_comm_t *comm, const weft_call_t *call)
{
    return weft_all_reduce(send, recv, 1, WEFT_INT32, WEFT_SUM, comm, call);
}

/* What needs a result of the group, and what is not alike, stays an operation of its own. */
static int stay_apart(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t a = 1, b = 0, c = 0, d = (int32_t)rank, most = -1;
    float half = 0.5F, third = 1.0F / 3, x = 6, halves = 0, thirds = 0;
    const weft_call_t by_half = {.size = sizeof by_half, .scalar = &half};
    const weft_call_t by_third = {.size = sizeof by_third, .scalar = &third};
    const int32_t ranks = (int32_t)n;
    int wrong = 0;
    (void)arg;
    NEED(weft_group_start() == WEFT_OK);
    NEED(sum(&a, &b, comm, NULL) == WEFT_OK);
    NEED(sum(&b, &c, comm, NULL) == WEFT_OK); /* needs what the first one writes */
    NEED(weft_all_reduce(&d, &most, 1, WEFT_INT32, WEFT_MAX, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&x, &halves, 1, WEFT_FP32, WEFT_PREMULSUM, comm, &by_half) == WEFT_OK);
    NEED(weft_all_reduce(&x, &thirds, 1, WEFT_FP32, WEFT_PREMULSUM, comm, &by_third) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(b == ranks && c == ranks * ranks && most == ranks - 1);
    NEED(halves == 3 * (float)n && thirds == 2 * (float)n);
    NEED(operations(comm, rank) == 5 + 1);
    return wrong;
}

static void take_larger(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    (void)dtype;
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        const int32_t mine = ((const int32_t *)inout)[i], other = ((const int32_t *)in)[i];
        ((int32_t *)inout)[i] = mine > other ? mine : other;
    }
}

/* Calls of two communicators in turns, with an operator of the user and messages between them. */
static int meet_others(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t x[4] = {(int32_t)rank, 5 - (int32_t)rank, 7, (int32_t)rank}, y[4] = {0}, got = -1;
    weft_comm_t *other = NULL;
    weft_op_t larger;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_dup(comm, &other) == WEFT_OK);
    NEED(weft_op_create(comm, take_larger, NULL, &larger) == WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(x, y, 1, WEFT_INT32, larger, comm, NULL) == WEFT_OK);
    NEED(sum(x + 2, y + 2, other, NULL) == WEFT_OK);
    NEED(weft_send(&rank, 1, WEFT_INT32, (rank + 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_recv(&got, 1, WEFT_INT32, (rank + n - 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(x + 1, y + 1, 1, WEFT_INT32, larger, comm, NULL) == WEFT_OK);
    NEED(sum(x + 3, y + 3, other, NULL) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(y[0] == (int32_t)n - 1 && y[1] == 5 && y[2] == 7 * (int32_t)n);
    NEED(y[3] == (int32_t)(n * (n - 1) / 2) && got == (int32_t)((rank + n - 1) % n));
    NEED(weft_op_destroy(comm, larger) == WEFT_OK);
    NEED(operations(comm, rank) == 2 + 1); /* the dup is one, too */
    NEED(operations(other, rank) == 1 + 1);
    NEED(weft_comm_destroy(other) == WEFT_OK);
    return wrong;
}

/* Each call ends as it was to end: with its own request, with the group's, or in its order. */
static int end_as_called(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t x[4] = {1, 2, 3, 4}, y[4] = {0};
    weft_request_t *own = NULL, *whole = NULL;
    const weft_call_t with_own = {.size = sizeof with_own, .request_p = &own};
    const weft_call_t with_whole = {.size = sizeof with_whole, .request_p = &whole};
    int wrong = 0;
    (void)arg;
    /* The one before it is under way, and writes what a call of the group reads. */
    NEED(sum(x, x + 1, comm, &with_own) == WEFT_OK);
    weft_request_t *before = own;
    NEED(weft_group_start() == WEFT_OK);
    NEED(sum(x + 1, y + 1, comm, NULL) == WEFT_OK);
    NEED(sum(x + 2, y + 2, comm, &with_own) == WEFT_OK);
    NEED(sum(x + 3, y + 3, comm, NULL) == WEFT_OK);
    NEED(weft_group_end_async(&with_whole) == WEFT_OK);
    NEED(weft_request_wait(&whole) == WEFT_OK);
    NEED(weft_request_wait(&own) == WEFT_OK);
    NEED(weft_request_wait(&before) == WEFT_OK);
    NEED(y[1] == (int32_t)(n * n) && y[2] == 3 * (int32_t)n && y[3] == 4 * (int32_t)n);
    NEED(operations(comm, rank) == 2 + 1);
    return wrong;
}

/* A rank that does not come fails every call of the fusion, by the shortest of their deadlines. */
static int fail_together(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { REQUESTS = 3 };
    int32_t x[REQUESTS] = {1, 2, 3}, y[REQUESTS];
    weft_request_t *own[REQUESTS];
    int wrong = 0;
    (void)arg;
    NEED(sum(x, y, comm, NULL) == WEFT_OK); /* connects */
    if (rank == n - 1) {
        weft_error_t error = {.size = sizeof error};
        while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        return wrong;
    }
    NEED(weft_group_start() == WEFT_OK);
    for (int i = 0; i < REQUESTS; i++) {
        const weft_call_t call = {
            .size = sizeof call, .timeout = i == 1 ? 0.5 : 500, .request_p = &own[i]};
        NEED(sum(x + i, y + i, comm, &call) == WEFT_OK);
    }
    NEED(weft_group_end() == WEFT_OK);
    for (int i = 0; i < REQUESTS; i++) {
        NEED(weft_request_wait(&own[i]) < 0);
        NEED(rank > 0 || ranks_error_says(WEFT_ERR_TIMEOUT, "operation 2 (all_reduce of 3 int32)"));
    }
    return wrong;
}

/* Ranks whose groups end elsewhere are told, also where the counts are equal in sum. `arg` counts
 * who heard it from the rank that has fused its calls; a rank that waits may hear another first. */
static int name_other_groups(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t x[3] = {1, 1, 1}, y[3];
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    (void)n;
    NEED(weft_group_start() == WEFT_OK);
    if (rank == 0) {
        (void)weft_all_reduce(x, y, 2, WEFT_INT32, WEFT_SUM, comm, NULL);
        (void)weft_all_reduce(x + 2, y + 2, 1, WEFT_INT32, WEFT_SUM, comm, NULL);
    } else {
        (void)weft_all_reduce(x, y, 3, WEFT_INT32, WEFT_SUM, comm, NULL);
    }
    NEED(weft_group_end() == WEFT_ERR_MISMATCH);
    NEED(ranks_error_says(WEFT_ERR_MISMATCH, "or a group other calls"));
    (void)weft_last_error(&error);
    if (strstr(error.text, "here it is 2 calls of a group, fused") != NULL) {
        NEED(strstr(error.text, "between rank 0 (here)") != NULL);
        (*(atomic_int *)arg)++;
    }
    return wrong;
}

/* Without fusions they may. */
static int may_have_other_groups(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t x[2] = {1, 2}, y[2] = {0};
    int wrong = 0;
    (void)arg;
    NEED(rank != 0 || weft_group_start() == WEFT_OK);
    NEED(sum(x, y, comm, NULL) == WEFT_OK);
    NEED(sum(x + 1, y + 1, comm, NULL) == WEFT_OK);
    NEED(rank != 0 || weft_group_end() == WEFT_OK);
    NEED(y[0] == (int32_t)n && y[1] == 2 * (int32_t)n);
    return wrong;
}

static void run(ranks_work_t work, const char *setting, void *arg)
{
    for (uint32_t n = 2; n <= RANKS_MOST; n++) {
        const ranks_job_t shm = {
            .nranks = n, RANKS_SET("core.net=net-shm", setting), .work = work, .arg = arg};
        const ranks_job_t tcp = {
            .nranks = n, RANKS_SET("core.net=net-socket", setting), .work = work, .arg = arg};
        assert_int_equal(ranks_run_threads(&shm), 0);
        assert_int_equal(ranks_run_threads(&tcp), 0);
    }
}

#define CASE(name, work, setting)                                                                  \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        run(work, setting, NULL);                                                                  \
    }

CASE(fused_calls_have_the_same_results, have_the_same_results, "exec.fuse_bytes=0")
CASE(calls_that_differ_or_depend_stay_apart, stay_apart, "exec.fuse_bytes=0")
CASE(other_communicators_and_messages_part_no_fusion, meet_others, "exec.fuse_bytes=0")
CASE(fused_calls_end_as_they_were_called, end_as_called, "exec.fuse_bytes=0")
CASE(fused_calls_fail_together, fail_together, "exec.fuse_bytes=0")
CASE(without_fusions_groups_may_differ, may_have_other_groups, "exec.fuse_bytes=1")

static void other_groups_of_other_ranks_are_told(void **state)
{
    atomic_int heard = 0;
    (void)state;
    run(name_other_groups, "exec.fuse_bytes=0", &heard);
    assert_true(heard > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_calls_have_the_same_results),
        cmocka_unit_test(calls_that_differ_or_depend_stay_apart),
        cmocka_unit_test(other_communicators_and_messages_part_no_fusion),
        cmocka_unit_test(fused_calls_end_as_they_were_called),
        cmocka_unit_test(fused_calls_fail_together),
        cmocka_unit_test(other_groups_of_other_ranks_are_told),
        cmocka_unit_test(without_fusions_groups_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
