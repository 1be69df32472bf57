/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 2. Requests: several calls are under way while the program does something else.
 *
 *   weft run -n 4 ./requests
 *
 * A call with weft_call_t.request_p returns at once. The buffers belong to weft until the request
 * is complete. Collectives of one communicator run one after the other, in the order of the
 * calls. */
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

enum { CALLS = 4, COUNT = 1 << 16 };
static float data[CALLS][COUNT];

int main(void)
{
    weft_comm_t *comm = NULL;
    weft_request_t *requests[CALLS];
    uint32_t rank = 0, nranks = 0;
    uint64_t looked = 0;
    int wrong = 0;
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));

    for (int i = 0; i < CALLS; i++) {
        const weft_call_t call = {.size = sizeof call, .request_p = &requests[i]};
        data[i][COUNT - 1] = (float)i;
        must(weft_all_reduce(data[i], data[i], COUNT, WEFT_FP32, WEFT_SUM, comm, &call));
    }

    /* Testing never waits. A request that is complete is freed, and its place becomes NULL. */
    weft_status_t status;
    while ((status = weft_request_test(&requests[0])) == WEFT_IN_PROGRESS) {
        looked++; /* the program's own work */
    }
    must(status);
    /* Waiting is for programs that have nothing else to do. */
    for (int i = 1; i < CALLS; i++) {
        must(weft_request_wait(&requests[i]));
    }

    for (int i = 0; i < CALLS; i++) {
        wrong += data[i][COUNT - 1] != (float)i * (float)nranks;
    }
    printf("rank %u of %u: %d wrong\n", rank, nranks, wrong);
    must(weft_comm_destroy(comm));
    return wrong != 0 || looked == UINT64_MAX;
}
