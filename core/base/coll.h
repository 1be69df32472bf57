/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts about collectives, from WEFT_COLL_MAP (weft/types.h). */
#ifndef WEFT_BASE_COLL_H
#define WEFT_BASE_COLL_H

#include <stdbool.h>

#include <weft/types.h>

/* True if the collective takes an operator. */
bool weft_coll_reduces(weft_coll_t coll);
/* True for vector collectives, which take a count for each block. */
static inline bool weft_coll_has_vectors(weft_coll_t coll)
{
    return coll >= WEFT_ALL_GATHER_V && coll <= WEFT_SCATTER_V;
}

#endif
