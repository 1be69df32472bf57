/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks write, in whole lines: those of several ranks never mix. */
#ifndef WEFT_TOOLS_RUN_LINES_H
#define WEFT_TOOLS_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/run_out.h"

/* One output of one rank. */
typedef struct run_lines {
    int fd;        /* where its lines go */
    uint32_t rank; /* in front of each line, if it is labelled */
    bool label;
    bool raw; /* nobody else writes there: nothing waits for the end of a line */
    char *data;
    size_t used, room;
} run_lines_t;

/* Without memory `out` has an error. */
void run_lines_put(run_lines_t *lines, run_out_t *out, const char *data, size_t bytes);
/* Puts what has no line end yet, with one. */
void run_lines_end(run_lines_t *lines, run_out_t *out);

#endif
