/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts about collectives. */
#include "core/base/coll.h"

bool weft_coll_reduces(weft_coll_t coll)
{
    static const bool reduces_of[] = {
#define REDUCES(value, name, text, reduces, rooted, shape) [value] = (reduces),
        WEFT_COLL_MAP(REDUCES)
#undef REDUCES
    };
    return reduces_of[coll];
}
