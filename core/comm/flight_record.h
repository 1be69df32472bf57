/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flight record of a rank, as it lies in memory that outlives the rank: the communicators of a
 * family, the signatures of the last collectives of each, and an entry for every operation that
 * waited or was large. `weft trace` and `weft status` read it while the rank writes: a reader takes
 * what did not change meanwhile (tools/flight_settle.h) and believes nothing that is out of range.
 * Times are monotonic nanoseconds of the host; 0: not known. */
#ifndef WEFT_COMM_FLIGHT_RECORD_H
#define WEFT_COMM_FLIGHT_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/comm/history.h"

#define WEFT_FLIGHT_MAGIC "weftflt1"
#define WEFT_FLIGHT_NAME "weft-flight" /* in /proc/PID/fd, where no folder is named */
#define WEFT_FLIGHT_SUFFIX "flight"    /* of files */
#define WEFT_FLIGHT_COMMS 32u          /* communicators of a record */
#define WEFT_FLIGHT_ENTRIES 256u       /* of a communicator; a power of two */
/* Beside those: weft_comm_agree() and weft_comm_shrink(), which any thread calls, one at a time. */
#define WEFT_FLIGHT_VOTE WEFT_FLIGHT_ENTRIES
#define WEFT_FLIGHT_PLACES (WEFT_FLIGHT_ENTRIES + 1)
/* A short operation has an entry if it waits so long, in nanoseconds. */
#define WEFT_RECORD_WAIT (50 * UINT64_C(1000))

typedef enum weft_flight_state {
    WEFT_FLIGHT_FREE = 0,
    WEFT_FLIGHT_CALLED = 1,
    WEFT_FLIGHT_DONE = 2
} weft_flight_state_t;

/* An operation that waited, or was large. */
typedef struct weft_flight_entry {
    uint64_t number;   /* of the entry, from 1 */
    uint64_t sequence; /* of the operation; send_recv: between the two ranks; 0: it has none */
    uint64_t count;    /* elements */
    uint64_t called;   /* of a short operation: when it was first seen waiting */
    uint64_t ended;
    uint32_t root;          /* send_recv: the other rank */
    int32_t peer;           /* rank that it waited for at the last look; −1 */
    int32_t status;         /* weft_status_t */
    uint8_t coll;           /* weft_coll_t */
    uint8_t dtype;          /* weft_dtype_t */
    uint8_t op;             /* weft_op_t; send_recv: weft_one_sided_t */
    uint8_t sends;          /* send_recv: 1 = a send */
    _Atomic uint32_t state; /* weft_flight_state_t */
    uint32_t reserved;
} weft_flight_entry_t;

_Static_assert(sizeof(weft_flight_entry_t) == 64, "a line, and a format");

typedef enum weft_flight_life {
    WEFT_FLIGHT_UNUSED = 0,
    WEFT_FLIGHT_OPEN = 1,
    WEFT_FLIGHT_FAILED = 2,
    WEFT_FLIGHT_CLOSED = 3
} weft_flight_life_t;

/* A communicator. */
typedef struct weft_flight_comm {
    _Atomic uint32_t life; /* weft_flight_life_t */
    uint32_t rank, nranks;
    int32_t status; /* of the failure: weft_status_t */
    uint64_t id;    /* equal on all ranks */
    uint64_t opened, failed, closed;
    uint64_t failed_sequence;
    int32_t culprit; /* rank; −1 */
    uint32_t reserved;
    char name[64];      /* "world" until another one is set */
    char failure[512];  /* text of the error */
    uint64_t called;    /* number of the last collective called */
    uint64_t completed; /* … and completed */
    uint64_t next;      /* entries so far */
    weft_history_t history;
    weft_flight_entry_t entry[WEFT_FLIGHT_PLACES];
} weft_flight_comm_t;

typedef struct weft_flight_header {
    char magic[8];
    uint32_t header_bytes, comm_bytes, entry_bytes; /* of this version */
    uint32_t comms, entries;
    int32_t pid;
    uint32_t rank, nranks; /* of the first communicator */
    uint64_t began;        /* monotonic */
    uint64_t began_wall;   /* the same moment: nanoseconds since 1970 */
    uint64_t joined;       /* 0: it is still joining */
    uint32_t left_out;     /* communicators that found no room */
    uint32_t reserved;
    uint8_t host_id[16]; /* equal for all processes on one running kernel */
    char host[64];
} weft_flight_header_t;

typedef struct weft_flight_record {
    weft_flight_header_t header;
    weft_flight_comm_t comm[WEFT_FLIGHT_COMMS];
} weft_flight_record_t;

#endif
