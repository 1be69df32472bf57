/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The abstract run of a network, one rank per class, and what it costs. */
#include "core/plan/network_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run_engine.h"
#include "core/plan/run_queues.h"
#include "core/plan/run_setup.h"

/* Steps to be walked. Above this the walk would take longer than its figures are worth. */
#define WALK_MAX 32000000.0

/* The run's view of the classes. */
typedef struct network_run {
    const weft_network_t *net;
    weft_plan_t **plans; /* by class; shared between classes of one shape */
    weft_plan_facts_t *facts;
    uint64_t *port_chunks;
    weft_run_t run;
} network_run_t;

static const weft_network_shape_t *network_walk_shape_of(const weft_network_t *net, uint32_t id)
{
    return &net->shapes[net->shape[net->first[id]]];
}

/* What one port passes on. */
typedef struct load {
    uint32_t name;
    uint8_t level;
    uint64_t chunks, messages;
} load_t;

static void network_walk_add_link(weft_cost_t *cost, const load_t *load, uint32_t times)
{
    uint64_t chunks = load->chunks;
    cost->link_chunks = chunks > cost->link_chunks ? chunks : cost->link_chunks;
    if (cost->links == 0 || chunks < cost->link_chunks_min) {
        cost->link_chunks_min = chunks;
    }
    cost->links += times;
    cost->total_chunks[load->level] += chunks * times;
    cost->total_messages[load->level] += load->messages * times;
}

static int network_walk_compare_loads(const void *a, const void *b)
{
    uint32_t x = ((const load_t *)a)->name, y = ((const load_t *)b)->name;
    return x < y ? -1 : x > y;
}

/* Collects the ports of a rank of the class in one direction by peer. Returns their number. */
static uint32_t network_walk_sort_ports(const weft_network_t *net, uint32_t id, bool receives,
                                        load_t *loads)
{
    const weft_network_shape_t *shape = network_walk_shape_of(net, id);
    const weft_network_port_t *ports = &net->ports[net->first_port[net->first[id]]];
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->plan->nports; i++) {
        if (((ports[i].key & 1) != 0) == receives) {
            loads[count++] = (load_t){.name = ports[i].name,
                                      .level = ports[i].level,
                                      .chunks = shape->chunks[i],
                                      .messages = shape->messages[i]};
        }
    }
    qsort(loads, count, sizeof *loads, network_walk_compare_loads);
    return count;
}

/* Links of a rank of the class in one direction, the ports to one peer together. Those of sends
 * are counted, as each is another rank's receive. */
static void network_walk_add_links(const weft_network_t *net, uint32_t id, bool receives,
                                   load_t *loads, weft_cost_t *cost)
{
    uint32_t count = network_walk_sort_ports(net, id, receives, loads), fan = 0;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && loads[next].name == loads[i].name; next++) {
            loads[i].chunks += loads[next].chunks;
            loads[i].messages += loads[next].messages;
        }
        fan++;
        if (!receives) {
            network_walk_add_link(cost, &loads[i], net->size[id]);
        }
    }
    cost->fan = fan > cost->fan ? fan : cost->fan;
}

static weft_status_t network_walk_count_links(const weft_network_t *net, weft_cost_t *cost)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < net->nshapes; i++) {
        most = net->shapes[i].plan->nports > most ? net->shapes[i].plan->nports : most;
    }
    load_t *loads = weft_os_alloc(((size_t)most + 1) * sizeof *loads, 0);
    if (loads == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to count %u links", most);
    }
    for (uint32_t id = 0; id < net->nclasses; id++) {
        network_walk_add_links(net, id, false, loads, cost);
        network_walk_add_links(net, id, true, loads, cost);
        const weft_plan_facts_t *facts = &network_walk_shape_of(net, id)->facts;
        cost->total_touched += net->size[id] * facts->touched;
        cost->packed = facts->packed > cost->packed ? facts->packed : cost->packed;
    }
    weft_os_free(loads);
    return WEFT_OK;
}

