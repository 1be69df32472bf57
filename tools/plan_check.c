/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verdict of `weft plan`. */
#include "core/base/error.h"
#include "tools/plan.h"

static weft_status_t verify(const plan_request_t *request, const plan_set_t *set, int in_place,
                            weft_verify_report_t *report)
{
    weft_verify_input_t input = {.plans = set->plans,
                                 .nranks = set->nranks,
                                 .slots = (uint32_t)request->slots,
                                 .slices = (uint32_t)request->slices,
                                 .in_place = in_place};
    return weft_plan_verify(&input, report);
}

static void print_shape(const plan_request_t *request, const plan_set_t *set)
{
    const weft_plan_t *p = set->plans[0];
    printf("plan      %s by %s, %u ranks on %u host%s\n", weft_coll_name(request->coll),
           set->loaded->plugin->name, set->nranks, set->view.nhosts,
           set->view.nhosts == 1 ? "" : "s");
    printf("rank 0    %u lane%s, %u ports, %u moves, %u chunks a block, %u scratch chunks\n",
           p->nlanes, p->nlanes == 1 ? "" : "s", p->nports, p->nmoves, p->k, p->tmp_chunks);
}

static void print_verdict(const char *name, const weft_verify_report_t *r)
{
    printf("%-9s %s%s%s\n", name, weft_verdict_name(r->verdict), r->text[0] != '\0' ? ": " : "",
           r->text);
    if (r->verdict != WEFT_VERDICT_OK) {
        printf("          at rank %u, lane %u, instruction %u\n", r->rank, r->lane, r->pc);
    }
}

static void print_facts(const plan_request_t *request, const weft_verify_report_t *r,
                        const weft_cost_t *cost)
{
    printf("proved    at %lld slots and %lld slices in %llu steps; at most %u slots were used\n",
           (long long)request->slots, (long long)request->slices, (unsigned long long)r->steps,
           r->peak_slots);
    printf("bits      %s on all ranks, %s for all chunks, fingerprint %016llx\n",
           r->same_on_all_ranks ? "the same" : "may differ",
           r->same_for_all_chunks ? "the same order" : "another order",
           (unsigned long long)r->fingerprint);
    printf(
        "cost      %u moves on the longest chain: %.4g transfers, %.4g slices combined or copied\n"
        "          each further slice: %.4g transfers, %.4g combined or copied at the busiest "
        "rank\n",
        cost->chain, cost->fill.edges, cost->fill.touched, cost->steady.edges,
        cost->steady.touched);
}

static void put_verdict(json_t *json, const char *key, const weft_verify_report_t *r)
{
    char fingerprint[20]; /* larger than what a JSON number holds exactly */
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)r->fingerprint);
    json_open(json, key, '{');
    json_string(json, "verdict", weft_verdict_name(r->verdict));
    json_string(json, "text", r->text);
    json_unsigned(json, "rank", r->rank);
    json_unsigned(json, "lane", r->lane);
    json_unsigned(json, "pc", r->pc);
    json_unsigned(json, "steps", r->steps);
    json_string(json, "fingerprint", fingerprint);
    json_bool(json, "same_on_all_ranks", r->same_on_all_ranks != 0);
    json_bool(json, "same_for_all_chunks", r->same_for_all_chunks != 0);
    json_unsigned(json, "peak_slots", r->peak_slots);
    json_unsigned(json, "critical_moves", r->critical_moves);
    json_real(json, "critical_chunks", r->critical_chunks);
    json_close(json, '}');
}

static void put_json(json_t *json, const plan_request_t *request, const plan_set_t *set,
                     const weft_verify_report_t reports[2], const weft_cost_t *cost)
{
    json_open(json, NULL, '{');
    json_string(json, "collective", weft_coll_name(request->coll));
    json_string(json, "algo", set->loaded->plugin->name);
    json_unsigned(json, "nranks", set->nranks);
    json_integer(json, "slots", request->slots);
    json_integer(json, "slices", request->slices);
    json_unsigned(json, "chunks", set->plans[0]->k);
    put_verdict(json, "out_of_place", &reports[0]);
    put_verdict(json, "in_place", &reports[1]);
    json_open(json, "cost", '{');
    json_unsigned(json, "chain", cost->chain);
    json_real(json, "fill_edges", cost->fill.edges);
    json_real(json, "fill_touched", cost->fill.touched);
    json_real(json, "steady_edges", cost->steady.edges);
    json_real(json, "steady_touched", cost->steady.touched);
    json_unsigned(json, "link_chunks", cost->link_chunks);
    json_close(json, '}');
    json_close(json, '}');
}

int plan_check(const plan_request_t *request, const plan_set_t *set, json_t *json)
{
    weft_verify_report_t reports[2] = {{0}, {0}};
    weft_cost_t cost = {0};
    weft_status_t status = verify(request, set, 0, &reports[0]);
    status = status != WEFT_OK ? status : verify(request, set, 1, &reports[1]);
    bool good = reports[0].verdict == WEFT_VERDICT_OK;
    if (status == WEFT_OK && good) {
        status = weft_plan_cost(set->plans, set->nranks, (uint32_t)request->slots, &cost);
    }
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    if (json != NULL) {
        put_json(json, request, set, reports, &cost);
    } else {
        print_shape(request, set);
        print_verdict("verdict", &reports[0]);
        print_verdict("in place", &reports[1]);
        if (good) {
            print_facts(request, &reports[0], &cost);
        }
    }
    return good ? TOOL_OK : TOOL_LIBRARY;
}
