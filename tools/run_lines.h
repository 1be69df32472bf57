/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks write, in whole lines: those of several ranks never mix. */
#ifndef WEFT_TOOLS_RUN_LINES_H
#define WEFT_TOOLS_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One output of one rank. */
typedef struct run_lines {
    int fd;        /* where its lines go */
    uint32_t rank; /* in front of each line, if it is labelled */
    bool label;
    bool raw; /* nobody else writes there: nothing waits for the end of a line */
    char *data;
    size_t used, room;
} run_lines_t;

/* False: nobody reads at `lines->fd` any more. */
bool run_lines_put(run_lines_t *lines, const char *data, size_t bytes);
/* Writes what has no line end yet, with one. */
bool run_lines_end(run_lines_t *lines);

#endif
