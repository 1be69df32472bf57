/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs do wrong: handles that have ended, numbers from nowhere in every function, ranks that do not
 * agree. The process has no CUDA, so calls return when they are complete. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"

enum { ROUNDS = 400, BYTES = 4096 };

static ncclComm_t make_single(void)
{
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
    return comm;
}

/* Every function ------------------------------------------------------------------------------------ */

/* One call's arguments: each is as good as what they are drawn from. */
typedef struct wild {
    uint64_t seed;
    ncclComm_t comms[5];
    char buffers[2][BYTES];
} wild_t;

static uint32_t wild_draw(wild_t *w)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->seed >> 33);
}

static ncclComm_t wild_comm(wild_t *w)
{
    return w->comms[wild_draw(w) % (sizeof w->comms / sizeof w->comms[0])];
}

/* A communicator that is none: for functions that would end it, or wait. */
static ncclComm_t wild_no_comm(wild_t *w)
{
    return w->comms[1 + wild_draw(w) % (sizeof w->comms / sizeof w->comms[0] - 1)];
}

static int wild_int(wild_t *w)
{
    static const int values[] = {INT_MIN, -2, -1, 0, 1, 2, 4, 5, 6, 11, 12, 13, 99, 4096, INT_MAX};
    return values[wild_draw(w) % (sizeof values / sizeof values[0])];
}

/* No rank of a communicator of one. */
static int wild_peer(wild_t *w)
{
    int peer = wild_int(w);
    return peer != 0 ? peer : 1;
}

/* What fits, and what nothing has. */
static size_t wild_count(wild_t *w)
{
    static const size_t values[] = {0, 1, 7, 512, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 4096};
    return values[wild_draw(w) % (sizeof values / sizeof values[0])];
}

static void *wild_buffer(wild_t *w)
{
    const uint32_t which = wild_draw(w) % 4;
    return which > 1 ? NULL : w->buffers[which];
}

static ncclDataType_t wild_dtype(wild_t *w)
{
    return (ncclDataType_t)wild_int(w);
}

static ncclRedOp_t wild_op(wild_t *w)
{
    return (ncclRedOp_t)wild_int(w);
}

static ncclConfig_t *wild_config(wild_t *w, ncclConfig_t *config)
{
    for (size_t i = 0; i < sizeof *config / sizeof(int); i++) {
        ((int *)config)[i] = wild_int(w);
    }
    config->size = wild_draw(w) % 2 == 0 ? sizeof *config : (size_t)wild_int(w);
    config->magic = wild_draw(w) % 2 == 0 ? NCCL_API_MAGIC : 0;
    config->netName = config->commName = NULL;
    config->blocking = 1;
    return wild_draw(w) % 3 == 0 ? NULL : config;
}

/* Call n of the collectives and messages. */
static ncclResult_t wild_operation(wild_t *w, int n)
{
    void *a = wild_buffer(w), *b = wild_buffer(w);
    size_t count = wild_count(w);
    ncclDataType_t t = wild_dtype(w);
    ncclRedOp_t op = wild_op(w);
    ncclComm_t comm = wild_comm(w);
    ncclCollConfig_t config = {.size = (size_t)wild_int(w), .magic = NCCL_API_MAGIC};
    switch (n) {
    case 0:
        return ncclAllReduce(a, b, count, t, op, comm, NULL);
    case 1:
        return ncclReduce(a, b, count, t, op, wild_int(w), comm, NULL);
    case 2:
        return ncclBroadcast(a, b, count, t, wild_int(w), comm, NULL);
    case 3:
        return ncclBcast(a, count, t, wild_int(w), comm, NULL);
    case 4:
        return ncclReduceScatter(a, b, count, t, op, comm, NULL);
    case 5:
        return ncclAllGather(a, b, count, t, comm, NULL);
    case 6:
        return ncclAlltoAll(a, b, count, t, comm, NULL);
    case 7:
        return ncclGather(a, b, count, t, wild_int(w), comm, NULL);
    case 8:
        return ncclScatter(a, b, count, t, wild_int(w), comm, NULL);
    case 9:
        return ncclSend(a, count, t, wild_peer(w), comm, NULL);
    case 10:
        return ncclRecv(b, count, t, wild_peer(w), comm, NULL);
    default:
        return ncclAllReduceConfig(a, b, count, t, op, comm, NULL, &config);
    }
}

