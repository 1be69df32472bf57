/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Positions in rings and chains. */
#include "core/topo/job_orders.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* What `n` channels carry over a host: it runs some of its own more than once, if it has fewer, and
 * all share the work evenly. */
static uint64_t job_orders_carry(const weft_job_graph_t *graph, uint32_t n)
{
    uint32_t times = (n + graph->nchannels - 1) / graph->nchannels;
    return (uint64_t)n * graph->speed / times;
}

uint32_t weft_job_settle(const weft_job_graph_t *graphs, uint32_t count)
{
    uint32_t best = 0, most = 0;
    uint64_t best_carried = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = graphs[i].nchannels > most ? graphs[i].nchannels : most;
    }
    for (uint32_t n = 1; n <= most; n++) {
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < count; i++) {
            if (graphs[i].nchannels > 0 && graphs[i].speed > 0) {
                uint64_t carried = job_orders_carry(&graphs[i], n);
                least = carried < least ? carried : least;
            }
        }
        if (best == 0 || least > best_carried) {
            best = n;
            best_carried = least;
        }
    }
    return best;
}

typedef struct job_orders {
    const weft_job_t *job;
    const weft_algo_topo_t *near;
    bool rings;
    uint32_t channel;
    uint32_t *position;  /* by rank: what is being made */
    uint32_t *backwards; /* by host: as well */
} job_orders_t;

/* Where each participant stands in the channel that a host runs; returns how many there are. */
static uint32_t job_orders_places(const job_orders_t *orders, uint32_t host,
                                  uint32_t places[WEFT_MACHINE_NODES_MAX])
{
    uint32_t number = orders->job->kind[host];
    const weft_job_kind_t *kind = number != WEFT_JOB_NONE ? orders->job->kinds[number] : NULL;
    const weft_job_graph_t *graph = kind == NULL    ? NULL
                                    : orders->rings ? &kind->rings
                                                    : &kind->trees;
    if (graph == NULL || graph->nchannels == 0) {
        return 0;
    }
    uint32_t channel = orders->channel % graph->nchannels;
    const uint8_t *order =
        2 + (orders->rings ? weft_job_kind_ring(kind, channel) : weft_job_kind_tree(kind, channel));
    for (uint32_t i = 0; i < kind->nparticipants; i++) {
        places[order[i]] = i;
    }
    return kind->nparticipants;
}

/* Positions of the ranks at first … end−1 of the near order, which are one host. */
static void job_orders_host(const job_orders_t *orders, uint32_t first, uint32_t end,
                            bool backwards)
{
    const weft_job_t *job = orders->job;
    uint32_t places[WEFT_MACHINE_NODES_MAX], starts[WEFT_MACHINE_NODES_MAX + 2] = {0};
    uint32_t host = job->host[weft_algo_topo_rank(orders->near, first)];
    uint32_t count = job_orders_places(orders, host, places);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = first; i < end; i++) {
            uint32_t rank = weft_algo_topo_rank(orders->near, i);
            uint32_t participant = count > 0 ? job->participant[rank] : WEFT_JOB_NONE;
            uint32_t place = participant < count ? places[participant] : count;
            if (pass == 0) {
                starts[place + 1]++;
            } else {
                uint32_t at = starts[place]++;
                orders->position[rank] = backwards ? end - 1 - at : first + at;
            }
        }
        for (uint32_t place = 0; pass == 0 && place <= count; place++) {
            starts[place + 1] += starts[place];
        }
    }
}

static void job_orders_channel(const job_orders_t *orders)
{
    const weft_job_t *job = orders->job;
    uint32_t hosts = 0, first = 0;
    for (uint32_t i = 1; i <= job->nranks; i++) {
        if (i == job->nranks || job->host[weft_algo_topo_rank(orders->near, i)] !=
                                    job->host[weft_algo_topo_rank(orders->near, first)]) {
            bool backwards = orders->rings && hosts++ % 2 != 0;
            uint32_t host = job->host[weft_algo_topo_rank(orders->near, first)];
            orders->backwards[host] |= backwards ? 1 : 0;
            job_orders_host(orders, first, i, backwards);
            first = i;
        }
    }
}

static uint32_t job_orders_settle(const weft_job_t *job, bool rings)
{
    weft_job_graph_t graphs[WEFT_JOB_KINDS_MAX] = {{0}};
    for (uint32_t i = 0; i < job->nkinds; i++) {
        graphs[i] = rings ? job->kinds[i]->rings : job->kinds[i]->trees;
    }
    return weft_job_settle(graphs, job->nkinds);
}

weft_status_t weft_job_make_orders(weft_job_t *job, const weft_algo_topo_t *near)
{
    uint32_t nrings = job_orders_settle(job, true), nchains = job_orders_settle(job, false);
    size_t words = ((size_t)nrings + nchains) * job->nranks;
    if (words == 0) {
        return WEFT_OK;
    }
    job->places = weft_os_alloc((words + job->nhosts) * sizeof *job->places, 0);
    if (job->places == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u rings of %u ranks",
                         nrings + nchains, job->nranks);
    }
    job->backwards = job->places + words;
    for (uint32_t i = 0; i < nrings + nchains; i++) {
        bool ring = i < nrings;
        job_orders_t orders = {.job = job,
                               .near = near,
                               .rings = ring,
                               .channel = ring ? i : i - nrings,
                               .position = job->places + (size_t)i * job->nranks,
                               .backwards = job->places + words};
        job_orders_channel(&orders);
        *(ring ? &job->ring[i] : &job->chain[i - nrings]) = orders.position;
    }
    job->topo.nrings = nrings;
    job->topo.nchains = nchains;
    job->topo.ring_position = job->ring;
    job->topo.chain_position = job->chain;
    return WEFT_OK;
}

const char *weft_job_nic(const weft_job_t *job, uint32_t rank, bool ring, uint32_t channel,
                         bool leaves)
{
    uint32_t host = job->host[rank], number = job->kind[host];
    const weft_job_kind_t *kind = number != WEFT_JOB_NONE ? job->kinds[number] : NULL;
    if (kind == NULL || (ring ? kind->rings : kind->trees).nchannels == 0) {
        return NULL;
    }
    const uint8_t *ends = ring ? weft_job_kind_ring(kind, channel % kind->rings.nchannels)
                               : weft_job_kind_tree(kind, channel % kind->trees.nchannels);
    bool out = leaves != (job->backwards[host] != 0);
    uint8_t nic = ends[ring && out ? 1 : 0];
    bool there = nic != UINT8_MAX && nic < kind->ndevices - kind->ngpus;
    const char *name = there ? weft_job_kind_nic(kind, nic) : "";
    return name[0] != '\0' ? name : NULL;
}
