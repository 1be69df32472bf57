/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that adapters use: where it is, dma-bufs that are the memory, what machines without say,
 * and the flush, which is made where it is needed. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weft/plugin/draft/gpudirect.h>
#include <weft/plugin/memory.h>

#include "tests/cuda/bench.h"
#include "tests/support/unit.h"

enum { BYTES = 8 * 4160 }; /* no whole pages */

static const weft_kernel_gpudirect_t *direct_of(void)
{
    const weft_kernel_gpudirect_t *direct =
        bench.ops->get_extension(bench.kernel, WEFT_KERNEL_GPUDIRECT);
    assert_non_null(direct);
    return direct;
}

/* Another instance, on a machine as it is set now. */
static void again(void)
{
    bench.ops->destroy(bench.kernel);
    assert_int_equal(bench_create("device=1"), WEFT_OK);
}

static void it_says_where_it_is(void **state)
{
    char bus[WEFT_GPUDIRECT_BUS_BYTES];
    (void)state;
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_OK);
    assert_string_equal(bus, "0001:3b:00.0");
    again();
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_OK);
    assert_string_equal(bus, "0001:3c:00.0");
    fake_cuda.no_direct = true;
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_ERR_UNSUPPORTED);
    bench_said("CUDA device 1: adapters cannot use its memory");
    fake_cuda.no_direct = false;
    fake_cuda.late = fake_cuda.no_flush = true;
    again();
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_ERR_UNSUPPORTED);
    bench_said("no flush from the host");
    fake_cuda.late = fake_cuda.no_flush = false;
}

/* Device and processor are one here, and in another machine they are two: on the first only a
 * dma-buf is ordered with what the host writes. */
static void beside_a_coherent_link_only_a_dmabuf_will_do(void **state)
{
    char bus[WEFT_GPUDIRECT_BUS_BYTES];
    (void)state;
    assert_true(direct_of()->dmabuf_only(bench.kernel));
    fake_cuda.no_dmabuf = true;
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_ERR_UNSUPPORTED);
    bench_said("beside its link to the processor");
    bench_says("gives out no dma-buf");
    fake_cuda.not_pageable = true;
    again();
    assert_false(direct_of()->dmabuf_only(bench.kernel));
    assert_int_equal(direct_of()->bus_id(bench.kernel, bus), WEFT_OK);
    fake_cuda.no_dmabuf = false;
    fake_cuda.not_pageable = false;
}

static void a_dmabuf_is_the_memory(void **state)
{
    const weft_kernel_gpudirect_t *direct = direct_of();
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    uint8_t sent[BYTES], got[BYTES];
    void *there = NULL;
    uint64_t offset = 1;
    int fd = -1;
    (void)state;
    assert_int_equal(direct->alloc(bench.kernel, BYTES, &there), WEFT_OK);
    assert_int_equal((uintptr_t)there % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    assert_int_equal(direct->dmabuf(bench.kernel, there, BYTES, &fd, &offset), WEFT_OK);
    uint8_t *adapter = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(adapter != MAP_FAILED);
    close(fd);
    assert_int_equal(adapter[offset], 0);
    memset(sent, 7, sizeof sent);
    assert_int_equal(memory->copy(bench.kernel, there, sent, BYTES), WEFT_OK);
    assert_memory_equal(adapter + offset, sent, BYTES);
    memset(adapter + offset, 9, BYTES);
    assert_int_equal(direct->flush(bench.kernel), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, got, there, BYTES), WEFT_OK);
    assert_memory_equal(adapter + offset, got, BYTES);
    munmap(adapter, BYTES);
    direct->free(bench.kernel, there);
}

static void drivers_that_give_none_are_told_of(void **state)
{
    const weft_kernel_gpudirect_t *direct = direct_of();
    void *there = NULL;
    uint64_t offset;
    int fd;
    (void)state;
    assert_int_equal(direct->alloc(bench.kernel, BYTES, &there), WEFT_OK);
    fake_cuda.no_dmabuf = true;
    assert_int_equal(direct->dmabuf(bench.kernel, there, BYTES, &fd, &offset),
                     WEFT_ERR_UNSUPPORTED);
    bench_said("gives out no dma-buf");
    fake_cuda.no_dmabuf = false;
    static const char *const calls[] = {"cudaGetDriverEntryPoint", "cuMemGetHandleForAddressRange"};
    static const char *const says[] = {"gives out no dma-buf", "the driver refused a dma-buf"};
    for (int i = 0; i < 2; i++) {
        fake_cuda.error = cudaErrorUnknown;
        fake_cuda.fails_after = 0;
        fake_cuda.fails = calls[i];
        assert_int_equal(direct->dmabuf(bench.kernel, there, BYTES, &fd, &offset),
                         WEFT_ERR_UNSUPPORTED);
        bench_said(says[i]);
    }
    direct->free(bench.kernel, there);
}

static void memory_that_is_not_there_is_told_of(void **state)
{
    void *there = NULL;
    (void)state;
    fake_cuda.error = cudaErrorMemoryAllocation;
    fake_cuda.fails_after = 0;
    fake_cuda.fails = "cudaMalloc";
    assert_int_equal(direct_of()->alloc(bench.kernel, BYTES, &there), WEFT_ERR_RESOURCE);
    bench_said("cannot allocate");
    assert_null(there);
}

static void the_flush_is_made_where_it_is_needed(void **state)
{
    (void)state;
    atomic_store(&fake_cuda.flushes, 0);
    assert_int_equal(direct_of()->flush(bench.kernel), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.flushes), 0);
    fake_cuda.late = true;
    again();
    assert_int_equal(direct_of()->flush(bench.kernel), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.flushes), 1);
    assert_int_equal(bench_device(), 0);
    fake_cuda.error = cudaErrorIllegalAddress;
    fake_cuda.fails_after = 0;
    fake_cuda.fails = "cudaDeviceFlushGPUDirectRDMAWrites";
    assert_int_equal(direct_of()->flush(bench.kernel), WEFT_ERR_SYSTEM);
    bench_said("flushing what an adapter wrote");
    fake_cuda.late = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(it_says_where_it_is),
        BENCH(beside_a_coherent_link_only_a_dmabuf_will_do),
        BENCH(a_dmabuf_is_the_memory),
        BENCH(drivers_that_give_none_are_told_of),
        BENCH(memory_that_is_not_there_is_told_of),
        BENCH(the_flush_is_made_where_it_is_needed),
    };
    return bench_main(tests);
}
