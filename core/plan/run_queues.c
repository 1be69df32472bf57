/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs the ports of all ranks: each send port with the receive port at the other end of its
 * queue. */
#include "core/plan/run_queues.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/ends.h"
#include "core/plan/finding.h"

static void run_queues_list_ends(const weft_run_t *run, weft_plan_end_t *ends)
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

static uint32_t run_queues_owner_of(const weft_plan_end_t *end)
{
    return weft_plan_end_sends(end) ? end->from : end->to;
}

static uint32_t run_queues_lane_of(const weft_run_t *run, const weft_plan_end_t *end)
{
    uint32_t rank = run_queues_owner_of(end);
    return run->ranks[rank].first_lane + run->input->plans[rank]->ports[end->port].lane;
}

static void run_queues_report_lonely(weft_run_t *run, const weft_plan_end_t *end)
{
    const weft_run_lane_t *lane = &run->lanes[run_queues_lane_of(run, end)];
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

static const weft_plan_port_t *run_queues_port_of(const weft_run_t *run, const weft_plan_end_t *end)
{
    return &run->input->plans[run_queues_owner_of(end)]->ports[end->port];
}

static void run_queues_word_way(uint32_t way, char text[32])
{
    if (way == 0) {
        snprintf(text, 32, "no way");
    } else {
        snprintf(text, 32, "%s%s %u", (way & WEFT_PLAN_WAY_BACK) != 0 ? "back " : "",
                 (way & WEFT_PLAN_WAY_CHAIN) != 0 ? "chain" : "ring",
                 (way & WEFT_PLAN_WAY_ORDER_MASK) - 1);
    }
}

/* Transports with several devices choose by the way. Ends that choose apart never find each
 * other. */
static void run_queues_check_way(weft_run_t *run, const weft_plan_end_t *sends,
                                 const weft_plan_end_t *receives)
{
    uint32_t out = run_queues_port_of(run, sends)->way;
    uint32_t in = run_queues_port_of(run, receives)->way;
    if (out != in) {
        char words[2][32];
        run_queues_word_way(out, words[0]);
        run_queues_word_way(in, words[1]);
        weft_run_finding(
            run, WEFT_VERDICT_MALFORMED, &run->lanes[run_queues_lane_of(run, sends)], 0,
            "port %u to rank %u channel %u goes along %s, and at its other end along %s",
            sends->port, sends->to, sends->key >> 1, words[0], words[1]);
    }
}

uint32_t weft_run_connect(weft_run_t *run, const weft_run_way_t *way, uint32_t sender,
                          uint32_t receiver, uint64_t chunks)
{
    uint64_t slices = chunks * run->slices * run->passes;
    uint32_t queue = run->queues.count++,
             room = slices < run->slots ? (uint32_t)slices : run->slots;
    run->queues.list[queue] = (weft_run_queue_t){.ring_at = (uint32_t)run->memory.nmessages,
                                                 .room = room,
                                                 .sender = sender,
                                                 .receiver = receiver};
    run->queues.ways[queue] = *way;
    run->memory.nmessages += room;
    uint64_t most = (uint64_t)room * run->memory.packed;
    run->memory.nslots += slices < most ? slices : most;
    return queue;
}

weft_status_t weft_run_make_slots(weft_run_t *run)
{
    run->queues.slot = run->memory.nslots > UINT32_MAX
                           ? NULL
                           : weft_os_alloc((run->memory.nslots + 1) * sizeof *run->queues.slot, 0);
    if (run->queues.slot == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu slots",
                         (unsigned long long)run->memory.nslots);
    }
    return WEFT_OK;
}

static void run_queues_join_ends(weft_run_t *run, const weft_plan_end_t *ends)
{
    for (uint64_t i = 0; i < run->memory.nports; i += 2) {
        if (i + 1 == run->memory.nports || !weft_plan_ends_match(&ends[i], &ends[i + 1])) {
            run_queues_report_lonely(run, &ends[i]);
            return;
        }
        run_queues_check_way(run, &ends[i], &ends[i + 1]);
        uint64_t port[2];
        for (uint64_t j = 0; j < 2; j++) {
            port[j] = run->ranks[run_queues_owner_of(&ends[i + j])].first_port +
                      (uint64_t)ends[i + j].port;
        }
        weft_run_way_t way = {ends[i].from, ends[i].to, ends[i].key >> 1, WEFT_LEVEL_INSIDE};
        uint32_t queue =
            weft_run_connect(run, &way, run_queues_lane_of(run, &ends[i]),
                             run_queues_lane_of(run, &ends[i + 1]), run->port_chunks[port[0]]);
        run->queues.of_port[port[0]] = run->queues.of_port[port[1]] = queue;
    }
}

weft_status_t weft_run_pair(weft_run_t *run)
{
    weft_plan_end_t *ends = weft_os_alloc((run->memory.nports + 1) * sizeof *ends, 0);
    if (ends == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to pair %llu ports",
                         (unsigned long long)run->memory.nports);
    }
    run_queues_list_ends(run, ends);
    weft_status_t status = weft_plan_ends_sort(&ends, run->memory.nports);
    if (status == WEFT_OK) {
        run_queues_join_ends(run, ends);
        status = weft_run_make_slots(run);
    }
    weft_os_free(ends);
    return status;
}
