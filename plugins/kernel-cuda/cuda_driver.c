/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver, asked through the runtime. */
#include "cuda_driver.h"

#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

void *cuda_driver_function(const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *function = NULL;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
    (void)version;
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess) {
        cudaGetLastError(); /* else the caller's next call of it would tell of this one */
    }
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : NULL;
}

bool cuda_driver_range(const void *memory, void **base_p, uint64_t *bytes_p)
{
    void *found = cuda_driver_function("cuMemGetAddressRange", 3020);
    CUresult (*range)(CUdeviceptr * base, size_t * bytes, CUdeviceptr at) = NULL;
    CUdeviceptr base = 0;
    size_t all = 0;
    memcpy(&range, &found, sizeof range);
    if (range == NULL || range(&base, &all, (uintptr_t)memory) != CUDA_SUCCESS) {
        return false;
    }
    *base_p = (void *)(uintptr_t)base;
    *bytes_p = all;
    return true;
}

/* The driver has no question for it. */
bool cuda_driver_blocks_launches(void)
{
    const char *text = secure_getenv("CUDA_LAUNCH_BLOCKING");
    return text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
}
