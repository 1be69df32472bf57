/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of what was given out: whoever frees memory may have chosen another kernel by now, or have
 * memory of the device as well. */
#include "bindings/nccl/host_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "bindings/nccl/errors.h"

typedef struct host_memory {
    struct host_memory *next;
    void *memory;
} host_memory_t;

/* Static: NCCL's calls for memory have no communicator. */
static host_memory_t *given;
static pthread_mutex_t given_lock = PTHREAD_MUTEX_INITIALIZER;

ncclResult_t nccl_host_memory_alloc(void **memory_p, size_t bytes)
{
    host_memory_t *note = malloc(sizeof *note);
    if (note == NULL) {
        return nccl_fail(ncclSystemError, "ncclMemAlloc: no memory for %zu bytes", bytes);
    }
    ncclResult_t result =
        nccl_report("ncclMemAlloc", weft_mem_alloc(NULL, bytes, &note->memory), NULL);
    if (result != ncclSuccess) {
        free(note);
        return result;
    }
    *memory_p = note->memory;
    pthread_mutex_lock(&given_lock);
    note->next = given;
    given = note;
    pthread_mutex_unlock(&given_lock);
    return ncclSuccess;
}

bool nccl_host_memory_free(void *memory)
{
    pthread_mutex_lock(&given_lock);
    host_memory_t **position = &given;
    while (*position != NULL && (*position)->memory != memory) {
        position = &(*position)->next;
    }
    host_memory_t *found = *position;
    if (found != NULL) {
        *position = found->next;
    }
    pthread_mutex_unlock(&given_lock);
    if (found == NULL) {
        return false;
    }
    (void)weft_mem_free(NULL, memory);
    free(found);
    return true;
}
