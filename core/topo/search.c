/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of channels in the order of their bounds, and for each the climb to its best speed. */
#include "core/topo/search.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topo/cuts.h"
#include "core/topo/packing.h"

#define SEARCH_CHANNELS 32u
/* Of all steps, what one attempt may take: to find, and to rule out. */
#define SEARCH_SHARE_QUICK 512u
#define SEARCH_SHARE_PROOF 8u
#define SEARCH_SHARE_POLISH 8u

typedef struct search {
    const weft_capacities_t *capacities;
    weft_cuts_t cuts;
    weft_packing_t packing;
    weft_graph_t *best;
    weft_graph_t trial;
    uint32_t min, max;
    uint32_t bounds[WEFT_GRAPH_CHANNELS_MAX + 1]; /* speed, of each number of channels */
    bool done[WEFT_GRAPH_CHANNELS_MAX + 1];
    uint64_t steps, budget;
    bool open; /* something was not ruled out */
} search_t;

static uint64_t search_left(const search_t *search)
{
    return search->budget > search->steps ? search->budget - search->steps : 0;
}

static weft_packing_answer_t search_try(search_t *search, uint32_t channels,
                                        weft_packing_speed_t speed, weft_packing_order_t order,
                                        uint64_t budget)
{
    uint64_t left = search_left(search);
    if (left == 0) {
        return WEFT_PACKING_OPEN;
    }
    weft_packing_answer_t answer =
        weft_packing_try(&search->packing, channels, speed, order, budget < left ? budget : left);
    search->steps += search->packing.steps;
    return answer;
}

/* Do so many channels of such a speed fit? In the orders that mostly find. */
static weft_packing_answer_t search_quick(search_t *search, uint32_t channels,
                                          weft_packing_speed_t speed)
{
    /* Without a step back it is every end at every level. */
    uint64_t straight =
        2ull * channels * search->packing.levels * weft_capacities_ends(search->capacities);
    uint64_t quick = search->budget / SEARCH_SHARE_QUICK;
    weft_packing_answer_t answer = WEFT_PACKING_OPEN;
    for (weft_packing_order_t order = WEFT_PACKING_NEAR;
         order < WEFT_PACKING_ALL && answer == WEFT_PACKING_OPEN; order++) {
        bool single = channels < 2 || search->trial.pattern == WEFT_GRAPH_TREE;
        bool useless = order == WEFT_PACKING_PAIRED && single;
        if (!useless) {
            answer =
                search_try(search, channels, speed, order, straight > quick ? straight : quick);
        }
    }
    return answer;
}

/* Makes the trial the best. */
static void search_keep(search_t *search)
{
    weft_graph_t *best = search->best, had = *best;
    const weft_graph_t *trial = &search->trial;
    *best = *trial;
    best->order = had.order;
    best->proof = had.proof;
    memcpy(best->order, trial->order,
           (size_t)trial->nchannels * trial->nparticipants * sizeof *trial->order);
}

/* Takes the trial if it is better than the best: n · bandwidth / uses, without rounding. */
static weft_status_t search_take(search_t *search)
{
    weft_graph_t *trial = &search->trial, *best = search->best;
    const uint32_t *bandwidths = search->capacities->bandwidths;
    weft_status_t status = weft_graph_measure(trial, search->capacities);
    if (status != WEFT_OK || trial->tight == WEFT_MACHINE_NONE) {
        return status;
    }
    uint64_t had = (uint64_t)bandwidths[best->tight] * best->nchannels * trial->uses;
    uint64_t has = (uint64_t)bandwidths[trial->tight] * trial->nchannels * best->uses;
    if (has < had || (has == had && trial->nchannels >= best->nchannels)) {
        return WEFT_OK;
    }
    search_keep(search);
    best->proof = WEFT_GRAPH_FOUND;
    return WEFT_OK;
}

/* The least speed at which so many channels would be better than the best. Returns false if cuts
 * rule it out. */
