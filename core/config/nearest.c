/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Edit distance with insertion, removal, replacement and swap of neighbours; letters are compared
 * without case. A whole word that was left out counts as one edit. */
#include "core/config/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/ascii.h"

#define NAME_MAX_BYTES 96
/* Of so few letters one may be wrong; with two, most short names would do. */
#define SHORT 3u

static size_t nearest_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool nearest_same(char a, char b)
{
    return weft_ascii_lower(a) == weft_ascii_lower(b);
}

static size_t nearest_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= nb; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t *now = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = nearest_least(nearest_least(above[j], now[j - 1]) + 1,
                                   above[j - 1] + !nearest_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && nearest_same(a[i - 1], b[j - 2]) &&
                nearest_same(a[i - 2], b[j - 1])) {
                now[j] = nearest_least(now[j], above2[j - 2] + 1);
            }
        }
    }
    return rows[na % 3][nb];
}

static bool nearest_is_joint(char c)
{
    return c == '-' || c == '_';
}

/* True if `name` is `wanted` with a word more: "op_timeout" for "timeout". */
static bool nearest_lacks_word(const weft_nearest_t *nearest, const char *name, size_t bytes)
{
    const char *wanted = nearest->wanted;
    size_t have = nearest->bytes;
    if (have == 0 || bytes <= have + 1) {
        return false;
    }
    size_t word = bytes - have, at = 0;
    for (;; at++) {
        bool ends = weft_ascii_same(wanted + at, name + at + word, have - at);
        bool begins = at == 0 || nearest_is_joint(name[at - 1]);
        if (ends && ((begins && nearest_is_joint(name[at + word - 1])) ||
                     (at == have && nearest_is_joint(name[at])))) {
            return true;
        }
        if (at == have || !nearest_same(wanted[at], name[at])) {
            return false;
        }
    }
}

void weft_nearest_start(weft_nearest_t *nearest, const char *wanted)
{
    size_t bytes = strlen(wanted);
    *nearest = (weft_nearest_t){
        .wanted = wanted, .bytes = bytes, .limit = bytes > SHORT ? bytes / 3 + 2 : 2};
}

void weft_nearest_offer(weft_nearest_t *nearest, const char *name, size_t bytes)
{
    if (nearest->bytes > NAME_MAX_BYTES || bytes > NAME_MAX_BYTES) {
        return;
    }
    size_t d = nearest_lacks_word(nearest, name, bytes)
                   ? 1
                   : nearest_distance(nearest->wanted, nearest->bytes, name, bytes);
    /* Among equals a name of the same length: letters are swapped more often than forgotten. */
    bool tie = nearest->best != NULL && d == nearest->limit && bytes == nearest->bytes &&
               nearest->best_bytes != bytes;
    if (d < nearest->limit || tie) {
        nearest->limit = d;
        nearest->best = name;
        nearest->best_bytes = bytes;
    }
}

void weft_nearest_hint(const weft_nearest_t *nearest, const char *before, const char *after,
                       char *text, size_t bytes)
{
    if (nearest->best == NULL) {
        snprintf(text, bytes, "%s", "");
        return;
    }
    snprintf(text, bytes, ", did you mean %s%.*s%s?", before, (int)nearest->best_bytes,
             nearest->best, after);
}
