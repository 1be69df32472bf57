/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words for what the CUDA runtime refuses: what, where, why, and what helps. */
#include "cuda_errors.h"

#define LOST "this process has lost the device and must end; "

/* The errors from `first` to `last`, whose numbers are consecutive. */
typedef struct cuda_fault {
    cudaError_t first, last;
    weft_status_t status;
    const char *remedy;
} cuda_fault_t;

static const cuda_fault_t faults[] = {
    {cudaErrorIllegalState, cudaErrorIllegalState, WEFT_ERR_STATE,
     "a capture that was never begun, or is under way already"},
    {cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureWrongThread, WEFT_ERR_STATE,
     "a stream captures a graph, where this is not allowed; end the capture, and do this before "
     "it"},
    {cudaErrorInvalidResourceHandle, cudaErrorInvalidResourceHandle, WEFT_ERR_ARG,
     "a stream or an event that was destroyed, or is another device's"},
    {cudaErrorPeerAccessUnsupported, cudaErrorPeerAccessUnsupported, WEFT_ERR_UNSUPPORTED,
     "use memory of this device"},
    {cudaErrorTooManyPeers, cudaErrorTooManyPeers, WEFT_ERR_UNSUPPORTED,
     "use memory of this device, or of fewer others"},
    {cudaErrorNotPermitted, cudaErrorNotPermitted, WEFT_ERR_UNSUPPORTED,
     "see whether a container or MPS forbids it"},
    {cudaErrorIllegalAddress, cudaErrorIllegalAddress, WEFT_ERR_SYSTEM,
     LOST "a buffer was freed too early, or is shorter than a call said (compute-sanitizer tells)"},
    {cudaErrorLaunchTimeout, cudaErrorLaunchTimeout, WEFT_ERR_SYSTEM,
     LOST "a device that also serves a display ends kernels that wait for long"},
    {cudaErrorHardwareStackError, cudaErrorLaunchFailure, WEFT_ERR_SYSTEM, LOST "see dmesg"},
    {cudaErrorECCUncorrectable, cudaErrorECCUncorrectable, WEFT_ERR_SYSTEM,
     LOST "see nvidia-smi -q -d ECC"},
};

static weft_status_t cuda_errors_no_memory(const weft_kernel_t *kernel, const char *what)
{
    size_t left = 0, all = 0;
    if (cudaMemGetInfo(&left, &all) != cudaSuccess) {
        left = all = 0;
    }
    return kernel->host->set_error(kernel->host, WEFT_ERR_RESOURCE, 0,
                                   "%s: CUDA device %d has no memory left for it (%zu of %zu bytes "
                                   "are free); free some, or use smaller buffers",
                                   what, kernel->device, left, all);
}

weft_status_t cuda_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what)
{
    weft_status_t status = WEFT_ERR_SYSTEM;
    const char *remedy = "see dmesg";
    if (error == cudaErrorMemoryAllocation) {
        return cuda_errors_no_memory(kernel, what);
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (error >= faults[i].first && error <= faults[i].last) {
            status = faults[i].status;
            remedy = faults[i].remedy;
        }
    }
    return kernel->host->set_error(kernel->host, status, 0, "%s on CUDA device %d: %s (%s); %s",
                                   what, kernel->device, cudaGetErrorString(error),
                                   cudaGetErrorName(error), remedy);
}
