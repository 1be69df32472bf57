/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 6. Memory that others read in place: no copy into a slot of weft on the way.
 *
 *   weft run -n 4 ./windows
 *
 * Memory of weft_mem_alloc() is read in place by all ranks of the host, without more. A window does
 * it for memory of one's own, among ranks that are threads of one process or use devices. Neither
 * changes a result. */
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

enum { COUNT = 1 << 20 };

int main(void)
{
    weft_comm_t *comm = NULL;
    weft_window_t *window = NULL;
    void *memory = NULL;
    char text[1024];
    uint32_t rank = 0, nranks = 0;
    int wrong = 0;
    must(weft_comm_init_launcher(&comm, NULL));
    must(weft_comm_rank(comm, &rank));
    must(weft_comm_size(comm, &nranks));

    must(weft_mem_alloc(comm, COUNT * sizeof(float), &memory));
    /* All ranks register, in the same order; each gives memory of its own. */
    must(weft_window_register(comm, memory, COUNT * sizeof(float), &window));

    float *data = memory;
    for (int i = 0; i < COUNT; i++) {
        data[i] = (float)(i % 100);
    }
    must(weft_all_reduce(data, data, COUNT, WEFT_FP32, WEFT_SUM, comm, NULL));
    for (int i = 0; i < COUNT; i++) {
        wrong += data[i] != (float)(i % 100) * (float)nranks;
    }

    /* How the call ran, and what weft knows of windows. */
    must(
        weft_comm_explain(comm, WEFT_ALL_REDUCE, COUNT, WEFT_FP32, WEFT_SUM, 0, text, sizeof text));
    if (rank == 0) {
        printf("%s\n", text);
    }
    printf("rank %u of %u: %d wrong\n", rank, nranks, wrong);
    must(weft_window_deregister(comm, window));
    must(weft_mem_free(comm, memory));
    must(weft_comm_destroy(comm));
    return wrong != 0;
}
