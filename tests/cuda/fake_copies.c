/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between memory of all sorts, and memory that is filled. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

typedef struct copy {
    void *to;
    const void *from; /* NULL: the bytes follow */
    size_t bytes;
    uint8_t taken[];
} copy_t;

static void copy_work(const void *arg)
{
    const copy_t *copy = arg;
    memmove(copy->to, copy->from != NULL ? copy->from : copy->taken, copy->bytes);
}

static bool pageable(const void *at)
{
    return fake_memory_type(at) == cudaMemoryTypeUnregistered;
}

/* Bytes of pageable memory are taken at once, and have come there on return; not in a capture,
 * whose replays read and write what is there then. */
static cudaError_t copy_put(void *to, const void *from, size_t bytes, cudaStream_t stream,
                            bool lingers)
{
    const bool now = !fake_stream_captured(stream), take = now && pageable(from);
    cudaError_t error = fake_answer("cudaMemcpyAsync");
    copy_t *copy = malloc(sizeof *copy + (take ? bytes : 0));
    *copy = (copy_t){
        .to = fake_memory_real(to), .from = take ? NULL : fake_memory_real(from), .bytes = bytes};
    if (take) {
        memcpy(copy->taken, from, bytes);
    }
    if (error == cudaSuccess) {
        const size_t all = sizeof *copy + (take ? bytes : 0);
        error = lingers ? fake_put_lingering("copy_work", stream, copy_work, copy, all)
                        : fake_put(stream, copy_work, copy, all);
    }
    free(copy);
    if (error == cudaSuccess && now && pageable(to)) {
        error = fake_stream_settle(stream);
    }
    return error;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    return copy_put(to, from, bytes, stream, false);
}

/* From pageable memory to a device it waits for the legacy stream, and returns when the bytes are
 * taken: only the streams that wait for the legacy one, and who waits for it or the device, know
 * when they are there. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const bool lingers =
        fake_cuda.strict.lingers && pageable(from) && fake_memory_type(to) == cudaMemoryTypeDevice;
    cudaError_t error = lingers ? fake_stream_settle(cudaStreamLegacy) : cudaSuccess;
    (void)kind;
    error = error == cudaSuccess ? copy_put(to, from, bytes, cudaStreamLegacy, lingers) : error;
    return error == cudaSuccess && !lingers ? fake_stream_settle(cudaStreamLegacy) : error;
}

typedef struct fill {
    void *to;
    int value;
    size_t bytes;
} fill_t;

static void fill_block(const void *arg, uint32_t number)
{
    const fill_t *fill = arg;
    (void)number;
    memset(fill->to, fill->value, fill->bytes);
}

/* A kernel, as CUDA has it. */
static void fill_work(const void *arg)
{
    fake_blocks(fill_block, arg, 1);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    const fill_t fill = {.to = fake_memory_real(to), .value = value, .bytes = bytes};
    cudaError_t error = fake_answer(__func__);
    return error == cudaSuccess ? fake_put(stream, fill_work, &fill, sizeof fill) : error;
}
