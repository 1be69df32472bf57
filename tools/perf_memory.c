/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of `weft perf`, and what the machine says about memory. */
#include "tools/perf_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf_job.h"

/* Memory that weft_mem_free() frees. */
static bool perf_memory_is_wefts(const perf_rank_t *rank)
{
    return rank->device.memory != NULL || rank->options->registration >= 2;
}

static weft_status_t perf_memory_obtain(perf_rank_t *rank, void **memory_p)
{
    if (rank->device.memory != NULL) {
        return weft_mem_alloc_device(rank->comm, rank->buffer_bytes, memory_p);
    }
    if (perf_memory_is_wefts(rank)) {
        return weft_mem_alloc(rank->comm, rank->buffer_bytes, memory_p);
    }
    *memory_p = weft_os_pages(rank->buffer_bytes);
    return *memory_p != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a buffer of %llu bytes; try -e",
                           (unsigned long long)rank->buffer_bytes);
}

static weft_status_t perf_memory_alloc_one(perf_rank_t *rank, int index, uint8_t **memory_p)
{
    void *memory = NULL;
    weft_status_t status = perf_memory_obtain(rank, &memory);
    *memory_p = memory;
    if (status == WEFT_OK && rank->options->registration == 1) {
        status = weft_mem_register(rank->comm, memory, rank->buffer_bytes, &rank->regions[index]);
    } else if (status == WEFT_OK && rank->options->registration == 2) {
        status =
            weft_window_register(rank->comm, memory, rank->buffer_bytes, &rank->windows[index]);
    }
    return status;
}

weft_status_t perf_memory_alloc(perf_rank_t *rank)
{
    const uint64_t largest_element = 8;
    rank->buffer_bytes = rank->span + ((uint64_t)rank->options->unalign + 2) * largest_element;
    if (rank->device.memory != NULL) {
        rank->piece = weft_os_pages(PERF_PIECE);
        if (rank->piece == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for data on its way to a device");
        }
    }
    weft_status_t status = perf_memory_alloc_one(rank, 0, &rank->send);
    return status != WEFT_OK ? status : perf_memory_alloc_one(rank, 1, &rank->recv);
}

void perf_memory_free(perf_rank_t *rank)
{
    uint8_t *memory[] = {rank->send, rank->recv};
    for (int i = 0; i < 2; i++) {
        weft_mem_deregister(rank->comm, rank->regions[i]);
        weft_window_deregister(rank->comm, rank->windows[i]);
        if (memory[i] != NULL && perf_memory_is_wefts(rank)) {
            weft_mem_free(rank->comm, memory[i]);
        } else if (memory[i] != NULL) {
            weft_os_pages_free(memory[i], rank->buffer_bytes);
        }
    }
    weft_os_pages_free(rank->piece, PERF_PIECE);
    rank->send = NULL;
    rank->recv = NULL;
    rank->piece = NULL;
}

/* Pieces --------------------------------------------------------------------------------------- */

uint64_t perf_memory_room(const perf_rank_t *rank, uint64_t bytes)
{
    return rank->piece != NULL && bytes > PERF_PIECE ? PERF_PIECE : bytes;
}

uint8_t *perf_memory_piece(const perf_rank_t *rank, uint8_t *at)
{
    return rank->piece != NULL ? rank->piece : at;
}

weft_status_t perf_memory_load(perf_rank_t *rank, const uint8_t *at, uint64_t bytes)
{
    return rank->piece != NULL ? weft_mem_copy(rank->comm, rank->piece, at, bytes) : WEFT_OK;
}

weft_status_t perf_memory_store(perf_rank_t *rank, uint8_t *at, uint64_t bytes)
{
    return rank->piece != NULL ? weft_mem_copy(rank->comm, at, rank->piece, bytes) : WEFT_OK;
}

weft_status_t perf_memory_set(perf_rank_t *rank, uint8_t *at, uint8_t value, uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    while (bytes > 0 && status == WEFT_OK) {
        uint64_t part = perf_memory_room(rank, bytes);
        memset(perf_memory_piece(rank, at), value, part);
        status = perf_memory_store(rank, at, part);
        at += part;
        bytes -= part;
    }
    return status;
}

/* The machine ---------------------------------------------------------------------------------- */

uint64_t perf_memory_resident(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    char *got = fgets(line, sizeof line, file);
    fclose(file);
    char *second = got != NULL ? strchr(line, ' ') : NULL;
    unsigned long long pages = second != NULL ? strtoull(second, NULL, 10) : 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
