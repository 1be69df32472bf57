/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a fuzz target offers: the function that libFuzzer calls with one input. Without libFuzzer
 * replay.c calls it, with the inputs that are kept and with damaged copies of them. A target aborts
 * where a property does not hold; sanitizers find the rest. */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static inline uint8_t fuzz_byte(const uint8_t **data, size_t *bytes)
{
    uint8_t byte;
    fuzz_take(data, bytes, &byte, 1);
    return byte;
}

/* Counts the open descriptors below 128. */
static inline uint32_t fuzz_descriptors(void)
{
    uint32_t count = 0;
    for (int fd = 0; fd < 128; fd++) {
        count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return count;
}

/* Ends the process where two texts differ, and shows both. */
static inline void fuzz_same(const char *first, const char *second)
{
    if (strcmp(first, second) != 0) {
        fprintf(stderr, "first:\n%s\nsecond:\n%s\n", first, second);
        abort();
    }
}

/* Puts an input into a file that has no name in any folder; returns a path that opens it. */
static inline const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    static char path[32];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_NEED(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_NEED(pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
    return path;
}

#endif
