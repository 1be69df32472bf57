/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the links of a communicator hold on this rank. The thread that owns the communicator calls;
 * nothing blocks. */
#ifndef WEFT_EXEC_LINKS_MEMORY_H
#define WEFT_EXEC_LINKS_MEMORY_H

#include <stddef.h>

#include "core/exec/links_setup.h"

/* Bytes of both ends of mapped links count on both ranks: they see the same pages. */
typedef struct weft_links_memory {
    uint32_t mapped_links, message_links;
    uint32_t descriptors; /* of the links; listeners and the control tree have others */
    uint64_t mapped;      /* bytes of address space of mapped links */
    uint64_t heads;       /* control words and headers, committed with the link */
    uint64_t small;       /* areas for small payloads that this rank sends */
    uint64_t slots;       /* slots that this rank sends from, of mapped links */
    uint64_t slots_peak;  /* the most of them so far */
    uint64_t given_back;  /* slots that went back to the host so far */
    uint64_t pool;        /* limit of `slots`; 0: none */
    uint64_t messages;    /* slots of links that carry messages */
    uint64_t records;     /* what this rank alone knows of its links */
} weft_links_memory_t;

/* The most that links can hold: one to each other rank, on one channel. */
typedef struct weft_links_most {
    uint32_t descriptors;
    uint64_t heads, small, slots, messages, records;
} weft_links_most_t;

/* NULL links: all zero. */
void weft_links_memory(const weft_links_t *links, weft_links_memory_t *memory);
void weft_links_most(const weft_links_t *links, weft_links_most_t *most);
/* Writes it in one line, and returns `text`. */
const char *weft_links_memory_text(const weft_links_memory_t *memory, char *text, size_t bytes);

#endif
