/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the check share: the plugin under test and the lines of the report. */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#include <stdbool.h>

#include <weft/plugin/lanes.h>

typedef struct check {
    weft_host_t host;
    const weft_kernel_ops_t *ops[2]; /* of kernel-cuda and kernel-cpu */
    weft_kernel_t *kernel[2];
    bool quick; /* under a tool that slows the device down */
    unsigned failures;
    void *json; /* FILE * */
} check_t;

/* One line of the report, in both forms. */
void check_line(check_t *check, const char *name, bool good, double value, const char *unit);

/* Every data type and operator against kernel-cpu, bit by bit. */
void check_bits(check_t *check);
/* Copies and sums of large arrays. */
void check_speed(check_t *check);

#endif
