/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmocka, the headers that it needs, and what it lacks. */
#ifndef WEFT_TEST_UNIT_H
#define WEFT_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Fails, and shows both, unless the text has the words in it. */
#define assert_says(text, words) unit_assert_says(text, words, __FILE__, __LINE__)

static inline void unit_assert_says(const char *text, const char *words, const char *file, int line)
{
    if (strstr(text, words) == NULL) {
        print_error("no \"%s\" in: %s\n", words, text);
        _fail(file, line);
    }
}

#endif
