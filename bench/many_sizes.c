/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces of many sizes in turns, as a framework's gradients come, against as many calls of one
 * size with as many bytes in all. The sizes lie close together, so that both move the same bytes by
 * the same algorithms, and only the look-up of prepared calls differs. Prints one line: bytes of
 * the least size, sizes, µs per call of many sizes and of one, and the median ratio of rounds in
 * turns.
 *
 *   bench_many_sizes RANKS SIZES BYTES ROUNDS [section.key=value …] */
#include <stdio.h>
#include <stdlib.h>

#include "ranks.h"

static weft_comm_t *comm;
static float *in, *out;

/* Returns seconds per call: `calls` calls of counts from `count` on, with `step` between them. */
static double bench_round(uint64_t count, uint64_t step, uint32_t calls)
{
    bench_require(weft_barrier(comm, NULL));
    double began = bench_now();
    for (uint32_t i = 0; i < calls; i++) {
        bench_require(weft_all_reduce(in, out, count + i * step, WEFT_FP32, WEFT_SUM, comm, NULL));
    }
    return (bench_now() - began) / calls;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s RANKS SIZES BYTES ROUNDS [section.key=value …]\n", argv[0]);
        return 2;
    }
    uint32_t sizes = (uint32_t)atol(argv[2]), rounds = (uint32_t)atol(argv[4]), rank;
    uint64_t least = (uint64_t)atol(argv[3]) / sizeof(float), mean = least + sizes / 2;
    in = calloc(least + sizes, sizeof *in);
    out = calloc(least + sizes, sizeof *out);
    double *many = calloc(rounds, sizeof *many), *one = calloc(rounds, sizeof *one);
    double *ratio = calloc(rounds, sizeof *ratio);
    comm = bench_ranks_start((uint32_t)atol(argv[1]), argv + 5, argc - 5, &rank);
    for (uint32_t i = 0; i < 2; i++) {
        (void)bench_round(least, 1, sizes);
        (void)bench_round(mean, 0, sizes);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        many[i] = bench_round(least, 1, sizes);
        one[i] = bench_round(mean, 0, sizes);
        ratio[i] = many[i] / one[i];
    }
    if (rank == 0) {
        printf("%8lu bytes %6u sizes: %9.3f us, one size: %9.3f us, ratio %.3f\n",
               (unsigned long)(least * sizeof *in), sizes, 1e6 * bench_median(many, rounds),
               1e6 * bench_median(one, rounds), bench_median(ratio, rounds));
    }
    return bench_ranks_end(comm);
}
