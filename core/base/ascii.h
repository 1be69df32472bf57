/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words compared without case, whatever the locale of the program: in a Turkish one strcasecmp()
 * takes i and I for two letters. */
#ifndef WEFT_BASE_ASCII_H
#define WEFT_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char weft_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* True if the texts agree up to `most` bytes, or to their end. */
static inline bool weft_ascii_same(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    while (i < most && a[i] != '\0' && weft_ascii_lower(a[i]) == weft_ascii_lower(b[i])) {
        i++;
    }
    return i == most || weft_ascii_lower(a[i]) == weft_ascii_lower(b[i]);
}

#endif
