/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of `weft perf`, and what the machine says about memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf.h"

static weft_status_t alloc_one(perf_rank_t *rank, int index, uint8_t **memory_p)
{
    void *memory = NULL;
    if (rank->options->registration == 2) {
        weft_status_t status = weft_mem_alloc(rank->comm, rank->buffer_bytes, &memory);
        *memory_p = memory;
        return status;
    }
    memory = weft_os_pages(rank->buffer_bytes);
    if (memory == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a buffer of %llu bytes; try -e",
                         (unsigned long long)rank->buffer_bytes);
    }
    *memory_p = memory;
    if (rank->options->registration == 1) {
        return weft_register(rank->comm, memory, rank->buffer_bytes, &rank->regions[index]);
    }
    return WEFT_OK;
}

weft_status_t perf_memory_alloc(perf_rank_t *rank)
{
    const uint64_t largest_element = 8;
    rank->buffer_bytes = rank->span + ((uint64_t)rank->options->unalign + 2) * largest_element;
    weft_status_t status = alloc_one(rank, 0, &rank->send);
    return status != WEFT_OK ? status : alloc_one(rank, 1, &rank->recv);
}

void perf_memory_free(perf_rank_t *rank)
{
    uint8_t *memory[] = {rank->send, rank->recv};
    for (int i = 0; i < 2; i++) {
        weft_deregister(rank->comm, rank->regions[i]);
        if (memory[i] != NULL && rank->options->registration == 2) {
            weft_mem_free(rank->comm, memory[i]);
        } else if (memory[i] != NULL) {
            weft_os_pages_free(memory[i], rank->buffer_bytes);
        }
    }
    rank->send = NULL;
    rank->recv = NULL;
}

/* Files of /proc tell no size, hence stdio in place of weft_os_read_file. */
uint64_t perf_memory_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "MemAvailable:", 13) == 0) {
            kib = strtoull(line + 13, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib * 1024;
}

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
