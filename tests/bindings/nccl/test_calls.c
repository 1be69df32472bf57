/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives, messages, types and operators, on memory of devices of threads: the results are
 * those of NCCL's documentation. */
#include <stdlib.h>
#include <string.h>

#include "tests/bindings/nccl/job.h"
#include "tests/support/unit.h"
#include "tests/support/values.h"

enum { COUNT = 300, MOST_RANKS = 4, MOST_BYTES = MOST_RANKS * COUNT * 8 };

static const weft_dtype_t dtypes[ncclNumTypes] = {
    WEFT_INT8, WEFT_UINT8, WEFT_INT32, WEFT_UINT32, WEFT_INT64,    WEFT_UINT64,
    WEFT_FP16, WEFT_FP32,  WEFT_FP64,  WEFT_BF16,   WEFT_FP8_E4M3, WEFT_FP8_E5M2};
static const weft_op_t ops[ncclNumOps] = {WEFT_SUM, WEFT_PROD, WEFT_MAX, WEFT_MIN, WEFT_AVG};

static size_t size_of(ncclDataType_t dtype)
{
    return weft_dtype_size(dtypes[dtype]);
}

/* What a rank gives, in memory of its device. */
static void *inputs(const job_rank_t *rank, ncclDataType_t dtype, weft_op_t op, uint64_t first,
                    uint64_t count)
{
    uint8_t bytes[MOST_BYTES] = {0};
    for (uint64_t i = 0; i < count; i++) {
        values_put(bytes, i, dtypes[dtype],
                   values_input(dtypes[dtype], op, (uint32_t)rank->nranks, (uint32_t)rank->rank,
                                first + i));
    }
    return job_device_copy(bytes, count * size_of(dtype));
}

static void *blank(ncclDataType_t dtype, uint64_t count)
{
    uint8_t bytes[MOST_BYTES];
    memset(bytes, 0xee, sizeof bytes);
    return job_device_copy(bytes, count * size_of(dtype));
}

static void need_reduced(job_rank_t *rank, void *device, ncclDataType_t dtype, weft_op_t op,
                         uint64_t first, uint64_t count)
{
    uint8_t got[MOST_BYTES], want[MOST_BYTES];
    for (uint64_t i = 0; i < count; i++) {
        values_put(want, i, dtypes[dtype],
                   values_reduced(dtypes[dtype], op, (uint32_t)rank->nranks, first + i));
    }
    job_device_take(rank, device, got, count * size_of(dtype));
    NEED(memcmp(got, want, count * size_of(dtype)) == 0);
}

/* Reductions ----------------------------------------------------------------------------------- */

static void reduce_all_types(job_rank_t *rank)
{
    for (unsigned i = 0; i < (unsigned)ncclNumTypes * ncclNumOps; i++) {
        const ncclDataType_t dtype = (ncclDataType_t)(i / ncclNumOps);
        const ncclRedOp_t op = (ncclRedOp_t)(i % ncclNumOps);
        void *send = inputs(rank, dtype, ops[op], 0, COUNT);
        void *recv = blank(dtype, COUNT);
        NEED_OK(ncclAllReduce(send, recv, COUNT, dtype, op, rank->comm, rank->stream));
        need_reduced(rank, recv, dtype, ops[op], 0, COUNT);
        NEED_OK(ncclAllReduce(send, send, COUNT, dtype, op, rank->comm, rank->stream));
        need_reduced(rank, send, dtype, ops[op], 0, COUNT);
    }
}

static void every_type_and_operator_reduces(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, reduce_all_types), 0);
}

static void reduce_to_root_and_scatter(job_rank_t *rank)
{
    const int root = rank->nranks - 1;
    void *send = inputs(rank, ncclInt32, WEFT_SUM, 0, COUNT);
    void *recv = rank->rank == root ? blank(ncclInt32, COUNT) : NULL;
    NEED_OK(ncclReduce(send, recv, COUNT, ncclInt32, ncclSum, root, rank->comm, rank->stream));
    if (recv != NULL) {
        need_reduced(rank, recv, ncclInt32, WEFT_SUM, 0, COUNT);
    }
    void *all = inputs(rank, ncclInt32, WEFT_SUM, 0, (uint64_t)rank->nranks * COUNT);
    void *part = blank(ncclInt32, COUNT);
    NEED_OK(ncclReduceScatter(all, part, COUNT, ncclInt32, ncclSum, rank->comm, rank->stream));
    need_reduced(rank, part, ncclInt32, WEFT_SUM, (uint64_t)rank->rank * COUNT, COUNT);
}

