/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of the program `probe`, in the common subset of C11 and CUDA C++, made of what the
 * plugin's kernel is made of. */
#ifndef TESTS_GPU_PROBE_DEVICE_H
#define TESTS_GPU_PROBE_DEVICE_H

#include "plugins/kernel-cuda/device/device_combine.h"
#include "plugins/kernel-cuda/device/platform.h"
#include "tests/gpu/probe.h"

#if defined(__CUDACC__)
static WEFT_DEVICE uint64_t probe_ns(void)
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}
#else
#include <time.h>
static inline uint64_t probe_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

static WEFT_DEVICE void probe_job_wait(const probe_job_t *job)
{
    device_publish64(&job->words->begun, 1);
    for (uint32_t round = 0; device_acquire64(&job->words->go) == 0; round++) {
        device_pause(round);
    }
}

/* Each step depends on the one before. Returns what must not be left out. */
static WEFT_DEVICE uint64_t probe_step(const probe_job_t *job, uint64_t before)
{
    uint64_t *host = &job->words->note[before & 1], *near = job->device + (before & 1);
    switch (job->step) {
    case PROBE_LOAD_HOST:
        return device_look32((const uint32_t *)host);
    case PROBE_ACQUIRE_HOST:
        return device_acquire64(host);
    case PROBE_ACQUIRE_DEVICE:
        return device_acquire64_near(near);
    case PROBE_FENCE_HOST:
        device_note64(host, 0);
        break;
    case PROBE_FENCE_DEVICE:
        device_note64(near, 0);
        break;
    default:
        break;
    }
    device_publish_fence();
    return job->step == PROBE_FENCE_LOAD ? device_look32((const uint32_t *)near) : 0;
}

static WEFT_DEVICE void probe_job_steps(const probe_job_t *job)
{
    uint64_t sum = 0;
    for (uint32_t warm = 0; warm < 2; warm++) {
        const uint64_t begin = probe_ns();
        for (uint64_t i = 0; i < job->rounds; i++) {
            sum += probe_step(job, sum);
        }
        device_note64(job->result, (probe_ns() - begin) / job->rounds + sum);
    }
}

static WEFT_DEVICE void probe_raise(uint64_t *word, uint64_t value)
{
    device_publish_fence();
    device_publish64(word, value);
}

static WEFT_DEVICE void probe_job_pong(const probe_job_t *job, uint32_t block)
{
    const uint32_t side = (block + job->side) & 1;
    const uint64_t begin = probe_ns();
    for (uint64_t r = 1; r <= job->rounds; r++) {
        if (side == 0) {
            probe_raise(job->end[1], r);
        }
        for (uint32_t round = 0; device_acquire64(job->end[side]) < r; round++) {
            device_pause(round);
        }
        if (side == 1) {
            probe_raise(job->end[0], r);
        }
    }
    if (side == job->side) {
        device_note64(job->result, (probe_ns() - begin) / job->rounds);
    }
}

/* A function of its own, as the arithmetic of a plan is. */
static WEFT_DEVICE_CALL void probe_combine(const weft_combine_t *c, uint32_t thread,
                                           uint32_t threads)
{
    cuda_combine(WEFT_FP32, WEFT_SUM, c, thread, threads);
}

static WEFT_DEVICE void probe_slice_aim(const probe_job_t *job, weft_combine_t *c, uint64_t slice)
{
    const uint64_t at = slice * job->each;
    c->src[0] = job->buffer[0] + at;
    c->src[1] = job->buffer[1] + at;
    c->dst[0] = job->buffer[2] + at;
    c->nsrc = job->nsrc;
    c->ndst = 1;
    c->count = job->each;
    c->pre_mask = c->flags = 0;
    c->nranks = 2;
}

static WEFT_DEVICE void probe_job_slices(const probe_job_t *job, weft_combine_t *c, uint32_t block)
{
    const uint32_t thread = device_thread(), threads = device_threads();
    const uint32_t first = job->apart && !device_leader_copies() ? DEVICE_WARP : 0;
    for (uint64_t i = 0; i < job->rounds; i++) {
        if (thread == 0) {
            probe_slice_aim(job, c, block * job->rounds + i);
        }
        device_barrier();
        if (thread >= first) {
            probe_combine(c, thread - first, threads - first);
        }
        device_barrier();
    }
}

/* All threads of a block call this; `c` is memory of the block. */
static WEFT_DEVICE void probe_run(const probe_job_t *job, weft_combine_t *c, uint32_t block)
{
    if (job->what == PROBE_SLICES) {
        probe_job_slices(job, c, block);
        return;
    }
    if (device_thread() != 0) {
        return;
    }
    switch (job->what) {
    case PROBE_WAIT:
        probe_job_wait(job);
        break;
    case PROBE_NOTE:
        device_publish64(&job->words->note[job->step], 1);
        break;
    case PROBE_STEPS:
        probe_job_steps(job);
        break;
    case PROBE_PONG:
        probe_job_pong(job, block);
        break;
    default:
        break;
    }
}

#endif
