/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 3. Communicators from communicators: a grid of ranks, with one communicator for each row and
 * one for each column.
 *
 *   weft run -n 6 ./split 3        (columns)
 *
 * Errors and log lines say the name of the communicator. */
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

int main(int argc, char **argv)
{
    const uint32_t columns = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
    weft_comm_t *comm = NULL, *row = NULL, *column = NULL;
    uint32_t rank = 0;
    char name[WEFT_COMM_NAME_BYTES];
    if (columns == 0) {
        fprintf(stderr, "usage: split [COLUMNS]\n");
        return 2;
    }
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));

    /* Ranks of one colour get one communicator, in the order of the key. All ranks call it. */
    must(weft_comm_split(comm, (int32_t)(rank / columns), (int32_t)rank, &row));
    must(weft_comm_split(comm, (int32_t)(rank % columns), (int32_t)rank, &column));
    snprintf(name, sizeof name, "row %u", rank / columns);
    must(weft_comm_set_name(row, name));

    /* Calls of different communicators do not disturb each other. */
    uint32_t in_row = rank, in_column = rank;
    must(weft_all_reduce(&in_row, &in_row, 1, WEFT_UINT32, WEFT_SUM, row, NULL));
    must(weft_all_reduce(&in_column, &in_column, 1, WEFT_UINT32, WEFT_SUM, column, NULL));
    must(weft_comm_name(column, name, sizeof name));
    printf("rank %u: row %u has the sum %u, %s has %u\n", rank, rank / columns, in_row, name,
           in_column);

    /* In any order. */
    must(weft_comm_destroy(comm));
    must(weft_comm_destroy(row));
    must(weft_comm_destroy(column));
    return 0;
}
