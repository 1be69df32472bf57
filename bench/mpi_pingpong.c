/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong and stream of messages between two ranks, with MPI or, compiled with -DWITH_WEFT, with
 * weft: the same loops and the same clock.
 *
 *   mpicc.openmpi -O2 mpi_pingpong.c -o pp_openmpi; mpirun.openmpi -n 2 ./pp_openmpi 8 200 0 plain
 *   cc -O2 -DWITH_WEFT -Iapi mpi_pingpong.c -o pp_weft -Lbuild/release/lib -lweft
 *
 *   mpi_pingpong SIZE ITERATIONS SPAN plain|alloc
 *
 * prints "SIZE HALF_ROUND_TRIP_US STREAM_GB_PER_S". The buffers move on inside SPAN bytes. `alloc`
 * takes memory of MPI_Alloc_mem or weft_mem_alloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 16 };

#ifdef WITH_WEFT
#include <weft/weft.h>
static weft_comm_t *comm;
static void check(weft_status_t status)
{
    if (status != WEFT_OK) {
        exit(1);
    }
}
static void begin(int *rank)
{
    uint32_t r = 0;
    check(weft_comm_init_launcher(&comm, NULL));
    check(weft_comm_rank(comm, &r));
    *rank = (int)r;
}
static void put(void *at, size_t bytes, int peer)
{
    check(weft_send(at, bytes, WEFT_UINT8, (uint32_t)peer, comm, NULL));
}
static void get(void *at, size_t bytes, int peer)
{
    check(weft_recv(at, bytes, WEFT_UINT8, (uint32_t)peer, comm, NULL));
}
static void burst(char *at, size_t bytes, size_t span, int peer, int sends)
{
    check(weft_group_start());
    for (size_t i = 0; i < WINDOW; i++) {
        char *one = at + i * bytes % span;
        sends ? put(one, bytes, peer) : get(one, bytes, peer);
    }
    check(weft_group_end());
}
static void *obtain(size_t bytes, int special)
{
    void *memory = NULL;
    if (special) {
        check(weft_mem_alloc(comm, bytes, &memory));
        return memory;
    }
    return aligned_alloc(2 << 20, bytes);
}
static void end(void)
{
    check(weft_comm_destroy(comm));
}
#else
#include <mpi.h>
static void begin(int *rank)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
}
static void put(void *at, size_t bytes, int peer)
{
    MPI_Send(at, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}
static void get(void *at, size_t bytes, int peer)
{
    MPI_Recv(at, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void burst(char *at, size_t bytes, size_t span, int peer, int sends)
{
    MPI_Request request[WINDOW];
    for (size_t i = 0; i < WINDOW; i++) {
        char *one = at + i * bytes % span;
        if (sends) {
            MPI_Isend(one, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[i]);
        } else {
            MPI_Irecv(one, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[i]);
        }
    }
    MPI_Status status[WINDOW];
    MPI_Waitall(WINDOW, request, status);
}
static void *obtain(size_t bytes, int special)
{
    void *memory = NULL;
    if (special) {
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
        return memory;
    }
    return aligned_alloc(2 << 20, bytes);
}
static void end(void)
{
    MPI_Finalize();
}
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, ascending);
    return times[n / 2];
}

/* One round trip; the answer goes out of the buffer that the question came into. */
static void round_trip(char *send, char *recv, size_t bytes, int rank)
{
    if (rank == 0) {
        put(send, bytes, 1);
        get(recv, bytes, 1);
    } else {
        get(recv, bytes, 0);
        put(send, bytes, 0);
    }
}

int main(int argc, char **argv)
{
    int rank = 0;
    if (argc < 5) {
        fprintf(stderr, "usage: mpi_pingpong SIZE ITERATIONS SPAN plain|alloc\n");
        return 2;
    }
    size_t bytes = (size_t)atoll(argv[1]), span = (size_t)atoll(argv[3]);
    int iterations = atoi(argv[2]), special = strcmp(argv[4], "alloc") == 0;
    span = span < bytes ? bytes : span / bytes * bytes;
    size_t room = (span + (4 << 20)) / (2 << 20) * (2 << 20);
    begin(&rank);
    char *send = obtain(room, special), *recv = obtain(room, special), word = 0;
    double *times = calloc((size_t)iterations + 1, sizeof *times);
    memset(send, 1, room);
    memset(recv, 1, room);
    /* Groups of round trips, so that the clock is not what is measured. */
    int group = bytes < 65536 ? 100 : 1;
    size_t at = 0;
    for (int i = -iterations / 10 - 1; i < iterations; i++) {
        double began = now();
        for (int k = 0; k < group; k++) {
            round_trip(send + at, recv + at, bytes, rank);
            at = at + 2 * bytes <= span ? at + bytes : 0;
        }
        times[i < 0 ? 0 : i] = (now() - began) / group / 2;
    }
    double half = median(times, iterations);
    int bursts = iterations / 10 + 3;
    for (int i = -2; i < bursts; i++) {
        double began = now();
        burst(rank == 0 ? send : recv, bytes, span, 1 - rank, rank == 0);
        rank == 0 ? get(&word, 1, 1) : put(&word, 1, 0);
        times[i < 0 ? 0 : i] = now() - began;
    }
    if (rank == 0) {
        printf("%zu %.3f %.2f\n", bytes, half * 1e6,
               (double)bytes * WINDOW / median(times, bursts) * 1e-9);
    }
    end();
    return 0;
}
