/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the program `probe` on a device. */
#include "tests/gpu/probe_device.h"

__global__ static void __launch_bounds__(512) probe_kernel(const __grid_constant__ probe_job_t job)
{
    __shared__ weft_combine_t combine;
    probe_run(&job, &combine, blockIdx.x);
}

/* The blocks wait for those of other devices. */
__global__ static void __launch_bounds__(512)
    probe_multicast_kernel(const __grid_constant__ multicast_job_t job)
{
#if __CUDA_ARCH__ >= 900
    multicast_run(&job, blockIdx.x, gridDim.x);
#endif
}

__global__ static void probe_late()
{
}

extern "C" cudaError_t probe_launch(const probe_job_t *job, uint32_t blocks, uint32_t threads,
                                    cudaStream_t stream)
{
    probe_kernel<<<blocks, threads, 0, stream>>>(*job);
    return cudaGetLastError();
}

extern "C" cudaError_t probe_launch_multicast(const multicast_job_t *job, uint32_t blocks,
                                              uint32_t threads)
{
    probe_multicast_kernel<<<blocks, threads>>>(*job);
    return cudaGetLastError();
}

extern "C" cudaError_t probe_launch_late(cudaStream_t stream)
{
    probe_late<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}

extern "C" cudaError_t probe_load_late(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, probe_late);
}
