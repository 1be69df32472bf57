/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the steps of a plan cost: launches, looks, fences, a word there and back, slices. */
#include <stdio.h>
#include <unistd.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

#if defined(GPU_DEVICE)
#define LAUNCHES 500
#define ROUNDS 1000u
#define SLICE ((uint64_t)65536)     /* elements: 256 KiB */
#define BUFFER ((uint64_t)64 << 20) /* elements: 256 MiB, more than any second cache */
#else
#define LAUNCHES 5
#define ROUNDS 10u
#define SLICE ((uint64_t)16)
#define BUFFER ((uint64_t)4096)
#endif

static void launches_issue(cudaStream_t stream)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    double begin = probe_us();
    for (int i = 0; i < LAUNCHES; i++) {
        PROBE_OK(probe_launch(&job, 1, 32, stream));
    }
    line_answer("to issue a launch", "ok", (probe_us() - begin) / LAUNCHES, "us");
    PROBE_OK(cudaStreamSynchronize(stream));
    line_answer("a launch behind another", "ok", (probe_us() - begin) / LAUNCHES, "us");
    begin = probe_us();
    for (int i = 0; i < LAUNCHES; i++) {
        PROBE_OK(probe_launch(&job, 1, 32, stream));
        PROBE_OK(cudaStreamSynchronize(stream));
    }
    line_answer("a launch, and wait", "ok", (probe_us() - begin) / LAUNCHES, "us");
}

static void launches_graph(cudaStream_t stream)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    PROBE_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < LAUNCHES; i++) {
        PROBE_OK(probe_launch(&job, 1, 32, stream));
    }
    PROBE_OK(cudaStreamEndCapture(stream, &graph));
    PROBE_OK(cudaGraphInstantiate(&exec, graph, 0));
    PROBE_OK(cudaGraphLaunch(exec, stream));
    PROBE_OK(cudaStreamSynchronize(stream));
    const double begin = probe_us();
    PROBE_OK(cudaGraphLaunch(exec, stream));
    PROBE_OK(cudaStreamSynchronize(stream));
    line_answer("a kernel of many in a graph", "ok", (probe_us() - begin) / LAUNCHES, "us");
}

void probe_launches(int unused)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    cudaStream_t stream = probe_stream();
    (void)unused;
    PROBE_OK(probe_launch(&job, 1, 32, stream));
    PROBE_OK(cudaStreamSynchronize(stream));
    launches_issue(stream);
    launches_graph(stream);
    const double begin = probe_us();
    for (int i = 0; i < LAUNCHES; i++) {
        enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        PROBE_OK(cudaThreadExchangeStreamCaptureMode(&mode));
        PROBE_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    line_answer("the mode of captures, there and back", "ok", (probe_us() - begin) / LAUNCHES,
                "us");
}

/* The result of a job in nanoseconds. */
static double steps_run(const probe_job_t *job, uint32_t blocks)
{
    PROBE_OK(probe_launch(job, blocks, 1, NULL));
    PROBE_OK(cudaDeviceSynchronize());
    return (double)*job->result;
}

/* The host is one end of a pong, the device the other. */
static void steps_with_host(const probe_job_t *pong)
{
    probe_job_t job = *pong;
    uint64_t *mine = &job.words->note[PROBE_APART], *theirs = &job.words->note[4 * PROBE_APART];
    job.side = 1;
    job.end[0] = mine;
    job.end[1] = theirs;
    PROBE_OK(probe_launch(&job, 1, 1, NULL));
    const double begin = probe_us();
    for (uint64_t r = 1; r <= job.rounds; r++) {
        __atomic_store_n(theirs, r, __ATOMIC_RELEASE);
        while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) < r) {
        }
    }
    line_answer("there and back between processor and device", "ok",
                1e3 * (probe_us() - begin) / (double)job.rounds, "ns");
    PROBE_OK(cudaDeviceSynchronize());
}

