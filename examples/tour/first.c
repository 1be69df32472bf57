/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 1. The first program: every rank gives a number, and all get the sum.
 *
 *   weft run -n 4 ./first        (or mpirun, srun, torchrun; alone it is one rank) */
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

/* Ends the program with the library's own words if a call has failed. */
static void must(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
        exit(1);
    }
}

int main(void)
{
    weft_comm_t *comm = NULL;
    uint32_t rank = 0, nranks = 0;

    /* Finds out who started this process, meets the other ranks, and checks that all agree. */
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));

    float mine = (float)rank + 1, sum = 0;
    must(weft_all_reduce(&mine, &sum, 1, WEFT_FP32, WEFT_SUM, comm, NULL));
    printf("rank %u of %u: the sum is %g\n", rank, nranks, (double)sum);

    must(weft_comm_destroy(comm));
    return sum != (float)(nranks * (nranks + 1) / 2);
}
