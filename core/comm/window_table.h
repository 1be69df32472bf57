/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The windows of a communicator: those of this rank, and those of others that it has imported. */
#ifndef WEFT_COMM_WINDOW_TABLE_H
#define WEFT_COMM_WINDOW_TABLE_H

#include "core/comm/identity.h"
#include "core/comm/put_table.h"
#include "core/exec/zero_copy.h"

/* A window of this rank. */
struct weft_window {
    uint32_t number;     /* in the table of those that others read */
    uint32_t name;       /* of all windows of the communicator, from 1: equal on all ranks */
    weft_window_t *next; /* of the local ones */
    bool local;          /* for puts only */
    void *memory;
    uint64_t bytes;
    weft_export_t *exported; /* host memory, to threads of this process; or NULL */
    bool on_device;          /* exported by the kernel */
};

typedef struct weft_window_table {
    weft_window_t *own[WEFT_LANES_WINDOWS]; /* by number; NULL: free */
    weft_windows_t shared;                  /* what messages refer to */
    weft_window_t *local;                   /* for puts only, the newest first */
    uint32_t registered;                    /* windows so far, of both kinds */
    weft_puts_t *puts;                      /* NULL until the first */
    /* Ranks that have asked this one to listen, and one more once it has made a one-sided call. Any
     * thread: puts.h. */
    _Atomic uint32_t askers;
} weft_window_table_t;

/* True if it has or has had as many windows as there can be, which all ranks count alike. */
bool weft_window_table_is_full(const weft_window_table_t *table);

/* Makes a window that no peer knows yet. ERR_RESOURCE. */
weft_status_t weft_window_create(const weft_comm_identity_t *self, weft_window_table_t *table,
                                 void *memory, uint64_t bytes, weft_window_t **window_p);
/* Makes a window for puts only, which the other ranks need not hear of. ERR_RESOURCE. */
weft_status_t weft_window_create_local(weft_window_table_t *table, void *memory, uint64_t bytes,
                                       weft_window_t **window_p);
/* Ends the window here. Blocks while peers of this process read it. */
void weft_window_free(const weft_comm_identity_t *self, weft_window_table_t *table,
                      weft_window_t *window);

/* Returns whether it is a window of this communicator. */
bool weft_window_is_known(const weft_window_table_t *table, const weft_window_t *window);
/* Returns the window of that name; NULL: it is not registered, or no longer. */
const weft_window_t *weft_window_numbered(const weft_window_table_t *table, uint32_t name);

static inline uint32_t weft_window_askers(const weft_window_table_t *table)
{
    return atomic_load_explicit(&table->askers, memory_order_acquire);
}

/* Ends the imports of window `number`, of all peers. */
void weft_window_close_imports(const weft_comm_identity_t *self, weft_window_table_t *table,
                               uint32_t number);

/* Frees all windows that the user did not deregister. */
void weft_window_table_fini(const weft_comm_identity_t *self, weft_window_table_t *table);

#endif