/* Call n of those that make and end communicators. */
static ncclResult_t wild_life(wild_t *w, int n)
{
    ncclUniqueId id;
    ncclConfig_t config;
    ncclComm_t made[2] = {NULL, NULL}, *made_p = wild_draw(w) % 2 == 0 ? made : NULL;
    ncclConfig_t *config_p = wild_config(w, &config);
    int exclude[4] = {wild_int(w), wild_int(w), 1, 2};
    ncclResult_t result = ncclSuccess;
    memset(&id, (int)wild_draw(w), sizeof id);
    switch (n) {
    case 0:
        return ncclCommInitRank(made_p, wild_int(w), id, wild_int(w));
    case 1:
        return ncclCommInitRankConfig(made_p, wild_int(w), id, wild_int(w), config_p);
    case 2:
        /* More ids than there are would be read: none of these is one, so only the first is. */
        return ncclCommInitRankScalable(made_p, wild_int(w), wild_int(w), wild_int(w),
                                        wild_draw(w) % 2 == 0 ? &id : NULL, config_p);
    case 3:
        return ncclCommInitAll(made_p, wild_peer(w) > 0 ? -1 : INT_MAX, exclude);
    case 4:
        result = ncclCommSplit(wild_comm(w), wild_int(w), wild_int(w), made_p, config_p);
        break;
    case 5:
        result = ncclCommShrink(wild_comm(w), wild_draw(w) % 2 == 0 ? exclude : NULL, wild_int(w),
                                made_p, config_p, wild_int(w));
        break;
    case 6:
        return ncclCommGrow(wild_no_comm(w), wild_int(w), &id, wild_int(w), made_p, config_p);
    case 7:
        return ncclCommRevoke(wild_no_comm(w), wild_int(w));
    case 8:
        return ncclCommFinalize(wild_no_comm(w));
    case 9:
        return ncclCommDestroy(wild_no_comm(w));
    case 10:
        return ncclCommAbort(wild_no_comm(w));
    default:
        return ncclCommGetUniqueId(wild_comm(w), wild_draw(w) % 2 == 0 ? &id : NULL);
    }
    assert_int_equal(ncclCommDestroy(made[0]), ncclSuccess);
    return result;
}

/* Call n of the questions. */
static ncclResult_t wild_question(wild_t *w, int n)
{
    int number = 0, *number_p = wild_draw(w) % 2 == 0 ? &number : NULL;
    ncclResult_t async, *async_p = wild_draw(w) % 2 == 0 ? &async : NULL;
    ncclComm_t comm = wild_comm(w);
    ncclSimInfo_t info = {.size = (size_t)wild_int(w), .magic = NCCL_SIM_INFO_MAGIC};
    ncclCommProperties_t all = {.size = (size_t)wild_draw(w) % (sizeof all + 1),
                                .magic = NCCL_API_MAGIC};
    switch (n) {
    case 0:
        return ncclCommCount(comm, number_p);
    case 1:
        return ncclCommCuDevice(comm, number_p);
    case 2:
        return ncclCommUserRank(comm, number_p);
    case 3:
        return ncclCommGetAsyncError(comm, async_p);
    case 4:
        return ncclGetVersion(number_p);
    case 5:
        return ncclCommQueryProperties(comm, wild_draw(w) % 2 == 0 ? &all : NULL);
    case 6:
        number = ncclTeamRankToWorld(comm, ncclTeamLsa(comm), wild_int(w) % 8);
        return ncclTeamRail(comm).nRanks >= 0 ? ncclSuccess : ncclInternalError;
    case 7:
        assert_int_equal(ncclGroupStart(), ncclSuccess);
        return ncclGroupSimulateEnd(wild_draw(w) % 2 == 0 ? &info : NULL);
    case 8:
        return ncclGroupEnd();
    default:
        assert_non_null(ncclGetErrorString((ncclResult_t)wild_int(w)));
        assert_non_null(ncclGetLastError(comm));
        return ncclSuccess;
    }
}

