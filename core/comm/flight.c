/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record of a family. */
#include "core/comm/flight.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/utf8.h"

static weft_flight_record_t *flight_record(weft_flight_t *flight)
{
    return flight->memory.base;
}

static weft_status_t flight_make(weft_flight_t *flight, const char *folder, uint32_t rank)
{
    char host[64], name[128];
    weft_status_t status;
    if (folder[0] == '\0') {
        status =
            weft_os_record_create(WEFT_FLIGHT_NAME, sizeof(weft_flight_record_t), &flight->memory);
        if (status != WEFT_OK) {
            weft_log(WEFT_LOG_INFO, "comm", "no flight record: %s", weft_error_record()->text);
        }
        return WEFT_OK;
    }
    weft_os_host_name(host, sizeof host);
    snprintf(name, sizeof name, "weft-%s-%d-rank%u", host, (int)weft_os_pid(), rank);
    status = weft_os_record_create_file(folder, name, WEFT_FLIGHT_SUFFIX,
                                        sizeof(weft_flight_record_t), &flight->memory);
    return status == WEFT_OK ? WEFT_OK : weft_fail_about("[core] flight");
}

weft_status_t weft_flight_open(weft_flight_t *flight, const char *folder, uint32_t nranks,
                               uint32_t rank)
{
    weft_status_t status = flight_make(flight, folder, rank);
    weft_flight_record_t *record = flight_record(flight);
    if (record == NULL) {
        return status;
    }
    weft_flight_header_t *header = &record->header;
    *header = (weft_flight_header_t){.header_bytes = sizeof *header,
                                     .comm_bytes = sizeof record->comm[0],
                                     .entry_bytes = sizeof record->comm[0].entry[0],
                                     .comms = WEFT_FLIGHT_COMMS,
                                     .entries = WEFT_FLIGHT_ENTRIES,
                                     .pid = weft_os_pid(),
                                     .rank = rank,
                                     .nranks = nranks,
                                     .began = weft_os_clock_ns(),
                                     .began_wall = weft_os_wall_ms() * WEFT_NS_PER_MS};
    weft_os_host_id(header->host_id);
    weft_os_host_name(header->host, sizeof header->host);
    weft_os_fence_writes(); /* with the magic it is a record */
    memcpy(header->magic, WEFT_FLIGHT_MAGIC, sizeof header->magic);
    return WEFT_OK;
}

void weft_flight_join(weft_flight_t *flight)
{
    if (flight_record(flight) != NULL) {
        flight_record(flight)->header.joined = weft_os_clock_ns();
    }
}

void weft_flight_close(weft_flight_t *flight)
{
    const weft_flight_record_t *record = flight_record(flight);
    bool keep = record != NULL && (record->header.joined == 0 || atomic_load(&flight->failed));
    weft_os_record_close(&flight->memory, keep);
}

/* True if `a` makes room before `b`: a communicator that failed is what one looks for later. */
static bool flight_goes_first(const weft_flight_comm_t *a, const weft_flight_comm_t *b)
{
    bool whole = atomic_load(&a->life) == WEFT_FLIGHT_CLOSED;
    if (b == NULL || whole != (atomic_load(&b->life) == WEFT_FLIGHT_CLOSED)) {
        return b == NULL || whole;
    }
    return a->closed < b->closed;
}

/* The oldest of those that are closed makes room. The caller holds the lock. */
static weft_flight_comm_t *flight_find_room(weft_flight_record_t *record)
{
    weft_flight_comm_t *found = NULL;
    for (uint32_t i = 0; i < WEFT_FLIGHT_COMMS; i++) {
        weft_flight_comm_t *comm = &record->comm[i];
        if (atomic_load(&comm->life) == WEFT_FLIGHT_UNUSED) {
            return comm;
        }
        if (comm->closed != 0 && flight_goes_first(comm, found)) {
            found = comm;
        }
    }
    return found;
}

/* Makes a communicator of the place. Who reads the record sees it unused before anything in it
 * changes, and open when all is there. */
static void flight_fill(weft_flight_comm_t *comm, uint64_t id, uint32_t nranks, uint32_t rank)
{
    if (atomic_load(&comm->life) != WEFT_FLIGHT_UNUSED) {
        atomic_store(&comm->life, WEFT_FLIGHT_UNUSED);
        weft_os_fence_writes();
        memset(comm, 0, sizeof *comm);
    }
    comm->opened = weft_os_clock_ns();
    weft_os_fence_writes();
    comm->id = id;
    comm->nranks = nranks;
    comm->rank = rank;
    comm->culprit = -1;
    atomic_store(&comm->life, WEFT_FLIGHT_OPEN);
}

weft_flight_comm_t *weft_flight_add(weft_flight_t *flight, uint64_t id, uint32_t nranks,
                                    uint32_t rank)
{
    weft_flight_record_t *record = flight_record(flight);
    weft_flight_comm_t *comm = NULL;
    if (record != NULL) {
        weft_os_lock(&flight->lock);
        comm = flight_find_room(record);
        if (comm != NULL) {
            flight_fill(comm, id, nranks, rank);
        } else {
            record->header.left_out++;
        }
        weft_os_unlock(&flight->lock);
    }
    if (comm == NULL) {
        comm = weft_os_alloc(sizeof *comm, 0);
        if (comm != NULL) {
            flight_fill(comm, id, nranks, rank);
        }
    }
    return comm;
}

static bool flight_is_inside(const weft_flight_t *flight, const weft_flight_comm_t *comm)
{
    uintptr_t base = (uintptr_t)flight->memory.base, at = (uintptr_t)comm;
    return base != 0 && at >= base && at < base + flight->memory.bytes;
}

void weft_flight_remove(weft_flight_t *flight, weft_flight_comm_t *comm)
{
    if (!flight_is_inside(flight, comm)) {
        weft_os_free(comm);
        return;
    }
    uint32_t open = WEFT_FLIGHT_OPEN;
    weft_os_lock(&flight->lock);
    comm->closed = weft_os_clock_ns();
    atomic_compare_exchange_strong(&comm->life, &open, WEFT_FLIGHT_CLOSED);
    weft_os_unlock(&flight->lock);
}

void weft_flight_name(weft_flight_comm_t *comm, const char *name)
{
    weft_utf8_copy(comm->name, sizeof comm->name, name);
}

void weft_flight_fail(weft_flight_t *flight, weft_flight_comm_t *comm, const weft_error_t *error)
{
    atomic_store(&flight->failed, true);
    comm->failed = weft_os_clock_ns();
    comm->status = error->status;
    comm->culprit = error->peer;
    comm->failed_sequence = error->sequence;
    snprintf(comm->failure, sizeof comm->failure, "%s", error->text);
    atomic_store(&comm->life, WEFT_FLIGHT_FAILED);
}
