/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI side of bench/side_by_side: times MPI_Allreduce of floats as `weft perf -I 1` times
 * weft_all_reduce: one look at the clock between two iterations, buffers that move on inside the
 * largest size, the median of single iterations averaged over the ranks.
 *
 *   mpi_all_reduce SIZE ITERATIONS SKIP MAXSIZE     prints "SIZE MEDIAN_US" */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ends, int iterations, int skip)
{
    int n = iterations - skip;
    double *used = ends + skip;
    for (int i = iterations - 1; i > 0; i--) {
        ends[i] -= ends[i - 1];
    }
    qsort(used, (size_t)n, sizeof *used, ascending);
    return n % 2 != 0 ? used[n / 2] : (used[n / 2 - 1] + used[n / 2]) / 2;
}

static void iterate(char *send, char *recv, size_t size, size_t largest, double *ends,
                    int iterations)
{
    size_t steps = largest / size > 1 ? largest / size : 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        size_t shift = (size_t)i % steps * size;
        MPI_Allreduce(send + shift, recv + shift, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        ends[i] = MPI_Wtime() - begin;
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t size = argc > 4 ? (size_t)atoll(argv[1]) : 0;
    int iterations = argc > 4 ? atoi(argv[2]) : 0;
    int skip = argc > 4 ? atoi(argv[3]) : 0;
    size_t largest = argc > 4 ? (size_t)atoll(argv[4]) : 0;
    char *send = aligned_alloc(4096, largest + 4096);
    char *recv = aligned_alloc(4096, largest + 4096);
    double *ends = calloc((size_t)iterations + 1, sizeof *ends);
    if (size < sizeof(float) || skip >= iterations || !send || !recv || !ends) {
        fprintf(stderr, "usage: mpi_all_reduce SIZE ITERATIONS SKIP MAXSIZE\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    memset(send, 0x3c, largest);
    memset(recv, 0x3c, largest);
    iterate(send, recv, size, largest, ends, skip > 0 ? skip : 1);
    iterate(send, recv, size, largest, ends, iterations);
    double mine = median(ends, iterations, skip) * 1e6;
    double sum = 0;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%zu %.4f\n", size, sum / ranks);
    }
    free(send);
    free(recv);
    free(ends);
    MPI_Finalize();
    return 0;
}
