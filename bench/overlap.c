/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Overlap: an asynchronous all-reduce beside computing, against the ideal. Every rank computes in a
 * loop of a fixed number of steps that uses one core and little memory.
 *
 *   compute    the loop alone
 *   comm       the all-reduce alone, as a blocking call
 *   overlap    start the all-reduce, compute, wait for it
 *
 * The ideal where every rank's thread has a core and nothing else: its core must do the computing
 * and the rank's part of the all-reduce, so compute + comm. Where cores are left over for progress
 * threads it is the larger of the two. Prints both, and what overlap takes more than the one that
 * holds here.
 *
 *   bench_overlap RANKS BYTES COMPUTE_MS ROUNDS [section.key=value …] */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks.h"

static weft_comm_t *comm;
static float *in, *out;
static uint64_t count;

/* A chain of dependent multiplications: the same work whatever else the core's memory does. */
__attribute__((noinline)) static double bench_compute(uint64_t steps)
{
    double x = 1.0;
    for (uint64_t i = 0; i < steps; i++) {
        x = x * 0.999999 + 1e-9;
    }
    return x;
}

static volatile double sink;

static double bench_alone(uint64_t steps)
{
    bench_require(weft_barrier(comm, NULL));
    double began = bench_now();
    sink = bench_compute(steps);
    return bench_now() - began;
}

static double bench_comm(void)
{
    bench_require(weft_barrier(comm, NULL));
    double began = bench_now();
    bench_require(weft_all_reduce(in, out, count, WEFT_FP32, WEFT_SUM, comm, NULL));
    return bench_now() - began;
}

/* *waited_p: of it the wait after the computing. */
static double bench_overlapped(uint64_t steps, double *waited_p)
{
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    bench_require(weft_barrier(comm, NULL));
    double began = bench_now();
    bench_require(weft_all_reduce(in, out, count, WEFT_FP32, WEFT_SUM, comm, &call));
    sink = bench_compute(steps);
    double computed = bench_now();
    bench_require(weft_request_wait(&request));
    double ended = bench_now();
    *waited_p = ended - computed;
    return ended - began;
}

/* Returns the steps that take `seconds` here. All ranks take those of rank 0. */
static uint64_t bench_calibrate(double seconds)
{
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double took = bench_alone(1000000);
        best = took < best ? took : best;
    }
    uint64_t steps = (uint64_t)(seconds / best * 1e6);
    bench_require(weft_broadcast(&steps, &steps, 1, WEFT_UINT64, 0, comm, NULL));
    return steps;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s RANKS BYTES COMPUTE_MS ROUNDS [section.key=value …]\n", argv[0]);
        return 2;
    }
    uint32_t ranks = (uint32_t)atol(argv[1]), rounds = (uint32_t)atol(argv[4]), rank;
    count = (uint64_t)atol(argv[2]) / sizeof(float);
    in = calloc(count + 1, sizeof *in);
    out = calloc(count + 1, sizeof *out);
    double *alone = calloc(rounds, sizeof *alone), *traffic = calloc(rounds, sizeof *traffic);
    double *both = calloc(rounds, sizeof *both), *loss = calloc(rounds, sizeof *loss);
    double *waited = calloc(rounds, sizeof *waited);
    comm = bench_ranks_start(ranks, argv + 5, argc - 5, &rank);
    uint64_t steps = bench_calibrate(atof(argv[3]) * 1e-3);
    cpu_set_t cpus;
    bool spare =
        sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) >= 2 * (int)ranks;
    for (uint32_t i = 0; i < 3; i++) {
        (void)bench_comm();
        (void)bench_overlapped(steps, &waited[0]);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        alone[i] = bench_alone(steps);
        traffic[i] = bench_comm();
        both[i] = bench_overlapped(steps, &waited[i]);
        double larger = alone[i] > traffic[i] ? alone[i] : traffic[i];
        loss[i] = both[i] / (spare ? larger : alone[i] + traffic[i]) - 1;
    }
    if (rank == 0) {
        printf("%9lu bytes: compute %7.2f ms, comm %7.2f ms, overlapped %7.2f ms (%.2f ms of it "
               "waiting); %+.1f %% of the ideal, %s\n",
               (unsigned long)(count * sizeof *in), 1e3 * bench_median(alone, rounds),
               1e3 * bench_median(traffic, rounds), 1e3 * bench_median(both, rounds),
               1e3 * bench_median(waited, rounds), 1e2 * bench_median(loss, rounds),
               spare ? "the larger of the two" : "their sum: every core has a rank");
    }
    return bench_ranks_end(comm);
}
