/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distance of words: V. Levenshtein, "Binary codes capable of correcting deletions, insertions, and
 * reversals", 1966. */
#include "nearest_word.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 63u

static uint32_t nearest_word_least(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* After row i, row[j] is the distance between the first i bytes of a and the first j of b. */
static uint32_t nearest_word_distance(const char *a, size_t n, const char *b, size_t m)
{
    uint32_t row[WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX) {
        return UINT32_MAX;
    }
    for (uint32_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        uint32_t corner = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= m; j++) {
            uint32_t next =
                nearest_word_least(row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = row[j];
            row[j] = next;
        }
    }
    return row[m];
}

void nearest_word_hint(const char *wrong, size_t length, const char *const *words, uint32_t count,
                       char *text, size_t bytes)
{
    uint32_t least = (uint32_t)length / 2 + 1;
    const char *best = NULL;
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t distance = nearest_word_distance(wrong, length, words[i], strlen(words[i]));
        if (distance < least) {
            least = distance;
            best = words[i];
        }
    }
    if (best != NULL) {
        snprintf(text, bytes, ", did you mean %s?", best);
        return;
    }
    text[0] = '\0';
    for (uint32_t i = 0; i < count && at < bytes; i++) {
        int n = snprintf(text + at, bytes - at, "%s%s", i > 0 ? ", " : "; there are ", words[i]);
        at += n > 0 ? (size_t)n : 0;
    }
}
