/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One combination by all threads of a grid. */
#include <string.h>

#include "device/combine.h"
#include "launch.h"

#define CUDA_COMBINE_THREADS 256

/* The types of the parameters of a kernel; the scalar comes by value, wherever the caller has it. */
typedef struct cuda_order {
    weft_combine_t combine;
    uint64_t scalar;
    uint32_t dtype, op;
} cuda_order_t;

__global__ void __launch_bounds__(CUDA_COMBINE_THREADS)
    cuda_combine_grid(const __grid_constant__ cuda_order_t order)
{
    __shared__ cuda_order_t mine;
    if (threadIdx.x == 0) {
        mine = order;
        mine.combine.scalar = &mine.scalar;
    }
    __syncthreads();
    cuda_combine(mine.dtype, mine.op, &mine.combine, blockIdx.x * blockDim.x + threadIdx.x,
                 gridDim.x * blockDim.x);
}

static size_t cuda_scalar_bytes(weft_dtype_t dtype)
{
#define BYTES(value, name, bytes, text) bytes,
    static const unsigned char sizes[] = {WEFT_DTYPE_MAP(BYTES)};
#undef BYTES
    return sizes[dtype];
}

extern "C" cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op,
                                           const weft_combine_t *c, uint32_t blocks,
                                           cudaStream_t stream)
{
    cuda_order_t order = {};
    order.combine = *c;
    order.dtype = dtype;
    order.op = op;
    if (c->pre_mask != 0 && c->scalar != NULL) {
        memcpy(&order.scalar, c->scalar, cuda_scalar_bytes(dtype));
    }
    cuda_combine_grid<<<blocks, CUDA_COMBINE_THREADS, 0, stream>>>(order);
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_launch_usable(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, cuda_combine_grid);
}
