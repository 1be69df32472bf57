/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The survey: plans of very many ranks, emitted one by one. See classes.h. */
#include "core/plan/classes.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/ends.h"
#include "core/plan/network_walk.h"

/* Ports of all ranks that are kept; about 400 MiB with what pairing needs. A test sets less. */
#ifndef SURVEY_PORTS_MAX
#define SURVEY_PORTS_MAX (UINT64_C(1) << 23)
#endif
#define SURVEY_SAMPLE 24u /* ranks that are emitted where not all can be kept */

typedef struct survey {
    weft_plan_survey_t *out;
    weft_plan_make_fn_t source;
    void *arg;
    uint32_t slots;
    weft_network_t net;
    bool by_difference, by_xor; /* all so far have their peers where rank 0 has them */
} survey_t;

static uint64_t classes_words_of(const weft_plan_t *plan)
{
    uint64_t words = 0;
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        words += plan->lanes[lane].ncode;
    }
    return words;
}

static void classes_keep_most(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

static void classes_keep_figures(weft_plan_survey_t *out, const weft_plan_t *plan, double seconds)
{
    uint64_t words = classes_words_of(plan);
    out->emitted++;
    out->emit_seconds += seconds;
    out->emit_seconds_max = seconds > out->emit_seconds_max ? seconds : out->emit_seconds_max;
    out->k = plan->k;
    classes_keep_most(&out->words_max, words);
    classes_keep_most(&out->bytes_max, weft_plan_bytes(plan));
    out->lanes_max = plan->nlanes > out->lanes_max ? plan->nlanes : out->lanes_max;
    out->ports_max = plan->nports > out->ports_max ? plan->nports : out->ports_max;
    out->tmp_chunks_max =
        plan->tmp_chunks > out->tmp_chunks_max ? plan->tmp_chunks : out->tmp_chunks_max;
}

static weft_status_t classes_emit(survey_t *survey, uint32_t rank, weft_plan_t **plan_p)
{
    uint64_t begin = weft_os_clock_ns();
    weft_status_t status = survey->source(survey->arg, rank, plan_p);
    if (status == WEFT_OK) {
        double seconds = (double)(weft_os_clock_ns() - begin) / (double)WEFT_NS_PER_S;
        classes_keep_figures(survey->out, *plan_p, seconds);
    }
    return status;
}

/* Distances to peers, which are all that ranks of a regular plan have in common. */
static void classes_compare_peers(survey_t *survey, const weft_plan_t *plan)
{
    const weft_network_port_t *ports = survey->net.ports;
    uint32_t n = survey->out->nranks;
    bool same = plan->nports == survey->net.first_port[1];
    for (uint32_t i = 0; same && i < plan->nports; i++) {
        uint32_t peer = plan->ports[i].peer;
        uint32_t key = 2 * (uint32_t)plan->ports[i].channel + (plan->ports[i].sends ? 0 : 1);
        same = key == ports[i].key;
        survey->by_xor &= (peer ^ plan->rank) == ports[i].name;
        survey->by_difference &=
            (peer >= plan->rank ? peer - plan->rank : peer + n - plan->rank) == ports[i].name;
    }
    survey->by_xor &= same;
    survey->by_difference &= same;
}

/* Emits all ranks as long as their ports fit. */
static weft_status_t classes_collect(survey_t *survey)
{
    weft_network_t *net = &survey->net;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && net->added < net->nranks &&
           (net->added == 0 || net->first_port[net->added] <= SURVEY_PORTS_MAX)) {
        weft_plan_t *plan = NULL;
        status = classes_emit(survey, net->added, &plan);
        if (status != WEFT_OK) {
            break;
        }
        if (net->added != 0 && (survey->by_xor || survey->by_difference)) {
            classes_compare_peers(survey, plan);
        }
        status = weft_network_add(net, plan, 1);
        if (status != WEFT_OK) {
            weft_plan_destroy(plan);
        }
    }
    return status;
}

/* Some ranks from everywhere. Their plans must have the structure of rank 0's, too. */
static weft_status_t classes_sample(survey_t *survey)
{
    weft_network_t *net = &survey->net;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i <= SURVEY_SAMPLE; i++) {
        uint32_t left = net->nranks - net->added;
        uint32_t rank = net->nranks - 1 - (uint32_t)((uint64_t)left * (i - 1) / SURVEY_SAMPLE);
        weft_plan_t *plan = NULL;
        status = classes_emit(survey, rank, &plan);
        if (status != WEFT_OK) {
            break;
        }
        classes_compare_peers(survey, plan);
        if (!weft_network_resembles(net, plan)) {
            survey->by_xor = survey->by_difference = false;
        }
        weft_plan_destroy(plan);
    }
    return status;
}

/* Which ranks share a host is lost where one rank stands for all: any edge may lead to another
 * host. */
static void classes_fold_levels(weft_network_t *net, uint32_t n)
{
    weft_level_t level = WEFT_LEVEL_INSIDE;
    for (uint32_t rank = 1; rank < n && level == WEFT_LEVEL_INSIDE; rank++) {
        level = weft_cost_level(net->host, 0, rank);
    }
    for (uint32_t i = 0; i < net->first_port[1]; i++) {
        net->ports[i].level = (uint8_t)level;
    }
}

/* The network with rank 0 alone: what goes to a peer comes back from where this rank is that
 * peer. */