/* Call n of those about memory and operators. */
static ncclResult_t wild_memory(wild_t *w, int n)
{
    void *memory = NULL, *handle = NULL, **handle_p = wild_draw(w) % 2 == 0 ? &handle : NULL;
    ncclWindow_t window = NULL, *window_p = wild_draw(w) % 2 == 0 ? &window : NULL;
    ncclWindow_t none = (ncclWindow_t)wild_comm(w); /* no window, whatever it is */
    ncclRedOp_t op = ncclSum, *op_p = wild_draw(w) % 2 == 0 ? &op : NULL;
    ncclComm_t comm = wild_comm(w);
    ncclResult_t result = ncclSuccess;
    switch (n) {
    case 0:
        result = ncclMemAlloc(wild_draw(w) % 2 == 0 ? &memory : NULL, wild_count(w) % BYTES);
        assert_int_equal(ncclMemFree(memory), ncclSuccess);
        return result;
    case 1:
        result = ncclCommRegister(comm, wild_buffer(w), wild_count(w), handle_p);
        assert_true(result != ncclSuccess || ncclCommDeregister(comm, handle) == ncclSuccess);
        return result;
    case 2:
        return ncclCommDeregister(comm, wild_buffer(w));
    case 3:
        result = ncclCommWindowRegister(comm, wild_buffer(w), wild_count(w), window_p, wild_int(w));
        assert_true(result != ncclSuccess || ncclCommWindowDeregister(comm, window) == ncclSuccess);
        return result;
    case 4:
        return ncclCommWindowDeregister(comm, none);
    case 5:
        return ncclWinGetUserPtr(comm, none, wild_draw(w) % 2 == 0 ? &memory : NULL);
    case 6:
        return ncclRedOpCreatePreMulSum(op_p, wild_buffer(w), wild_dtype(w),
                                        (ncclScalarResidence_t)wild_int(w), comm);
    default:
        return ncclRedOpDestroy(wild_op(w), comm);
    }
}

static void every_function_with_wild_arguments(void **state)
{
    static const struct {
        ncclResult_t (*call)(wild_t *w, int n);
        int calls;
    } families[] = {{wild_operation, 12}, {wild_life, 12}, {wild_question, 10}, {wild_memory, 8}};
    wild_t w = {.seed = 20};
    float one = 3;
    (void)state;
    w.comms[0] = make_single();
    w.comms[2] = make_single();
    assert_int_equal(ncclCommDestroy(w.comms[2]), ncclSuccess);
    w.comms[3] = (ncclComm_t)w.buffers;
    w.comms[4] = (ncclComm_t)((char *)w.comms[0] + 8);
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
            for (int n = 0; n < families[f].calls; n++) {
                const ncclResult_t result = families[f].call(&w, n);
                assert_in_range(result, ncclSuccess, ncclTimeout);
                assert_int_not_equal(result, ncclInternalError);
                assert_int_not_equal(result, ncclUnhandledCudaError);
            }
        }
    }
    /* It still works. */
    assert_int_equal(ncclAllReduce(&one, &one, 1, ncclFloat32, ncclSum, w.comms[0], NULL),
                     ncclSuccess);
    assert_int_equal(ncclCommDestroy(w.comms[0]), ncclSuccess);
}

/* Ends ---------------------------------------------------------------------------------------------- */

static void a_destroyed_communicator_is_none(void **state)
{
    ncclComm_t comm = make_single(), other = make_single();
    ncclWindow_t window = NULL;
    ncclResult_t async;
    char buffer[64];
    void *at;
    (void)state;
    assert_int_equal(ncclCommWindowRegister(comm, buffer, sizeof buffer, &window, 0), ncclSuccess);
    assert_int_equal(ncclCommWindowDeregister(other, window), ncclInvalidArgument);
    assert_int_equal(ncclCommWindowDeregister(comm, window), ncclSuccess);
    assert_int_equal(ncclCommWindowDeregister(comm, window), ncclInvalidArgument);
    assert_int_equal(ncclWinGetUserPtr(comm, window, &at), ncclInvalidArgument);
    assert_int_equal(ncclCommFinalize(comm), ncclSuccess);
    assert_int_equal(ncclCommFinalize(comm), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "finalized"));
    assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
    assert_int_equal(ncclCommDestroy(comm), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "destroyed"));
    assert_int_equal(ncclCommAbort(comm), ncclInvalidArgument);
    assert_int_equal(ncclCommGetAsyncError(comm, &async), ncclInvalidArgument);
    assert_int_equal(ncclAllReduce(buffer, buffer, 1, ncclInt8, ncclSum, comm, NULL),
                     ncclInvalidArgument);
    assert_int_equal(ncclCommDestroy(other), ncclSuccess);
}

