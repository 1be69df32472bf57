/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the device, and the words for machines that have none. */
#include "cuda_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"
#include "cuda_errors.h"
#include "launch.h"

#define ELSE_CPU "or set core.kernel = kernel-cpu"
#define CUDA_ALONE_PART 4u     /* of the device, for a rank that is alone on it */
#define CUDA_ALONE_MOST 32u    /* channels unasked: the rest computes */
#define CUDA_TOGETHER_MOST 64u /* the same of one of several ranks */
#define CUDA_SPARE_MOST 4u
#define CUDA_DEVICES_COUNTED 64
#define OLDEST 75 /* compute capability, ten times */

/* Why the runtime finds no device, and what helps. */
typedef struct cuda_trouble {
    cudaError_t error;
    const char *cause, *remedy;
} cuda_trouble_t;

static const cuda_trouble_t troubles[] = {
    {cudaErrorInsufficientDriver, "the CUDA driver is older than this build needs",
     "update the NVIDIA driver"},
    {cudaErrorStubLibrary, "libcuda.so.1 is the stub of the toolkit, not a driver",
     "remove the stubs from the library path"},
    {cudaErrorNoDevice, "the driver finds no CUDA device",
     "look at nvidia-smi and CUDA_VISIBLE_DEVICES"},
    {cudaErrorDevicesUnavailable, "the device is busy or its compute mode forbids another process",
     "look at nvidia-smi -q -d COMPUTE"},
    {cudaErrorOperatingSystem, "the system refuses the device, perhaps a cgroup or a container",
     "allow /dev/nvidia* here"},
    {cudaErrorNotPermitted, "this process may not use the device", "allow /dev/nvidia* here"},
    {cudaErrorSystemNotReady,
     "the driver is not ready yet, perhaps its fabric manager is not running",
     "start nvidia-fabricmanager"},
    {cudaErrorSystemDriverMismatch, "kernel module and library of the driver differ",
     "restart after the driver's update"},
    {cudaErrorCompatNotSupportedOnDevice, "the compatibility package does not serve this device",
     "update the NVIDIA driver"},
    {cudaErrorMpsConnectionFailed, "the MPS server cannot be reached", "start or stop MPS"},
    {cudaErrorMpsMaxClientsReached, "the MPS server has no place for another client",
     "end other processes"},
    {cudaErrorNoKernelImageForDevice, "this build has no code for the device",
     "build with its architecture in WEFT_CUDA_ARCHITECTURES"},
    {cudaErrorMemoryAllocation, "the device has no memory left for another context",
     "end other processes"},
    {cudaErrorInitializationError, "the driver cannot be initialised",
     "a process that forks must do so before its first use of CUDA; else see dmesg"},
};

static weft_status_t no_device(const weft_kernel_t *kernel, cudaError_t error, const char *where)
{
    const weft_host_t *host = kernel->host;
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        if (troubles[i].error == error) {
            return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "%s: %s (%s); %s, " ELSE_CPU,
                                   where, troubles[i].cause, cudaGetErrorName(error),
                                   troubles[i].remedy);
        }
    }
    return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "%s: %s (%s); see dmesg, " ELSE_CPU,
                           where, cudaGetErrorString(error), cudaGetErrorName(error));
}

/* The runtime cannot tell a missing driver from an old one. */
static weft_status_t cuda_device_driver_find(const weft_kernel_t *kernel)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "no CUDA driver on this machine (%s); install the NVIDIA "
                                       "driver, " ELSE_CPU,
                                       dlerror());
    }
    dlclose(library);
    return WEFT_OK;
}

static weft_status_t cuda_device_ordinal_choose(weft_kernel_t *kernel, const char *wanted)
{
    const weft_host_t *host = kernel->host;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        return no_device(kernel, error, "looking for CUDA devices");
    }
    if (strcmp(wanted, "auto") == 0) {
        error = cudaGetDevice(&kernel->device);
        return error == cudaSuccess ? WEFT_OK : no_device(kernel, error, "device = auto");
    }
    static const char around[] = "modulo:";
    const bool modulo = strncmp(wanted, around, sizeof around - 1) == 0;
    const char *digits = modulo ? wanted + sizeof around - 1 : wanted;
    char *end = NULL;
    long number = strtol(digits, &end, 10);
    if (end == digits || *end != '\0' || (modulo && number < 0)) {
        return host->set_error(
            host, WEFT_ERR_CONFIG, 0,
            "device = %s: expected auto, the number of a CUDA device or modulo:N", wanted);
    }
    number = modulo && count > 0 ? number % count : number;
    if (number < 0 || number >= count) {
        return host->set_error(host, WEFT_ERR_CONFIG, 0,
                               "device = %s: this process sees CUDA devices 0 to %d", wanted,
                               count - 1);
    }
    kernel->device = (int)number;
    return WEFT_OK;
}

