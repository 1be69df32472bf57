/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records of many ranks joined: communicators with their ranks, on one clock. */
#ifndef WEFT_TOOLS_FLIGHT_JOBS_H
#define WEFT_TOOLS_FLIGHT_JOBS_H

#include "tools/flight_read.h"

/* A rank of a communicator. */
typedef struct flight_rank {
    const flight_source_t *source;
    const weft_flight_comm_t *comm;
    int64_t shift; /* nanoseconds from its clock to that of the job */
} flight_rank_t;

/* A communicator. */
typedef struct flight_job {
    uint64_t id;
    uint32_t uid; /* of the processes: others can claim to be of a job, so they are apart */
    uint32_t nranks;
    uint32_t found;      /* ranks with a record */
    flight_rank_t *rank; /* those, in ascending order */
} flight_job_t;

typedef struct flight_jobs {
    flight_job_t *job; /* in the order in which they were opened */
    uint32_t count;
} flight_jobs_t;

/* Joins the records. What it returns points into them. Clocks of one host are one, as far as the
 * time of day agrees (ranks may be in time namespaces); those of two are taken from the time of
 * day, and moved so that no rank ends a collective that waits for all before every rank has called
 * it. Ends the process where there is no memory. */
flight_jobs_t flight_jobs_make(const flight_sources_t *sources);
void flight_jobs_free(flight_jobs_t *jobs);

/* What this rank calls the communicator. A newcomer to one that has grown was told no name: what
 * another rank calls it. */
const char *flight_name(const flight_job_t *job, const flight_rank_t *rank);

/* Finds the collective of that number: its entry, or what the history of calls knows of it. False:
 * it has not been called, or is forgotten. */
bool flight_find(const weft_flight_comm_t *comm, uint64_t sequence, weft_flight_entry_t *entry);
static inline bool flight_is_open(const weft_flight_entry_t *entry)
{
    return entry->state == WEFT_FLIGHT_CALLED;
}
/* True if it is one of the calls that go on where the communicator has failed. */
static inline bool flight_is_vote(const weft_flight_entry_t *entry)
{
    return entry->coll == WEFT_ALL_GATHER && entry->root >= WEFT_ROOT_SETTLE &&
           entry->root <= WEFT_ROOT_AGREE;
}
/* True if no rank ends it before every rank has called it. */
static inline bool flight_waits_for_all(const weft_flight_entry_t *entry)
{
    return entry->coll == WEFT_BARRIER || entry->coll == WEFT_ALL_REDUCE ||
           entry->coll == WEFT_ALL_GATHER || entry->coll == WEFT_ALL_TO_ALL;
}
/* True if two ranks have called the same. */
bool flight_is_same(const weft_flight_entry_t *a, const weft_flight_entry_t *b);
/* Writes the operation in words: "all_reduce of 8 float". */
void flight_text(const weft_flight_entry_t *entry, char *text, size_t bytes);
/* What its number counts: "operation", or messages, puts, waits of a peer. */
const char *flight_number_name(const weft_flight_entry_t *entry);
/* From the clock of the rank to the time of day, when it began. */
static inline uint64_t flight_day(const flight_rank_t *rank)
{
    const weft_flight_header_t *header = &rank->source->record->header;
    return header->began_wall - header->began;
}
/* Whether two of these may be of one clock: the time of day has milliseconds, and is set now and
 * then. */
static inline bool flight_is_near(uint64_t a, uint64_t b)
{
    const uint64_t second = UINT64_C(1000000000);
    return a - b + second < 2 * second;
}
/* The moment on the clock of the job; 0: not known. */
static inline uint64_t flight_at(const flight_rank_t *rank, uint64_t at)
{
    return at == 0 ? 0 : at + (uint64_t)rank->shift;
}

#endif
