/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the application has by other calls than cudaMalloc(): of the driver's virtual memory
 * interface (cuMemCreate, as frameworks grow their heaps), and of pools (cudaMallocAsync). What of
 * it other processes open, and what other devices of the process may access. */
#include <cuda.h>
#include <stdlib.h>

#include "tests/cuda/other.h"

enum { SEGMENT = 2 << 20, SEGMENTS = 3, BYTES = SEGMENTS * SEGMENT };

/* The application ------------------------------------------------------------------------------ */

/* A range of addresses, mapped segment by segment. */
typedef struct heap {
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle[SEGMENTS];
} heap_t;

static void *driver(const char *name)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    assert_int_equal(
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
        cudaSuccess);
    assert_non_null(function);
    return function;
}

static CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                          unsigned long long);
static CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
static CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                       unsigned long long);
static CUresult (*grant)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
static CUresult (*unmap)(CUdeviceptr, size_t);
static CUresult (*release)(CUmemGenericAllocationHandle);
static CUresult (*unreserve)(CUdeviceptr, size_t);

static void driver_find(void)
{
#define FIND(pointer, name)                                                                        \
    do {                                                                                           \
        void *function = driver(name);                                                             \
        memcpy(&(pointer), &function, sizeof(pointer));                                            \
    } while (0)
    FIND(create, "cuMemCreate");
    FIND(reserve, "cuMemAddressReserve");
    FIND(map, "cuMemMap");
    FIND(grant, "cuMemSetAccess");
    FIND(unmap, "cuMemUnmap");
    FIND(release, "cuMemRelease");
    FIND(unreserve, "cuMemAddressFree");
#undef FIND
}

static void heap_grant(const heap_t *heap, int device)
{
    CUmemAccessDesc who = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    who.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    who.location.id = device;
    assert_int_equal(grant(heap->at, BYTES, &who, 1), CUDA_SUCCESS);
}

/* Of device 0, each segment with handles of its types. */
static uint8_t *heap_make_of(heap_t *heap, const CUmemAllocationHandleType types[SEGMENTS])
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    assert_int_equal(reserve(&heap->at, BYTES, 0, 0, 0), CUDA_SUCCESS);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        prop.requestedHandleTypes = types[i];
        assert_int_equal(create(&heap->handle[i], SEGMENT, &prop, 0), CUDA_SUCCESS);
        assert_int_equal(map(heap->at + i * SEGMENT, SEGMENT, 0, heap->handle[i], 0), CUDA_SUCCESS);
    }
    heap_grant(heap, 0);
    return (uint8_t *)(uintptr_t)heap->at;
}

static uint8_t *heap_make(heap_t *heap, CUmemAllocationHandleType types)
{
    const CUmemAllocationHandleType all[SEGMENTS] = {types, types, types};
    return heap_make_of(heap, all);
}

static void heap_free(heap_t *heap)
{
    assert_int_equal(unmap(heap->at, BYTES), CUDA_SUCCESS);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        assert_int_equal(release(heap->handle[i]), CUDA_SUCCESS);
    }
    assert_int_equal(unreserve(heap->at, BYTES), CUDA_SUCCESS);
}

static const weft_kernel_ipc_t *share_of(weft_kernel_t *kernel)
{
    return bench.ops->get_extension(kernel, WEFT_KERNEL_IPC);
}

/* Tests ---------------------------------------------------------------------------------------- */

