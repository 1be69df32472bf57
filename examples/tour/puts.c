/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 8. Puts: a rank writes into the memory of others, which make no call for it but wait for a
 * signal.
 *
 *   weft run -n 4 ./puts
 *
 * A line of cells is cut into parts, one for each rank. In each step a cell becomes the mean of its
 * neighbours, so a rank needs the last cell of the part on its left and the first of the one on its
 * right. Each rank puts its own outermost cells there. */
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

enum { CELLS = 1000, STEPS = 100 };

/* Two sets of edges, used in turns: what comes for the next step does not meet this one. */
static double edge[2][2]; /* of each: from the left, from the right */

/* Sends the outermost cells to both sides, and waits for those of the others. The line is a
 * ring. */
static void exchange(weft_comm_t *comm, weft_window_t *window, const double *cells, int turn)
{
    uint32_t rank = 0, nranks = 0;
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));
    uint32_t left = (rank + nranks - 1) % nranks, right = (rank + 1) % nranks;
    uint64_t offset = (uint64_t)turn * sizeof edge[0];
    must(weft_put_signal(&cells[0], 1, WEFT_FP64, left, window, offset + sizeof(double), comm,
                         NULL));
    must(weft_put_signal(&cells[CELLS - 1], 1, WEFT_FP64, right, window, offset, comm, NULL));
    must(weft_wait_signal(left, 1, comm, NULL));
    must(weft_wait_signal(right, 1, comm, NULL));
}

int main(void)
{
    static double cells[CELLS], next[CELLS];
    weft_comm_t *comm = NULL;
    weft_window_t *window = NULL;
    uint32_t rank = 0, nranks = 0;
    double sum = 0, all = 0;
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));
    must(weft_window_register_local(comm, edge, sizeof edge, &window));

    cells[CELLS / 2] = rank == 0 ? 1000 : 0;
    for (int step = 0; step < STEPS; step++) {
        const double *edges = edge[step % 2];
        exchange(comm, window, cells, step % 2);
        for (int i = 0; i < CELLS; i++) {
            double before = i > 0 ? cells[i - 1] : edges[0];
            double after = i + 1 < CELLS ? cells[i + 1] : edges[1];
            next[i] = (before + after) / 2;
        }
        for (int i = 0; i < CELLS; i++) {
            cells[i] = next[i];
        }
    }

    /* Nothing is lost on the way. */
    for (int i = 0; i < CELLS; i++) {
        sum += cells[i];
    }
    must(weft_all_reduce(&sum, &all, 1, WEFT_FP64, WEFT_SUM, comm, NULL));
    printf("rank %u of %u: %.0f of %.0f\n", rank, nranks, sum, all);
    must(weft_window_deregister(comm, window));
    must(weft_comm_destroy(comm));
    return all < 999.999 || all > 1000.001;
}
