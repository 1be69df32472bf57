/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In place of kernels.cu: the device's code as the compiler of the host makes it, a thread for each
 * block. Also the driver's library that the plugin looks for. */
#include <dlfcn.h>
#include <string.h>

#include "tests/cuda/fake.h"

#define DEVICE_COUNT(what, word) fake_memory_count(FAKE_##what, word)
#define DEVICE_STORE_PART(at, low, high, line) fake_store_part(at, low, high, line)
#define DEVICE_PAUSE(round) (fake_stores_linger(), device_nap(round))
#define DEVICE_FENCE() fake_fence()

#include "plugins/kernel-cuda/device/device_host_wait.h"
#include "plugins/kernel-cuda/device/device_interpreter.h"
#include "plugins/kernel-cuda/launch.h"

void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return fake_cuda.no_driver ? NULL : &fake_cuda;
}

int dlclose(void *library)
{
    (void)library;
    return 0;
}

char *dlerror(void)
{
    static char text[] = "no such file";
    return text;
}

/* Kernels, of which each is loaded once: by the question whether it can be, else by its first
 * launch. */
enum { KERNEL_LANES, KERNEL_HOST_WAIT, KERNEL_COMBINE, KERNELS };

static _Atomic bool kernel_loaded[KERNELS];

static void kernel_load(uint32_t which, const char *call)
{
    if (!atomic_exchange(&kernel_loaded[which], true)) {
        fake_context_wait(FAKE_WAITS_LOAD, call);
    }
}

cudaError_t cuda_launch_usable(void)
{
    for (uint32_t k = 0; k < KERNELS; k++) {
        kernel_load(k, __func__);
    }
    return fake_answer(__func__);
}

/* Plans ---------------------------------------------------------------------------------------- */

static void lanes_block(const void *launch, uint32_t block)
{
    lanes_shared_t shared;
    memset(&shared, 0xd5, sizeof shared);
    lanes_run_launch(&shared, launch, block);
    /* Of the last run, where the launch has several. */
    if (block < shared.copy.run.nblocks && shared.block.idle.moved > 0) {
        atomic_fetch_add(&fake_cuda.working, 1);
    }
}

/* The lowest bit of the first element: a sum of perf's own figures does not mind, a check does. It
 * is done to the input, before the run: when the run has told its end, the buffers are the
 * caller's. */
static void spoil(const lanes_run_t *run)
{
    if (run->segmentation.count > 0 && run->in != NULL) {
        *(uint8_t *)(uintptr_t)run->in ^= 1;
    }
}

/* What the launch names on the device is looked up when it begins; of runs, messages, ports and
 * their ends, which are in memory, that stays. */
static void launch_aim(lanes_launch_t *launch)
{
    fake_memory_aim(launch, sizeof *launch);
    for (uint32_t i = 0; i < launch->nruns; i++) {
        lanes_run_t *run =
            launch->nruns == 1 ? &launch->run.run : (lanes_run_t *)(uintptr_t)&launch->runs[i].run;
        fake_memory_aim(run, sizeof *run);
        fake_memory_aim((void *)(uintptr_t)run->messages,
                        sizeof *run->messages * run->program.messages);
        const uint32_t nports = run->program.channels * run->program.nports;
        fake_memory_aim(run->ports, sizeof *run->ports * nports);
        for (uint32_t p = 0; p < nports; p++) {
            fake_memory_aim(run->ports[p].end, sizeof *run->ports[p].end);
        }
    }
}

static void lanes_grid(const void *arg)
{
    lanes_launch_t launch = *(const lanes_launch_t *)arg;
    launch_aim(&launch);
    if (fake_cuda.wrong && launch.runs == NULL) {
        spoil(&launch.run.run);
    }
    fake_blocks(lanes_block, &launch, launch.nblocks);
}

cudaError_t cuda_launch_lanes(const lanes_launch_t *launch, uint32_t threads, bool remote,
                              cudaStream_t stream)
{
    cudaError_t error = fake_answer(__func__);
    (void)threads;
    kernel_load(KERNEL_LANES, __func__);
    atomic_fetch_add(&fake_cuda.launches, 1);
    atomic_fetch_add(&fake_cuda.remote, remote);
    if (error != cudaSuccess || fake_cuda.swallow) {
        return error;
    }
    return fake_launch(stream, lanes_grid, launch, sizeof *launch);
}

typedef struct host_wait_args {
    lanes_host_wait_t *host_wait;
    uint64_t number;
} host_wait_args_t;

static void host_wait_block(const void *arg, uint32_t number)
{
    host_wait_args_t args = *(const host_wait_args_t *)arg;
    (void)number;
    fake_memory_aim(&args.host_wait, sizeof args.host_wait);
    lanes_host_wait_run(args.host_wait, args.number);
}

static void host_wait_grid(const void *arg)
{
    fake_blocks(host_wait_block, arg, 1);
}

cudaError_t cuda_launch_host_wait(lanes_host_wait_t *wait, uint64_t number, cudaStream_t stream)
{
    const host_wait_args_t args = {wait, number};
    kernel_load(KERNEL_HOST_WAIT, __func__);
    atomic_fetch_add(&fake_cuda.host_waits, 1);
    cudaError_t error = fake_answer(__func__);
    return error == cudaSuccess ? fake_launch(stream, host_wait_grid, &args, sizeof args) : error;
}

cudaError_t cuda_launch_lanes_max(uint32_t threads, int *blocks_p)
{
    (void)threads;
    *blocks_p = FAKE_BLOCKS_HELD;
    return fake_answer(__func__);
}

/* Combinations --------------------------------------------------------------------------------- */

typedef struct order {
    weft_combine_t combine;
    uint64_t scalar; /* by value, wherever the caller has it */
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t blocks;
} order_t;

/* One block does the work of all, one after the other. */
static void combine_block(const void *arg, uint32_t number)
{
    order_t order = *(const order_t *)arg;
    (void)number;
    fake_memory_aim(order.combine.src, order.combine.nsrc * sizeof order.combine.src[0]);
    fake_memory_aim(order.combine.dst, order.combine.ndst * sizeof order.combine.dst[0]);
    if (order.combine.scalar != NULL) {
        order.combine.scalar = &order.scalar;
    }
    for (uint32_t i = 0; i < order.blocks; i++) {
        cuda_combine(order.dtype, order.op, &order.combine, i, order.blocks);
    }
}

static void combine_grid(const void *arg)
{
    fake_blocks(combine_block, arg, 1);
}

cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                uint32_t blocks, cudaStream_t stream)
{
    order_t order = {.combine = *c, .dtype = dtype, .op = op, .blocks = blocks};
    cudaError_t error = fake_answer(__func__);
    kernel_load(KERNEL_COMBINE, __func__);
    atomic_fetch_add(&fake_cuda.combines, 1);
    if (c->pre_mask != 0 && c->scalar != NULL) {
        memcpy(&order.scalar, c->scalar, cuda_element(dtype));
    }
    return error == cudaSuccess ? fake_launch(stream, combine_grid, &order, sizeof order) : error;
}
