/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for adapters: buffers of whole pages, their dma-bufs, and the flush behind which kernels
 * see what an adapter wrote. The runtime knows no dma-bufs, so the driver is asked for those by
 * name.
 *
 * A device with a coherent link to the processor (Grace) has two ways for adapters: that link,
 * which the host's words take too, and PCI Express. The driver takes each for an ordering domain of
 * its own, says that nothing needs a flush, and flushes nothing (cuFlushGPUDirectRDMAWrites). So
 * all goes over the link: by dma-bufs, which are mapped there unless
 * CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE is given, and by nothing else. */
#include "cuda_gpudirect.h"

#include <cuda.h>
#include <string.h>
#include <unistd.h>

#include "cuda_buffers.h"
#include "cuda_device.h"
#include "cuda_driver.h"
#include "cuda_errors.h"

/* The driver gives large allocations pages of this size, from their begin on. */
#define PAGE (UINT64_C(2) << 20)
#define NO_DMABUF                                                                                  \
    "its driver gives out no dma-buf of memory (it takes CUDA 11.7 and the driver's open kernel "  \
    "modules)"

typedef CUresult (*attribute_fn_t)(int *value, CUdevice_attribute which, CUdevice device);
typedef CUresult (*export_fn_t)(void *fd, CUdeviceptr at, size_t bytes, CUmemRangeHandleType type,
                                unsigned long long flags);

static weft_status_t gpudirect_refused(const weft_kernel_t *kernel, const char *why)
{
    return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0, "CUDA device %d: %s",
                                   kernel->device, why);
}

/* Sight ---------------------------------------------------------------------------------------- */

static bool cuda_gpudirect_attribute(const weft_kernel_t *kernel, enum cudaDeviceAttr which,
                                     int *value_p)
{
    return cudaDeviceGetAttribute(value_p, which, kernel->device) == cudaSuccess;
}

static bool cuda_gpudirect_can_flush(const weft_kernel_t *kernel)
{
    int options = 0;
    return cuda_gpudirect_attribute(kernel, cudaDevAttrGPUDirectRDMAFlushWritesOptions, &options) &&
           (options & cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
}

/* A pointer to a function does not fit a pointer to data by the letter of C; the system says that
 * it does. */
static export_fn_t cuda_gpudirect_export_function(const weft_kernel_t *kernel)
{
    void *asks = cuda_driver_function("cuDeviceGetAttribute", 2000);
    void *exports = cuda_driver_function("cuMemGetHandleForAddressRange", 11070);
    attribute_fn_t ask = NULL;
    export_fn_t export = NULL;
    int supported = 0;
    memcpy(&ask, &asks, sizeof ask);
    memcpy(&export, &exports, sizeof export);
    return ask != NULL && export != NULL &&
                   ask(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, kernel->device) ==
                       CUDA_SUCCESS &&
                   supported != 0
               ? export
               : NULL;
}

static weft_status_t gpudirect_bus_id(weft_kernel_t *kernel, char bus[WEFT_GPUDIRECT_BUS_BYTES])
{
    int supported = 0;
    if (!cuda_gpudirect_attribute(kernel, cudaDevAttrGPUDirectRDMASupported, &supported) ||
        supported == 0) {
        return gpudirect_refused(kernel, "adapters cannot use its memory (no GPUDirect RDMA)");
    }
    if (!kernel->facts.rdma_ordered && !cuda_gpudirect_can_flush(kernel)) {
        return gpudirect_refused(
            kernel, "what adapters write could not be made visible (no flush from the host)");
    }
    if (kernel->facts.pageable && cuda_gpudirect_export_function(kernel) == NULL) {
        return gpudirect_refused(kernel, "adapters would reach its memory beside its link to the "
                                         "processor, which nothing orders: " NO_DMABUF);
    }
    if (cudaDeviceGetPCIBusId(bus, WEFT_GPUDIRECT_BUS_BYTES, kernel->device) != cudaSuccess) {
        bus[0] = '\0';
    }
    for (char *c = bus; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
    }
    return WEFT_OK;
}

static weft_status_t gpudirect_flush(weft_kernel_t *kernel)
{
    cuda_guard_t guard;
    if (kernel->facts.rdma_ordered) {
        return WEFT_OK;
    }
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaDeviceFlushGPUDirectRDMAWrites(
        cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner);
    cuda_guard_leave(&guard);
    return error == cudaSuccess ? WEFT_OK
                                : cuda_failed(kernel, error, "flushing what an adapter wrote");
}

/* Memory --------------------------------------------------------------------------------------- */

/* Runs beside captures of the application. */
static weft_status_t gpudirect_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = cuda_buffers.alloc(kernel, (bytes + PAGE - 1) / PAGE * PAGE, memory_p);
        cuda_guard_leave(&guard);
    }
    return status;
}

static void gpudirect_free(weft_kernel_t *kernel, void *memory)
{
    cuda_buffers.free(kernel, memory);
}

static weft_status_t gpudirect_dmabuf(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                      int *fd_p, uint64_t *offset_p)
{
    cuda_guard_t guard;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t whole = (bytes + page - 1) / page * page;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    const export_fn_t export = cuda_gpudirect_export_function(kernel);
    CUresult result = export != NULL ? export(fd_p, (uintptr_t)memory, whole,
                                              CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)
                                     : CUDA_ERROR_NOT_SUPPORTED;
    cuda_guard_leave(&guard);
    *offset_p = 0;
    if (result == CUDA_SUCCESS) {
        return WEFT_OK;
    }
    return export == NULL
               ? gpudirect_refused(kernel, NO_DMABUF)
               : kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                         "CUDA device %d: the driver refused a dma-buf of %llu "
                                         "bytes at %p (CUresult %d)",
                                         kernel->device, (unsigned long long)whole, memory,
                                         (int)result);
}

static bool gpudirect_dmabuf_only(weft_kernel_t *kernel)
{
    return kernel->facts.pageable;
}

const weft_kernel_gpudirect_t cuda_gpudirect = {
    .size = sizeof(weft_kernel_gpudirect_t),
    .bus_id = gpudirect_bus_id,
    .alloc = gpudirect_alloc,
    .free = gpudirect_free,
    .dmabuf = gpudirect_dmabuf,
    .flush = gpudirect_flush,
    .dmabuf_only = gpudirect_dmabuf_only,
};