static bool search_goal(search_t *search, uint32_t channels, weft_packing_speed_t *goal_p)
{
    const weft_graph_t *best = search->best;
    if (best->tight == WEFT_MACHINE_NONE) {
        return false;
    }
    uint64_t bandwidth = search->capacities->bandwidths[best->tight];
    *goal_p = (weft_packing_speed_t){.over = bandwidth * best->nchannels,
                                     .under = (uint64_t)best->uses * channels,
                                     .faster = channels >= best->nchannels};
    weft_packing_slots(&search->packing, *goal_p);
    return weft_cuts_hold(&search->cuts, search->packing.slots, channels);
}

/* At the bound first: where a machine is regular that is the end. Then from below, as long as it
 * goes. With `proof` what is not found is ruled out, if the steps suffice. */
static weft_status_t search_climb(search_t *search, uint32_t channels, bool proof)
{
    weft_packing_speed_t goal, bound = {.over = search->bounds[channels], .under = 1};
    weft_status_t status = WEFT_OK;
    if (!proof && bound.over > 0 && search_goal(search, channels, &goal) &&
        search_quick(search, channels, bound) == WEFT_PACKING_FITS) {
        status = search_take(search);
    }
    while (status == WEFT_OK && search_goal(search, channels, &goal)) {
        weft_packing_answer_t answer = search_quick(search, channels, goal);
        if (answer == WEFT_PACKING_OPEN && proof) {
            answer = search_try(search, channels, goal, WEFT_PACKING_ALL,
                                search->budget / SEARCH_SHARE_PROOF);
            search->open = search->open || answer == WEFT_PACKING_OPEN;
        }
        if (answer != WEFT_PACKING_FITS) {
            return WEFT_OK;
        }
        status = search_take(search);
    }
    return status;
}

/* Returns the number of channels with the highest bound of those left, the fewest first; 0:
 * none. */
static uint32_t search_next(const search_t *search)
{
    uint32_t next = 0;
    uint64_t most = 0;
    for (uint32_t n = search->min; n <= search->max; n++) {
        uint64_t bound = (uint64_t)search->bounds[n] * n;
        if (!search->done[n] && bound > most) {
            most = bound;
            next = n;
        }
    }
    return next;
}

/* Of the graphs with the bandwidth and channels of the best, one with the nearest hops that is
 * found: NICs beside their participants, and nothing over PCIe that has links. */
static weft_status_t search_polish(search_t *search)
{
    const weft_graph_t *best = search->best;
    weft_status_t status = WEFT_OK;
    if (best->tight == WEFT_MACHINE_NONE) {
        return WEFT_OK;
    }
    const weft_packing_speed_t speed = {.over = search->capacities->bandwidths[best->tight],
                                        .under = best->uses};
    uint64_t budget = search->budget / SEARCH_SHARE_POLISH;
    for (weft_packing_order_t order = WEFT_PACKING_LINKED; order <= WEFT_PACKING_BESIDE; order++) {
        weft_packing_answer_t answer =
            weft_packing_try(&search->packing, best->nchannels, speed, order, budget);
        search->steps += search->packing.steps;
        if (answer == WEFT_PACKING_FITS) {
            status = weft_graph_measure(&search->trial, search->capacities);
            search_keep(search);
            return status;
        }
    }
    return WEFT_OK;
}