static void reduce_and_reduce_scatter(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, reduce_to_root_and_scatter), 0);
}

/* Factors -------------------------------------------------------------------------------------- */

static void multiply_before_the_sum(job_rank_t *rank, ncclDataType_t dtype,
                                    ncclScalarResidence_t residence)
{
    uint8_t factor[8];
    ncclRedOp_t op, other;
    values_put(factor, 0, dtypes[dtype], values_scalar((uint32_t)rank->rank));
    void *there = job_device_copy(factor, sizeof factor);
    void *scalar = residence == ncclScalarDevice ? there : factor;
    NEED_OK(ncclRedOpCreatePreMulSum(&op, scalar, dtype, residence, rank->comm));
    NEED_OK(ncclRedOpCreatePreMulSum(&other, scalar, dtype, residence, rank->comm));
    NEED(op >= ncclNumOps && other != op);
    memset(factor, 0xff, sizeof factor); /* was read when the operator was made */
    void *send = inputs(rank, dtype, WEFT_PREMULSUM, 0, COUNT);
    void *recv = blank(dtype, COUNT);
    NEED_OK(ncclAllReduce(send, recv, COUNT, dtype, op, rank->comm, rank->stream));
    NEED_OK(ncclRedOpDestroy(op, rank->comm));
    NEED(ncclAllReduce(send, recv, COUNT, dtype, op, rank->comm, rank->stream) ==
         ncclInvalidArgument);
    NEED(ncclAllReduce(send, recv, COUNT, dtype == ncclInt8 ? ncclUint8 : ncclInt8, other,
                       rank->comm, rank->stream) == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(rank->comm), "was made for data type") != NULL);
    need_reduced(rank, recv, dtype, WEFT_PREMULSUM, 0, COUNT);
    NEED_OK(ncclRedOpDestroy(other, rank->comm));
    NEED(ncclRedOpDestroy(other, rank->comm) == ncclInvalidArgument);
}

static void multiply_all(job_rank_t *rank)
{
    for (unsigned i = 0; i < ncclNumTypes; i++) {
        multiply_before_the_sum(rank, (ncclDataType_t)i, ncclScalarHostImmediate);
        multiply_before_the_sum(rank, (ncclDataType_t)i, ncclScalarDevice);
    }
}

static void factors_of_host_and_device(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, multiply_all), 0);
}

/* Data that move ------------------------------------------------------------------------------- */

/* Element `i` of the block that `from` has for `to`. */
static int32_t word(int from, int to, int i)
{
    return 1000000 * from + 10000 * to + i;
}

static void *words(int from, int to, int blocks)
{
    int32_t all[MOST_RANKS * COUNT];
    for (int i = 0; i < blocks * COUNT; i++) {
        all[i] = word(from, to < 0 ? i / COUNT : to, i % COUNT);
    }
    return job_device_copy(all, (size_t)blocks * COUNT * sizeof all[0]);
}

/* Block b must be from rank `from`, or b if that is negative, for rank `to`, or b. */
static void need_words(job_rank_t *rank, void *device, int from, int to, int blocks)
{
    int32_t got[MOST_RANKS * COUNT];
    job_device_take(rank, device, got, (size_t)blocks * COUNT * sizeof got[0]);
    int bad = 0;
    for (int i = 0; i < blocks * COUNT; i++) {
        bad += got[i] != word(from < 0 ? i / COUNT : from, to < 0 ? i / COUNT : to, i % COUNT);
    }
    NEED(bad == 0);
}

static void move_to_all(job_rank_t *rank)
{
    const int n = rank->nranks, me = rank->rank, root = 1;
    void *send = words(me, 0, 1), *recv = blank(ncclInt32, (uint64_t)n * COUNT);
    NEED_OK(ncclAllGather(send, recv, COUNT, ncclInt32, rank->comm, rank->stream));
    need_words(rank, recv, -1, 0, n);
    recv = blank(ncclInt32, COUNT);
    NEED_OK(ncclBroadcast(send, recv, COUNT, ncclInt32, root, rank->comm, rank->stream));
    need_words(rank, recv, root, 0, 1);
    recv = words(me, 0, 1);
    NEED_OK(ncclBcast(recv, COUNT, ncclInt32, root, rank->comm, rank->stream));
    need_words(rank, recv, root, 0, 1);
}

