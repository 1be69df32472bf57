/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flight recorder: each rank leaves what it did last in memory that outlives it. It is always
 * on. The history of calls, which other ranks ask for, lies there anyway; what waits or is large
 * gets an entry with times. An operation that does neither costs two stores. */
#ifndef WEFT_COMM_FLIGHT_H
#define WEFT_COMM_FLIGHT_H

#include <weft/weft.h>

#include "core/comm/flight_record.h"
#include "core/os/os.h"
#include "core/os/os_record.h"

/* The record of a family. */
typedef struct weft_flight {
    weft_os_record_t memory;
    weft_os_mutex_t lock; /* guards the list of communicators */
    _Atomic bool failed;  /* some communicator: a file is kept */
} weft_flight_t;

/* Makes the record of a rank that begins to join: in a file of `folder`, or, if that is "", in
 * memory. Where it cannot be made in memory, there is none. ERR_CONFIG, ERR_RESOURCE: of the
 * file. */
weft_status_t weft_flight_open(weft_flight_t *flight, const char *folder, uint32_t nranks,
                               uint32_t rank);
/* Notes that the rank has joined. */
void weft_flight_join(weft_flight_t *flight);
/* Ends the record. Its file stays if the rank has not joined, or a communicator has failed. */
void weft_flight_close(weft_flight_t *flight);

/* Returns the place of a new communicator. If the record has none left, and none of one that was
 * closed, the place is memory of this process. NULL: no memory. */
weft_flight_comm_t *weft_flight_add(weft_flight_t *flight, uint64_t id, uint32_t nranks,
                                    uint32_t rank);
/* Notes its end. NULL is allowed. */
void weft_flight_remove(weft_flight_t *flight, weft_flight_comm_t *comm);
/* Notes its name. */
void weft_flight_name(weft_flight_comm_t *comm, const char *name);
/* Notes its failure. Thread: any, once. */
void weft_flight_fail(weft_flight_t *flight, weft_flight_comm_t *comm, const weft_error_t *error);

/* Notes the end of an operation; NULL: it has no entry. Thread: the owner. */
static inline void weft_flight_end(weft_flight_entry_t *entry, weft_status_t status)
{
    if (entry != NULL) {
        entry->status = status;
        entry->ended = weft_os_clock_ns();
        atomic_store_explicit(&entry->state, WEFT_FLIGHT_DONE, memory_order_release);
    }
}

#endif