static int cuda_device_attribute(int device, enum cudaDeviceAttr which)
{
    int value = 0;
    cudaError_t error = cudaDeviceGetAttribute(&value, which, device);
    if (error != cudaSuccess) {
        error = cudaGetLastError(); /* else the caller's next call of it would tell of this one */
        value = 0;
    }
    return value;
}

bool cuda_device_shares_pages(int device)
{
    return cuda_device_attribute(device, cudaDevAttrPageableMemoryAccess) != 0 &&
           cuda_device_attribute(device, cudaDevAttrPageableMemoryAccessUsesHostPageTables) != 0;
}

/* Memory is double data rate: two transfers a cycle, whose rate is in kHz. */
static uint64_t device_memory_bandwidth(const weft_kernel_t *kernel)
{
    const int clock = cuda_device_attribute(kernel->device, cudaDevAttrMemoryClockRate);
    const int bits = cuda_device_attribute(kernel->device, cudaDevAttrGlobalMemoryBusWidth);
    return clock > 0 && bits > 0 ? (uint64_t)clock * 1000 * 2 * (uint64_t)bits / 8 : 0;
}

static weft_status_t device_ask(weft_kernel_t *kernel)
{
    const weft_host_t *host = kernel->host;
    char where[32];
    snprintf(where, sizeof where, "CUDA device %d", kernel->device);
    kernel->facts.processors =
        cuda_device_attribute(kernel->device, cudaDevAttrMultiProcessorCount);
    kernel->facts.major = cuda_device_attribute(kernel->device, cudaDevAttrComputeCapabilityMajor);
    kernel->facts.minor = cuda_device_attribute(kernel->device, cudaDevAttrComputeCapabilityMinor);
    kernel->facts.pageable = cuda_device_shares_pages(kernel->device);
    kernel->facts.same_address =
        cuda_device_attribute(kernel->device, cudaDevAttrCanUseHostPointerForRegisteredMem) != 0;
    kernel->facts.rdma_ordered =
        cuda_device_attribute(kernel->device, cudaDevAttrGPUDirectRDMAWritesOrdering) >=
        cudaGPUDirectRDMAWritesOrderingOwner;
    kernel->facts.domains =
        cuda_device_attribute(kernel->device, cudaDevAttrMemSyncDomainCount) > 1;
    kernel->facts.memory_bandwidth = device_memory_bandwidth(kernel);
    if (10 * kernel->facts.major + kernel->facts.minor < OLDEST) {
        return host->set_error(
            host, WEFT_ERR_UNSUPPORTED, 0,
            "%s: compute capability %d.%d is below 7.5; use a newer device, " ELSE_CPU, where,
            kernel->facts.major, kernel->facts.minor);
    }
    int blocks = 0;
    cuda_context_t saved;
    cudaError_t error = cuda_context_enter(&kernel->contexts, kernel->device, &saved);
    if (error == cudaSuccess) {
        error = cuda_launch_usable();
        error = error == cudaSuccess ? cuda_launch_lanes_max(kernel->threads, &blocks) : error;
        cuda_context_leave(&saved);
    }
    kernel->facts.max_blocks = (uint32_t)blocks * (uint32_t)kernel->facts.processors;
    return error == cudaSuccess ? WEFT_OK : no_device(kernel, error, where);
}

/* Instances of this process by device. A process has few devices; the rest counts as alone. */
static _Atomic uint32_t sharers[CUDA_DEVICES_COUNTED];

/* Blocks that are left to kernels which are no lanes. */
static uint32_t cuda_device_spare(const weft_kernel_t *kernel)
{
    const uint32_t part = kernel->facts.max_blocks / 16;
    return part < 1 ? 1 : part > CUDA_SPARE_MOST ? CUDA_SPARE_MOST : part;
}

