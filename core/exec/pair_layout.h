/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layout of memory that two ranks share: a FIFO in each direction, the connector's sends
 * first. What every message needs comes first and close together, so that a pair of ranks that
 * talks little costs a few pages:
 *
 *   control words and headers of both FIFOs     committed from the beginning
 *   the areas for small payloads                committed with the first of them
 *   the slots                                   committed slot by slot, by who writes them
 *
 * Every part of a direction is page aligned, but the heads. */
#ifndef WEFT_EXEC_PAIR_LAYOUT_H
#define WEFT_EXEC_PAIR_LAYOUT_H

#include "core/exec/slot.h"

#define WEFT_PAIR_PAGE UINT64_C(4096)

/* Offsets; [0]: what the connector sends. */
typedef struct weft_pair_layout {
    uint64_t head[2], small[2], slots[2];
    uint64_t commit; /* bytes of the heads */
    uint64_t bytes;  /* of everything */
} weft_pair_layout_t;

static inline uint64_t weft_pair_page_up(uint64_t bytes)
{
    return (bytes + WEFT_PAIR_PAGE - 1) / WEFT_PAIR_PAGE * WEFT_PAIR_PAGE;
}

/* Returns the bytes from header to header of a FIFO. Where there are areas for small payloads, the
 * smallest of them lie behind the headers. */
static inline uint64_t weft_pair_header_stride(uint64_t small_bytes)
{
    return small_bytes > 0 ? WEFT_SLOT_NEAR_STRIDE : sizeof(weft_slot_header_t);
}

static inline weft_pair_layout_t weft_pair_layout(const weft_fifo_shape_t *shape)
{
    uint64_t small = weft_pair_page_up(shape->headers * shape->small_bytes);
    uint64_t ring = weft_pair_page_up(shape->slots * shape->slot_bytes);
    uint64_t head =
        weft_fifo_head_bytes(shape->headers, weft_pair_header_stride(shape->small_bytes));
    weft_pair_layout_t l = {.head = {0, head}};
    l.commit = weft_pair_page_up(2 * head);
    l.small[0] = l.commit;
    l.small[1] = l.small[0] + small;
    l.slots[0] = l.small[1] + small;
    l.slots[1] = l.slots[0] + ring;
    l.bytes = l.slots[1] + ring;
    return l;
}

#endif
