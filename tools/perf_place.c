/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the ranks are and what they compute on, and how much memory there is for each. */
#include "tools/perf_place.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf_device.h"
#include "tools/perf_job.h"
#include "tools/perf_sync.h"

static bool perf_place_same_device(const perf_identity_t *a, const perf_identity_t *b)
{
    return a->on_device && b->on_device && strcmp(a->host, b->host) == 0 &&
           strcmp(a->pci, b->pci) == 0;
}

uint32_t perf_place_sharers(const perf_identity_t *all, uint32_t nranks, const perf_identity_t *one)
{
    uint32_t sharers = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        sharers += perf_place_same_device(&all[r], one);
    }
    return sharers;
}

/* Ranks whose buffers lie in the same memory as those of one. */
static uint32_t perf_place_memory_sharers(const perf_identity_t *all, uint32_t nranks,
                                          const perf_identity_t *one)
{
    uint32_t sharers = 0;
    for (uint32_t r = 0; r < nranks && !one->on_device; r++) {
        sharers += !all[r].on_device && strcmp(all[r].host, one->host) == 0;
    }
    return one->on_device ? perf_place_sharers(all, nranks, one) : sharers;
}

/* Two buffers of each of its ranks must fit into 70 % of what is free. */
static double perf_place_room_of(const perf_identity_t *all, uint32_t nranks,
                                 const perf_identity_t *one)
{
    return one->memory_free == WEFT_BYTES_UNKNOWN
               ? HUGE_VAL
               : (double)one->memory_free * 0.7 /
                     (2.0 * perf_place_memory_sharers(all, nranks, one));
}

/* All ranks take what the one with the least room can, and say the same of it. */
static weft_status_t perf_place_fit(perf_rank_t *rank, const perf_identity_t *all,
                                    uint64_t *reduced_p)
{
    const perf_options_t *o = rank->options;
    const perf_identity_t *least = &all[0];
    for (uint32_t r = 1; r < rank->nranks; r++) {
        least = perf_place_room_of(all, rank->nranks, &all[r]) <
                        perf_place_room_of(all, rank->nranks, least)
                    ? &all[r]
                    : least;
    }
    double room = perf_place_room_of(all, rank->nranks, least);
    rank->max_bytes = room < (double)o->sizes.max_bytes ? (uint64_t)room : o->sizes.max_bytes;
    rank->span = (double)o->sizes.span < room && o->sizes.span > rank->max_bytes ? o->sizes.span
                                                                                 : rank->max_bytes;
    *reduced_p = rank->max_bytes < o->sizes.max_bytes ? rank->max_bytes : 0;
    if (rank->max_bytes >= o->sizes.min_bytes) {
        return WEFT_OK;
    }
    uint32_t sharers = perf_place_memory_sharers(all, rank->nranks, least);
    return weft_fail(WEFT_ERR_RESOURCE, 0,
                     "no room for %llu bytes per buffer: %u rank%s %llu free bytes of %s on %s",
                     (unsigned long long)o->sizes.min_bytes, sharers,
                     sharers == 1 ? " has" : "s share", (unsigned long long)least->memory_free,
                     least->name, least->host);
}

static weft_status_t perf_place_gather_identities(perf_rank_t *rank, perf_identity_t *all)
{
    perf_identity_t mine = {.pid = weft_os_pid(), .device = rank->local};
    weft_os_host_name(mine.host, sizeof mine.host);
    perf_device_identify(&rank->device, &mine);
    return perf_collect(rank, &mine, sizeof mine, all);
}

/* nccl-tests wants as many devices as -g says; more ranks come from -t and -P. */
static weft_status_t perf_place_check_devices(const perf_rank_t *rank)
{
    const perf_device_t *device = &rank->device;
    if (device->count == 0 || rank->options->gpus <= (int64_t)device->count) {
        return WEFT_OK;
    }
    return weft_fail(
        WEFT_ERR_ARG, 0, "-g %lld: this process sees %u %s; -t and -P put several ranks on one",
        (long long)rank->options->gpus, device->count, device->count == 1 ? "device" : "devices");
}

/* The null stream does one thing after the other, for all threads of a process. */
static weft_status_t perf_place_check_null_stream(const perf_rank_t *rank,
                                                  const perf_identity_t *all)
{
    const perf_identity_t *mine = &all[rank->rank];
    for (uint32_t r = 0; r < rank->nranks && rank->options->loop.null_stream != 0; r++) {
        if (r != rank->rank && perf_place_same_device(&all[r], mine) && all[r].pid == mine->pid) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "--stream_null: rank %u is a thread of this process too and on the "
                             "same device: what one puts into the null stream would wait for what "
                             "the other put there",
                             r);
        }
    }
    return WEFT_OK;
}

weft_status_t perf_place_find(perf_rank_t *rank, perf_identity_t *all, uint64_t *reduced_p)
{
    weft_status_t status = perf_device_open(&rank->device, rank->comm);
    status = status != WEFT_OK ? status : perf_place_check_devices(rank);
    status = status != WEFT_OK ? status : perf_place_gather_identities(rank, all);
    status = status != WEFT_OK ? status : perf_place_check_null_stream(rank, all);
    return status != WEFT_OK ? status : perf_place_fit(rank, all, reduced_p);
}