static void no_communicator_can_be_ended(void **state)
{
    (void)state;
    assert_int_equal(ncclCommFinalize(NULL), ncclSuccess);
    assert_int_equal(ncclCommDestroy(NULL), ncclSuccess);
    assert_int_equal(ncclCommAbort(NULL), ncclSuccess);
}

/* Handles by the hundred, so that there are several blocks of them; each is its own. */
static void many_handles(void **state)
{
    enum { MANY = 70 };
    ncclComm_t comms[MANY];
    int number = -1;
    (void)state;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < MANY; i++) {
            comms[i] = make_single();
        }
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(ncclCommUserRank(comms[i], &number), ncclSuccess);
            assert_int_equal(ncclCommDestroy(comms[i]), ncclSuccess);
            assert_int_equal(ncclCommUserRank(comms[i], &number), ncclInvalidArgument);
        }
    }
}

/* A thread beside the one that gives the handles back. */
typedef struct crowd {
    ncclComm_t comm;
    ncclWindow_t window;
    _Atomic int ready, ended; /* threads; times that a handle was given back */
    _Atomic bool done;
} crowd_t;

/* Asks until it is told that nobody has the handle any longer, which this one may have given back. */
static void *crowd_ask(void *arg)
{
    crowd_t *crowd = arg;
    ncclResult_t async;
    void *at;
    int number;
    atomic_fetch_add(&crowd->ready, 1);
    while (!atomic_load(&crowd->done)) {
        (void)ncclCommUserRank(crowd->comm, &number);
        (void)ncclCommGetAsyncError(crowd->comm, &async);
        (void)ncclWinGetUserPtr(crowd->comm, crowd->window, &at);
        (void)ncclRedOpDestroy((ncclRedOp_t)99, crowd->comm);
    }
    return NULL;
}

static void *crowd_end(void *arg)
{
    crowd_t *crowd = arg;
    const int number = atomic_fetch_add(&crowd->ready, 1);
    while (atomic_load(&crowd->ready) < 3) {
    }
    (void)ncclCommWindowDeregister(crowd->comm, crowd->window);
    ncclResult_t result =
        number % 2 == 0 ? ncclCommAbort(crowd->comm) : ncclCommDestroy(crowd->comm);
    atomic_fetch_add(&crowd->ended, result == ncclSuccess ? 1 : 0);
    return NULL;
}

/* One of the threads gives the handle back; it ends once, and is then given to one communicator only. */
static void several_threads_give_back_one_handle(void **state)
{
    enum { AGAIN = 150 };
    char buffer[64];
    (void)state;
    for (int i = 0; i < AGAIN; i++) {
        crowd_t crowd = {.comm = make_single()};
        pthread_t asks, ends[2];
        assert_int_equal(
            ncclCommWindowRegister(crowd.comm, buffer, sizeof buffer, &crowd.window, 0),
            ncclSuccess);
        pthread_create(&asks, NULL, crowd_ask, &crowd);
        for (int t = 0; t < 2; t++) {
            pthread_create(&ends[t], NULL, crowd_end, &crowd);
        }
        for (int t = 0; t < 2; t++) {
            pthread_join(ends[t], NULL);
        }
        atomic_store(&crowd.done, true);
        pthread_join(asks, NULL);
        assert_int_equal(crowd.ended, 1);
        ncclComm_t next[2] = {make_single(), make_single()};
        assert_ptr_not_equal(next[0], next[1]);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(ncclCommDestroy(next[t]), ncclSuccess);
        }
    }
}

/* Ranks that do not agree --------------------------------------------------------------------------- */

typedef struct pair pair_t;
typedef struct pair_rank {
    pair_t *pair;
    int rank;
    ncclComm_t comm, other;
    ncclResult_t result;
    char text[512];
    double seconds;
} pair_rank_t;

