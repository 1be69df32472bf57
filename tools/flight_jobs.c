/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining flight records. */
#include "tools/flight_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/plural.h"
#include "core/base/signature.h"
#include "core/comm/args.h"
#include "core/comm/history.h"

static void *jobs_grow(void *list, size_t bytes)
{
    void *grown = realloc(list, bytes);
    if (grown == NULL) {
        fprintf(stderr, "weft: no memory to join the flight records\n");
        exit(1);
    }
    return grown;
}

static int jobs_compare_ranks(const void *a, const void *b)
{
    const flight_rank_t *x = a, *y = b;
    return x->comm->rank < y->comm->rank ? -1 : x->comm->rank > y->comm->rank;
}

static int jobs_compare(const void *a, const void *b)
{
    const flight_job_t *x = a, *y = b;
    uint64_t i = flight_at(&x->rank[0], x->rank[0].comm->opened),
             k = flight_at(&y->rank[0], y->rank[0].comm->opened);
    return i < k ? -1 : i > k;
}

static void jobs_add(flight_jobs_t *jobs, const flight_source_t *source,
                     const weft_flight_comm_t *comm)
{
    uint32_t i = 0;
    while (i < jobs->count && (jobs->job[i].id != comm->id || jobs->job[i].nranks != comm->nranks ||
                               jobs->job[i].uid != source->uid)) {
        i++;
    }
    if (i == jobs->count) {
        jobs->job = jobs_grow(jobs->job, ++jobs->count * sizeof *jobs->job);
        jobs->job[i] = (flight_job_t){.id = comm->id, .uid = source->uid, .nranks = comm->nranks};
    }
    flight_job_t *job = &jobs->job[i];
    job->rank = jobs_grow(job->rank, ++job->found * sizeof *job->rank);
    job->rank[job->found - 1] = (flight_rank_t){.source = source, .comm = comm};
    job->rank[job->found - 1].shift = (int64_t)flight_day(&job->rank[job->found - 1]);
}

/* Clocks --------------------------------------------------------------------------------------- */

/* Narrows how much later the clock of `b` may be set than it is, by what both ranks saw. */
static void jobs_bound(const flight_rank_t *a, const flight_rank_t *b, int64_t bounds[2])
{
    for (uint32_t i = 0; i < WEFT_FLIGHT_ENTRIES; i++) {
        const weft_flight_entry_t *there = &b->comm->entry[i];
        weft_flight_entry_t here;
        if (there->state == WEFT_FLIGHT_FREE || !flight_waits_for_all(there) ||
            !flight_find(a->comm, there->sequence, &here) || !flight_is_same(&here, there)) {
            continue;
        }
        if (here.called != 0 && there->ended != 0) {
            int64_t least = (int64_t)(flight_at(a, here.called) - flight_at(b, there->ended));
            bounds[0] = least > bounds[0] ? least : bounds[0];
        }
        if (here.ended != 0 && there->called != 0) {
            int64_t most = (int64_t)(flight_at(a, here.ended) - flight_at(b, there->called));
            bounds[1] = most < bounds[1] ? most : bounds[1];
        }
    }
}

/* Ranks of one host share a clock, unless they are in time namespaces that differ. */
static bool jobs_same_clock(const flight_rank_t *a, const flight_rank_t *b)
{
    return flight_is_near(flight_day(a), flight_day(b)) &&
           memcmp(a->source->record->header.host_id, b->source->record->header.host_id, 16) == 0;
}

/* Ranks with one clock share the shift of the first of them. */
static void jobs_set_clocks(flight_job_t *job)
{
    for (uint32_t i = 1; i < job->found; i++) {
        flight_rank_t *rank = &job->rank[i];
        uint32_t first = 0;
        while (first < i && !jobs_same_clock(&job->rank[first], rank)) {
            first++;
        }
        if (first < i) {
            rank->shift = job->rank[first].shift;
            continue;
        }
        int64_t bounds[2] = {INT64_MIN, INT64_MAX};
        jobs_bound(&job->rank[0], rank, bounds);
        if (bounds[0] <= bounds[1]) {
            int64_t by = bounds[0] > 0 ? bounds[0] : bounds[1] < 0 ? bounds[1] : 0;
            rank->shift = (int64_t)((uint64_t)rank->shift + (uint64_t)by);
        }
    }
}