static weft_status_t classes_fold(survey_t *survey, weft_network_result_t *result)
{
    weft_network_t *net = &survey->net;
    uint32_t n = net->nranks;
    net->nranks = net->added = 1;
    classes_fold_levels(net, n);
    weft_plan_end_t *ends = weft_os_alloc((net->first_port[1] + 1) * sizeof *ends, 0);
    if (ends == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to fold %u ranks", n);
    }
    for (uint32_t i = 0; i < net->first_port[1]; i++) {
        weft_network_port_t *port = &net->ports[i];
        bool sends = (port->key & 1) == 0;
        uint32_t way = sends || !survey->by_difference ? port->name : (n - port->name) % n;
        ends[i] = weft_plan_end(0, 0, port->key >> 1, (uint32_t)sends, i);
        ends[i].to = way;
        port->peer = 0;
    }
    weft_status_t status = weft_plan_ends_sort(&ends, net->first_port[1]);
    for (uint64_t i = 0; status == WEFT_OK && i < net->first_port[1]; i += 2) {
        if (i + 1 == net->first_port[1] || !weft_plan_ends_match(&ends[i], &ends[i + 1])) {
            result->verdict = WEFT_VERDICT_UNMATCHED;
            snprintf(result->text, sizeof result->text, "rank 0: port %u has no other end",
                     ends[i].port);
            break;
        }
        net->ports[ends[i].port].mate = ends[i + 1].port;
        net->ports[ends[i + 1].port].mate = ends[i].port;
    }
    weft_os_free(ends);
    return status;
}

static weft_status_t classes_price_sample(survey_t *survey, weft_network_result_t *result)
{
    weft_network_t *net = &survey->net;
    uint32_t nranks = net->nranks, regular = net->nshapes == 1;
    weft_status_t status = classes_sample(survey);
    if (status != WEFT_OK) {
        return status;
    }
    if (!regular || (!survey->by_xor && !survey->by_difference)) {
        result->verdict = WEFT_VERDICT_TOO_BIG;
        snprintf(result->text, sizeof result->text,
                 "more than %llu ports, and the ranks are not all alike",
                 (unsigned long long)SURVEY_PORTS_MAX);
        net->nranks = net->added;
        weft_network_busiest(net, &result->cost);
        net->nranks = nranks;
        return WEFT_OK;
    }
    status = classes_fold(survey, result);
    if (status == WEFT_OK && result->verdict == WEFT_VERDICT_OK) {
        status = weft_network_refine(net, 1);
    }
    if (status == WEFT_OK && result->verdict == WEFT_VERDICT_OK) {
        net->size[0] = nranks;
        status = weft_network_walk(net, survey->slots, result);
    }
    return status;
}

static void classes_count_moves(survey_t *survey)
{
    const weft_network_t *net = &survey->net;
    for (uint32_t rank = 0; rank < net->added; rank++) {
        classes_keep_most(&survey->out->moves_max,
                          (uint64_t)net->shapes[net->shape[rank]].facts.moves);
    }
}

static weft_status_t classes_price(survey_t *survey)
{
    weft_plan_survey_t *out = survey->out;
    weft_network_result_t result = {.verdict = WEFT_VERDICT_OK};
    uint32_t sampled = survey->net.added < survey->net.nranks;
    weft_status_t status =
        sampled ? classes_price_sample(survey, &result)
                : weft_network_price(&survey->net, survey->slots, WEFT_NETWORK_ROUNDS, &result);
    if (status == WEFT_OK) {
        classes_count_moves(survey);
        out->verdict = result.verdict;
        out->cost = result.cost;
        out->peak_slots = result.peak_slots;
        out->classes = survey->net.nclasses == 0 ? out->nranks : survey->net.nclasses;
        memcpy(out->text, result.text, sizeof out->text);
    }
    return status;
}

weft_status_t weft_plan_survey(uint32_t nranks, const uint32_t *host, weft_plan_make_fn_t source,
                               void *arg, uint32_t slots, weft_plan_survey_t *out)
{
    *out = (weft_plan_survey_t){.nranks = nranks};
    if (nranks < 2 || slots < 1) {
        return weft_fail(WEFT_ERR_ARG, 0, "survey of %u ranks with %u slots", nranks, slots);
    }
    survey_t survey = {.out = out,
                       .source = source,
                       .arg = arg,
                       .slots = slots,
                       .by_difference = true,
                       .by_xor = true};
    weft_status_t status = weft_network_init(&survey.net, nranks, host);
    if (status == WEFT_OK) {
        status = classes_collect(&survey);
    }
    if (status == WEFT_OK) {
        status = classes_price(&survey);
    }
    weft_network_fini(&survey.net);
    return status;
}

weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, const uint32_t *host,
                             uint32_t slots, weft_cost_t *cost)
{
    weft_network_t net;
    weft_network_result_t result = {.verdict = WEFT_VERDICT_OK};
    weft_status_t status = weft_network_init(&net, nranks, host);
    for (uint32_t rank = 0; rank < nranks && status == WEFT_OK; rank++) {
        status = weft_network_add(&net, plans[rank], false);
    }
    if (status == WEFT_OK) {
        status = weft_network_price(&net, slots, WEFT_NETWORK_ROUNDS, &result);
    }
    weft_network_fini(&net);
    *cost = result.cost;
    if (status == WEFT_OK && result.verdict != WEFT_VERDICT_OK &&
        result.verdict != WEFT_VERDICT_TOO_BIG) {
        return weft_fail(WEFT_ERR_PLAN, 0, "plan cannot be priced: %.255s", result.text);
    }
    return status;
}
