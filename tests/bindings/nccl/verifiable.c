/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In place of the libverifiable.so of nccl-tests, whose kernels cannot run on a device of threads:
 * the same three functions, in the order of the stream, with the data that this tree's own tests
 * use. Every type and operator has one right answer, and the comparison is that of bits. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"
#include "tests/support/values.h"

/* Types and operators of NCCL, by their numbers. */
static const weft_dtype_t dtypes[] = {WEFT_INT8,  WEFT_UINT8,  WEFT_INT32,    WEFT_UINT32,
                                      WEFT_INT64, WEFT_UINT64, WEFT_FP16,     WEFT_FP32,
                                      WEFT_FP64,  WEFT_BF16,   WEFT_FP8_E4M3, WEFT_FP8_E5M2};
static const weft_op_t ops[] = {WEFT_SUM, WEFT_PROD, WEFT_MAX, WEFT_MIN, WEFT_AVG, WEFT_PREMULSUM};

typedef struct order {
    void *at;
    const void *expected; /* NULL: computed */
    int64_t *bad;         /* NULL: `at` is filled */
    uint64_t count, first;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t nranks;
    int rank; /* −1: the result */
} order_t;

static void order_element(const order_t *order, uint64_t i, void *out)
{
    const uint64_t number = order->first + i;
    double value = order->rank < 0 ? values_reduced(order->dtype, order->op, order->nranks, number)
                                   : values_input(order->dtype, order->op, order->nranks,
                                                  (uint32_t)order->rank, number);
    values_put(out, 0, order->dtype, value);
}

static void order_run(const void *arg)
{
    const order_t *order = arg;
    const size_t size = weft_dtype_size(order->dtype);
    uint8_t *at = fake_memory_real(order->at);
    const uint8_t *expected = order->expected != NULL ? fake_memory_real(order->expected) : NULL;
    int64_t bad = 0;
    for (uint64_t i = 0; i < order->count; i++) {
        uint8_t element[8];
        if (expected != NULL) {
            memcpy(element, expected + i * size, size);
        } else {
            order_element(order, i, element);
        }
        if (order->bad == NULL) {
            memcpy(at + i * size, element, size);
        } else {
            bad += memcmp(at + i * size, element, size) != 0;
        }
    }
    if (order->bad != NULL) {
        *(int64_t *)fake_memory_real(order->bad) = bad;
    }
}

/* Where a rank's data begin: far from those of other seeds. */
static order_t order_of(const void *at, intptr_t count, int dtype, int op, int nranks,
                        uint64_t seed, intptr_t first)
{
    if ((size_t)dtype >= sizeof dtypes / sizeof dtypes[0] ||
        (size_t)op >= sizeof ops / sizeof ops[0]) {
        abort();
    }
    return (order_t){.at = (void *)(uintptr_t)at,
                     .count = (uint64_t)count,
                     .first = (uint64_t)first + seed * 1000003,
                     .dtype = dtypes[dtype],
                     .op = ops[op],
                     .nranks = (uint32_t)nranks,
                     .rank = -1};
}

/* nccl-tests is C++: these are the names that its compiler makes. */
cudaError_t
prepare_input(void *at, intptr_t count, int dtype, int op, int nranks, int rank, uint64_t seed,
              intptr_t first,
              cudaStream_t stream) __asm__("_Z26ncclVerifiablePrepareInputPvliiiimlP11CUstream_st");
cudaError_t prepare_expected(
    void *at, intptr_t count, int dtype, int op, int nranks, uint64_t seed, intptr_t first,
    cudaStream_t stream) __asm__("_Z29ncclVerifiablePrepareExpectedPvliiimlP11CUstream_st");
cudaError_t
verify(const void *at, const void *expected, intptr_t count, int dtype, int op, int nranks,
       uint64_t seed, intptr_t first, int64_t *bad,
       cudaStream_t stream) __asm__("_Z20ncclVerifiableVerifyPKvS0_liiimlPlP11CUstream_st");

cudaError_t prepare_input(void *at, intptr_t count, int dtype, int op, int nranks, int rank,
                          uint64_t seed, intptr_t first, cudaStream_t stream)
{
    order_t order = order_of(at, count, dtype, op, nranks, seed, first);
    order.rank = rank;
    return fake_put(stream, order_run, &order, sizeof order);
}

cudaError_t prepare_expected(void *at, intptr_t count, int dtype, int op, int nranks, uint64_t seed,
                             intptr_t first, cudaStream_t stream)
{
    order_t order = order_of(at, count, dtype, op, nranks, seed, first);
    return fake_put(stream, order_run, &order, sizeof order);
}

cudaError_t verify(const void *at, const void *expected, intptr_t count, int dtype, int op,
                   int nranks, uint64_t seed, intptr_t first, int64_t *bad, cudaStream_t stream)
{
    order_t order = order_of(at, count, dtype, op, nranks, seed, first);
    order.expected = expected;
    order.bad = bad;
    return fake_put(stream, order_run, &order, sizeof order);
}
