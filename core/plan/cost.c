/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seconds from the figures of a plan. */
#include "core/plan/cost.h"

/* A chunk of a call, over all passes, that is still in the caches when the next rank reads it. */
#define CACHED 65536.0
/* Two fences of the whole system on an H200, which flags save. */
#define FENCES_S 1.1e-6
/* Two ends make a link in this time, and this many calls pay for it. */
#define LINK_S 300e-6
#define LINK_CALLS 1000.0

double weft_cost_overhead(uint64_t latency_ns, uint64_t overhead_ns)
{
    double latency = (double)latency_ns * 1e-9, overhead = (double)overhead_ns * 1e-9;
    return overhead_ns == 0 ? latency / 4 : overhead < latency ? overhead : latency;
}

weft_cost_model_t weft_cost_uniform(double alpha, double beta, double gamma, double overhead)
{
    weft_cost_edge_t edge = {.alpha = alpha, .beta = beta, .overhead = overhead};
    weft_cost_busy_t busy = {.slice = 2 * overhead, .beta = 2 * beta};
    return (weft_cost_model_t){.level = {edge, edge}, .busy = {busy, busy}, .gamma = gamma};
}

static double cost_seconds(const weft_cost_work_t *work, const weft_cost_model_t *model,
                           double bytes, double count)
{
    double seconds = work->touched * bytes * model->gamma;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const weft_cost_edge_t *edge = &model->level[l];
        const bool led = l == WEFT_LEVEL_INSIDE && count > 1 && model->led.alpha > 0;
        const weft_cost_edge_t *latency = led ? &model->led : edge;
        seconds += work->hops[l] * latency->alpha +
                   (work->messages[l] - work->hops[l]) * latency->overhead +
                   work->edges[l] * bytes * edge->beta;
    }
    return seconds;
}

/* The longest chain is one lane's. What a host's thread sends first for the other lanes delays it;
 * later it does that while it would wait. */
static double cost_turns(const weft_cost_t *cost, const weft_cost_model_t *model)
{
    double overhead = 0;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const double one = cost->steady.messages[l] > 0 ? model->level[l].overhead : 0;
        overhead = one > overhead ? one : overhead;
    }
    return model->at_once || cost->lanes < 2 ? 0 : (cost->lanes - 1) * overhead;
}

double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes)
{
    uint64_t pass_bytes = (uint64_t)k * slices * slice_bytes;
    uint64_t passes = bytes == 0 ? 1 : (bytes + pass_bytes - 1) / pass_bytes;
    double count = (double)passes * slices;
    double each = (double)bytes / (count * k);
    double fill = cost_seconds(&cost->fill, model, each, count) + cost_turns(cost, model),
           steady = cost_seconds(&cost->steady, model, each, count);
    return (fill > steady ? fill : steady) + (count - 1) * steady;
}

double weft_cost_crowd_time(const weft_cost_t *cost, const weft_cost_model_t *model,
                            const weft_cost_crowd_t *crowd, uint64_t bytes, uint32_t k,
                            uint32_t slices, uint64_t slice_bytes)
{
    if (crowd->ranks <= crowd->cores) {
        return 0;
    }
    uint64_t pass_bytes = (uint64_t)k * slices * slice_bytes;
    uint64_t passes = bytes == 0 ? 1 : (bytes + pass_bytes - 1) / pass_bytes;
    double count = (double)passes * slices;
    double each = (double)bytes / (count * k);
    /* While a rank waits for its turn the others fill the caches with chunks of theirs. */
    double chunk = (double)bytes / k, refill = chunk < CACHED ? 0 : chunk * model->gamma;
    double turns = 0, work = cost->total_touched * each * model->gamma;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const weft_cost_busy_t *busy = &model->busy[l];
        turns += cost->fill.hops[l] * crowd->ranks * ((double)passes * busy->turn + refill);
        work += (double)cost->total_messages[l] * busy->slice +
                (double)cost->total_chunks[l] * each * busy->beta;
    }
    return (turns + count * crowd->part * work) / crowd->cores;
}

double weft_cost_wire_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                           uint32_t k)
{
    return (double)cost->wire_chunks * ((double)bytes / k) * model->wire;
}

