/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft run` and its agents say to each other: frames over a pipe in each direction, which may
 * be the input and the output of a remote shell. */
#ifndef WEFT_TOOLS_RUN_WIRE_H
#define WEFT_TOOLS_RUN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an agent writes first, with the version and a line end behind it. A remote shell may have
 * written something before. */
#define RUN_GREETING "weft-run-agent "

typedef enum run_kind {
    /* to an agent */
    RUN_JOB =
        1,     /* number: first and last of the ports for the id, 0: any; strings, see run_task.h */
    RUN_START, /* number: port of torch's store; data: strings, the id and the host of rank 0 */
    RUN_INPUT, /* data for rank 0; none: the end */
    RUN_SIGNAL, /* number: the signal that all ranks get */
    RUN_MORE,   /* number: so many bytes of output are written, and as many may come */
    /* from an agent */
    RUN_READY, /* number: the two ports that rank 0 may use */
    RUN_TAKEN, /* rank 0 has taken the input: there may be more */
    RUN_OUT,   /* number: the rank; data: what it wrote; see RUN_WINDOW */
    RUN_ERR,
    RUN_EXIT,  /* number: the rank; data: what waitpid() said, an int: also that it is stopped */
    RUN_FAILED /* data: why the agent cannot start its ranks */
} run_kind_t;

typedef struct run_frame {
    uint32_t kind, number, bytes;
} run_frame_t;

/* More than input and output in one frame. The pipe takes it whole while nothing else is in it. */
#define RUN_CHUNK 8192
/* Bytes of output that an agent sends before it hears that some are written. So both ends always
 * read, and hear of signals and deaths, while nobody takes the output. The last words of a rank
 * come beyond that. */
#define RUN_WINDOW (8 * RUN_CHUNK)
/* A frame that claims more is no frame. */
#define RUN_FRAME_MOST (16u << 20)

/* False: the other end is gone. */
bool run_wire_send(int fd, run_kind_t kind, uint32_t number, const void *data, size_t bytes);
/* Writes everything; false if it cannot. */
bool run_wire_write(int fd, const void *data, size_t bytes);

/* What has come and is not yet a frame. */
typedef struct run_reader {
    char *data;
    size_t at, used, room;
} run_reader_t;

/* Reads once. False: the end, or nothing more can be read. */
bool run_reader_fill(run_reader_t *reader, int fd);
/* The next whole frame; *data_p stays valid until the next fill. False: there is none yet.
 * *broken_p is set if what comes is no frame. */
bool run_reader_next(run_reader_t *reader, run_frame_t *frame, const char **data_p, bool *broken_p);
void run_reader_free(run_reader_t *reader);

#endif