flight_jobs_t flight_jobs_make(const flight_sources_t *sources)
{
    flight_jobs_t jobs = {.count = 0};
    for (uint32_t s = 0; s < sources->count; s++) {
        const flight_source_t *source = &sources->source[s];
        for (uint32_t i = 0; i < source->record->ncomms; i++) {
            jobs_add(&jobs, source, &source->record->comm[i]);
        }
    }
    for (uint32_t i = 0; i < jobs.count; i++) {
        qsort(jobs.job[i].rank, jobs.job[i].found, sizeof *jobs.job[i].rank, jobs_compare_ranks);
        jobs_set_clocks(&jobs.job[i]);
    }
    if (jobs.count > 0) {
        qsort(jobs.job, jobs.count, sizeof *jobs.job, jobs_compare);
    }
    return jobs;
}

void flight_jobs_free(flight_jobs_t *jobs)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        free(jobs->job[i].rank);
    }
    free(jobs->job);
}

static bool jobs_is_named(const flight_rank_t *rank)
{
    return strcmp(rank->comm->name, "world") != 0;
}

const char *flight_name(const flight_job_t *job, const flight_rank_t *rank)
{
    for (uint32_t i = 0; !jobs_is_named(rank) && i < job->found; i++) {
        rank = jobs_is_named(&job->rank[i]) ? &job->rank[i] : rank;
    }
    return rank->comm->name;
}

/* Entries -------------------------------------------------------------------------------------- */

/* The history knows of short operations what was called, and their numbers in 32 bits. */
static bool jobs_find_called(const weft_flight_comm_t *comm, uint64_t sequence,
                             weft_flight_entry_t *entry)
{
    weft_signature_t signature;
    weft_history_t history = comm->history;
    if (sequence == 0 || sequence > comm->called ||
        !weft_history_get(&history, (uint32_t)sequence, &signature) ||
        signature.coll >= WEFT_COLL_COUNT ||
        weft_dtype_name((weft_dtype_t)signature.dtype) == NULL) {
        return false;
    }
    *entry = (weft_flight_entry_t){.sequence = sequence,
                                   .count = signature.count,
                                   .root = signature.root,
                                   .peer = -1,
                                   .coll = signature.coll,
                                   .dtype = signature.dtype,
                                   .op = signature.op,
                                   .state = sequence <= comm->completed ? WEFT_FLIGHT_DONE
                                                                        : WEFT_FLIGHT_CALLED};
    return true;
}

bool flight_find(const weft_flight_comm_t *comm, uint64_t sequence, weft_flight_entry_t *entry)
{
    for (uint32_t i = 0; sequence != 0 && i < WEFT_FLIGHT_ENTRIES; i++) {
        if (comm->entry[i].state != WEFT_FLIGHT_FREE && comm->entry[i].coll != WEFT_SEND_RECV &&
            comm->entry[i].sequence == sequence) {
            *entry = comm->entry[i];
            return true;
        }
    }
    return jobs_find_called(comm, sequence, entry);
}

/* Ranks of a vector collective, and those beside the root, may give counts of their own. */
bool flight_is_same(const weft_flight_entry_t *a, const weft_flight_entry_t *b)
{
    return a->coll == b->coll && a->dtype == b->dtype && a->op == b->op && a->root == b->root &&
           (a->count == b->count || weft_coll_has_vectors((weft_coll_t)a->coll));
}

static void jobs_message_text(const weft_flight_entry_t *entry, char *text, size_t bytes)
{
    const unsigned long long count = entry->count;
    const char *dtype = weft_dtype_name((weft_dtype_t)entry->dtype);
    if (entry->op == WEFT_ONE_SIDED_WAIT) {
        snprintf(text, bytes, "wait for %llu signal%s of rank %u", count, weft_plural(count),
                 entry->root);
    } else if (entry->root == WEFT_ANY_RANK) {
        snprintf(text, bytes, "receive of %llu %s from any rank", count, dtype);
    } else {
        snprintf(text, bytes, "%s of %llu %s %s rank %u",
                 entry->op == WEFT_ONE_SIDED_PUT ? "put"
                 : entry->sends != 0             ? "send"
                                                 : "receive",
                 count, dtype, entry->sends != 0 ? "to" : "from", entry->root);
    }
}

const char *flight_number_name(const weft_flight_entry_t *entry)
{
    return entry->coll != WEFT_SEND_RECV      ? "operation"
           : entry->op == WEFT_ONE_SIDED_PUT  ? "put"
           : entry->op == WEFT_ONE_SIDED_WAIT ? "wait"
                                              : "message";
}

void flight_text(const weft_flight_entry_t *entry, char *text, size_t bytes)
{
    if (entry->coll == WEFT_SEND_RECV) {
        jobs_message_text(entry, text, bytes);
        return;
    }
    weft_signature_t signature = {.coll = entry->coll,
                                  .dtype = entry->dtype,
                                  .op = entry->op,
                                  .root = entry->root,
                                  .count = entry->count};
    weft_signature_text(&signature, text, bytes);
}