struct pair {
    ncclUniqueId id, other_id;
    void (*work)(pair_rank_t *rank);
    pthread_barrier_t made;
    pair_rank_t ranks[2];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *pair_thread(void *arg)
{
    pair_rank_t *rank = arg;
    ncclResult_t made = ncclCommInitRank(&rank->comm, 2, rank->pair->id, rank->rank);
    made = made == ncclSuccess ? ncclCommInitRank(&rank->other, 2, rank->pair->other_id, rank->rank)
                               : made;
    pthread_barrier_wait(&rank->pair->made);
    rank->result = made;
    if (made == ncclSuccess) {
        const double start = now();
        rank->pair->work(rank);
        rank->seconds = now() - start;
        snprintf(rank->text, sizeof rank->text, "%s", ncclGetLastError(NULL));
    }
    return NULL;
}

/* Runs `work` on two ranks with two communicators. */
static void pair_run(pair_t *pair, void (*work)(pair_rank_t *rank))
{
    pthread_t threads[2];
    memset(pair, 0, sizeof *pair);
    assert_int_equal(ncclGetUniqueId(&pair->id), ncclSuccess);
    assert_int_equal(ncclGetUniqueId(&pair->other_id), ncclSuccess);
    pthread_barrier_init(&pair->made, NULL, 2);
    pair->work = work;
    for (int i = 0; i < 2; i++) {
        pair->ranks[i].pair = pair;
        pair->ranks[i].rank = i;
        pthread_create(&threads[i], NULL, pair_thread, &pair->ranks[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&pair->made);
}

static void other_counts(pair_rank_t *rank)
{
    float values[16] = {1};
    ncclGroupStart();
    (void)ncclAllReduce(values, values, rank->rank == 0 ? 4 : 8, ncclFloat32, ncclSum, rank->comm,
                        NULL);
    rank->result = ncclGroupEnd();
    (void)ncclCommAbort(rank->comm);
    (void)ncclCommAbort(rank->other);
}

static void groups_with_other_counts_name_them(void **state)
{
    pair_t pair;
    (void)state;
    pair_run(&pair, other_counts);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pair.ranks[i].result, ncclInvalidUsage);
        if (strstr(pair.ranks[i].text, "count") == NULL ||
            strstr(pair.ranks[i].text, i == 0 ? "rank 1" : "rank 0") == NULL) {
            fail_msg("rank %d: %s", i, pair.ranks[i].text);
        }
    }
}

static void abort_what_waits(pair_rank_t *rank)
{
    float value = 1;
    if (rank->rank == 0) { /* alone: rank 1 never calls */
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, rank->comm, NULL);
    } else {
        const struct timespec pause = {.tv_nsec = 200000000}; /* rank 0 waits by then, or will */
        nanosleep(&pause, NULL);
        rank->result = ncclCommAbort(rank->pair->ranks[0].comm);
    }
}

/* By another thread, as the watchdogs of programs do it. The handle ends with the call. */
static void abort_ends_a_call_that_waits(void **state)
{
    pair_t pair;
    int number;
    (void)state;
    pair_run(&pair, abort_what_waits);
    assert_int_equal(pair.ranks[1].result, ncclSuccess);
    /* Called a moment too late, the communicator is none. */
    if (pair.ranks[0].result != ncclRemoteError && pair.ranks[0].result != ncclInvalidArgument) {
        fail_msg("result %d: %s", pair.ranks[0].result, pair.ranks[0].text);
    }
    assert_true(pair.ranks[0].seconds < 5); /* and not the deadline's 10 */
    assert_int_equal(ncclCommUserRank(pair.ranks[0].comm, &number), ncclInvalidArgument);
    assert_int_equal(ncclCommAbort(pair.ranks[0].comm), ncclInvalidArgument);
    (void)ncclCommAbort(pair.ranks[1].comm);
    (void)ncclCommAbort(pair.ranks[0].other);
    (void)ncclCommAbort(pair.ranks[1].other);
}

static void call_in_opposite_order(pair_rank_t *rank)
{
    float value = 1;
    ncclComm_t first = rank->rank == 0 ? rank->comm : rank->other;
    ncclComm_t second = rank->rank == 0 ? rank->other : rank->comm;
    rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, first, NULL);
    if (rank->result == ncclSuccess) {
        rank->result = ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, second, NULL);
    }
    (void)ncclCommAbort(rank->comm);
    (void)ncclCommAbort(rank->other);
}