/* The ports to other hosts share the wires of their host. */
static weft_status_t network_walk_count_wires(const weft_network_t *net, weft_cost_t *cost)
{
    if (net->host == NULL || net->added < net->nranks || net->nranks == 1) {
        return WEFT_OK;
    }
    uint32_t hosts = 0;
    for (uint32_t rank = 0; rank < net->nranks; rank++) {
        hosts = net->host[rank] >= hosts ? net->host[rank] + 1 : hosts;
    }
    uint64_t *sums = weft_os_alloc(2 * (size_t)hosts * sizeof *sums, 0);
    if (sums == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to count the wires of %u hosts",
                         hosts);
    }
    for (uint32_t rank = 0; rank < net->nranks; rank++) {
        const weft_network_port_t *ports = &net->ports[net->first_port[rank]];
        const weft_network_shape_t *shape = &net->shapes[net->shape[rank]];
        for (uint32_t i = 0; i < shape->plan->nports; i++) {
            uint64_t *sum = &sums[2 * (uint64_t)net->host[rank] + (ports[i].key & 1)];
            *sum += ports[i].level == WEFT_LEVEL_BETWEEN ? shape->chunks[i] : 0;
            cost->wire_chunks = *sum > cost->wire_chunks ? *sum : cost->wire_chunks;
        }
    }
    weft_os_free(sums);
    return WEFT_OK;
}

static double network_walk_weight(const weft_cost_work_t *work)
{
    return 4 * work->edges[WEFT_LEVEL_INSIDE] +
           4 * WEFT_RUN_BETWEEN * work->edges[WEFT_LEVEL_BETWEEN] + work->touched;
}

/* A rank that sends and receives at once pays for one transfer, so each end counts half. */
static weft_cost_work_t network_walk_busiest_rank(const weft_network_t *net)
{
    weft_cost_work_t most = {0};
    for (uint32_t rank = 0; rank < net->nranks; rank++) {
        const weft_network_shape_t *shape = &net->shapes[net->shape[rank]];
        const weft_network_port_t *ports = &net->ports[net->first_port[rank]];
        weft_cost_work_t work = {.touched = shape->facts.touched / 2};
        for (uint32_t i = 0; i < shape->plan->nports; i++) {
            work.edges[ports[i].level] += (double)shape->chunks[i] / 2;
            work.messages[ports[i].level] += (double)shape->messages[i] / 2;
        }
        double edges = weft_cost_sum(work.edges);
        for (uint32_t l = 0; l < WEFT_LEVELS && edges > 0; l++) {
            work.hops[l] = shape->facts.hops / 2 * work.edges[l] / edges;
        }
        most = network_walk_weight(&work) > network_walk_weight(&most) ? work : most;
    }
    return most;
}

void weft_network_busiest(const weft_network_t *net, weft_cost_t *cost)
{
    cost->steady = cost->fill = network_walk_busiest_rank(net);
    memset(cost->steady.hops, 0, sizeof cost->steady.hops);
    cost->chain = (uint32_t)weft_cost_sum(cost->steady.edges) + 1;
}

static weft_status_t walk_init(network_run_t *walk, const weft_network_t *net)
{
    uint64_t nports = 0;
    for (uint32_t id = 0; id < net->nclasses; id++) {
        nports += network_walk_shape_of(net, id)->plan->nports;
    }
    *walk = (network_run_t){.net = net};
    walk->plans = weft_os_alloc(net->nclasses * sizeof *walk->plans, 0);
    walk->facts = weft_os_alloc(net->nclasses * sizeof *walk->facts, 0);
    walk->port_chunks = weft_os_alloc((nports + 1) * sizeof *walk->port_chunks, 0);
    if (walk->plans == NULL || walk->facts == NULL || walk->port_chunks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to walk %u classes of ranks",
                         net->nclasses);
    }
    nports = 0;
    for (uint32_t id = 0; id < net->nclasses; id++) {
        const weft_network_shape_t *shape = network_walk_shape_of(net, id);
        walk->plans[id] = shape->plan;
        walk->facts[id] = shape->facts;
        if (shape->plan->nports != 0) {
            memcpy(&walk->port_chunks[nports], shape->chunks,
                   shape->plan->nports * sizeof *shape->chunks);
        }
        nports += shape->plan->nports;
    }
    return WEFT_OK;
}

