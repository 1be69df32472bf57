/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers and handles from nowhere in every function. The process has no CUDA, so calls return when
 * they are complete. */
#include <limits.h>
#include <string.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"

enum { ROUNDS = 400, BYTES = 4096 };

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

/* One-sided call n. No window is one, since a put beyond the end of one ends the communicator; and
 * no wait is right, since nobody would end it. */
static ncclResult_t wild_one_sided(wild_t *w, int n)
{
    ncclWaitSignalDesc_t wait = {.opCnt = 0, .peer = wild_int(w), .sigIdx = wild_int(w)};
    ncclWindow_t none = (ncclWindow_t)wild_comm(w);
    ncclComm_t comm = wild_comm(w);
    ncclResult_t result;
    switch (n) {
    case 0:
        result = ncclPutSignal(wild_buffer(w), wild_count(w), wild_dtype(w), wild_int(w), none,
                               wild_count(w), wild_int(w), wild_int(w), (unsigned)wild_int(w), comm,
                               NULL);
        assert_int_equal(result, ncclInvalidArgument);
        return result;
    case 1:
        return ncclSignal(wild_int(w), wild_int(w), wild_int(w), (unsigned)wild_int(w), comm, NULL);
    default:
        result = ncclWaitSignal(wild_int(w), wild_draw(w) % 2 == 0 ? &wait : NULL, comm, NULL);
        assert_int_equal(result, ncclInvalidArgument);
        return result;
    }
}

static void every_function_with_wild_arguments(void **state)
{
    static const struct {
        ncclResult_t (*call)(wild_t *w, int n);
        int calls;
    } families[] = {{wild_operation, 12},
                    {wild_life, 12},
                    {wild_question, 10},
                    {wild_memory, 8},
                    {wild_one_sided, 3}};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_with_wild_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
