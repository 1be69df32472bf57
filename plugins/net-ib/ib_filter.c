/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matching of adapters by name and port. */
#include "ib_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ib_filter_matches(const char *word, size_t length, bool exact, const char *name,
                              uint32_t port)
{
    const char *colon = memchr(word, ':', length);
    size_t bytes = colon != NULL ? (size_t)(colon - word) : length;
    size_t whole = strlen(name);
    bool fits = exact ? bytes == whole : bytes <= whole;
    if (bytes == 0 || !fits || memcmp(word, name, bytes) != 0) {
        return false;
    }
    return colon == NULL || strtoul(colon + 1, NULL, 10) == port;
}

bool ib_filter_admits(const char *text, const char *name, uint32_t port)
{
    bool exclude = *text == '^';
    text += exclude ? 1 : 0;
    bool exact = *text == '=';
    text += exact ? 1 : 0;
    if (*text == '\0') {
        return true;
    }
    bool listed = false;
    for (const char *at = text; *at != '\0' && !listed;) {
        size_t length = strcspn(at, ",");
        listed = ib_filter_matches(at, length, exact, name, port);
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return listed != exclude;
}

bool ib_filter_word(const char *text, uint32_t number, char word[IB_FILTER_WORD])
{
    const char *sign = *text == '=' ? "=" : "";
    const char *at = text + strlen(sign);
    if (*text == '^') {
        return false;
    }
    for (; number > 0 && *at != '\0'; number--) {
        size_t length = strcspn(at, ",");
        at += length + (at[length] == ',' ? 1 : 0);
    }
    snprintf(word, IB_FILTER_WORD, "%s%.*s", sign, (int)strcspn(at, ","), at);
    return *at != '\0';
}
