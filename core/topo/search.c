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
/* Of all steps, what one number of channels may take with one order, and for the proof. */
#define SEARCH_SHARE_QUICK 128u
#define SEARCH_SHARE_PROOF 8u

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

static weft_packing_answer_t search_try(search_t *search, uint32_t channels, uint32_t speed,
                                        weft_packing_order_t order, uint64_t budget)
{
    uint64_t left = search_left(search);
    weft_packing_answer_t answer =
        weft_packing_try(&search->packing, channels, speed, order, budget < left ? budget : left);
    search->steps += search->packing.steps;
    return answer;
}

/* Do so many channels of such a speed fit? First in the orders that mostly find, then all. */
static weft_packing_answer_t search_ask(search_t *search, uint32_t channels, uint32_t speed)
{
    uint64_t quick = search->budget / SEARCH_SHARE_QUICK;
    weft_packing_answer_t answer = WEFT_PACKING_OPEN;
    for (weft_packing_order_t order = WEFT_PACKING_NEAR; order < WEFT_PACKING_ALL; order++) {
        bool useless = order == WEFT_PACKING_PAIRED &&
                       (channels < 2 || search->trial.pattern == WEFT_GRAPH_TREE);
        answer = useless ? answer : search_try(search, channels, speed, order, quick);
        if (answer != WEFT_PACKING_OPEN) {
            return answer;
        }
    }
    return search_try(search, channels, speed, WEFT_PACKING_ALL,
                      search->budget / SEARCH_SHARE_PROOF);
}

/* Takes the trial if it is better than the best. */
static weft_status_t search_take(search_t *search)
{
    weft_graph_t *trial = &search->trial, *best = search->best;
    weft_status_t status = weft_graph_measure(trial, search->capacities);
    uint64_t had = weft_graph_bandwidth(best), has = weft_graph_bandwidth(trial);
    if (status != WEFT_OK || !(has > had || (has == had && trial->nchannels < best->nchannels))) {
        return status;
    }
    uint16_t *order = best->order;
    *best = *trial;
    best->order = order;
    memcpy(order, trial->order, (size_t)trial->nchannels * trial->nparticipants * sizeof *order);
    best->proof = WEFT_GRAPH_FOUND;
    return WEFT_OK;
}

/* The least speed at which so many channels would be better than the best; 0: none. */
static uint32_t search_goal(const search_t *search, uint32_t channels)
{
    uint32_t had = weft_graph_bandwidth(search->best);
    uint32_t goal =
        channels < search->best->nchannels ? (had + channels - 1) / channels : had / channels + 1;
    goal = goal > 0 ? goal : 1;
    return goal <= search->bounds[channels] ? goal : 0;
}

/* The bound itself first: where a machine is regular that is the end. Then from below. */
static weft_status_t search_climb(search_t *search, uint32_t channels)
{
    uint32_t goal = search_goal(search, channels);
    weft_status_t status = WEFT_OK;
    if (goal == 0) {
        return WEFT_OK;
    }
    weft_packing_answer_t answer = search_ask(search, channels, search->bounds[channels]);
    if (answer == WEFT_PACKING_FITS) {
        return search_take(search);
    }
    while (goal > 0 && status == WEFT_OK) {
        answer = search_ask(search, channels, goal);
        if (answer != WEFT_PACKING_FITS) {
            search->open = search->open || answer == WEFT_PACKING_OPEN;
            return WEFT_OK;
        }
        status = search_take(search);
        goal = search_goal(search, channels);
    }
    return status;
}

/* Returns the number of channels with the highest bound of those left, the fewest first; 0: none. */
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

static weft_status_t search_run(search_t *search)
{
    weft_status_t status = WEFT_OK;
    uint64_t bound = 0;
    for (uint32_t n = search->min; n <= search->max; n++) {
        search->bounds[n] =
            weft_cuts_bound(&search->cuts, search->capacities, n, search->packing.slots);
        bound = (uint64_t)search->bounds[n] * n > bound ? (uint64_t)search->bounds[n] * n : bound;
    }
    for (uint32_t n = search_next(search); n > 0 && status == WEFT_OK; n = search_next(search)) {
        search->done[n] = true;
        if (search_left(search) == 0) {
            search->open = search->open || search_goal(search, n) > 0;
            continue;
        }
        status = search_climb(search, n);
    }
    search->best->bound = bound > UINT32_MAX ? UINT32_MAX : (uint32_t)bound;
    search->best->steps = search->steps;
    if (!search->open && search->best->proof == WEFT_GRAPH_FOUND) {
        search->best->proof = WEFT_GRAPH_BEST;
    }
    return status;
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
