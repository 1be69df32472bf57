/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The known name that is most like a mistyped one. */
#ifndef WEFT_CONFIG_NEAREST_H
#define WEFT_CONFIG_NEAREST_H

#include <stddef.h>

typedef struct weft_nearest {
    const char *wanted;
    size_t bytes; /* of wanted */
    size_t limit; /* only names closer than this count */
    const char *best;
    size_t best_bytes;
} weft_nearest_t;

void weft_nearest_start(weft_nearest_t *nearest, const char *wanted);
/* Offers a candidate of `bytes` bytes, which must stay in place until best is used. */
void weft_nearest_offer(weft_nearest_t *nearest, const char *name, size_t bytes);
/* Writes ", did you mean NAME?" with `before` and `after` around the name, or nothing. */
void weft_nearest_hint(const weft_nearest_t *nearest, const char *before, const char *after,
                       char *text, size_t bytes);

#endif
