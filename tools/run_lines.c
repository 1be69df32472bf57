/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole lines. Bars of progress end theirs with a return. */
#include "tools/run_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line that is longer is cut. */
#define RUN_LINES_MOST ((size_t)1 << 20)

static bool run_lines_add(run_lines_t *lines, const char *data, size_t bytes)
{
    if (lines->room - lines->used < bytes) {
        size_t room = 2 * (lines->used + bytes) + 256;
        char *more = realloc(lines->data, room);
        if (more == NULL) {
            return false;
        }
        lines->data = more;
        lines->room = room;
    }
    memcpy(lines->data + lines->used, data, bytes);
    lines->used += bytes;
    return true;
}

static const char *run_lines_find_end(const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\n' || data[i] == '\r') {
            return data + i + 1;
        }
    }
    return NULL;
}

/* Puts the whole lines that are there, each with its label, in one go. */
static void run_lines_flush(run_lines_t *lines, run_out_t *out)
{
    run_lines_t whole = {.fd = lines->fd};
    char label[16];
    const size_t length = (size_t)snprintf(label, sizeof label, "[%u] ", lines->rank);
    const char *at = lines->data, *end;
    bool fine = true;
    size_t left = lines->used;
    while (fine && (end = run_lines_find_end(at, left)) != NULL) {
        fine = (!lines->label || run_lines_add(&whole, label, length)) &&
               run_lines_add(&whole, at, (size_t)(end - at));
        left -= (size_t)(end - at);
        at = end;
    }
    if (!fine) {
        out->errors[lines->fd] = ENOMEM;
    } else if (whole.used > 0) {
        run_out_put(out, lines->fd, whole.data, whole.used);
    }
    free(whole.data);
    memmove(lines->data, at, left);
    lines->used = left;
}

void run_lines_put(run_lines_t *lines, run_out_t *out, const char *data, size_t bytes)
{
    if (lines->raw) {
        run_out_put(out, lines->fd, data, bytes);
    } else if (!run_lines_add(lines, data, bytes)) {
        out->errors[lines->fd] = ENOMEM;
    } else if (run_lines_find_end(data, bytes) != NULL) {
        run_lines_flush(lines, out);
    } else if (lines->used >= RUN_LINES_MOST) {
        run_lines_end(lines, out);
    }
}

void run_lines_end(run_lines_t *lines, run_out_t *out)
{
    if (lines->used > 0 && run_lines_add(lines, "\n", 1)) {
        run_lines_flush(lines, out);
    } else if (lines->used > 0) {
        out->errors[lines->fd] = ENOMEM;
    }
    free(lines->data);
    lines->data = NULL;
    lines->used = lines->room = 0;
}
