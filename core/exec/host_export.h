/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory that one rank exports to other ranks of its process, which read it in place. A
 * list of the process holds what is exported, so that no address from a message is ever
 * believed. A reader marks its reads, so that the owner can end the export at any time, also
 * when its peers know nothing yet of the failure that makes it do so. Every function may be
 * called by any thread. */
#ifndef WEFT_EXEC_HOST_EXPORT_H
#define WEFT_EXEC_HOST_EXPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/types.h>

typedef struct weft_export weft_export_t;

/* One reader's import, in a cache line of its own. */
typedef struct weft_import {
    _Atomic uint32_t reads; /* 1 while it reads */
    uint32_t pad;
    weft_export_t *exported;
    uint8_t line[48];
} weft_import_t;

_Static_assert(sizeof(weft_import_t) == 64, "a line");

/* What is exported: window `index` of rank `owner` in communicator `comm_id`. */
typedef struct weft_export_name {
    uint64_t comm_id;
    uint32_t owner, index;
} weft_export_name_t;

/* Exports memory to at most `nranks` ranks. The memory stays the caller's. ERR_RESOURCE. */
weft_status_t weft_export_create(const weft_export_name_t *name, void *memory, uint64_t bytes,
                                 uint32_t nranks, weft_export_t **export_p);
/* Ends the export. Blocks until nobody reads the memory, which takes no longer than one slice. NULL
 * is allowed. */
void weft_export_destroy(weft_export_t *exported);

/* Opens, for rank `reader`, what this process exports under that name. Returns NULL if there is no
 * such export. The import may outlive it. */
weft_import_t *weft_import_open(const weft_export_name_t *name, uint32_t reader, uint8_t **memory_p,
                                uint64_t *bytes_p);
void weft_import_close(weft_import_t *import);

/* Begins to read. Returns false if the export has ended: the memory must not be touched. */
bool weft_import_begin_read(weft_import_t *import);
static inline void weft_import_end_read(weft_import_t *import)
{
    atomic_store_explicit(&import->reads, 0, memory_order_release);
}

#endif