static void walk_fini(network_run_t *walk)
{
    weft_os_free(walk->port_chunks);
    weft_os_free(walk->facts);
    weft_os_free(walk->plans);
}

static uint32_t network_walk_lane_of(const network_run_t *walk, uint32_t id, uint32_t port)
{
    return walk->run.ranks[id].first_lane + walk->plans[id]->ports[port].lane;
}

/* The queue of a send port of the class leads to the class of its peer, which may be the same. */
static void network_walk_connect_class(network_run_t *walk, uint32_t id)
{
    const weft_network_t *net = walk->net;
    weft_run_t *run = &walk->run;
    uint32_t rank = net->first[id];
    for (uint32_t i = 0; i < walk->plans[id]->nports; i++) {
        const weft_network_port_t *port = &net->ports[net->first_port[rank] + i];
        if ((port->key & 1) != 0) {
            continue;
        }
        uint32_t peer = net->colour[port->peer];
        uint64_t from = run->ranks[id].first_port + (uint64_t)i;
        weft_run_way_t way = {rank, port->name, port->key >> 1, port->level};
        uint32_t queue =
            weft_run_connect(run, &way, network_walk_lane_of(walk, id, i),
                             network_walk_lane_of(walk, peer, port->mate), run->port_chunks[from]);
        run->queues.of_port[from] = queue;
        run->queues.of_port[run->ranks[peer].first_port + port->mate] = queue;
    }
}

static weft_status_t walk_classes(network_run_t *walk, weft_verify_report_t *report)
{
    const weft_network_t *net = walk->net;
    for (uint32_t id = 0; id < net->nclasses; id++) {
        network_walk_connect_class(walk, id);
    }
    for (uint32_t i = 0; i < walk->run.nlanes; i++) {
        walk->run.lanes[i].name = net->first[walk->run.lanes[i].rank];
    }
    weft_status_t status = weft_run_make_slots(&walk->run);
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        weft_run_go(&walk->run);
    }
    return status;
}

static void network_walk_keep(const weft_run_t *run, const weft_verify_report_t *report,
                              weft_network_result_t *result)
{
    result->verdict = report->verdict;
    memcpy(result->text, report->text, sizeof result->text);
    weft_cost_work_t *fill = &result->cost.fill;
    *fill = (weft_cost_work_t){.touched = (double)run->chain.touched / 2};
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        fill->hops[l] = run->chain.hops[l];
        fill->edges[l] = (double)run->chain.ends[l] / 2;
        fill->messages[l] = (double)run->chain.messages[l] / 2;
    }
    result->cost.chain = run->chain.moves;
    for (uint32_t i = 0; i < run->queues.count; i++) {
        uint32_t peak = run->queues.list[i].peak;
        result->peak_slots = peak > result->peak_slots ? peak : result->peak_slots;
    }
}

static weft_status_t walk_all(const weft_network_t *net, uint32_t slots, uint32_t slices,
                              weft_network_result_t *result)
{
    network_run_t walk;
    weft_verify_report_t report = {0};
    weft_status_t status = walk_init(&walk, net);
    if (status != WEFT_OK) {
        walk_fini(&walk);
        return status;
    }
    weft_verify_input_t input = {
        .plans = walk.plans, .nranks = net->nclasses, .slots = slots, .slices = slices};
    weft_run_setup_t setup = {
        .input = &input, .facts = walk.facts, .port_chunks = walk.port_chunks, .passes = 1};
    status = weft_run_init(&walk.run, &setup, &report);
    if (status == WEFT_OK) {
        status = walk_classes(&walk, &report);
        network_walk_keep(&walk.run, &report, result);
    }
    weft_run_fini(&walk.run);
    walk_fini(&walk);
    return status;
}

