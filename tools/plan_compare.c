/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --compare A B`: do two algorithms give the same bits, and which is faster from which
 * size on? */
#include "tools/plan_compare.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/json.h"
#include "tools/plan_depth.h"
#include "tools/plan_price.h"
#include "tools/plan_request.h"
#include "tools/plan_source.h"
#include "tools/plan_study.h"
#include "tools/price_head.h"
#include "tools/tool.h"

typedef struct pair {
    const plan_request_t *request;
    plan_source_t source[2];
    plan_study_t study[2];
    price_model_t model;
} pair_t;

static double plan_compare_time_of(const pair_t *pair, int which, uint64_t size)
{
    const price_plan_t plan = plan_study_price(&pair->study[which], pair->request);
    return price_time(&plan, &pair->model, size).seconds;
}

/* Which is faster; −1: alike. */
static int plan_compare_faster(const pair_t *pair, uint64_t size)
{
    double a = plan_compare_time_of(pair, 0, size), b = plan_compare_time_of(pair, 1, size);
    return fabs(a - b) <= 1e-6 * (a + b) ? -1 : a < b ? 0 : 1;
}

/* First size in (low, high] at which the faster one is no longer the one at `low`. */
static uint64_t plan_compare_turn(const pair_t *pair, uint64_t low, uint64_t high)
{
    int first = plan_compare_faster(pair, low);
    while (high - low > 1 + low / 256) {
        uint64_t middle = low + (high - low) / 2;
        if (plan_compare_faster(pair, middle) == first) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static const char *plan_compare_name_of(const pair_t *pair, int which)
{
    return which < 0 ? "alike" : pair->source[which].label;
}

static void plan_compare_put_turns(const pair_t *pair, json_t *json)
{
    uint64_t size = 0, before = 0;
    int last = -2, turns = 0;
    char text[24];
    if (json != NULL) {
        json_open(json, "crossovers", '[');
    }
    while (price_next_size(&pair->request->price, &size)) {
        int now = plan_compare_faster(pair, size);
        if (last >= 0 && now >= 0 && now != last) {
            uint64_t at = plan_compare_turn(pair, before, size);
            turns++;
            if (json == NULL) {
                printf("crossover %s is faster from about %s on\n", plan_compare_name_of(pair, now),
                       price_size_text(at, text));
            } else {
                json_open(json, NULL, '{');
                json_unsigned(json, "size", at);
                json_string(json, "faster", plan_compare_name_of(pair, now));
                json_close(json, '}');
            }
        }
        if (now >= 0) {
            last = now;
            before = size;
        }
    }
    if (json != NULL) {
        json_close(json, ']');
    } else if (turns == 0) {
        printf("crossover none%s%s\n", last >= 0 ? ": always " : "",
               last >= 0 ? plan_compare_name_of(pair, last) : "");
    }
}

static const char *plan_compare_bits_text(const pair_t *pair)
{
    const weft_verify_report_t *a = &pair->study[0].reports[0], *b = &pair->study[1].reports[0];
    if (a->verdict != WEFT_VERDICT_OK || b->verdict != WEFT_VERDICT_OK) {
        return "not proved";
    }
    return a->fingerprint == b->fingerprint ? "the same bits" : "other bits";
}

static void plan_compare_put_sizes(const pair_t *pair, json_t *json)
{
    uint64_t size = 0;
    if (json != NULL) {
        json_open(json, "prices", '[');
    }
    while (price_next_size(&pair->request->price, &size)) {
        double a = plan_compare_time_of(pair, 0, size), b = plan_compare_time_of(pair, 1, size);
        if (json == NULL) {
            char texts[3][24];
            int fast = plan_compare_faster(pair, size);
            printf("  %10s  %20s  %20s  %s\n", price_size_text(size, texts[0]),
                   price_time_text(a, texts[1]), price_time_text(b, texts[2]),
                   plan_compare_name_of(pair, fast));
            continue;
        }
        json_open(json, NULL, '{');
        json_unsigned(json, "size", size);
        json_real(json, "a_seconds", a);
        json_real(json, "b_seconds", b);
        json_string(json, "faster", plan_compare_name_of(pair, plan_compare_faster(pair, size)));
        json_close(json, '}');
    }
    if (json != NULL) {
        json_close(json, ']');
    }
}

static void plan_compare_print_row(const char *name, const char *a, const char *b)
{
    printf("%-16s  %22s  %22s\n", name, a, b);
}

static void plan_compare_print_number(const char *name, const uint64_t values[2])
{
    char texts[2][32];
    for (int i = 0; i < 2; i++) {
        snprintf(texts[i], sizeof texts[i], "%llu", (unsigned long long)values[i]);
    }
    plan_compare_print_row(name, texts[0], texts[1]);
}

static void plan_compare_print_both(const pair_t *pair)
{
    const plan_study_t *a = &pair->study[0], *b = &pair->study[1];
    char marks[2][32], moved[2][32];
    for (int i = 0; i < 2; i++) {
        const plan_study_t *s = &pair->study[i];
        snprintf(marks[i], sizeof marks[i], "%016llx",
                 (unsigned long long)s->reports[0].fingerprint);
        snprintf(moved[i], sizeof moved[i], "%.4g",
                 (double)s->facts.chunks_most / (double)s->facts.k);
    }
    plan_compare_print_row("", pair->source[0].label, pair->source[1].label);
    plan_compare_print_row("verdict", weft_verdict_name(a->reports[0].verdict),
                           weft_verdict_name(b->reports[0].verdict));
    plan_compare_print_row("fingerprint", marks[0], marks[1]);
    plan_compare_print_row("on all ranks",
                           a->reports[0].same_on_all_ranks ? "same bits" : "may differ",
                           b->reports[0].same_on_all_ranks ? "same bits" : "may differ");
    plan_compare_print_number("steps", (uint64_t[2]){a->cost.chain, b->cost.chain});
    plan_compare_print_number("slots needed", (uint64_t[2]){a->least_slots, b->least_slots});
    plan_compare_print_number("scratch chunks",
                              (uint64_t[2]){a->facts.tmp_most, b->facts.tmp_most});
    plan_compare_print_number("links", (uint64_t[2]){a->facts.links, b->facts.links});
    plan_compare_print_row("blocks on a link", moved[0], moved[1]);
    plan_compare_print_number("words a rank",
                              (uint64_t[2]){a->facts.words_most, b->facts.words_most});
    plan_compare_print_number("ports", (uint64_t[2]){a->facts.ports_most, b->facts.ports_most});
}

static void plan_compare_show_text(const pair_t *pair)
{
    uint32_t hosts = pair->study[0].set.view.topo.nhosts;
    printf("compare   %s over %lld ranks on %u host%s\n", weft_coll_name(pair->request->coll),
           (long long)pair->request->nranks, hosts, weft_plural(hosts));
    plan_compare_print_both(pair);
    printf("bits      %s\n", plan_compare_bits_text(pair));
    plan_compare_put_turns(pair, NULL);
    price_head_print(&pair->model, hosts, "prices    ", "          ");
    printf("  %10s  %20s  %20s  %s\n", "size", pair->source[0].label, pair->source[1].label,
           "faster");
    plan_compare_put_sizes(pair, NULL);
}

static void plan_compare_show_json(const pair_t *pair)
{
    json_t json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "collective", weft_coll_name(pair->request->coll));
    json_integer(&json, "nranks", pair->request->nranks);
    json_string(&json, "bits", plan_compare_bits_text(pair));
    for (int i = 0; i < 2; i++) {
        const plan_study_t *s = &pair->study[i];
        char mark[32];
        snprintf(mark, sizeof mark, "%016llx", (unsigned long long)s->reports[0].fingerprint);
        json_open(&json, i == 0 ? "a" : "b", '{');
        json_string(&json, "algo", pair->source[i].label);
        json_string(&json, "verdict", weft_verdict_name(s->reports[0].verdict));
        json_string(&json, "fingerprint", mark);
        json_unsigned(&json, "steps", s->cost.chain);
        json_unsigned(&json, "least_slots", s->least_slots);
        json_unsigned(&json, "scratch_chunks", s->facts.tmp_most);
        json_unsigned(&json, "links", s->facts.links);
        json_unsigned(&json, "words_most", s->facts.words_most);
        json_close(&json, '}');
    }
    plan_compare_put_turns(pair, &json);
    plan_compare_put_sizes(pair, &json);
    json_close(&json, '}');
}

static int plan_compare_study_both(pair_t *pair)
{
    for (int i = 0; i < 2; i++) {
        weft_status_t status = plan_study_make(&pair->study[i], pair->request, &pair->source[i]);
        if (status != WEFT_OK) {
            return tool_report(status);
        }
        if (!plan_study_good(&pair->study[i])) {
            const weft_verify_report_t *r = &pair->study[i].reports[0];
            fprintf(stderr, "weft: %s is refused: %s: %s\n", pair->source[i].label,
                    weft_verdict_name(r->verdict), r->text);
            return TOOL_LIBRARY;
        }
    }
    weft_status_t priced = price_model_make(&pair->request->price, &pair->source[0].session,
                                            pair->study[0].set.view.topo.nhosts, &pair->model);
    if (priced != WEFT_OK) {
        return tool_report(priced);
    }
    if (pair->request->json) {
        plan_compare_show_json(pair);
    } else {
        plan_compare_show_text(pair);
    }
    return TOOL_OK;
}

/* Both get what the deeper one needs. */
static int plan_compare_take_depth(const pair_t *pair, plan_request_t *request)
{
    plan_request_t other = *request;
    int code = plan_depth_take(request, &pair->source[0]);
    code = code == TOOL_OK ? plan_depth_take(&other, &pair->source[1]) : code;
    request->slots = other.slots > request->slots ? other.slots : request->slots;
    request->slices = other.slices < request->slices ? other.slices : request->slices;
    return code;
}

int plan_compare(plan_request_t *request)
{
    pair_t pair = {.request = request};
    int code = plan_source_open(&pair.source[0], &request->settings, request->compare[0],
                                request->params, request->nparams);
    if (code != TOOL_OK) {
        return code;
    }
    code = plan_source_open(&pair.source[1], &request->settings, request->compare[1],
                            request->params, request->nparams);
    pair.source[0].pack = pair.source[1].pack = (uint32_t)request->pack;
    if (code == TOOL_OK) {
        code = plan_compare_take_depth(&pair, request);
        code = code == TOOL_OK ? plan_compare_study_both(&pair) : code;
        plan_study_free(&pair.study[0]);
        plan_study_free(&pair.study[1]);
        plan_source_close(&pair.source[1]);
    }
    plan_source_close(&pair.source[0]);
    return code;
}
