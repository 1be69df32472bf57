/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI beside weft: one source, compiled by each MPI's own compiler. */
#include <mpi.h>

#include "beside.h"

static int mpi_rank, mpi_ranks;

static int mpi_join(beside_job_t *job)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_ranks);
    job->rank = mpi_rank;
    job->ranks = mpi_ranks;
    return 0;
}

static int mpi_ping_pong(char *send, char *recv, int bytes)
{
    if (mpi_rank == 0) {
        MPI_Send(send, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(recv, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (mpi_rank == 1) {
        MPI_Recv(recv, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(send, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    return 0;
}

static int mpi_stream(char *send, char *recv, int bytes)
{
    MPI_Request requests[BESIDE_BURST];
    MPI_Status statuses[BESIDE_BURST];
    char answer = 0;
    if (mpi_rank > 1) {
        return 0;
    }
    for (size_t i = 0; i < BESIDE_BURST; i++) {
        size_t at = i % beside_spread * (size_t)bytes;
        if (mpi_rank == 0) {
            MPI_Isend(send + at, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(recv + at, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Waitall(BESIDE_BURST, requests, statuses);
    if (mpi_rank == 0) {
        MPI_Recv(&answer, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&answer, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
    return 0;
}

static int mpi_call(beside_coll_t coll, char *send, char *recv, size_t bytes)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int whole = (int)(bytes / sizeof(float));
    int block = whole / mpi_ranks;
    switch (coll) {
    case BESIDE_ALL_REDUCE:
        return MPI_Allreduce(send, recv, whole, MPI_FLOAT, MPI_SUM, comm);
    case BESIDE_BROADCAST:
        return MPI_Bcast(mpi_rank == 0 ? send : recv, whole, MPI_FLOAT, 0, comm);
    case BESIDE_REDUCE:
        return MPI_Reduce(send, recv, whole, MPI_FLOAT, MPI_SUM, 0, comm);
    case BESIDE_ALL_GATHER:
        return MPI_Allgather(send, block, MPI_FLOAT, recv, block, MPI_FLOAT, comm);
    case BESIDE_REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(send, recv, block, MPI_FLOAT, MPI_SUM, comm);
    case BESIDE_ALL_TO_ALL:
        return MPI_Alltoall(send, block, MPI_FLOAT, recv, block, MPI_FLOAT, comm);
    case BESIDE_GATHER:
        return MPI_Gather(send, block, MPI_FLOAT, recv, block, MPI_FLOAT, 0, comm);
    case BESIDE_SCATTER:
        return MPI_Scatter(send, block, MPI_FLOAT, recv, block, MPI_FLOAT, 0, comm);
    case BESIDE_BARRIER:
        return MPI_Barrier(comm);
    case BESIDE_PING_PONG:
        return mpi_ping_pong(send, recv, (int)bytes);
    case BESIDE_STREAM:
        return mpi_stream(send, recv, (int)bytes);
    }
    return 1;
}

static int mpi_barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

static void mpi_from_root(double *value)
{
    MPI_Bcast(value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void mpi_leave(void)
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    static const beside_side_t side = {.join = mpi_join,
                                       .call = mpi_call,
                                       .barrier = mpi_barrier,
                                       .from_root = mpi_from_root,
                                       .leave = mpi_leave};
    return beside_main(&side, argc, argv);
}
