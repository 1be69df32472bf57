/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of the system that fail on demand. The functions are in a library that is preloaded. */
#ifndef WEFT_TESTS_FAIL_NTH_H
#define WEFT_TESTS_FAIL_NTH_H

#include <stdbool.h>

typedef enum fail_class {
    FAIL_MEMORY,
    FAIL_DESCRIPTORS,
    FAIL_THREADS,
    FAIL_IO,
    FAIL_WAITS,
    FAIL_CLASSES
} fail_class_t;

/* The n-th call of the class from now on fails, by whatever thread. */
void fail_nth_arm(int class, long n);
/* No call fails any more. Returns whether one did. */
bool fail_nth_disarm(void);

#endif
