/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers before nouns, in texts for people. */
#ifndef WEFT_BASE_PLURAL_H
#define WEFT_BASE_PLURAL_H

#include <stdint.h>

/* What the noun behind `count` ends with: "" behind 1, "s" behind all other numbers. */
static inline const char *weft_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