/* Two communicators of the same ranks, called the other way round: each waits for the other. The deadline
 * ends it, and names whom the ranks wait for. */
static void opposite_orders_end_in_an_error(void **state)
{
    pair_t pair;
    (void)state;
    pair_run(&pair, call_in_opposite_order);
    for (int i = 0; i < 2; i++) {
        if (pair.ranks[i].result != ncclTimeout && pair.ranks[i].result != ncclRemoteError &&
            pair.ranks[i].result != ncclInvalidUsage) {
            fail_msg("rank %d: %d %s", i, pair.ranks[i].result, pair.ranks[i].text);
        }
        assert_non_null(strstr(pair.ranks[i].text, i == 0 ? "rank 1" : "rank 0"));
    }
}

/* Groups that mix ----------------------------------------------------------------------------------- */

/* As NCCL_CONFIG_INITIALIZER makes it. */
static ncclConfig_t config_that_is_silent(void)
{
    ncclConfig_t config;
    for (size_t i = 0; i < sizeof config / sizeof(int); i++) {
        ((int *)&config)[i] = NCCL_CONFIG_UNDEF_INT;
    }
    config.size = sizeof config;
    config.magic = NCCL_API_MAGIC;
    config.version = 22800;
    config.netName = config.commName = NULL;
    return config;
}

static ncclConfig_t config_without_waiting(void)
{
    ncclConfig_t config = config_that_is_silent();
    config.blocking = 0;
    return config;
}

static ncclComm_t make_single_without_waiting(void)
{
    ncclConfig_t config = config_without_waiting();
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t state = ncclInProgress;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
    while (state == ncclInProgress) {
        assert_int_equal(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    }
    assert_int_equal(state, ncclSuccess);
    return comm;
}

/* What becomes of a making, within some seconds. */
static ncclResult_t settled_soon(ncclComm_t comm)
{
    ncclResult_t result = ncclInProgress;
    for (int i = 0; i < 500 && result == ncclInProgress; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        assert_int_equal(ncclCommGetAsyncError(comm, &result), ncclSuccess);
    }
    return result;
}

/* A child without a config does as its parent. A config that says nothing of it makes one whose children are
 * waited for; the call that makes it returns as the parent's calls do. */
static void a_silent_config_is_no_parents(void **state)
{
    ncclConfig_t silent = config_that_is_silent();
    ncclConfig_t *const configs[] = {NULL, &silent};
    ncclComm_t parent = make_single_without_waiting();
    (void)state;
    for (int i = 0; i < 2; i++) {
        ncclComm_t child = NULL, grandchild = NULL;
        assert_int_equal(ncclCommSplit(parent, 0, 0, &child, configs[i]), ncclInProgress);
        assert_int_equal(settled_soon(child), ncclSuccess);
        assert_int_equal(settled_soon(parent), ncclSuccess);
        assert_int_equal(ncclCommSplit(child, 0, 0, &grandchild, NULL),
                         configs[i] == NULL ? ncclInProgress : ncclSuccess);
        assert_int_equal(settled_soon(grandchild), ncclSuccess);
        assert_int_equal(settled_soon(child), ncclSuccess);
        assert_int_equal(ncclCommDestroy(grandchild), ncclSuccess);
        assert_int_equal(ncclCommDestroy(child), ncclSuccess);
    }
    assert_int_equal(ncclCommDestroy(parent), ncclSuccess);
}

/* Rank 0 makes another communicator, and rank 1 does not: so rank 0 gives up. */
typedef enum { GIVES_UP_PARENT, GIVES_UP_CHILD } gives_up_t;

/* The child may have a config with which its own children are waited for: it is not waited for itself. */
static void give_up(bool grows, gives_up_t what)
{
    ncclConfig_t config = config_without_waiting(), silent = config_that_is_silent();
    ncclConfig_t *of_child = what == GIVES_UP_CHILD ? &silent : NULL;
    ncclUniqueId id;
    ncclComm_t comms[2], child = NULL;
    int number;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config),
                         ncclInProgress);
    }
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(settled_soon(comms[rank]), ncclSuccess);
    }
    assert_int_equal(grows ? ncclCommGrow(comms[0], 3, &id, -1, &child, of_child)
                           : ncclCommSplit(comms[0], 0, 0, &child, of_child),
                     ncclInProgress);
    assert_int_equal(ncclCommUserRank(comms[0], &number), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "another one is still being made"));
    assert_int_equal(ncclCommAbort(what == GIVES_UP_PARENT ? comms[0] : child), ncclSuccess);
    /* It has failed, and so has the parent, on both ranks. */
    ncclComm_t left = what == GIVES_UP_PARENT ? child : comms[0];
    assert_int_equal(settled_soon(left), ncclRemoteError);
    ncclResult_t told = ncclSuccess;
    for (int i = 0; i < 500 && told == ncclSuccess; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        assert_int_equal(ncclCommGetAsyncError(comms[1], &told), ncclSuccess);
    }
    assert_int_equal(told, ncclRemoteError);
    assert_int_equal(ncclCommAbort(left), ncclSuccess);
    assert_int_equal(ncclCommAbort(comms[1]), ncclSuccess);
}

