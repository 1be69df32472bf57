/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a message between two ranks is cut. A long one goes over several links, its stripes, slice
 * after slice in turn, so that as many blocks of a device copy it. Both ends find the same cut by
 * themselves: from the length, which the signature compares, and from what all ranks agreed on. */
#ifndef WEFT_COMM_STRIPES_H
#define WEFT_COMM_STRIPES_H

#include <stdint.h>

#include "core/exec/link_ways.h"
#include "core/exec/slot.h"

/* The channel of sends and receives: above those that plans may name. */
#define WEFT_P2P_CHANNEL (UINT32_C(1) << 16)
/* The channel of puts, which the host moves and receives at any time. */
#define WEFT_PUT_CHANNEL (WEFT_P2P_CHANNEL | 1)

typedef struct weft_stripes {
    uint32_t count; /* a power of two */
    uint64_t slice; /* bytes of a slice; the last one may be shorter */
} weft_stripes_t;

/* Cuts a message of `bytes` bytes. `most`: stripes at most; `least`: bytes that make another one
 * worth while; `slot`: bytes that a slice has room for, a multiple of a line. */
static inline weft_stripes_t weft_stripes_cut(uint64_t bytes, uint32_t most, uint64_t least,
                                              uint64_t slot)
{
    weft_stripes_t cut = {.count = 1, .slice = slot};
    while (2 * cut.count <= most && bytes / least >= 2 * cut.count) {
        cut.count *= 2;
    }
    if (cut.count > 1) {
        uint64_t part = (bytes + cut.count - 1) / cut.count;
        part = (part + WEFT_LINE - 1) / WEFT_LINE * WEFT_LINE;
        cut.slice = part < slot ? part : slot;
    }
    return cut;
}

/* Returns the bytes of the longest slice of a message of `bytes` bytes. */
static inline uint64_t weft_stripes_longest(const weft_stripes_t *cut, uint64_t bytes)
{
    return bytes < cut->slice ? bytes : cut->slice;
}

/* Returns the number of the link of a stripe (links.h) of one of the two channels. */
static inline uint32_t weft_stripe_link(uint32_t stripe, uint32_t channel)
{
    return stripe << WEFT_LINK_COPY_SHIFT | channel;
}

#endif
