/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records of processes that run, and of files that others left. */
#ifndef WEFT_TOOLS_FLIGHT_READ_H
#define WEFT_TOOLS_FLIGHT_READ_H

#include <stdbool.h>

#include "core/comm/flight_record.h"

#define FLIGHT_SOURCES_MAX 4096u
#define FLIGHT_PROCESS_MAX 256u /* of one process */

/* The part of a record that is in use, with what is out of range, or no text, taken out. */
typedef struct flight_copy {
    weft_flight_header_t header;
    uint32_t ncomms;
    weft_flight_comm_t comm[];
} flight_copy_t;

/* A record, which may be found several times: a forked process has those of its parent. */
typedef struct flight_source {
    char name[288]; /* where it comes from */
    bool alive;     /* its process runs on this host */
    bool stopped;   /* … but not now: by a signal, or in a debugger */
    int32_t pid;    /* of its process: here, or as it says itself where that is not seen here */
    uint32_t uid;   /* of its process, or of the owner of the file */
    uint64_t device, inode;
    flight_copy_t *record;
} flight_source_t;

typedef struct flight_sources {
    flight_source_t *source;
    uint32_t count;
    bool full; /* there are more, of one process or in all */
} flight_sources_t;

/* Adds the records of `what`: the number of a process, a file, or a folder with files. Returns
 * false and prints why if there is none. */
bool flight_read(const char *what, flight_sources_t *sources);
/* Adds the records of all processes of this host that may be read. Returns false and prints why if
 * no processes can be seen at all. */
bool flight_read_all(flight_sources_t *sources);
void flight_free(flight_sources_t *sources);

/* Takes a copy of the bytes of a record. Returns NULL, and why in *why_p, if they are none. Free it
 * with weft_os_free(). */
flight_copy_t *flight_parse(const void *bytes, size_t size, const char **why_p);

#endif
