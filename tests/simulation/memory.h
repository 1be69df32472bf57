/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of simulated processes: malloc() from a region of each image, mappings, files in memory.
 * What a process leaves is counted, and goes with it. */
#ifndef WEFT_SIMULATION_MEMORY_H
#define WEFT_SIMULATION_MEMORY_H

#include "machine.h"

#define MEMORY_STACK_BYTES ((size_t)1 << 20)

void *memory_stack_take(void);
void memory_stack_give(void *stack);

void memory_process_init(process_t *process);
void memory_process_fini(process_t *process);

/* As malloc() and posix_memalign(), for the running process; `site` is the caller, for reports.
 * NULL: no memory. */
void *memory_alloc(size_t bytes, size_t align, const void *site);
void memory_free(void *memory);
size_t memory_bytes(const void *memory);
/* True: memory_alloc() made it, for any process. */
bool memory_is_ours(const void *memory);

/* What the process holds. */
typedef struct memory_holdings {
    uint64_t allocations, bytes, mappings;
} memory_holdings_t;
memory_holdings_t memory_holds(const process_t *process);
/* Prints who allocated what is there. */
void memory_print(const process_t *process);

/* Mappings, with the system's own mmap() behind them. */
void memory_mapped(void *begin, size_t bytes, object_t *file, uint64_t offset);
void memory_unmapped(void *begin, size_t bytes);
/* Returns the file that is mapped there and where in it, or NULL. */
object_t *memory_file_of(const process_t *process, const void *at, uint64_t *offset);

#endif
