/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The links that higher ranks have asked this one for (wanted_links.h), of all communicators of a
 * family, whose lock guards the table. */
#ifndef WEFT_COMM_WANTED_TABLE_H
#define WEFT_COMM_WANTED_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* At once: what does not fit is asked for again. */
#define WEFT_WANTED_LINKS 64u

typedef struct weft_wanted_link {
    uint64_t comm_id;
    uint32_t peer;   /* rank in the communicator */
    uint32_t number; /* of the link: weft_links_number() */
} weft_wanted_link_t;

typedef struct weft_wanted_table {
    _Atomic uint32_t count; /* read without the lock, too */
    weft_wanted_link_t list[WEFT_WANTED_LINKS];
} weft_wanted_table_t;

/* Appends a link, unless it is there, or the table is full. */
void weft_wanted_table_add(weft_wanted_table_t *table, const weft_wanted_link_t *link);
/* Takes the first one out. False: there is none. */
bool weft_wanted_table_take(weft_wanted_table_t *table, weft_wanted_link_t *link);

/* Thread: any. */
static inline uint32_t weft_wanted_table_count(const weft_wanted_table_t *table)
{
    return atomic_load_explicit(&table->count, memory_order_relaxed);
}

#endif