void probe_steps(int unused)
{
    static const char *const names[PROBE_STEPS_ALL] = {
        [PROBE_LOAD_HOST] = "a load of the host's memory",
        [PROBE_ACQUIRE_HOST] = "an acquire of the host's memory",
        [PROBE_ACQUIRE_DEVICE] = "an acquire of the device's memory",
        [PROBE_FENCE] = "a fence of the system",
        [PROBE_FENCE_HOST] = "the same behind a store to the host",
        [PROBE_FENCE_DEVICE] = "the same behind a store to the device",
        [PROBE_FENCE_LOAD] = "a fence and a load of the device's memory"};
    probe_job_t job = {.what = PROBE_STEPS, .rounds = ROUNDS, .words = probe_words()};
    (void)unused;
    job.result = &job.words->note[8 * PROBE_APART];
    PROBE_OK(cudaMalloc((void **)&job.device, 4096));
    PROBE_OK(cudaMemset(job.device, 0, 4096));
    for (job.step = 0; job.step < PROBE_STEPS_ALL; job.step++) {
        line_answer(names[job.step], "ok", steps_run(&job, 1), "ns");
    }
    job.what = PROBE_PONG;
    job.end[0] = &job.words->note[2 * PROBE_APART];
    job.end[1] = &job.words->note[3 * PROBE_APART];
    line_answer("there and back between blocks, words in the host's memory", "ok",
                steps_run(&job, 2), "ns");
    job.end[0] = job.device + PROBE_APART;
    job.end[1] = job.device + (size_t)2 * PROBE_APART;
    line_answer("there and back between blocks, words in the device's memory", "ok",
                steps_run(&job, 2), "ns");
    steps_with_host(&job);
}

/* The best of three, in bytes read and written. */
static void slices_time(probe_job_t *job, uint32_t blocks, uint32_t threads)
{
    char what[96];
    cudaEvent_t begin, end;
    float best = 0;
    const uint64_t fit = BUFFER / (SLICE * blocks);
    job->rounds = fit < 64 ? fit : 64;
    PROBE_OK(cudaEventCreate(&begin));
    PROBE_OK(cudaEventCreate(&end));
    for (int round = 0; round < 3; round++) {
        float ms = 0;
        PROBE_OK(cudaEventRecord(begin, NULL));
        PROBE_OK(probe_launch(job, blocks, threads, NULL));
        PROBE_OK(cudaEventRecord(end, NULL));
        PROBE_OK(cudaDeviceSynchronize());
        PROBE_OK(cudaEventElapsedTime(&ms, begin, end));
        best = round == 0 || ms < best ? ms : best;
    }
    const uint64_t bytes = sizeof(float) * SLICE * job->rounds * blocks * (job->nsrc + 1);
    snprintf(what, sizeof what, "slices of %u sources, %u blocks of %u threads, %s", job->nsrc,
             blocks, threads, job->apart ? "the leader's warp apart" : "all threads together");
    line_answer(what, "ok", best > 0 ? 1e-6 * (double)bytes / (double)best : 0, "GB/s");
}

void probe_slices(int unused)
{
    static const uint32_t blocks[] = {1, 4, 16, 32, 64, 128};
    probe_job_t job = {.what = PROBE_SLICES, .each = SLICE};
    (void)unused;
    for (uint32_t i = 0; i < 3; i++) {
        PROBE_OK(cudaMalloc((void **)&job.buffer[i], BUFFER * sizeof(float)));
        PROBE_OK(cudaMemset(job.buffer[i], 0, BUFFER * sizeof(float)));
    }
    for (uint32_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        for (uint32_t threads = 128; threads <= 512; threads *= 2) {
            for (uint32_t form = 0; form < 4; form++) {
                job.nsrc = 1 + form / 2;
                job.apart = form % 2;
                slices_time(&job, blocks[b], threads);
            }
        }
    }
}
