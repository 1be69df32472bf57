/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 5. Errors, and going on after them: the last rank dies in the middle, the others go on
 * without it.
 *
 *   weft run --keep-going -n 4 ./recovery
 *
 * docs/recovery.md has the rules; examples/training is a whole training loop. */
#include <signal.h>
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

/* What a program can know of a failure. */
static void explain(weft_comm_t *comm, uint32_t rank)
{
    weft_error_t error = {.size = sizeof error};
    must(weft_comm_error(comm, &error));
    printf("rank %u: %s because of rank %d (process %d on %s)\n", rank,
           weft_status_name(error.status), error.peer, error.peer_pid, error.peer_host);
}

int main(void)
{
    weft_comm_t *comm = NULL, *fewer = NULL;
    uint32_t rank = 0, nranks = 0, one = 1, sum = 0;
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));

    /* A wrong argument is refused before anything is sent: the communicator is as it was. */
    weft_status_t status = weft_all_reduce(&one, &sum, 1, WEFT_UINT32, (weft_op_t)77, comm, NULL);
    printf("rank %u: an unknown operator is %s\n", rank, weft_status_name(status));

    status = weft_barrier(comm, NULL);
    if (rank == nranks - 1) {
        (void)raise(SIGKILL); /* nothing says goodbye to the others */
    }
    /* All others get an error within milliseconds: in the next call, or in the barrier if they are
     * still in it. The communicator has failed then. */
    if (status == WEFT_OK) {
        status = weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL);
    }
    if (status == WEFT_OK) {
        return 1;
    }
    explain(comm, rank);

    must(weft_comm_revoke(comm)); /* nobody waits in it any more */
    must(weft_comm_shrink(comm, NULL, 0, &fewer));
    must(weft_comm_destroy(comm));
    must(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, fewer, NULL));
    printf("rank %u: %u ranks go on\n", rank, sum);
    must(weft_comm_destroy(fewer));
    return sum != nranks - 1;
}
