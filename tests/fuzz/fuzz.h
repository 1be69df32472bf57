/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a fuzz target offers: the function that libFuzzer calls with one input. Without libFuzzer
 * replay.c calls it, with the inputs that are kept and with damaged copies of them. A target aborts
 * where a property does not hold; sanitizers find the rest. */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Ends the process with the property that does not hold. */
#define FUZZ_NEED(condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Copies an input with a NUL behind it; free() it. Its end is the end of an allocation, so that a
 * sanitizer sees who reads on. */
static inline char *fuzz_text(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    FUZZ_NEED(text != NULL);
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    return text;
}

/* Takes `want` bytes from the front of an input; what is missing is 0. */
static inline void fuzz_take(const uint8_t **data, size_t *bytes, void *out, size_t want)
{
    size_t have = *bytes < want ? *bytes : want;
    memset(out, 0, want);
    if (have > 0) {
        memcpy(out, *data, have);
        *data += have;
        *bytes -= have;
    }
}

#endif
