/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the known name that is most like a mistyped one. Start, offer all known names, take the
 * hint. */
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
/* Offers a candidate of `bytes` bytes. It must stay in place until the hint is written. */
void weft_nearest_offer(weft_nearest_t *nearest, const char *name, size_t bytes);
/* Writes ", did you mean NAME?" with `before` and `after` around the name, or "" if no candidate is
 * near. */
void weft_nearest_hint(const weft_nearest_t *nearest, const char *before, const char *after,
                       char *text, size_t bytes);

#endif
