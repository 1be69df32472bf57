/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the program `kernel` share: the two plugins that are compared. */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

typedef struct check {
    const weft_kernel_ops_t *ops[2]; /* of kernel-cuda and kernel-cpu */
    weft_kernel_t *kernel[2];
    bool quick; /* under a tool that slows the device down */
    unsigned failures;
} check_t;

/* Every data type and operator against kernel-cpu, bit by bit. */
void check_bits(check_t *check);
/* Sums of large arrays beside the driver's copy. */
void check_rates(check_t *check);

#endif
