/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See utf8.h. */
#include "core/base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool utf8_continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t weft_utf8_bytes(const unsigned char *p, const unsigned char *end)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t n = 1; n <= 4; n++) {
        if ((*p & forms[n - 1].mask) != forms[n - 1].lead || (size_t)(end - p) < n) {
            continue;
        }
        uint32_t code = (uint32_t)(*p & (unsigned char)~forms[n - 1].mask);
        size_t i = 1;
        for (; i < n && utf8_continues(p[i]); i++) {
            code = code << 6 | (p[i] & 0x3fu);
        }
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        return i == n && code >= forms[n - 1].least && code <= 0x10ffff && !surrogate ? n : 0;
    }
    return 0;
}

void weft_utf8_copy(char *to, size_t bytes, const char *from)
{
    size_t length = strnlen(from, bytes - 1);
    while (length > 0 && from[length] != '\0' && utf8_continues((unsigned char)from[length])) {
        length--;
    }
    memcpy(to, from, length);
    to[length] = '\0';
}

/* U+0080 to U+009F control terminals as ESC does. */
static bool utf8_controls(const unsigned char *p)
{
    return *p < ' ' || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

void weft_utf8_clean(char *text)
{
    unsigned char *end = (unsigned char *)text + strlen(text);
    for (unsigned char *p = (unsigned char *)text; p < end;) {
        size_t bytes = weft_utf8_bytes(p, end);
        if (bytes == 0 || utf8_controls(p)) {
            bytes = bytes > 0 ? bytes : 1;
            memset(p, *p == '\n' || *p == '\t' ? ' ' : '?', bytes);
        }
        p += bytes;
    }
}
