/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of blocks. Streams that are one file share a list, so that lines of both stay whole; else
 * an error is told while nobody takes the output. */
#include "tools/run_out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct run_out_block {
    struct run_out_block *next;
    int fd;
    size_t at, bytes;
    char data[];
} run_out_block_t;

void run_out_init(run_out_t *out)
{
    struct stat one, two;
    *out = (run_out_t){.together = fstat(STDOUT_FILENO, &one) == 0 &&
                                   fstat(STDERR_FILENO, &two) == 0 && one.st_dev == two.st_dev &&
                                   one.st_ino == two.st_ino};
}

void run_out_put(run_out_t *out, int fd, const void *data, size_t bytes)
{
    run_out_block_t *block = malloc(sizeof *block + bytes);
    if (block == NULL) {
        out->errors[fd] = ENOMEM;
        return;
    }
    *block = (run_out_block_t){.fd = fd, .bytes = bytes};
    memcpy(block->data, data, bytes);
    const int list = fd == STDERR_FILENO && !out->together;
    if (out->first[list] == NULL) {
        out->first[list] = block;
    } else {
        out->last[list]->next = block;
    }
    out->last[list] = block;
}

/* A pipe that is ready takes PIPE_BUF bytes at once. O_NONBLOCK would hold for all that share the
 * stream. Returns 0, EAGAIN if the rest has to wait, or why it cannot be written. */
static int run_out_write(run_out_block_t *block)
{
    while (block->at < block->bytes) {
        struct pollfd one = {.fd = block->fd, .events = POLLOUT};
        if (poll(&one, 1, 0) <= 0) {
            return EAGAIN;
        }
        const size_t left = block->bytes - block->at;
        ssize_t put = write(block->fd, block->data + block->at, left < PIPE_BUF ? left : PIPE_BUF);
        if (put < 0 && errno != EINTR) {
            return errno;
        }
        block->at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static void run_out_drop(run_out_t *out, int list)
{
    run_out_block_t *block = out->first[list];
    out->first[list] = block->next;
    free(block);
}

static void run_out_push_list(run_out_t *out, int list)
{
    while (out->first[list] != NULL) {
        int *error = &out->errors[out->first[list]->fd];
        const int now = *error == 0 ? run_out_write(out->first[list]) : *error;
        if (now == EAGAIN) {
            return;
        }
        *error = now;
        run_out_drop(out, list);
    }
}

void run_out_push(run_out_t *out)
{
    for (int list = 0; list < RUN_OUT_LISTS; list++) {
        run_out_push_list(out, list);
    }
}

int run_out_awaits(const run_out_t *out, int list)
{
    return out->first[list] != NULL ? out->first[list]->fd : -1;
}

bool run_out_is_done(const run_out_t *out)
{
    return out->first[0] == NULL && out->first[1] == NULL;
}

void run_out_fini(run_out_t *out)
{
    for (int list = 0; list < RUN_OUT_LISTS; list++) {
        while (out->first[list] != NULL) {
            run_out_drop(out, list);
        }
    }
}
