/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs the ports of all ranks: each send port with the receive port at the other end of its queue. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/ends.h"
#include "core/plan/run_state.h"

/* One stable pass of a counting sort by the word at `offset` of each end. */
static void sort_by(weft_plan_end_t *to, const weft_plan_end_t *from, uint64_t count,
                    uint64_t *starts, size_t offset)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t key = *(const uint32_t *)((const char *)&from[i] + offset);
        most = key > most ? key : most;
        starts[key + 1]++;
    }
    for (uint32_t key = 0; key < most; key++) {
        starts[key + 1] += starts[key];
    }
    for (uint64_t i = 0; i < count; i++) {
        to[starts[*(const uint32_t *)((const char *)&from[i] + offset)]++] = from[i];
    }
    memset(starts, 0, ((size_t)most + 2) * sizeof *starts);
}

weft_status_t weft_plan_ends_sort(weft_plan_end_t **ends_p, uint64_t count)
{
    static const size_t words[] = {offsetof(weft_plan_end_t, key), offsetof(weft_plan_end_t, to),
                                   offsetof(weft_plan_end_t, from)};
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        const weft_plan_end_t *end = &(*ends_p)[i];
        uint32_t wide = end->from > end->to ? end->from : end->to;
        wide = end->key > wide ? end->key : wide;
        most = wide > most ? wide : most;
    }
    uint64_t *starts = weft_os_alloc(((size_t)most + 2) * sizeof *starts, 0);
    weft_plan_end_t *other = weft_os_alloc((count + 1) * sizeof *other, 0);
    if (starts == NULL || other == NULL) {
        weft_os_free(starts);
        weft_os_free(other);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to pair %llu ports",
                         (unsigned long long)count);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        weft_plan_end_t *sorted = other;
        sort_by(sorted, *ends_p, count, starts, words[i]);
        other = *ends_p;
        *ends_p = sorted;
    }
    weft_os_free(starts);
    weft_os_free(other);
    return WEFT_OK;
}

static void list_ends(const weft_run_t *run, weft_plan_end_t *ends)
{
    for (uint32_t rank = 0; rank < run->n; rank++) {
        const weft_plan_t *plan = run->input->plans[rank];
        for (uint32_t i = 0; i < plan->nports; i++) {
            const weft_plan_port_t *port = &plan->ports[i];
            ends[run->ranks[rank].first_port + i] =
                weft_plan_end(rank, port->peer, port->channel, port->sends, i);
        }
    }
}

static uint32_t owner_of(const weft_plan_end_t *end)
{
    return weft_plan_end_sends(end) ? end->from : end->to;
}

static uint32_t lane_of(const weft_run_t *run, const weft_plan_end_t *end)
{
    uint32_t rank = owner_of(end);
    return run->ranks[rank].first_lane + run->input->plans[rank]->ports[end->port].lane;
}

static void report_lonely(weft_run_t *run, const weft_plan_end_t *end)
{
    const weft_run_lane_t *lane = &run->lanes[lane_of(run, end)];
    if (weft_plan_end_sends(end)) {
        weft_run_finding(run, WEFT_VERDICT_UNMATCHED, lane, 0,
                         "port %u sends to rank %u channel %u, which has no port for it", end->port,
                         end->to, end->key >> 1);
    } else {
        weft_run_finding(run, WEFT_VERDICT_UNMATCHED, lane, 0,
                         "port %u receives from rank %u channel %u, which has no port for it",
                         end->port, end->from, end->key >> 1);
    }
}

uint32_t weft_run_connect(weft_run_t *run, const weft_run_way_t *way, uint32_t sender,
                          uint32_t receiver, uint64_t chunks)
{
    uint64_t slices = chunks * run->slices * run->passes;
    uint32_t queue = run->nqueues++, room = slices < run->slots ? (uint32_t)slices : run->slots;
    run->queues[queue] = (weft_run_queue_t){
        .places_at = (uint32_t)run->nslots, .room = room, .sender = sender, .receiver = receiver};
    run->ways[queue] = *way;
    run->nslots += room;
    return queue;
}

weft_status_t weft_run_make_slots(weft_run_t *run)
{
    run->slot =
        run->nslots > UINT32_MAX ? NULL : weft_os_alloc((run->nslots + 1) * sizeof *run->slot, 0);
    if (run->slot == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu slots",
                         (unsigned long long)run->nslots);
    }
    return WEFT_OK;
}

static void join_ends(weft_run_t *run, const weft_plan_end_t *ends)
{
    for (uint64_t i = 0; i < run->nports; i += 2) {
        if (i + 1 == run->nports || !weft_plan_ends_match(&ends[i], &ends[i + 1])) {
            report_lonely(run, &ends[i]);
            return;
        }
        uint64_t port[2];
        for (uint64_t j = 0; j < 2; j++) {
            port[j] = run->ranks[owner_of(&ends[i + j])].first_port + (uint64_t)ends[i + j].port;
        }
        weft_run_way_t way = {ends[i].from, ends[i].to, ends[i].key >> 1};
        uint32_t queue = weft_run_connect(run, &way, lane_of(run, &ends[i]),
                                          lane_of(run, &ends[i + 1]), run->port_chunks[port[0]]);
        run->port_queue[port[0]] = run->port_queue[port[1]] = queue;
    }
}

weft_status_t weft_run_pair(weft_run_t *run)
{
    weft_plan_end_t *ends = weft_os_alloc((run->nports + 1) * sizeof *ends, 0);
    if (ends == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to pair %llu ports",
                         (unsigned long long)run->nports);
    }
    list_ends(run, ends);
    weft_status_t status = weft_plan_ends_sort(&ends, run->nports);
    if (status == WEFT_OK) {
        join_ends(run, ends);
        status = weft_run_make_slots(run);
    }
    weft_os_free(ends);
    return status;
}
