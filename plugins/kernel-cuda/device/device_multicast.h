/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DRAFT: compiled for sm_90 and newer, never run. An all-reduce in the switch: memory of all
 * devices of a team is bound to one multicast object. A load from its address sums what all devices
 * have there, a store goes to all. Each device reduces its share of the vectors, so a buffer
 * crosses each link once each way. The plugin does not use it: the switch sums in an order of its
 * own, and so the bits are not those of a plan. The program `probe` of tests/gpu runs it where
 * there is such a team. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_MULTICAST_H
#define KERNEL_CUDA_DEVICE_DEVICE_MULTICAST_H

#include <stdint.h>

#include <weft/types.h>

/* What the kernel of one device of the team gets. */
typedef struct multicast_job {
    uint8_t *all;          /* the buffer at the address of the object; aligned to 16 */
    uint32_t *arrived;     /* a word for each block in memory of this device; zero at first … */
    uint32_t *arrived_all; /* … and at the address of the object */
    uint64_t vectors;      /* of 16 bytes in the buffer */
    uint32_t device, devices;
    uint32_t dtype;  /* WEFT_FP32, WEFT_FP16 or WEFT_BF16 */
    uint32_t before; /* runs of the team before this one */
} multicast_job_t;

#if defined(__CUDACC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* Sums the vector of all devices in the switch; small floats in fp32. */
#define MULTICAST_SUM(name, load, store)                                                           \
    static __device__ __forceinline__ void multicast_##name(uint8_t *at)                           \
    {                                                                                              \
        uint32_t a, b, c, d;                                                                       \
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add" load " {%0, %1, %2, %3}, [%4];"   \
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                          \
                     : "l"(at)                                                                     \
                     : "memory");                                                                  \
        asm volatile("multimem.st.relaxed.sys.global" store " [%0], {%1, %2, %3, %4};"             \
                     :                                                                             \
                     : "l"(at), "r"(a), "r"(b), "r"(c), "r"(d)                                     \
                     : "memory");                                                                  \
    }
MULTICAST_SUM(fp16, ".acc::f32.v4.f16x2", ".v4.f16x2")
MULTICAST_SUM(bf16, ".acc::f32.v4.bf16x2", ".v4.bf16x2")
#undef MULTICAST_SUM

static __device__ __forceinline__ void multicast_fp32(uint8_t *at)
{
    float a, b, c, d;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                 : "l"(at)
                 : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(at), "f"(a), "f"(b), "f"(c), "f"(d)
                 : "memory");
}

/* The blocks of one number on all devices wait for each other, `times` times so far. Multicast
 * accesses are ordered by a fence of the proxies of memory that has several addresses. */
static __device__ void multicast_barrier(const multicast_job_t *job, uint32_t block, uint32_t times)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t value;
        asm volatile("fence.proxy.alias;\n\t"
                     "multimem.red.release.sys.global.add.u32 [%0], 1;"
                     :
                     : "l"(job->arrived_all + block)
                     : "memory");
        do {
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                         : "=r"(value)
                         : "l"(job->arrived + block)
                         : "memory");
        } while ((int32_t)(value - times * job->devices) < 0);
        asm volatile("fence.proxy.alias;" : : : "memory");
    }
    __syncthreads();
}

/* All blocks of all devices of the team are resident at once. */
static __device__ void multicast_run(const multicast_job_t *job, uint32_t block, uint32_t blocks)
{
    const uint64_t share = (job->vectors + job->devices - 1) / job->devices;
    const uint64_t first = share * job->device;
    const uint64_t end = first + share < job->vectors ? first + share : job->vectors;
    multicast_barrier(job, block, 2 * job->before + 1);
    for (uint64_t v = first + (uint64_t)block * blockDim.x + threadIdx.x; v < end;
         v += (uint64_t)blocks * blockDim.x) {
        uint8_t *at = job->all + v * 16;
        if (job->dtype == WEFT_FP32) {
            multicast_fp32(at);
        } else if (job->dtype == WEFT_FP16) {
            multicast_fp16(at);
        } else {
            multicast_bf16(at);
        }
    }
    multicast_barrier(job, block, 2 * job->before + 2);
}

#endif
#endif
