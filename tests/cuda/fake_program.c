/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs that nvcc compiled call besides: they register their kernels, which cannot run
 * here, and use a few calls that this tree does not. With these the library serves such programs as
 * libcudart. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/fake.h"

/* Registration: handles that nobody looks into. ------------------------------------------------ */

void **__cudaRegisterFatBinary(void *fat_binary);
void **__cudaRegisterFatBinary(void *fat_binary)
{
    static void *handle;
    (void)fat_binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

/* Has ten parameters; none matters. */
void __cudaRegisterFunction(void);
void __cudaRegisterFunction(void)
{
    atomic_fetch_add(&fake_cuda.kernels, 1);
}

void __cudaRegisterVar(void);
void __cudaRegisterVar(void)
{
}

/* Launches ------------------------------------------------------------------------------------- */

static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *(cudaStream_t *)stream = configuration.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(void **kernel, const void *function);
cudaError_t __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = (void *)(uintptr_t)function;
    return cudaSuccess;
}

static cudaError_t refuse_launch(const void *kernel)
{
    if (fake_cuda.swallow) {
        return fake_answer("cudaLaunchKernel");
    }
    fprintf(stderr, "fake CUDA runtime: the program's kernel %p cannot run here\n", kernel);
    return fake_told(cudaErrorNotSupported);
}

cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                               cudaStream_t stream)
{
    (void)grid;
    (void)block;
    (void)args;
    (void)shared;
    (void)stream;
    return refuse_launch(kernel);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             size_t shared, cudaStream_t stream)
{
    (void)grid;
    (void)block;
    (void)args;
    (void)shared;
    (void)stream;
    return refuse_launch(function);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    for (uint32_t i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == cudaLaunchAttributeMemSyncDomain &&
            attribute->val.memSyncDomain == cudaLaunchMemSyncDomainRemote) {
            atomic_fetch_add(&fake_cuda.remote, 1);
        }
    }
    (void)args;
    return refuse_launch(function);
}

/* As the driver loads lazily: a kernel is there once somebody asked for it. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    memset(attributes, 0, sizeof *attributes);
    (void)function;
    atomic_fetch_add(&fake_cuda.loaded, 1);
    return fake_answer(__func__);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                   const void *function,
                                                                   int threads, size_t shared,
                                                                   unsigned flags)
{
    (void)function;
    (void)threads;
    (void)shared;
    (void)flags;
    *blocks = FAKE_BLOCKS_HELD;
    return fake_answer(__func__);
}

/* Others --------------------------------------------------------------------------------------- */

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    cudaError_t error = fake_answer(__func__);
    error = error == cudaSuccess ? cudaMemsetAsync(to, value, bytes, NULL) : error;
    return error == cudaSuccess ? fake_stream_settle(NULL) : error;
}

/* A process calls it at its end, when nothing is left to free that anybody asks for. */
cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return fake_answer(__func__);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return flags == cudaEventRecordDefault ? cudaEventRecord(event, stream) : cudaErrorNotSupported;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake_cuda.no_driver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}
