/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames: a head of three numbers, and data. Both ends are the same program, so the numbers are in
 * the order of the machine. */
#include "tools/run_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool run_wire_write(int fd, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t put = write(fd, p, bytes);
        if (put < 0 && errno == EAGAIN) { /* the remote shell made it so */
            struct pollfd one = {.fd = fd, .events = POLLOUT};
            (void)poll(&one, 1, -1);
            continue;
        }
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        p += put;
        bytes -= (size_t)put;
    }
    return true;
}

bool run_wire_send(int fd, run_kind_t kind, uint32_t number, const void *data, size_t bytes)
{
    run_frame_t frame = {.kind = (uint32_t)kind, .number = number, .bytes = (uint32_t)bytes};
    return run_wire_write(fd, &frame, sizeof frame) && run_wire_write(fd, data, bytes);
}

bool run_reader_fill(run_reader_t *reader, int fd)
{
    ssize_t got;
    if (reader->at > 0) {
        memmove(reader->data, reader->data + reader->at, reader->used - reader->at);
        reader->used -= reader->at;
        reader->at = 0;
    }
    if (reader->room - reader->used < RUN_CHUNK) {
        size_t room = 2 * reader->room + (size_t)2 * RUN_CHUNK;
        char *data = realloc(reader->data, room);
        if (data == NULL) {
            return false;
        }
        reader->data = data;
        reader->room = room;
    }
    do {
        got = read(fd, reader->data + reader->used, reader->room - reader->used);
    } while (got < 0 && errno == EINTR);
    reader->used += got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool run_reader_next(run_reader_t *reader, run_frame_t *frame, const char **data_p, bool *broken_p)
{
    size_t left = reader->used - reader->at;
    if (left < sizeof *frame) {
        return false;
    }
    memcpy(frame, reader->data + reader->at, sizeof *frame);
    if (frame->kind < RUN_JOB || frame->kind > RUN_FAILED || frame->bytes > RUN_FRAME_MOST) {
        *broken_p = true;
        return false;
    }
    if (left - sizeof *frame < frame->bytes) {
        return false;
    }
    *data_p = reader->data + reader->at + sizeof *frame;
    reader->at += sizeof *frame + frame->bytes;
    return true;
}

void run_reader_free(run_reader_t *reader)
{
    free(reader->data);
    *reader = (run_reader_t){.data = NULL};
}
