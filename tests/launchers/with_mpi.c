/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI and weft in one process. The argument is what it does, a letter each: i MPI_Init, f
 * MPI_Finalize, w makes a communicator of weft and checks an all-reduce, m checks an all-reduce of
 * MPI. A capital W must fail; its error is printed. */
#include <mpi.h>
#include <stdio.h>

#include <weft/weft.h>

static int by_weft(char step)
{
    weft_comm_t *comm = NULL;
    weft_error_t error = {.size = sizeof error};
    uint32_t rank = 0, nranks = 0;
    float mine, sum = 0;
    weft_status_t status = weft_comm_init_launcher(&comm, NULL);
    if (status != WEFT_OK) {
        (void)weft_last_error(&error);
        printf("%s: %s\n", step == 'W' ? "refused" : "failed", error.text);
        return step != 'W';
    }
    (void)weft_comm_rank(comm, &rank);
    (void)weft_comm_size(comm, &nranks);
    mine = (float)(rank + 1);
    status = weft_all_reduce(&mine, &sum, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
    (void)weft_comm_destroy(comm);
    if (status != WEFT_OK || sum != (float)(nranks * (nranks + 1) / 2)) {
        printf("failed: rank %u of %u has the sum %g\n", rank, nranks, (double)sum);
        return 1;
    }
    printf("weft: rank %u of %u right\n", rank, nranks);
    return step == 'W';
}

static int by_mpi(void)
{
    int rank = 0, nranks = 0, mine, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != nranks * (nranks + 1) / 2) {
        printf("failed: MPI's rank %d of %d has the sum %d\n", rank, nranks, sum);
        return 1;
    }
    printf("MPI: rank %d of %d right\n", rank, nranks);
    return 0;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (const char *step = argc > 1 ? argv[1] : ""; *step != '\0' && wrong == 0; step++) {
        switch (*step) {
        case 'i':
            wrong = MPI_Init(&argc, &argv) != MPI_SUCCESS;
            break;
        case 'f':
            wrong = MPI_Finalize() != MPI_SUCCESS;
            break;
        case 'm':
            wrong = by_mpi();
            break;
        default:
            wrong = by_weft(*step);
        }
        fflush(stdout);
    }
    return wrong;
}
