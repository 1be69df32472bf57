/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stack without a lock: any thread adds to it, and who is about to start an operation takes
 * all. */
#include "bindings/nccl/retired.h"

#include <stdatomic.h>
#include <stdlib.h>

struct nccl_retired {
    struct nccl_retired *next;
    weft_window_t *window;
    weft_mem_region_t *region;
};

bool nccl_retired_must_wait(weft_comm_t *comm, weft_status_t status)
{
    weft_error_t error = {.size = sizeof error};
    return status == WEFT_ERR_STATE && weft_comm_error(comm, &error) == WEFT_OK;
}

static weft_status_t retired_end(weft_comm_t *comm, struct nccl_retired *retired)
{
    weft_status_t status = WEFT_OK;
    if (retired->window != NULL) {
        status = weft_window_deregister(comm, retired->window);
    }
    if (status == WEFT_ERR_STATE) {
        return status;
    }
    retired->window = NULL;
    weft_status_t unpinned = weft_mem_deregister(comm, retired->region);
    return unpinned != WEFT_OK ? unpinned : status;
}

static void retired_add(nccl_retired_t *list, struct nccl_retired *retired)
{
    retired->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &retired->next, retired)) {
    }
}

weft_status_t nccl_retire(weft_comm_t *comm, nccl_retired_t *list, weft_window_t *window,
                          weft_mem_region_t *region)
{
    struct nccl_retired now = {.window = window, .region = region};
    weft_status_t status = retired_end(comm, &now);
    struct nccl_retired *later =
        nccl_retired_must_wait(comm, status) ? malloc(sizeof *later) : NULL;
    if (later == NULL) {
        return status;
    }
    *later = now;
    retired_add(list, later);
    return WEFT_OK;
}

void nccl_retired_end(weft_comm_t *comm, nccl_retired_t *list)
{
    if (atomic_load_explicit(list, memory_order_relaxed) == NULL) {
        return;
    }
    struct nccl_retired *first = atomic_exchange(list, NULL);
    while (first != NULL) {
        struct nccl_retired *next = first->next;
        if (nccl_retired_must_wait(comm, retired_end(comm, first))) {
            retired_add(list, first);
        } else {
            free(first);
        }
        first = next;
    }
}

void nccl_retired_forget(nccl_retired_t *list)
{
    struct nccl_retired *first = atomic_exchange(list, NULL);
    while (first != NULL) {
        struct nccl_retired *next = first->next;
        free(first);
        first = next;
    }
}
