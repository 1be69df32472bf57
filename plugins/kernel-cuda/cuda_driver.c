/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver, asked through the runtime. */
#include "cuda_driver.h"

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
