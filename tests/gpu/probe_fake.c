/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the program `probe` over the CUDA runtime of threads: a thread for each block. */
#include "tests/gpu/probe_device.h"

#include "tests/cuda/fake.h"

typedef struct grid {
    probe_job_t job;
    uint32_t blocks;
} grid_t;

static void block_run(const void *arg, uint32_t number)
{
    weft_combine_t combine = {.count = 0};
    probe_run(arg, &combine, number);
}

static void grid_run(const void *arg)
{
    grid_t grid = *(const grid_t *)arg;
    fake_memory_aim(&grid.job, sizeof grid.job);
    fake_blocks(block_run, &grid.job, grid.blocks);
}

cudaError_t probe_launch(const probe_job_t *job, uint32_t blocks, uint32_t threads,
                         cudaStream_t stream)
{
    const grid_t grid = {*job, blocks};
    (void)threads;
    return fake_launch(stream, grid_run, &grid, sizeof grid);
}

/* The runtime of threads has no multicast. */
cudaError_t probe_launch_multicast(const multicast_job_t *job, uint32_t blocks, uint32_t threads)
{
    (void)job;
    (void)blocks;
    (void)threads;
    return cudaErrorNotSupported;
}

static void late_run(const void *arg)
{
    (void)arg;
}

cudaError_t probe_load_late(void)
{
    fake_context_wait(FAKE_WAITS_LOAD, __func__);
    return cudaSuccess;
}

cudaError_t probe_launch_late(cudaStream_t stream)
{
    cudaError_t error = probe_load_late();
    return error == cudaSuccess ? fake_launch(stream, late_run, NULL, 0) : error;
}
