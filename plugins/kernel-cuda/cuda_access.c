/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_access.h. The kernel's device is current in all of it. */
#include "cuda_access.h"

#include <stdio.h>

#include "cuda_errors.h"
#include "cuda_ipc_handle.h"
#include "cuda_paths.h"

weft_status_t cuda_peer_enable(weft_kernel_t *kernel, int other, bool *can_p)
{
    int can = 0;
    char what[64];
    cudaError_t error = cudaDeviceCanAccessPeer(&can, kernel->device, other);
    if (error == cudaSuccess && can != 0) {
        error = cudaDeviceEnablePeerAccess(other, 0);
    }
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
        error = cudaSuccess;
    }
    *can_p = can != 0;
    snprintf(what, sizeof what, "opening the way to memory of CUDA device %d", other);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, what);
}

static weft_status_t cuda_access_check_device(weft_kernel_t *kernel, int other, const void *at,
                                              const char *name)
{
    bool can = false;
    char bus[CUDA_BUS_BYTES] = "";
    weft_status_t status = cuda_peer_enable(kernel, other, &can);
    if (status == WEFT_OK && cudaDeviceGetPCIBusId(bus, sizeof bus, other) == cudaSuccess) {
        status = cuda_paths_check(kernel, bus);
    }
    if (status == WEFT_OK && can && !cuda_ipc_handle_grants(at)) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "%s %p is memory of CUDA device %d: " CUDA_NOT_GRANTED, name,
                                       at, other);
    }
    if (status != WEFT_OK) {
        return status;
    }
    return can ? WEFT_OK
               : kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                         "%s %p is memory of CUDA device %d, which device %d "
                                         "of this rank cannot reach; use memory of device %d",
                                         name, at, other, kernel->device, kernel->device);
}

weft_status_t cuda_check_access(weft_kernel_t *kernel, const void *at, const char *name)
{
    struct cudaPointerAttributes where;
    cudaError_t error = cudaPointerGetAttributes(&where, at);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "asking where a buffer lies");
    }
    if (where.type == cudaMemoryTypeDevice && where.device != kernel->device) {
        return cuda_access_check_device(kernel, where.device, at, name);
    }
    bool far = where.type == cudaMemoryTypeUnregistered && !kernel->facts.pageable;
    if (far || (where.type == cudaMemoryTypeHost && where.devicePointer != at)) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "%s %p is host memory that CUDA device %d cannot reach; use "
                                       "cudaMalloc, cudaMallocManaged or cudaHostAlloc",
                                       name, at, kernel->device);
    }
    return WEFT_OK;
}

weft_status_t cuda_check_access_async(weft_kernel_t *kernel, const void *at, const char *name)
{
    struct cudaPointerAttributes where;
    cudaError_t error = cudaPointerGetAttributes(&where, at);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "asking where a buffer lies");
    }
    return where.type != cudaMemoryTypeUnregistered
               ? cuda_check_access(kernel, at, name)
               : kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                         "%s %p is pageable host memory, which a stream cannot "
                                         "copy; use cudaMalloc, cudaMallocManaged or cudaHostAlloc",
                                         name, at);
}
