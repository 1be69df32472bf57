/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft run` writes on its standard streams, in the order in which it came. No call here
 * waits: what a stream does not take stays until it does. */
#ifndef WEFT_TOOLS_RUN_OUT_H
#define WEFT_TOOLS_RUN_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Lists of what waits: one for each stream, or one for both if they are the same file. */
enum { RUN_OUT_LISTS = 2 };

typedef struct run_out {
    struct run_out_block *first[RUN_OUT_LISTS], *last[RUN_OUT_LISTS];
    bool together; /* all in the first list */
    /* Of each stream: why something could not be written there (errno). What comes after it is
     * dropped. */
    int errors[STDERR_FILENO + 1];
} run_out_t;

void run_out_init(run_out_t *out);
/* Puts a copy of the data behind what is there. Without memory there is an error. */
void run_out_put(run_out_t *out, int fd, const void *data, size_t bytes);
/* Writes what the streams take now. */
void run_out_push(run_out_t *out);
/* The stream that a list waits for; -1: nothing is in it. */
int run_out_awaits(const run_out_t *out, int list);
bool run_out_is_done(const run_out_t *out);
void run_out_fini(run_out_t *out);

#endif