/* A range in the middle: of all segments, with nothing at either end. */
static void another_process_opens_what_was_made_for_it(void **state)
{
    enum { BEFORE = 4096, RANGE = BYTES - 2 * BEFORE };
    const weft_kernel_ipc_t *share = share_of(bench.kernel);
    heap_t heap;
    other_ask_t ask = {.who = OTHER_FIRST, .times = 1, .bytes = RANGE};
    uint8_t *all = heap_make(&heap, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    (void)state;
    other_fill(all, 0x11, BYTES);
    other_fill(all + BEFORE, 0x22, 1);
    other_fill(all + BEFORE + RANGE / 2, 0x33, 1);
    other_fill(all + BEFORE + RANGE - 1, 0x44, 1);
    assert_int_equal(share->export_range(bench.kernel, all + BEFORE, RANGE, ask.token), WEFT_OK);
    for (int round = 0; round < 2; round++) {
        other_told_t told = other_asked(&ask);
        assert_int_equal(told.opened, WEFT_OK);
        assert_int_equal(told.first, round == 0 ? 0x22 : 0x77);
        assert_int_equal(told.middle, round == 0 ? 0x33 : 0x77);
        assert_int_equal(told.last, round == 0 ? 0x44 : 0x77);
        assert_int_equal(told.reserved, 0);
        assert_int_equal(other_byte_at(all + BEFORE + RANGE - 1), 0x77);
        assert_int_equal(other_byte_at(all + BEFORE - 1), 0x11);
        assert_int_equal(other_byte_at(all + BEFORE + RANGE), 0x11);
    }
    /* Not more than there is, and nothing once it has ended. */
    ask.bytes = BYTES;
    other_told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "shorter than it says");
    assert_int_equal(told.reserved, 0);
    share->unexport_range(bench.kernel, all + BEFORE);
    ask.bytes = RANGE;
    told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "gives no descriptor");
    heap_free(&heap);
}

/* Beside others, and by themselves: as frameworks make their heaps where there is a fabric. */
static void segments_of_the_fabric_need_a_channel(void **state)
{
    const CUmemAllocationHandleType fabric = (CUmemAllocationHandleType)8,
                                    fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    both = (CUmemAllocationHandleType)9;
    const CUmemAllocationHandleType types[][SEGMENTS] = {
        {fabric, fabric, fabric}, {fabric, fd, fabric}, {both, fabric, fd}};
    const weft_kernel_ipc_t *share = share_of(bench.kernel);
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        heap_t heap;
        other_ask_t ask = {.who = OTHER_FIRST, .times = 1, .bytes = BYTES, .fabric = true};
        uint8_t *all = heap_make_of(&heap, types[i]);
        other_fill(all, 0x21, SEGMENT);
        other_fill(all + SEGMENT, 0x22, SEGMENT);
        other_fill(all + 2 * SEGMENT, 0x23, SEGMENT);
        fake_cuda.fabric = true;
        assert_int_equal(share->export_range(bench.kernel, all, BYTES, ask.token), WEFT_OK);
        other_told_t told = other_asked(&ask);
        assert_int_equal(told.opened, WEFT_OK);
        assert_int_equal(told.first, 0x21);
        assert_int_equal(told.middle, 0x22);
        assert_int_equal(told.last, 0x23);
        assert_int_equal(other_byte_at(all + BYTES - 1), 0x77);
        assert_int_equal(told.reserved, 0);
        ask.fabric = false; /* the driver of the importer has none */
        told = other_asked(&ask);
        assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
        assert_says(told.words, "maps no memory by its handles");
        assert_int_equal(told.reserved, 0);
        share->unexport_range(bench.kernel, all);
        fake_cuda.fabric = false; /* nor that of the exporter */
        bench.fake.log[0] = '\0';
        assert_int_equal(share->export_range(bench.kernel, all, BYTES, ask.token), WEFT_OK);
        assert_says(bench.fake.log, "is there an IMEX channel?");
        assert_says(other_asked(&ask).words, "made for one process");
        share->unexport_range(bench.kernel, all);
        heap_free(&heap);
    }
}

static void what_was_made_for_one_process_stays_there(void **state)
{
    const weft_kernel_ipc_t *share = share_of(bench.kernel);
    heap_t heap;
    void *opened = NULL;
    other_ask_t ask = {.who = OTHER_FIRST, .times = 1, .bytes = BYTES};
    uint8_t *all = heap_make(&heap, CU_MEM_HANDLE_TYPE_NONE);
    (void)state;
    assert_int_equal(share->export_range(bench.kernel, all, BYTES, ask.token), WEFT_OK);
    other_told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "made for one process");
    assert_int_equal(share->import(bench.kernel, ask.token, BYTES, &opened), WEFT_OK);
    assert_ptr_equal(opened, all);
    share->unimport(bench.kernel, opened);
    share->unexport_range(bench.kernel, all);
    assert_int_equal(share->export_range(bench.kernel, all, BYTES + 1, ask.token),
                     WEFT_ERR_UNSUPPORTED);
    bench_said("ends before");
    heap_free(&heap);
}

