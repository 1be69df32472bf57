/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers as text. strtod and printf follow the locale of the host program, where the decimal point
 * may be a comma; the configuration must read the same everywhere. */
#include "core/config/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *number_skip_digits(const char *p)
{
    while (number_is_digit(*p)) {
        p++;
    }
    return p;
}

/* End of sign, digits, point, digits, exponent; NULL if there is no digit before the exponent. */
static const char *number_real_end(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    const char *start = p;
    p = number_skip_digits(p);
    size_t digits = (size_t)(p - start);
    if (*p == '.') {
        const char *fraction = p + 1;
        p = number_skip_digits(fraction);
        digits += (size_t)(p - fraction);
    }
    if (digits == 0) {
        return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
        p = number_is_digit(*exponent) ? number_skip_digits(exponent) : p;
    }
    return p;
}

weft_number_t weft_number_real(const char *text, double *value_p, const char **rest_p)
{
    char copy[64];
    const char *end = number_real_end(text);
    if (end == NULL || (size_t)(end - text) >= sizeof copy) {
        return end == NULL ? WEFT_NUMBER_NONE : WEFT_NUMBER_RANGE;
    }
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return WEFT_NUMBER_RANGE;
    }
    double value = strtod_l(copy, NULL, plain);
    freelocale(plain);
    if (!isfinite(value)) {
        return WEFT_NUMBER_RANGE;
    }
    *value_p = value;
    *rest_p = end;
    return WEFT_NUMBER_OK;
}

static int number_digit_value(char c, unsigned base)
{
    int value = number_is_digit(c)     ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < (int)base ? value : -1;
}

static weft_number_t number_digits_read(const char *text, unsigned base, uint64_t *value_p,
                                        const char **rest_p)
{
    uint64_t value = 0;
    const char *p = text;
    for (int digit = number_digit_value(*p, base); digit >= 0;
         digit = number_digit_value(*++p, base)) {
        if (value > (UINT64_MAX - (uint64_t)digit) / base) {
            return WEFT_NUMBER_RANGE;
        }
        value = value * base + (uint64_t)digit;
    }
    *value_p = value;
    *rest_p = p;
    return p == text ? WEFT_NUMBER_NONE : WEFT_NUMBER_OK;
}

weft_number_t weft_number_uint(const char *text, uint64_t *value_p, const char **rest_p)
{
    return number_digits_read(text, 10, value_p, rest_p);
}

weft_number_t weft_number_int(const char *text, int64_t *value_p, const char **rest_p)
{
    bool negative = *text == '-';
    const char *p = text + (negative || *text == '+');
    bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    uint64_t value;
    weft_number_t result = number_digits_read(hex ? p + 2 : p, hex ? 16 : 10, &value, rest_p);
    if (result != WEFT_NUMBER_OK) {
        return result;
    }
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (value > limit) {
        return WEFT_NUMBER_RANGE;
    }
    if (negative) {
        *value_p = value == limit ? INT64_MIN : -(int64_t)value;
    } else {
        *value_p = (int64_t)value;
    }
    return WEFT_NUMBER_OK;
}

void weft_number_format(double value, char *text, size_t bytes)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, bytes, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
}