static void move_blocks(job_rank_t *rank)
{
    const int n = rank->nranks, me = rank->rank, root = 1;
    void *all = words(me, -1, n), *recv = blank(ncclInt32, (uint64_t)n * COUNT);
    NEED_OK(ncclAlltoAll(all, recv, COUNT, ncclInt32, rank->comm, rank->stream));
    need_words(rank, recv, -1, me, n);
    void *send = words(me, 0, 1);
    recv = me == root ? blank(ncclInt32, (uint64_t)n * COUNT) : NULL;
    NEED_OK(ncclGather(send, recv, COUNT, ncclInt32, root, rank->comm, rank->stream));
    if (recv != NULL) {
        need_words(rank, recv, -1, 0, n);
    }
    recv = blank(ncclInt32, COUNT);
    NEED_OK(ncclScatter(me == root ? all : NULL, recv, COUNT, ncclInt32, root, rank->comm,
                        rank->stream));
    need_words(rank, recv, root, me, 1);
}

static void move_everything(job_rank_t *rank)
{
    move_to_all(rank);
    move_blocks(rank);
}

static void data_move(void **state)
{
    (void)state;
    assert_int_equal(job_run(4, move_everything), 0);
}

static void send_around(job_rank_t *rank)
{
    const int n = rank->nranks, next = (rank->rank + 1) % n, last = (rank->rank + n - 1) % n;
    void *send = words(rank->rank, 0, 1), *recv = blank(ncclInt32, COUNT);
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclRecv(recv, COUNT, ncclInt32, last, rank->comm, rank->stream));
    NEED_OK(ncclSend(send, COUNT, ncclInt32, next, rank->comm, rank->stream));
    NEED_OK(ncclGroupEnd());
    need_words(rank, recv, last, 0, 1);
    /* All to all by hand, also to oneself. */
    recv = blank(ncclInt32, (uint64_t)n * COUNT);
    void *all = words(rank->rank, -1, n);
    NEED_OK(ncclGroupStart());
    for (int peer = 0; peer < n; peer++) {
        int32_t *block = (int32_t *)all + peer * COUNT, *place = (int32_t *)recv + peer * COUNT;
        NEED_OK(ncclSend(block, COUNT, ncclInt32, peer, rank->comm, rank->stream));
        NEED_OK(ncclRecv(place, COUNT, ncclInt32, peer, rank->comm, rank->stream));
    }
    NEED_OK(ncclGroupEnd());
    need_words(rank, recv, -1, rank->rank, n);
}

static void messages_in_groups(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, send_around), 0);
}

/* A call's config ------------------------------------------------------------------------------ */

static void with_configs(job_rank_t *rank)
{
    ncclCollConfig_t config = {.size = sizeof config, .magic = NCCL_API_MAGIC, .minCTAs = 4};
    config.forceAlgSelection = 1;
    void *send = inputs(rank, ncclFloat32, WEFT_SUM, 0, COUNT), *recv = blank(ncclFloat32, COUNT);
    NEED_OK(ncclAllReduceConfig(send, recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream,
                                &config));
    need_reduced(rank, recv, ncclFloat32, WEFT_SUM, 0, COUNT);
    config.algSelection = "RING";
    NEED(ncclAllReduceConfig(send, send, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream,
                             &config) == ncclInvalidUsage);
    NEED(strstr(ncclGetLastError(NULL), "ncclAllReduceConfig") != NULL);
    config.forceAlgSelection = 0;
    NEED_OK(ncclAllReduceConfig(send, send, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream,
                                &config));
    config.magic = 1;
    NEED(ncclBroadcastConfig(send, send, COUNT, ncclFloat32, 0, rank->comm, rank->stream,
                             &config) == ncclInvalidArgument);
    need_reduced(rank, send, ncclFloat32, WEFT_SUM, 0, COUNT);
    void *all = words(rank->rank, -1, rank->nranks);
    recv = blank(ncclInt32, (uint64_t)rank->nranks * COUNT);
    NEED_OK(ncclAlltoAllConfig(all, recv, COUNT, ncclInt32, rank->comm, rank->stream, NULL));
    need_words(rank, recv, -1, rank->rank, rank->nranks);
}

static void calls_with_configs(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, with_configs), 0);
}

/* Predictions ---------------------------------------------------------------------------------- */

