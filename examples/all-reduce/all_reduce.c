/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A first weft program. Every rank of a launcher's job contributes a vector, and all get the sum.
 *
 *   mpirun -n 4 ./all_reduce        (or srun, or torchrun; alone it is one rank) */
#include <stdint.h>
#include <stdio.h>

#include <weft/weft.h>

#define COUNT 1024

/* Prints the error, if there is one, and returns the status. */
static weft_status_t report(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
    }
    return status;
}

static int check(const float *sum, uint32_t rank, uint32_t nranks)
{
    int wrong = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        float expected = (float)(nranks * i) + (float)(nranks * (nranks - 1) / 2);
        wrong += sum[i] != expected;
    }
    printf("rank %u of %u: %d wrong\n", rank, nranks, wrong);
    return wrong;
}

int main(void)
{
    weft_comm_t *comm = NULL;
    uint32_t rank = 0, nranks = 0;
    float mine[COUNT], sum[COUNT];

    if (report(weft_comm_init_launcher(&comm, NULL)) != WEFT_OK) {
        return 1;
    }
    weft_comm_rank(comm, &rank);
    weft_comm_size(comm, &nranks);
    for (uint32_t i = 0; i < COUNT; i++) {
        mine[i] = (float)(i + rank);
    }
    weft_status_t status =
        report(weft_all_reduce(mine, sum, COUNT, WEFT_FP32, WEFT_SUM, comm, NULL));
    int wrong = status == WEFT_OK ? check(sum, rank, nranks) : 1;
    weft_comm_destroy(comm);
    return wrong != 0;
}
