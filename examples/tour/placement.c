/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 4. A placement of one's own: the program starts its ranks itself, numbers them as it likes, and
 * carries the unique id.
 *
 *   ./placement 4
 *
 * Here the ranks are processes of this host and the id goes through a pipe. A framework uses what
 * it has: a socket, a store, MPI. Whoever has the id can join, so it takes no public way. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int work(uint32_t rank, uint32_t nranks, const weft_unique_id_t *id)
{
    weft_comm_t *comm = NULL;
    uint32_t sum = rank;
    /* Returns when all ranks have come. The error names those that have not. */
    must(weft_comm_init_rank(&comm, nranks, id, rank, NULL));
    must(weft_all_reduce(&sum, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL));
    printf("process %d is rank %u of %u: the sum is %u\n", (int)getpid(), rank, nranks, sum);
    must(weft_comm_destroy(comm));
    return sum != nranks * (nranks - 1) / 2;
}

/* Process `index` takes the ranks from the other end. The maker of the id has to live until all
 * have joined, so it is one of the ranks. */
static int start(uint32_t index, uint32_t nranks, const int fds[2])
{
    weft_unique_id_t id;
    if (index == 0) {
        must(weft_unique_id_create(&id, NULL));
        for (uint32_t i = 1; i < nranks; i++) {
            if (write(fds[1], &id, sizeof id) != (ssize_t)sizeof id) {
                return 1;
            }
        }
    } else if (read(fds[0], &id, sizeof id) != (ssize_t)sizeof id) {
        return 1;
    }
    return work(nranks - 1 - index, nranks, &id);
}

int main(int argc, char **argv)
{
    const uint32_t nranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
    int fds[2], failed = 0, status = 0;
    if (nranks == 0 || nranks > 64 || pipe(fds) != 0) {
        fprintf(stderr, "usage: placement [RANKS], at most 64\n");
        return 2;
    }
    /* Communicators do not survive a fork: the ranks are started first. */
    for (uint32_t i = 0; i < nranks; i++) {
        if (fork() == 0) {
            return start(i, nranks, fds);
        }
    }
    while (wait(&status) > 0) {
        failed |= status != 0;
    }
    return failed;
}
