/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The few calls of CUDA that the API needs besides weft's. */
#include "bindings/nccl/cuda.h"

#include <dlfcn.h>
#include <string.h>

#include "bindings/nccl/errors.h"

/* A function of a library that is loaded already, under one of its names, or NULL. Programs that
 * load the runtime as a module's dependency keep it out of the global scope. */
static void *cuda_find_in(const char *const *sonames, const char *name)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; at == NULL && sonames[i] != NULL; i++) {
        void *library = dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            at = dlsym(library, name);
            dlclose(library);
        }
    }
    return at;
}

/* Stores the function of the runtime or, failing that, of the driver in *function_p. */
static bool cuda_find(const char *runtime, const char *driver, void *function_p)
{
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12",
                                           "libcudart.so.11.0", NULL};
    static const char *const drivers[] = {"libcuda.so.1", NULL};
    void *at = cuda_find_in(runtimes, runtime);
    at = at != NULL ? at : cuda_find_in(drivers, driver);
    memcpy(function_p, &at, sizeof at);
    return at != NULL;
}

bool nccl_cuda_loaded(void)
{
    int (*get)(int *);
    return cuda_find("cudaGetDevice", "cuCtxGetDevice", &get);
}

int nccl_cuda_device(void)
{
    int (*get)(int *);
    int device = 0;
    return cuda_find("cudaGetDevice", "cuCtxGetDevice", &get) && get(&device) == 0 ? device : 0;
}

int nccl_cuda_device_count(void)
{
    int (*get)(int *);
    int count = 0;
    return cuda_find("cudaGetDeviceCount", "cuDeviceGetCount", &get) && get(&count) == 0 ? count
                                                                                         : 0;
}

/* The runtime has no driver or no device, so nothing is in any stream. */
static bool cuda_has_nothing(int error)
{
    enum { CUDA_NOT_INITIALIZED = 3, CUDA_OLD_DRIVER = 35, CUDA_NO_DEVICE = 100 };
    return error == CUDA_NOT_INITIALIZED || error == CUDA_OLD_DRIVER || error == CUDA_NO_DEVICE;
}

ncclResult_t nccl_cuda_settle(const char *call, cudaStream_t stream)
{
    int (*wait)(cudaStream_t);
    if (!cuda_find("cudaStreamSynchronize", "cuStreamSynchronize", &wait)) {
        return ncclSuccess;
    }
    int error = wait(stream);
    return error == 0 || cuda_has_nothing(error)
               ? ncclSuccess
               : nccl_fail(ncclUnhandledCudaError, "%s: CUDA error %d of the stream", call, error);
}

ncclResult_t nccl_cuda_alloc(void **memory_p, size_t bytes)
{
    int (*alloc)(void **, size_t);
    bytes = bytes > 0 ? bytes : 1;
    if (!cuda_find("cudaMalloc", "cuMemAlloc_v2", &alloc)) {
        return nccl_fail(ncclUnhandledCudaError, "ncclMemAlloc: CUDA has no cudaMalloc");
    }
    int error = alloc(memory_p, bytes);
    return error == 0 ? ncclSuccess
                      : nccl_fail(ncclUnhandledCudaError,
                                  "ncclMemAlloc: CUDA error %d for %zu bytes", error, bytes);
}

ncclResult_t nccl_cuda_free(void *memory)
{
    int (*give)(void *);
    if (!cuda_find("cudaFree", "cuMemFree_v2", &give)) {
        return nccl_fail(ncclInvalidArgument,
                         "ncclMemFree: %p is no memory of ncclMemAlloc, or was freed", memory);
    }
    int error = give(memory);
    return error == 0 ? ncclSuccess
                      : nccl_fail(ncclUnhandledCudaError, "ncclMemFree: CUDA error %d", error);
}