/* Peer access is for cudaMalloc(): other devices have what the application gives them. */
static void another_device_needs_the_applications_leave(void **state)
{
    const weft_kernel_ipc_t *share = share_of(bench.kernel);
    weft_kernel_t *first = bench.kernel;
    heap_t heap;
    void *opened = NULL;
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
    uint8_t *all = heap_make(&heap, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    (void)state;
    assert_int_equal(share->export_range(first, all, BYTES, token), WEFT_OK);
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    weft_kernel_t *second = bench.kernel;
    bench.kernel = first;
    assert_int_equal(share->import(second, token, BYTES, &opened), WEFT_ERR_UNSUPPORTED);
    bench_said("cuMemSetAccess");
    heap_grant(&heap, 1);
    assert_int_equal(share->import(second, token, BYTES, &opened), WEFT_OK);
    share->unimport(second, opened);
    share->unexport_range(first, all);
    bench.ops->destroy(second);
    heap_free(&heap);
}

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;

/* A run on such memory would end the device; on a pool's of another device, too. */
static void buffers_without_leave_are_named(void **state)
{
    void *pooled = NULL;
    heap_t heap;
    uint64_t run = 0;
    uint8_t *all = heap_make(&heap, CU_MEM_HANDLE_TYPE_NONE);
    (void)state;
    assert_int_equal(cudaMallocAsync(&pooled, 4096, cudaStreamPerThread), cudaSuccess);
    weft_kernel_t *first = bench.kernel;
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    plan_open(&plan, PLAN_RECEIVES, fifo);
    const void *const buffers[] = {all, pooled};
    for (size_t i = 0; i < 2; i++) {
        plan.call.out = (void *)(uintptr_t)buffers[i];
        assert_int_equal(plan_start(&plan, &run), WEFT_ERR_UNSUPPORTED);
        bench_says("is memory of CUDA device 0: the application did not give this device access");
    }
    heap_grant(&heap, 1);
    plan.call.out = all;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    fifo_send(fifo, 0, 0);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    plan_close(&plan);
    bench.ops->destroy(bench.kernel);
    bench.kernel = first;
    assert_int_equal(cudaFreeAsync(pooled, cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    heap_free(&heap);
}

/* Strangers' words in place of the address of descriptors. */
static void a_wrong_address_of_descriptors_is_refused(void **state)
{
    const weft_kernel_ipc_t *share = share_of(bench.kernel);
    heap_t heap;
    other_ask_t ask = {.who = OTHER_FIRST, .times = 1, .bytes = BYTES}, lie;
    uint8_t *all = heap_make(&heap, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    (void)state;
    assert_int_equal(share->export_range(bench.kernel, all, BYTES, ask.token), WEFT_OK);
    srand(9);
    for (int round = 0; round < 50; round++) {
        lie = ask;
        lie.token[56 + rand() % 16] ^= (uint8_t)(1 + rand() % 255);
        other_told_t told = other_asked(&lie);
        assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
        assert_int_equal(told.reserved, 0);
    }
    assert_int_equal(other_asked(&ask).opened, WEFT_OK);
    share->unexport_range(bench.kernel, all);
    heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(another_process_opens_what_was_made_for_it),
        BENCH(segments_of_the_fabric_need_a_channel),
        BENCH(what_was_made_for_one_process_stays_there),
        BENCH(another_device_needs_the_applications_leave),
        BENCH(buffers_without_leave_are_named),
        BENCH(a_wrong_address_of_descriptors_is_refused),
    };
    if (!other_start()) {
        return 1;
    }
    driver_find();
    int failed = bench_main(tests);
    return !other_end() || failed != 0;
}
