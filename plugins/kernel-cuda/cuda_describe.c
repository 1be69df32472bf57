/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What CUDA tells of the devices of this machine and of the ways between them. Properties and
 * attributes come from the driver alone; free memory needs a context, hundreds of MiB on a device,
 * so it is told of the chosen device only, which has one already. How many NVLinks there are CUDA
 * does not tell. */
#include "cuda_describe.h"

#include <stdio.h>
#include <string.h>

#include "cuda_device.h"

static weft_status_t describe_failed(const weft_kernel_t *kernel, uint32_t index, const char *what,
                                     cudaError_t error)
{
    return kernel->host->set_error(kernel->host, WEFT_ERR_SYSTEM, 0, "CUDA device %u: %s: %s (%s)",
                                   index, what, cudaGetErrorString(error), cudaGetErrorName(error));
}

static weft_status_t describe_count(weft_kernel_t *kernel, uint32_t *count_p)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_SYSTEM, 0,
                                       "counting CUDA devices: %s (%s)", cudaGetErrorString(error),
                                       cudaGetErrorName(error));
    }
    *count_p = (uint32_t)count;
    return WEFT_OK;
}

static weft_status_t describe_check(weft_kernel_t *kernel, uint32_t index)
{
    uint32_t count = 0;
    weft_status_t status = describe_count(kernel, &count);
    if (status == WEFT_OK && index >= count) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                       "CUDA device %u: this process sees %u devices", index,
                                       count);
    }
    return status;
}

/* An attribute that the driver does not know is no error of anybody. */
static int32_t cuda_describe_host_node(int device)
{
    int node = -1;
#if CUDART_VERSION >= 12030
    cudaError_t error = cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, device);
    if (error != cudaSuccess) {
        error = cudaGetLastError(); /* else the caller's next call of it would tell of this one */
        node = -1;
    }
#else
    (void)device;
#endif
    return node;
}

static uint64_t cuda_describe_memory_free(weft_kernel_t *kernel)
{
    size_t left = 0, all = 0;
    cuda_context_t saved;
    if (cuda_context_enter(&kernel->contexts, kernel->device, &saved) != cudaSuccess) {
        return WEFT_BYTES_UNKNOWN;
    }
    cudaError_t error = cudaMemGetInfo(&left, &all);
    cuda_context_leave(&saved);
    return error == cudaSuccess ? left : WEFT_BYTES_UNKNOWN;
}

/* "GPU-" and the bytes in groups, as nvidia-smi prints it. */
static void cuda_describe_put_uuid(char *text, size_t bytes, const cudaUUID_t *uuid)
{
    int at = snprintf(text, bytes, "GPU");
    for (int i = 0; i < 16; i++) {
        const char *dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        at += snprintf(text + at, bytes - (size_t)at, "%s%02x", dash,
                       (unsigned)(unsigned char)uuid->bytes[i]);
    }
}

static weft_status_t describe_device(weft_kernel_t *kernel, uint32_t index,
                                     weft_kernel_device_t *device)
{
    struct cudaDeviceProp asked;
    weft_status_t status = describe_check(kernel, index);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaGetDeviceProperties(&asked, (int)index);
    if (error != cudaSuccess) {
        return describe_failed(kernel, index, "its properties", error);
    }
    const bool chosen = (int)index == kernel->device;
    weft_kernel_device_t mine = {
        .size = device->size,
        .ordinal = index,
        .chosen = chosen,
        .numa = cuda_describe_host_node((int)index),
        .memory_bytes = asked.totalGlobalMem,
        .memory_free = chosen ? cuda_describe_memory_free(kernel) : WEFT_BYTES_UNKNOWN,
    };
    snprintf(mine.name, sizeof mine.name, "%.*s", (int)sizeof mine.name - 1, asked.name);
    snprintf(mine.pci, sizeof mine.pci, "%04x:%02x:%02x.0", (unsigned)asked.pciDomainID,
             (unsigned)asked.pciBusID, (unsigned)asked.pciDeviceID);
    snprintf(mine.capability, sizeof mine.capability, "%d.%d", asked.major, asked.minor);
    cuda_describe_put_uuid(mine.uuid, sizeof mine.uuid, &asked.uuid);
    memcpy(device, &mine, device->size < sizeof mine ? device->size : sizeof mine);
    return WEFT_OK;
}

static weft_status_t describe_reach(weft_kernel_t *kernel, uint32_t index, uint32_t peer,
                                    weft_kernel_peer_access_t *peer_access)
{
    int access = 0, atomics = 0, rank = -1;
    weft_status_t status = describe_check(kernel, index);
    status = status == WEFT_OK ? describe_check(kernel, peer) : status;
    if (status != WEFT_OK) {
        return status;
    }
    if (index == peer) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                       "CUDA device %u reaches its own memory", index);
    }
    cudaError_t error =
        cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, (int)index, (int)peer);
    if (error == cudaSuccess) {
        error = cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, (int)index,
                                          (int)peer);
    }
    if (error == cudaSuccess) {
        error =
            cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, (int)index, (int)peer);
    }
    if (error != cudaSuccess) {
        return describe_failed(kernel, index, "its way to another device", error);
    }
    weft_kernel_peer_access_t mine = {.size = peer_access->size,
                                      .access = access != 0,
                                      .atomics = access != 0 && atomics != 0,
                                      .rank = access != 0 ? rank : -1};
    memcpy(peer_access, &mine, peer_access->size < sizeof mine ? peer_access->size : sizeof mine);
    return WEFT_OK;
}

const weft_kernel_describe_t cuda_describe = {
    .size = sizeof(weft_kernel_describe_t),
    .count = describe_count,
    .device = describe_device,
    .peer_access = describe_reach,
};
