/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 7. Blocks of different lengths: every rank sends each other rank as many elements as it likes.
 *
 *   weft run -n 4 ./vectors
 *
 * The receiver has to know the lengths, so they are exchanged first. */
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

enum { MOST = 64 };

/* Displacements of blocks that follow each other; returns the sum of their lengths. */
static uint64_t lay_out(const uint64_t *counts, uint64_t *displs, uint32_t blocks)
{
    uint64_t total = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        displs[b] = total;
        total += counts[b];
    }
    return total;
}

int main(void)
{
    weft_comm_t *comm = NULL;
    uint64_t to[MOST], to_at[MOST], from[MOST], from_at[MOST];
    uint32_t rank = 0, nranks = 0;
    int wrong = 0;
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));
    if (nranks > MOST) {
        return 2;
    }
    for (uint32_t r = 0; r < nranks; r++) {
        to[r] = rank + r; /* rank 0 sends nothing to itself: empty blocks are legal */
    }
    must(weft_all_to_all(to, from, 1, WEFT_UINT64, comm, NULL));

    const uint64_t sent = lay_out(to, to_at, nranks), got = lay_out(from, from_at, nranks);
    uint32_t *out = calloc(sent + 1, sizeof *out), *in = calloc(got + 1, sizeof *in);
    if (out == NULL || in == NULL) {
        return 1;
    }
    for (uint64_t i = 0; i < sent; i++) {
        out[i] = rank;
    }
    const weft_blocks_t out_blocks = {.counts = to, .displs = to_at};
    const weft_blocks_t in_blocks = {.counts = from, .displs = from_at};
    must(weft_all_to_all_v(out, &out_blocks, in, &in_blocks, WEFT_UINT32, comm, NULL));

    for (uint32_t r = 0; r < nranks; r++) {
        for (uint64_t i = 0; i < from[r]; i++) {
            wrong += in[from_at[r] + i] != r;
        }
    }
    printf("rank %u of %u: %llu elements came, %d wrong\n", rank, nranks, (unsigned long long)got,
           wrong);
    free(out);
    free(in);
    must(weft_comm_destroy(comm));
    return wrong != 0;
}
