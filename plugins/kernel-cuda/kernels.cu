/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What runs on the device: plans by one block per lane, and one combination by all threads of a
 * grid. One kernel for both, so that the arithmetic, most of the code, is compiled and loaded once.
 * And host waits. */
#include <string.h>

#include "device/device_host_wait.h"
#include "device/device_interpreter.h"
#include "launch.h"

#define CUDA_COMBINE_THREADS 256

typedef struct cuda_order {
    weft_combine_t combine;
    uint64_t scalar; /* by value, wherever the caller has it */
    uint32_t dtype, op;
} cuda_order_t;

typedef struct cuda_job {
    union {
        lanes_launch_t launch;
        cuda_order_t order;
    };
    uint32_t is_launch;
} cuda_job_t;

typedef struct cuda_shared {
    union {
        lanes_shared_t lanes;
        cuda_order_t order;
    };
} cuda_shared_t;

/* A function of its own: its registers are not those of the plan. */
static WEFT_DEVICE_CALL void cuda_run_order(const cuda_order_t *order)
{
    cuda_combine(order->dtype, order->op, &order->combine, blockIdx.x * blockDim.x + threadIdx.x,
                 gridDim.x * blockDim.x);
}

/* Registers are allotted for the largest block. Lanes wait for each other and for other ranks: all
 * blocks must be on the device at once, see cuda_launch_lanes_max(). */
__global__ void __launch_bounds__(CUDA_THREADS_MAX)
    cuda_grid(const __grid_constant__ cuda_job_t job)
{
    __shared__ __align__(16) cuda_shared_t shared;
    if (job.is_launch != 0) {
        lanes_run_launch(&shared.lanes, &job.launch, blockIdx.x);
        return;
    }
    if (threadIdx.x == 0) {
        shared.order = job.order;
        shared.order.combine.scalar = &shared.order.scalar;
    }
    __syncthreads();
    cuda_run_order(&shared.order);
}

__global__ void __launch_bounds__(1) cuda_host_wait(lanes_host_wait_t *wait, uint64_t number)
{
    lanes_host_wait_run(wait, number);
}

static size_t cuda_scalar_bytes(weft_dtype_t dtype)
{
#define BYTES(value, name, bytes, text) bytes,
    static const unsigned char sizes[] = {WEFT_DTYPE_MAP(BYTES)};
#undef BYTES
    return sizes[dtype];
}

/* The status is that of the launch: <<<>>> would leave it as the thread's last error, among those
 * of calls before it. */
static cudaError_t cuda_launch(const void *kernel, uint32_t blocks, uint32_t threads, void **args,
                               cudaStream_t stream, bool remote)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    /* A fence of the whole system waits for the stores of all kernels of its domain, so those of
     * compute kernels beside a plan would delay each slice of it, and its stores to peers their
     * fences. Kernels of different domains order nothing for each other but by fences of the
     * system, which a plan uses, and by their ends. */
    cudaLaunchAttribute domain = {};
    domain.id = cudaLaunchAttributeMemSyncDomain;
    domain.val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
    config.attrs = remote ? &domain : nullptr;
    config.numAttrs = remote ? 1 : 0;
    return cudaLaunchKernelExC(&config, kernel, args);
}

extern "C" cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op,
                                           const weft_combine_t *c, uint32_t blocks,
                                           cudaStream_t stream)
{
    cuda_job_t job;
    memset(&job, 0, sizeof job);
    job.order.combine = *c;
    job.order.dtype = dtype;
    job.order.op = op;
    if (c->pre_mask != 0 && c->scalar != NULL) {
        memcpy(&job.order.scalar, c->scalar, cuda_scalar_bytes(dtype));
    }
    void *args[] = {&job};
    return cuda_launch(reinterpret_cast<const void *>(cuda_grid), blocks, CUDA_COMBINE_THREADS,
                       args, stream, false);
}

extern "C" cudaError_t cuda_launch_lanes(const lanes_launch_t *launch, uint32_t threads,
                                         bool remote, cudaStream_t stream)
{
    cuda_job_t job;
    job.launch = *launch;
    job.is_launch = 1;
    void *args[] = {&job};
    return cuda_launch(reinterpret_cast<const void *>(cuda_grid), launch->nblocks, threads, args,
                       stream, remote);
}

extern "C" cudaError_t cuda_launch_host_wait(lanes_host_wait_t *wait, uint64_t number,
                                             cudaStream_t stream)
{
    void *args[] = {&wait, &number};
    return cuda_launch(reinterpret_cast<const void *>(cuda_host_wait), 1, 1, args, stream, false);
}

extern "C" cudaError_t cuda_launch_lanes_max(uint32_t threads, int *blocks_p)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_p, cuda_grid,
                                                         static_cast<int>(threads), 0);
}

extern "C" cudaError_t cuda_launch_usable(void)
{
    /* Loads them: a kernel that is loaded at its first launch may wait for those that run, which
     * wait for other ranks. */
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, cuda_grid);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, cuda_host_wait) : error;
}
