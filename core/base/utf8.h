/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Characters of UTF-8 (RFC 3629). */
#ifndef WEFT_BASE_UTF8_H
#define WEFT_BASE_UTF8_H

#include <stddef.h>

/* Returns the bytes of the character at p, 1 to 4, or 0 if there is none that ends before `end`. */
size_t weft_utf8_bytes(const unsigned char *p, const unsigned char *end);

/* Copies a text into `bytes` bytes. One that is too long is cut between two characters. */
void weft_utf8_copy(char *to, size_t bytes, const char *from);

/* For names and texts that come from files, variables, plugins and peers: one line stays one line,
 * and a terminal is told nothing. Line ends and tabs become blanks; other control characters, and
 * bytes that are no UTF-8, become question marks. */
void weft_utf8_clean(char *text);

#endif
