/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line of the report of scripts/gpu-check, as every program here prints it: what, verdict,
 * figure, unit, ratio, what the ratio is to; apart by tabs, "-" for what there is not. */
#ifndef TESTS_GPU_LINE_H
#define TESTS_GPU_LINE_H

#include <stdbool.h>
#include <stdio.h>

static inline void line_answer(const char *what, const char *verdict, double figure,
                               const char *unit)
{
    printf("%s\t%s\t%.6g\t%s\t-\t-\n", what, verdict, figure, unit);
    fflush(stdout);
}

static inline void line_print(const char *what, bool good, double figure, const char *unit)
{
    line_answer(what, good ? "ok" : "FAILED", figure, unit);
}

static inline void line_ratio(const char *what, bool good, double figure, const char *unit,
                              double ratio, const char *of)
{
    printf("%s\t%s\t%.6g\t%s\t%.4g\t%s\n", what, good ? "ok" : "FAILED", figure, unit, ratio, of);
    fflush(stdout);
}

#endif