static void predict(job_rank_t *rank)
{
    ncclSimInfo_t info = {.size = sizeof info, .magic = NCCL_SIM_INFO_MAGIC, .estimatedTime = -1};
    void *send = inputs(rank, ncclFloat32, WEFT_SUM, 0, COUNT), *recv = blank(ncclFloat32, COUNT);
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclAllReduce(send, recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
    NEED_OK(ncclGroupSimulateEnd(&info));
    const float one = info.estimatedTime;
    NEED(one > 0 && one < 1e6F);
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclAllReduce(send, recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
    NEED_OK(ncclAllReduce(send, recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
    NEED_OK(ncclGroupSimulateEnd(&info));
    NEED(info.estimatedTime > 1.9F * one && info.estimatedTime < 2.1F * one);
    NEED_OK(ncclGroupStart());
    NEED(ncclGroupSimulateEnd(NULL) == ncclInvalidArgument);
    info.magic = 1;
    NEED_OK(ncclGroupStart());
    NEED(ncclGroupSimulateEnd(&info) == ncclInvalidArgument);
    info = (ncclSimInfo_t){.size = 16, .magic = NCCL_SIM_INFO_MAGIC, .estimatedTime = -1};
    NEED_OK(ncclGroupStart());
    NEED(ncclGroupSimulateEnd(&info) == ncclInvalidArgument && info.estimatedTime == -1);
    /* Nothing was sent, and the communicator is as it was. */
    NEED_OK(ncclAllReduce(send, recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
    need_reduced(rank, recv, ncclFloat32, WEFT_SUM, 0, COUNT);
}

static void groups_are_predicted(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, predict), 0);
}

/* What a group of this many messages to the other rank, and from it, would take. */
static float predicted_messages(job_rank_t *rank, int sends, int receives, uint64_t count)
{
    ncclSimInfo_t info = {.size = sizeof info, .magic = NCCL_SIM_INFO_MAGIC, .estimatedTime = -1};
    char at = 0; /* nothing moves */
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < sends; i++) {
        NEED_OK(ncclSend(&at, count, ncclInt8, 1 - rank->rank, rank->comm, rank->stream));
    }
    for (int i = 0; i < receives; i++) {
        NEED_OK(ncclRecv(&at, count, ncclInt8, 1 - rank->rank, rank->comm, rank->stream));
    }
    NEED_OK(ncclGroupSimulateEnd(&info));
    return info.estimatedTime;
}

static void predict_messages(job_rank_t *rank)
{
    const float one = predicted_messages(rank, 1, 0, 8);
    NEED(one > 0 && one < 1e6F);
    NEED(predicted_messages(rank, 1, 1, 8) < 1.1F * one); /* the two ways are apart */
    const float three = predicted_messages(rank, 3, 1, 8);
    NEED(three > 2.9F * one && three < 3.1F * one);
    NEED(predicted_messages(rank, 0, 1, 1 << 26) > one);
}

static void messages_are_predicted(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, predict_messages), 0);
}

/* Memory --------------------------------------------------------------------------------------- */

static void use_registered(job_rank_t *rank)
{
    void *memory = NULL, *handle = NULL, *same = NULL;
    ncclWindow_t window = NULL;
    NEED_OK(ncclMemAlloc(&memory, COUNT * 4));
    NEED_OK(ncclCommRegister(rank->comm, memory, COUNT * 4, &handle));
    NEED_OK(ncclCommWindowRegister(rank->comm, memory, COUNT * 4, &window, 1));
    NEED_OK(ncclWinGetUserPtr(rank->comm, window, &same));
    NEED(same == memory && handle != NULL);
    NEED(ncclCommWindowRegister(rank->comm, memory, COUNT * 4, &window, 0x100) ==
         ncclInvalidArgument);
    void *send = inputs(rank, ncclInt32, WEFT_SUM, 0, COUNT);
    NEED_OK(ncclAllReduce(send, memory, COUNT, ncclInt32, ncclSum, rank->comm, rank->stream));
    job_wait(rank->stream);
    NEED_OK(ncclCommWindowDeregister(rank->comm, window));
    NEED_OK(ncclCommWindowDeregister(rank->comm, NULL));
    NEED_OK(ncclCommDeregister(rank->comm, handle));
    NEED(ncclCommDeregister(rank->comm, handle) == ncclInvalidArgument);
    NEED_OK(ncclAllReduce(send, send, COUNT, ncclInt32, ncclSum, rank->comm, rank->stream));
    need_reduced(rank, send, ncclInt32, WEFT_SUM, 0, COUNT);
    NEED_OK(ncclMemFree(memory));
    NEED_OK(ncclMemFree(NULL));
}

static void memory_is_registered(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, use_registered), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operator_reduces),
        cmocka_unit_test(reduce_and_reduce_scatter),
        cmocka_unit_test(factors_of_host_and_device),
        cmocka_unit_test(data_move),
        cmocka_unit_test(messages_in_groups),
        cmocka_unit_test(calls_with_configs),
        cmocka_unit_test(groups_are_predicted),
        cmocka_unit_test(messages_are_predicted),
        cmocka_unit_test(memory_is_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