static uint32_t network_walk_most_lanes(const weft_network_t *net)
{
    uint32_t most = 0;
    for (uint32_t id = 0; id < net->nclasses; id++) {
        uint32_t lanes = network_walk_shape_of(net, id)->plan->nlanes;
        most = lanes > most ? lanes : most;
    }
    return most;
}

/* Chunks to move, in so many slices, and barriers. */
static double network_walk_class_steps(const weft_network_t *net, uint32_t slices)
{
    double steps = 0;
    for (uint32_t id = 0; id < net->nclasses; id++) {
        const weft_plan_facts_t *facts = &network_walk_shape_of(net, id)->facts;
        steps += facts->chunks * slices + facts->bars;
    }
    return steps;
}

weft_status_t weft_network_walk(const weft_network_t *net, uint32_t slots,
                                weft_network_result_t *result)
{
    double steps = network_walk_class_steps(net, 1);
    *result = (weft_network_result_t){.cost = {.steady = network_walk_busiest_rank(net)}};
    result->cost.lanes = network_walk_most_lanes(net);
    /* Nothing is waited for in a full pipeline. */
    memset(result->cost.steady.hops, 0, sizeof result->cost.steady.hops);
    weft_status_t status = network_walk_count_links(net, &result->cost);
    status = status != WEFT_OK ? status : network_walk_count_wires(net, &result->cost);
    if (status != WEFT_OK || steps <= WALK_MAX) {
        return status != WEFT_OK ? status : walk_all(net, slots, 1, result);
    }
    result->verdict = WEFT_VERDICT_TOO_BIG;
    snprintf(result->text, sizeof result->text, "%.0f steps of %u classes of ranks, not walked",
             steps, net->nclasses);
    weft_network_busiest(net, &result->cost);
    return WEFT_OK;
}

weft_status_t weft_network_ends(weft_network_t *net, uint32_t slots, uint32_t slices, bool *ends_p)
{
    weft_network_result_t result = {.verdict = WEFT_VERDICT_OK};
    weft_status_t status = weft_network_pair(net, &result);
    *ends_p = false;
    if (status == WEFT_OK && result.verdict == WEFT_VERDICT_OK) {
        status = weft_network_refine(net, WEFT_NETWORK_ROUNDS);
    }
    if (status != WEFT_OK || result.verdict != WEFT_VERDICT_OK ||
        network_walk_class_steps(net, slices) > WALK_MAX) {
        return status;
    }
    status = walk_all(net, slots, slices, &result);
    *ends_p = status == WEFT_OK && result.verdict == WEFT_VERDICT_OK;
    return status;
}

weft_status_t weft_network_price(weft_network_t *net, uint32_t slots, uint32_t rounds,
                                 weft_network_result_t *result)
{
    *result = (weft_network_result_t){.verdict = WEFT_VERDICT_OK};
    weft_status_t status = weft_network_pair(net, result);
    if (status != WEFT_OK || result->verdict != WEFT_VERDICT_OK) {
        return status;
    }
    status = weft_network_refine(net, rounds);
    if (status == WEFT_OK) {
        status = weft_network_walk(net, slots, result);
    }
    if (status != WEFT_OK || result->verdict == WEFT_VERDICT_OK ||
        result->verdict == WEFT_VERDICT_TOO_BIG || net->nclasses == net->nranks) {
        return status;
    }
    uint32_t classes = net->nclasses;
    weft_network_result_t apart;
    status = weft_network_refine(net, 0);
    if (status == WEFT_OK) {
        status = weft_network_walk(net, slots, &apart);
    }
    if (status == WEFT_OK && apart.verdict != WEFT_VERDICT_TOO_BIG) {
        *result = apart;
    }
    net->nclasses = classes;
    return status;
}