static uint32_t search_bound(search_t *search)
{
    uint64_t most = 0;
    for (uint32_t n = search->min; n <= search->max; n++) {
        search->bounds[n] =
            weft_cuts_bound(&search->cuts, search->capacities, n, search->packing.slots);
        /* Bounds are rounded down, each by less than one. */
        uint64_t bound = ((uint64_t)search->bounds[n] + 1) * n - 1;
        most = bound > most && search->bounds[n] > 0 ? bound : most;
    }
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Twice over the numbers of channels: what is easily found first, so that little is left to be
 * ruled out. */
static weft_status_t search_run(search_t *search)
{
    weft_status_t status = WEFT_OK;
    uint32_t bound = search_bound(search);
    for (int proof = 0; proof < 2; proof++) {
        memset(search->done, 0, sizeof search->done);
        for (uint32_t n = search_next(search); n > 0 && status == WEFT_OK;
             n = search_next(search)) {
            search->done[n] = true;
            status = search_climb(search, n, proof != 0);
        }
    }
    weft_graph_t *best = search->best;
    status = status == WEFT_OK ? search_polish(search) : status;
    if (status != WEFT_OK) {
        return status; /* the best may not be measured */
    }
    best->steps = search->steps;
    if (!search->open) {
        best->proof = WEFT_GRAPH_BEST;
        bound = weft_graph_bandwidth(best, search->capacities);
    }
    best->bound = bound;
    return WEFT_OK;
}

/* Participants in order, by the NIC nearest to the first and the one nearest to the last. */
static uint32_t search_nearest(const weft_capacities_t *capacities, uint32_t participant)
{
    uint32_t p = capacities->nparticipants, best = 0;
    for (uint32_t i = 1; i < capacities->nnics; i++) {
        if (weft_capacities_route(capacities, participant, p + i)->path <
            weft_capacities_route(capacities, participant, p + best)->path) {
            best = i;
        }
    }
    return best;
}

static weft_status_t search_fall_back(weft_graph_t *graph, const weft_capacities_t *capacities,
                                      const weft_search_request_t *request, uint32_t channels)
{
    uint32_t p = graph->nparticipants, in = WEFT_GRAPH_NO_NIC, out = WEFT_GRAPH_NO_NIC;
    graph->pattern = request->pattern;
    graph->hosts = request->hosts;
    graph->proof = WEFT_GRAPH_FALLBACK;
    graph->nchannels = channels;
    if (weft_graph_uses_nics(graph, capacities)) {
        bool same = request->straight || request->pattern == WEFT_GRAPH_TREE;
        in = search_nearest(capacities, 0);
        out = same ? in : search_nearest(capacities, p - 1);
    }
    for (uint32_t c = 0; c < channels; c++) {
        graph->channels[c] = (weft_graph_channel_t){in, out};
        for (uint32_t i = 0; i < p; i++) {
            graph->order[(size_t)c * p + i] = (uint16_t)i;
        }
    }
    return weft_graph_measure(graph, capacities);
}

weft_status_t weft_search(weft_graph_t *graph_p, const weft_capacities_t *capacities,
                          const weft_search_request_t *request)
{
    weft_graph_t best = {0};
    search_t search = {.capacities = capacities, .best = &best};
    search.min = request->channels_min > 0 ? request->channels_min : 1;
    search.max = request->channels_max > 0 ? request->channels_max : SEARCH_CHANNELS;
    search.budget = request->steps > 0 ? request->steps : WEFT_SEARCH_STEPS;
    if (search.min > search.max || search.max > WEFT_GRAPH_CHANNELS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0, "a graph of %u to %u channels, the most are %u",
                         search.min, search.max, WEFT_GRAPH_CHANNELS_MAX);
    }
    weft_status_t status = weft_graph_init(&best, capacities, search.max);
    status = status == WEFT_OK ? weft_graph_init(&search.trial, capacities, search.max) : status;
    if (status == WEFT_OK) {
        status = search_fall_back(&best, capacities, request, search.min);
        search.trial.pattern = request->pattern;
        search.trial.hosts = request->hosts;
    }
    status = status == WEFT_OK ? weft_cuts_init(&search.cuts, capacities, &best) : status;
    if (status == WEFT_OK) {
        status =
            weft_packing_init(&search.packing, capacities, &search.cuts, &search.trial, search.max);
    }
    if (status == WEFT_OK) {
        search.packing.cross = !request->straight;
        status = search_run(&search);
    }
    weft_packing_fini(&search.packing);
    weft_cuts_fini(&search.cuts);
    weft_graph_fini(&search.trial);
    if (status == WEFT_OK) {
        *graph_p = best;
    } else {
        weft_graph_fini(&best);
    }
    return status;
}