static void an_abort_ends_what_is_made_of_a_communicator(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        give_up(grows != 0, GIVES_UP_PARENT);
        give_up(grows != 0, GIVES_UP_CHILD);
    }
}

/* As with NCCL: what makes communicators is refused, operations are not. */
static void a_group_that_mixes_blocking_and_nonblocking_is_refused(void **state)
{
    ncclComm_t comms[2] = {make_single(), make_single_without_waiting()}, child[2];
    float value = 1;
    (void)state;
    for (int first = 0; first < 2; first++) {
        assert_int_equal(ncclGroupStart(), ncclSuccess);
        assert_int_equal(ncclCommSplit(comms[first], 0, 0, &child[0], NULL), ncclSuccess);
        assert_int_equal(ncclCommSplit(comms[1 - first], 0, 0, &child[1], NULL),
                         ncclInvalidArgument);
        assert_null(child[1]);
        assert_int_equal(ncclGroupEnd(), ncclInvalidArgument);
        assert_non_null(strstr(ncclGetLastError(NULL), "blocking = 0"));
        assert_null(child[0]);
    }
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comms[i], NULL),
                         ncclSuccess);
    }
    assert_int_equal(ncclGroupEnd(), ncclSuccess);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ncclCommDestroy(comms[i]), ncclSuccess);
    }
}

/* Groups that stay open ----------------------------------------------------------------------------- */

static void *leave_group_open(void *arg)
{
    ncclComm_t *comms = arg;
    static float value = 1;
    (void)ncclGroupStart();
    (void)ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comms[0], NULL);
    (void)ncclCommSplit(comms[0], 0, 0, &comms[1], NULL);
    return NULL;
}

/* What a thread without an error of its own is told. */
static void *hear_last_error(void *arg)
{
    snprintf(arg, 512, "%s", ncclGetLastError(NULL));
    return NULL;
}

static void a_thread_that_ends_drops_its_open_group(void **state)
{
    static void *(*const work[])(void *) = {leave_group_open, hear_last_error};
    ncclComm_t comms[2] = {make_single(), NULL};
    char text[512] = "";
    int number = -1;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, work[i], i == 0 ? (void *)comms : text), 0);
        pthread_join(thread, NULL);
    }
    assert_non_null(strstr(text, "ended with an open group, whose 2 calls are dropped"));
    assert_int_equal(ncclCommUserRank(comms[1], &number), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(NULL), "destroyed"));
    assert_int_equal(ncclCommDestroy(comms[0]), ncclSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_with_wild_arguments),
        cmocka_unit_test(a_destroyed_communicator_is_none),
        cmocka_unit_test(no_communicator_can_be_ended),
        cmocka_unit_test(many_handles),
        cmocka_unit_test(several_threads_give_back_one_handle),
        cmocka_unit_test(groups_with_other_counts_name_them),
        cmocka_unit_test(abort_ends_a_call_that_waits),
        cmocka_unit_test(an_abort_ends_what_is_made_of_a_communicator),
        cmocka_unit_test(a_silent_config_is_no_parents),
        cmocka_unit_test(opposite_orders_end_in_an_error),
        cmocka_unit_test(a_group_that_mixes_blocking_and_nonblocking_is_refused),
        cmocka_unit_test(a_thread_that_ends_drops_its_open_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
