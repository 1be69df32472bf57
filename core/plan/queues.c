/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs the ports of all ranks: each send port with the receive port at the other end of its queue. */
#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run.h"

typedef struct end {
    uint32_t from, to, channel, sends;
    uint32_t rank, port;
} end_t;

static int compare_ends(const void *a, const void *b)
{
    const end_t *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x->sends == y->sends ? 0 : x->sends > y->sends ? -1 : 1;
}

static void list_ends(const weft_run_t *run, end_t *ends)
{
    for (uint32_t rank = 0; rank < run->n; rank++) {
        const weft_plan_t *plan = run->input->plans[rank];
        for (uint32_t i = 0; i < plan->nports; i++) {
            const weft_plan_port_t *port = &plan->ports[i];
            ends[run->ranks[rank].first_port + i] = (end_t){.from = port->sends ? rank : port->peer,
                                                            .to = port->sends ? port->peer : rank,
                                                            .channel = port->channel,
                                                            .sends = port->sends,
                                                            .rank = rank,
                                                            .port = i};
        }
    }
}

static uint32_t lane_of(const weft_run_t *run, const end_t *end)
{
    return run->ranks[end->rank].first_lane + run->input->plans[end->rank]->ports[end->port].lane;
}

static int is_pair(const end_t *send, const end_t *receive)
{
    return send->sends && !receive->sends && send->from == receive->from &&
           send->to == receive->to && send->channel == receive->channel;
}

static void report_lonely(weft_run_t *run, const end_t *end)
{
    const weft_run_lane_t *lane = &run->lanes[lane_of(run, end)];
    if (end->sends) {
        weft_run_finding(run, WEFT_VERDICT_UNMATCHED, lane, 0,
                         "port %u sends to rank %u channel %u, which has no port for it", end->port,
                         end->to, end->channel);
    } else {
        weft_run_finding(run, WEFT_VERDICT_UNMATCHED, lane, 0,
                         "port %u receives from rank %u channel %u, which has no port for it",
                         end->port, end->from, end->channel);
    }
}

static void join_ends(weft_run_t *run, const end_t *ends)
{
    for (uint64_t i = 0; i < run->nports; i += 2) {
        if (i + 1 == run->nports || !is_pair(&ends[i], &ends[i + 1])) {
            report_lonely(run, &ends[i]);
            return;
        }
        uint32_t queue = run->nqueues++;
        run->queues[queue] = (weft_run_queue_t){.from = ends[i].from,
                                                .to = ends[i].to,
                                                .channel = ends[i].channel,
                                                .sender = lane_of(run, &ends[i]),
                                                .receiver = lane_of(run, &ends[i + 1])};
        for (uint64_t j = i; j < i + 2; j++) {
            run->port_queue[run->ranks[ends[j].rank].first_port + ends[j].port] = queue;
        }
    }
}

weft_status_t weft_run_pair(weft_run_t *run)
{
    end_t *ends = weft_os_alloc((run->nports + 1) * sizeof *ends, 0);
    run->queues = weft_os_alloc((run->nports / 2 + 1) * sizeof *run->queues, 0);
    run->port_queue = weft_os_alloc((run->nports + 1) * sizeof *run->port_queue, 0);
    if (ends == NULL || run->queues == NULL || run->port_queue == NULL) {
        weft_os_free(ends);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to pair %llu ports",
                         (unsigned long long)run->nports);
    }
    list_ends(run, ends);
    qsort(ends, run->nports, sizeof *ends, compare_ends);
    join_ends(run, ends);
    weft_os_free(ends);
    return WEFT_OK;
}