/* Blocks of the device for the lanes of all ranks. */
static uint32_t cuda_device_room(const weft_kernel_t *kernel)
{
    const uint32_t spare = cuda_device_spare(kernel);
    return kernel->facts.max_blocks > spare ? kernel->facts.max_blocks - spare : 0;
}

static uint32_t cuda_device_sharers(const weft_kernel_t *kernel)
{
    uint32_t ranks =
        kernel->device < CUDA_DEVICES_COUNTED ? atomic_load(&sharers[kernel->device]) : 1;
    ranks = ranks > kernel->channels.ranks ? ranks : kernel->channels.ranks;
    return ranks > 0 ? ranks : 1;
}

uint32_t cuda_device_blocks(const weft_kernel_t *kernel, uint32_t *sharers_p)
{
    *sharers_p = cuda_device_sharers(kernel);
    return cuda_device_room(kernel) / *sharers_p;
}

void cuda_device_close(const weft_kernel_t *kernel)
{
    if (kernel->device < CUDA_DEVICES_COUNTED) {
        atomic_fetch_sub(&sharers[kernel->device], 1);
    }
}

static uint32_t cuda_device_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Lanes wait for those of other ranks, so all that share a device must find room on it. Ranks that
 * share one take all of it: what each moves is the device's own memory, which needs many blocks. */
static void cuda_device_channels_choose(weft_kernel_t *kernel)
{
    const uint32_t room = cuda_device_room(kernel);
    const uint32_t most = kernel->channels.ranks > 1
                              ? CUDA_TOGETHER_MOST
                              : cuda_device_least(room / CUDA_ALONE_PART, CUDA_ALONE_MOST);
    const uint32_t part = cuda_device_least(room / cuda_device_sharers(kernel), most);
    kernel->channels.count = part > 0 ? part : 1;
}

/* The user's number, but for what has no room. */
static void cuda_device_channels_lower(weft_kernel_t *kernel)
{
    const weft_host_t *host = kernel->host;
    const uint32_t part = cuda_device_room(kernel) / kernel->channels.ranks;
    kernel->channels.count = cuda_device_least(kernel->channels.asked, part);
    if (kernel->channels.count < kernel->channels.asked) {
        host->log(host, WEFT_LOG_INFO, "%u channels in place of %u: %u ranks share CUDA device %d",
                  part, kernel->channels.asked, kernel->channels.ranks, kernel->device);
    }
}

weft_status_t cuda_device_share(weft_kernel_t *kernel, uint32_t ranks)
{
    const weft_host_t *host = kernel->host;
    const uint32_t room = cuda_device_room(kernel);
    if (ranks > room) {
        return host->set_error(
            host, WEFT_ERR_UNSUPPORTED, 0,
            "%u ranks of this host use CUDA device %d, and blocks of %u threads of at most %u of "
            "them "
            "fit on it together; use more devices, lower kernel-cuda.threads, " ELSE_CPU,
            ranks, kernel->device, kernel->threads, room);
    }
    kernel->channels.ranks = ranks;
    if (kernel->channels.asked == 0) {
        cuda_device_channels_choose(kernel);
    } else if (ranks > 0) {
        cuda_device_channels_lower(kernel);
    }
    return WEFT_OK;
}

weft_status_t cuda_device_open(weft_kernel_t *kernel, const cuda_config_t *config)
{
    weft_status_t status = cuda_device_driver_find(kernel);
    status = status == WEFT_OK ? cuda_device_ordinal_choose(kernel, config->device) : status;
    if (status == WEFT_OK) {
        cuda_context_find_driver(&kernel->contexts);
        status = device_ask(kernel);
    }
    if (status != WEFT_OK) {
        return status;
    }
    kernel->blocking = cuda_driver_blocks_launches();
    if (kernel->device < CUDA_DEVICES_COUNTED) {
        atomic_fetch_add(&sharers[kernel->device], 1);
    }
    kernel->channels.count = kernel->channels.asked = (uint32_t)config->channels;
    if (kernel->channels.asked == 0) {
        cuda_device_channels_choose(kernel);
    }
    return WEFT_OK;
}

weft_status_t cuda_guard_enter(const weft_kernel_t *kernel, cuda_guard_t *guard)
{
    cudaError_t error = cuda_context_enter(&kernel->contexts, kernel->device, guard);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, "making the device current");
}

void cuda_guard_leave(const cuda_guard_t *guard)
{
    cuda_context_leave(guard);
}
