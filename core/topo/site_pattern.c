/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns of host names. Recursion goes as deep as a pattern has stars and brackets, which its
 * check bounds. */
#include "core/topo/site_pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_DIGITS_MAX 9u
#define PATTERN_WILD_MAX 8u

static size_t pattern_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Passes over "3" or "01-16"; NULL: it is neither. */
static const char *pattern_pass_item(const char *at)
{
    size_t first = pattern_digits(at), last;
    if (first == 0 || first > PATTERN_DIGITS_MAX) {
        return NULL;
    }
    if (at[first] != '-') {
        return at + first;
    }
    last = pattern_digits(at + first + 1);
    if (last == 0 || last > PATTERN_DIGITS_MAX ||
        strtoul(at + first + 1, NULL, 10) < strtoul(at, NULL, 10)) {
        return NULL;
    }
    return at + first + 1 + last;
}

/* What names of hosts consist of. Others would fit no host, and so hide that the line is wrong. */
static bool pattern_is_of_names(const char *pattern)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '[') {
            at += strcspn(at, "]");
        } else if (*at != '*' && strchr(good, *at) == NULL) {
            return false;
        }
    }
    return true;
}

const char *weft_site_pattern_check(const char *pattern)
{
    uint32_t wild = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        wild += *at == '*' || *at == '[';
        if (*at == ']') {
            return "']' without '['";
        }
        if (*at != '[') {
            continue;
        }
        do {
            at = pattern_pass_item(at + 1);
            if (at == NULL) {
                return "brackets hold numbers and ranges such as [01-16,20]";
            }
        } while (*at == ',');
        if (*at != ']') {
            return "'[' without ']'";
        }
    }
    if (!pattern_is_of_names(pattern)) {
        return "hosts are apart by blanks, and names have letters, digits, '-', '.' and '_'";
    }
    return wild > PATTERN_WILD_MAX ? "more than 8 stars and brackets" : NULL;
}

/* True if the `digits` digits at `host` are a number of the item at `item`. */
static bool pattern_item_has(const char *item, const char *host, size_t digits)
{
    size_t width = pattern_digits(item);
    unsigned long first = strtoul(item, NULL, 10), last = first, number = 0;
    if (item[width] == '-') {
        last = strtoul(item + width + 1, NULL, 10);
    }
    bool padded = item[0] == '0' && width > 1;
    if (padded ? digits != width : host[0] == '0' && digits > 1) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        number = number * 10 + (unsigned long)(host[i] - '0');
    }
    return number >= first && number <= last;
}

/* A bracket, which stands for some of the digits that follow in the name. */
static bool pattern_fits_bracket(const char *pattern, const char *host)
{
    size_t most = pattern_digits(host);
    const char *behind = strchr(pattern, ']') + 1;
    for (size_t digits = 1; digits <= most && digits <= PATTERN_DIGITS_MAX; digits++) {
        const char *item = pattern + 1;
        bool has = false;
        while (!has && item < behind) {
            has = pattern_item_has(item, host, digits);
            item += strcspn(item, ",]") + 1;
        }
        if (has && weft_site_pattern_fits(behind, host + digits)) {
            return true;
        }
    }
    return false;
}

bool weft_site_pattern_fits(const char *pattern, const char *host)
{
    for (; *pattern != '\0'; pattern++, host++) {
        if (*pattern == '[') {
            return pattern_fits_bracket(pattern, host);
        }
        if (*pattern == '*') {
            bool fits = weft_site_pattern_fits(pattern + 1, host);
            while (!fits && *host != '\0') {
                fits = weft_site_pattern_fits(pattern + 1, ++host);
            }
            return fits;
        }
        if (*pattern != *host) {
            return false;
        }
    }
    return *host == '\0';
}

size_t weft_site_pattern_nearness(const char *pattern, const char *host)
{
    size_t i = 0;
    while (pattern[i] != '\0' && pattern[i] == host[i]) {
        i++;
    }
    return i;
}