bool weft_cost_may_travel(const weft_cost_model_t *model, weft_kernel_protocol_t protocol,
                          uint64_t bytes)
{
    const weft_cost_protocol_t *p = &model->protocol[protocol];
    if (protocol == WEFT_KERNEL_PROTOCOL_SIMPLE) {
        return bytes >= p->least ||
               !(weft_cost_may_travel(model, WEFT_KERNEL_PROTOCOL_LL, bytes) ||
                 weft_cost_may_travel(model, WEFT_KERNEL_PROTOCOL_LL128, bytes));
    }
    return p->edge.beta > 0 && bytes >= p->least && bytes <= p->most;
}

/* What a leader takes for a slice by a protocol that takes `by` without one: as long as through
 * slots, but for the fences. */
static double cost_led(double by, double slots)
{
    return slots - FENCES_S > by ? slots - FENCES_S : by;
}

void weft_cost_travel(weft_cost_model_t *model, weft_kernel_protocol_t protocol)
{
    const weft_cost_edge_t slots = model->level[WEFT_LEVEL_INSIDE];
    if (protocol != WEFT_KERNEL_PROTOCOL_SIMPLE) {
        const weft_cost_edge_t edge = model->protocol[protocol].edge;
        model->level[WEFT_LEVEL_INSIDE] = edge;
        model->led = (weft_cost_edge_t){.alpha = cost_led(edge.alpha, slots.alpha),
                                        .overhead = cost_led(edge.overhead, slots.overhead)};
    }
}

weft_kernel_protocol_t weft_cost_protocol(const weft_cost_model_t *model, uint64_t bytes)
{
    weft_kernel_protocol_t best = WEFT_KERNEL_PROTOCOL_SIMPLE;
    double least = -1;
    for (uint32_t p = 0; p < WEFT_KERNEL_PROTOCOL_WHOLE; p++) {
        weft_cost_model_t by = *model;
        if (weft_cost_may_travel(model, (weft_kernel_protocol_t)p, bytes)) {
            weft_cost_travel(&by, (weft_kernel_protocol_t)p);
            const weft_cost_edge_t *edge = &by.level[WEFT_LEVEL_INSIDE];
            double seconds = edge->alpha + (double)bytes * edge->beta;
            if (least < 0 || seconds < least) {
                best = (weft_kernel_protocol_t)p;
                least = seconds;
            }
        }
    }
    return best;
}

/* The last multiple of a line that travels by the protocol. */
static uint32_t cost_limit(const weft_cost_model_t *model, weft_kernel_protocol_t protocol)
{
    const uint64_t step = 64, most = model->protocol[protocol].most;
    uint64_t bytes = most < UINT32_MAX ? most : 0;
    while (bytes > 0 && weft_cost_protocol(model, bytes) != protocol) {
        bytes = (bytes - 1) / step * step;
    }
    return (uint32_t)bytes;
}

weft_cost_limits_t weft_cost_limits(const weft_cost_model_t *model)
{
    return (weft_cost_limits_t){.words = cost_limit(model, WEFT_KERNEL_PROTOCOL_LL),
                                .lines = cost_limit(model, WEFT_KERNEL_PROTOCOL_LL128)};
}

void weft_cost_share(weft_cost_model_t *model, uint32_t channels)
{
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        weft_cost_edge_t *edge = &model->level[l];
        const double part = edge->together * channels;
        edge->beta = part > edge->beta ? part : edge->beta;
    }
}

double weft_cost_gamma(const weft_cost_t *cost, const weft_cost_model_t *model,
                       const weft_cost_crowd_t *crowd, uint64_t bytes, uint32_t k)
{
    double touched = cost->total_touched * crowd->part * ((double)bytes / k);
    bool leaves = model->cache > 0 && touched > model->cache && model->memory > model->gamma;
    return leaves ? model->memory : model->gamma;
}

double weft_cost_links(const weft_cost_t *cost, const weft_cost_crowd_t *crowd)
{
    double cores = crowd->cores < crowd->ranks ? crowd->cores : crowd->ranks;
    return (double)cost->links / 2 * crowd->part * LINK_S / cores / LINK_CALLS;
}
