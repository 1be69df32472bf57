/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verdict, the figures and the prices of `weft plan`. */
#include "tools/plan_check.h"

#include "core/base/plural.h"
#include "core/comm/vectors.h"
#include "core/plan/plan_print.h"
#include "tools/json.h"
#include "tools/plan_price.h"
#include "tools/plan_request.h"
#include "tools/plan_study.h"
#include "tools/price_head.h"
#include "tools/tool.h"

static const char *plan_vector_text(weft_vector_t vector)
{
    return vector == WEFT_VECTOR_BLOCKS   ? "counts that all ranks know"
           : vector == WEFT_VECTOR_PAIRS  ? "counts that two ranks know"
           : vector == WEFT_VECTOR_PASSED ? "counts that two ranks know, others learn them"
                                          : "no vector collective";
}

static void plan_check_print_shape(const plan_request_t *request, const plan_study_t *study)
{
    const plan_set_t *set = &study->set;
    const weft_plan_t *p = set->plans[0];
    printf("plan      %s by %s, %u ranks on %u host%s\n", weft_coll_name(request->asked),
           set->source->label, set->nranks, set->view.topo.nhosts,
           weft_plural(set->view.topo.nhosts));
    printf("rank 0    %u lane%s, %u port%s, %u move%s, %u chunk%s a block, %u scratch chunk%s\n",
           p->nlanes, weft_plural(p->nlanes), p->nports, weft_plural(p->nports), p->nmoves,
           weft_plural(p->nmoves), p->k, weft_plural(p->k), p->tmp_chunks,
           weft_plural(p->tmp_chunks));
}

/* Instructions before and after the one that a verdict names. */
#define NEIGHBOURS 2u

static void plan_check_print_place(const plan_set_t *set, const char *what,
                                   const weft_plan_place_t *at)
{
    const weft_plan_t *plan = at->rank < set->nranks ? set->plans[at->rank] : NULL;
    printf("          %s rank %u, lane %u, instruction %u\n", what, at->rank, at->lane, at->pc);
    if (plan == NULL || at->lane >= plan->nlanes) {
        return;
    }
    const weft_code_t *code = plan->lanes[at->lane].code;
    for (uint32_t pc = 0; pc <= at->pc + NEIGHBOURS; pc++) {
        if (pc + NEIGHBOURS >= at->pc) {
            printf("        %c %4u: ", pc == at->pc ? '>' : ' ', pc);
            weft_plan_print_code(plan, &code[pc], stdout);
            printf("\n");
        }
        if (code[pc].opcode == WEFT_CODE_STOP) {
            return;
        }
    }
}

/* Where it shows, and where it comes from. */
static void plan_check_print_places(const plan_set_t *set, const weft_verify_report_t *r)
{
    weft_plan_place_t at = {r->rank, r->lane, r->pc};
    plan_check_print_place(set, "at", &at);
    if (r->from != WEFT_ORIGIN_NONE) {
        char what[24];
        snprintf(what, sizeof what, "%s at", weft_origin_name(r->from));
        plan_check_print_place(set, what, &r->origin);
    }
}

static void plan_check_print_verdict(const char *name, const weft_verify_report_t *r)
{
    printf("%-9s %s%s%s\n", name, weft_verdict_name(r->verdict), r->text[0] != '\0' ? ": " : "",
           r->text);
}

static bool plan_check_has_place(const weft_verify_report_t *r)
{
    return r->verdict != WEFT_VERDICT_OK && r->verdict != WEFT_VERDICT_TOO_BIG;
}

/* What is wrong at the same place with buffers apart and in place is told once. */
static void plan_check_print_verdicts(const plan_study_t *study)
{
    const weft_verify_report_t *apart = &study->reports[0], *both = &study->reports[1];
    plan_check_print_verdict("verdict", apart);
    if (plan_check_has_place(apart)) {
        plan_check_print_places(&study->set, apart);
    }
    bool same = plan_check_has_place(apart) && apart->verdict == both->verdict &&
                apart->rank == both->rank && apart->lane == both->lane && apart->pc == both->pc;
    if (same) {
        printf("in place  %s at the same place\n", weft_verdict_name(both->verdict));
        return;
    }
    plan_check_print_verdict("in place", both);
    if (plan_check_has_place(both)) {
        plan_check_print_places(&study->set, both);
    }
}

static void plan_check_print_proof(const plan_request_t *request, const plan_study_t *study)
{
    const weft_verify_report_t *r = &study->reports[0], *both = &study->reports[1];
    printf("proved    at %lld slot%s and %lld slice%s in %llu step%s; at most %u slot%s used\n",
           (long long)request->slots, weft_plural((uint64_t)request->slots),
           (long long)request->slices, weft_plural((uint64_t)request->slices),
           (unsigned long long)r->steps, weft_plural(r->steps), r->peak_slots,
           r->peak_slots == 1 ? " was" : "s were");
    printf("bits      %s on all ranks, %s for all chunks, fingerprint %016llx\n",
           r->same_on_all_ranks ? "the same" : "may differ",
           r->same_for_all_chunks ? "the same order" : "another order",
           (unsigned long long)r->fingerprint);
    bool differs = both->verdict == WEFT_VERDICT_OK && both->vector != r->vector;
    printf("vectors   %s%s%s\n", plan_vector_text(r->vector), differs ? "; in place " : "",
           differs ? plan_vector_text(both->vector) : "");
}

/* Of figures that may be parts of one. */
static const char *plan_check_plural(double count)
{
    return count >= 1 && count <= 1 ? "" : "s";
}

static void plan_check_print_figures(const plan_request_t *request, const plan_study_t *study)
{
    const price_facts_t *f = &study->facts;
    const weft_cost_t *c = &study->cost;
    const double messages = weft_cost_sum(c->fill.messages);
    const double further = weft_cost_sum(c->steady.messages);
    printf("depth     ");
    if (study->least_slots != 0) {
        printf("queues of %u slot%s are enough for %lld slice%s a chunk\n", study->least_slots,
               weft_plural(study->least_slots), (long long)request->slices,
               weft_plural((uint64_t)request->slices));
    } else {
        printf("not searched: the run is too long, or no depth up to 1024 suffices\n");
    }
    printf("links     %llu, %llu chunk%s over all, %llu over the busiest (%u to %u), each 1/%u of "
           "a block\n",
           (unsigned long long)f->links, (unsigned long long)f->chunks, weft_plural(f->chunks),
           (unsigned long long)f->chunks_most, f->from, f->to, f->k);
    if (f->packed > 1) {
        printf("messages  %llu for each slice, of up to %u chunks\n",
               (unsigned long long)f->messages, f->packed);
    }
    printf("memory    %llu chunk%s read and written by all ranks\n", (unsigned long long)f->touched,
           weft_plural(f->touched));
    printf(
        "steps     %u move%s on the longest chain: %.4g transfer%s, %.4g of them waited for, %.4g "
        "slice%s combined or copied\n"
        "          each further slice: %.4g transfer%s, %.4g combined or copied at the busiest "
        "rank\n",
        c->chain, weft_plural(c->chain), messages, plan_check_plural(messages),
        weft_cost_sum(c->fill.hops), c->fill.touched, plan_check_plural(c->fill.touched), further,
        plan_check_plural(further), c->steady.touched);
    printf("size      %llu words a rank at most (%llu in all), %u port%s, %u lane%s, %llu move%s, "
           "%u scratch chunk%s\n",
           (unsigned long long)f->words_most, (unsigned long long)f->words, f->ports_most,
           weft_plural(f->ports_most), f->lanes_most, weft_plural(f->lanes_most),
           (unsigned long long)f->moves_most, weft_plural(f->moves_most), f->tmp_most,
           weft_plural(f->tmp_most));
}

static void plan_check_put_verdict(json_t *json, const char *key, const weft_verify_report_t *r)
{
    char fingerprint[20]; /* larger than what a JSON number holds exactly */
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)r->fingerprint);
    json_open(json, key, '{');
    json_string(json, "verdict", weft_verdict_name(r->verdict));
    json_string(json, "text", r->text);
    json_unsigned(json, "rank", r->rank);
    json_unsigned(json, "lane", r->lane);
    json_unsigned(json, "pc", r->pc);
    if (r->from != WEFT_ORIGIN_NONE) {
        json_open(json, "origin", '{');
        json_string(json, "what", weft_origin_name(r->from));
        json_unsigned(json, "rank", r->origin.rank);
        json_unsigned(json, "lane", r->origin.lane);
        json_unsigned(json, "pc", r->origin.pc);
        json_close(json, '}');
    }
    json_unsigned(json, "steps", r->steps);
    json_string(json, "fingerprint", fingerprint);
    json_bool(json, "same_on_all_ranks", r->same_on_all_ranks != 0);
    json_bool(json, "same_for_all_chunks", r->same_for_all_chunks != 0);
    json_string(json, "v_forms", plan_vector_text(r->vector));
    json_unsigned(json, "peak_slots", r->peak_slots);
    json_unsigned(json, "critical_moves", r->critical_moves);
    json_real(json, "critical_chunks", r->critical_chunks);
    json_close(json, '}');
}

static void plan_check_put_figures(json_t *json, const plan_study_t *study)
{
    const price_facts_t *f = &study->facts;
    const weft_cost_t *cost = &study->cost;
    json_open(json, "cost", '{');
    json_unsigned(json, "chain", cost->chain);
    json_real(json, "fill_hops", weft_cost_sum(cost->fill.hops));
    json_real(json, "fill_messages", weft_cost_sum(cost->fill.messages));
    json_real(json, "fill_edges", weft_cost_sum(cost->fill.edges));
    json_real(json, "fill_touched", cost->fill.touched);
    json_real(json, "steady_messages", weft_cost_sum(cost->steady.messages));
    json_real(json, "steady_edges", weft_cost_sum(cost->steady.edges));
    json_real(json, "steady_touched", cost->steady.touched);
    json_unsigned(json, "link_chunks", cost->link_chunks);
    json_close(json, '}');
    json_open(json, "figures", '{');
    json_unsigned(json, "least_slots", study->least_slots);
    json_unsigned(json, "links", f->links);
    json_unsigned(json, "chunks", f->chunks);
    json_unsigned(json, "chunks_busiest", f->chunks_most);
    json_unsigned(json, "messages", f->messages);
    json_unsigned(json, "packed", f->packed);
    json_unsigned(json, "chunks_touched", f->touched);
    json_unsigned(json, "busiest_from", f->from);
    json_unsigned(json, "busiest_to", f->to);
    json_unsigned(json, "words", f->words);
    json_unsigned(json, "words_most", f->words_most);
    json_unsigned(json, "moves_most", f->moves_most);
    json_unsigned(json, "ports_most", f->ports_most);
    json_unsigned(json, "lanes_most", f->lanes_most);
    json_unsigned(json, "scratch_chunks", f->tmp_most);
    json_real(json, "emit_seconds", study->set.emit_seconds);
    json_real(json, "verify_seconds", study->verify_seconds);
    json_close(json, '}');
}

static void plan_check_put_price(const plan_request_t *request, const plan_study_t *study,
                                 const price_model_t *model, uint64_t size, json_t *json)
{
    uint32_t n = study->set.nranks, k = study->facts.k;
    const price_plan_t plan = plan_study_price(study, request);
    price_time_t t = price_time(&plan, model, size);
    double block = (double)price_block(request->coll, n, size);
    double algbw = (double)size / t.seconds, busbw = algbw * price_bus_factor(request->coll, n);
    double most = block / k * (double)study->facts.chunks_most;
    double all = block / k * (double)study->facts.chunks;
    if (json == NULL) {
        char texts[5][24];
        printf("  %10s  %10s  %8.3f  %8.3f  %10s  %10s  %2u × %s", price_size_text(size, texts[0]),
               price_time_text(t.seconds, texts[1]), algbw / 1e9, busbw / 1e9,
               price_bytes_text(most, texts[2]), price_bytes_text(all, texts[3]), t.slices,
               price_size_text(t.slice_bytes, texts[4]));
        if (plan_path_is_given(&model->path)) {
            printf("  on %u by %s", t.channels, t.travel);
        }
        puts("");
        return;
    }
    json_open(json, NULL, '{');
    json_unsigned(json, "size", size);
    json_real(json, "seconds", t.seconds);
    json_real(json, "algbw", algbw / 1e9);
    json_real(json, "busbw", busbw / 1e9);
    json_real(json, "bytes_busiest_link", most);
    json_real(json, "bytes_all_links", all);
    json_unsigned(json, "slices", t.slices);
    json_unsigned(json, "slice_bytes", t.slice_bytes);
    if (plan_path_is_given(&model->path)) {
        json_unsigned(json, "channels", t.channels);
        json_string(json, "protocol", t.travel);
    }
    json_close(json, '}');
}

/* Prices for the sizes of the request. */
static void plan_put_prices(const plan_request_t *request, const plan_study_t *study,
                            const price_model_t *model, json_t *json)
{
    uint64_t size = 0;
    if (json == NULL) {
        price_head_print(model, study->set.view.topo.nhosts, "prices    ", "          ");
        printf("  %10s  %10s  %8s  %8s  %10s  %10s  %s\n", "size", "time", "algbw", "busbw",
               "busiest", "all links",
               plan_path_is_given(&model->path) ? "slices, on how many channels, by which protocol"
                                                : "slices");
    } else {
        price_head_json(model, json);
        json_open(json, "prices", '[');
    }
    while (price_next_size(&request->price, &size)) {
        plan_check_put_price(request, study, model, size, json);
    }
    if (json != NULL) {
        json_close(json, ']');
    }
}

static void plan_check_put_json(json_t *json, const plan_request_t *request,
                                const plan_study_t *study, const price_model_t *model)
{
    json_open(json, NULL, '{');
    json_string(json, "collective", weft_coll_name(request->asked));
    json_string(json, "algo", study->set.source->label);
    json_unsigned(json, "nranks", study->set.nranks);
    json_unsigned(json, "nhosts", study->set.view.topo.nhosts);
    json_integer(json, "slots", request->slots);
    json_integer(json, "slices", request->slices);
    json_unsigned(json, "chunks", study->facts.k);
    plan_check_put_verdict(json, "out_of_place", &study->reports[0]);
    plan_check_put_verdict(json, "in_place", &study->reports[1]);
    plan_check_put_figures(json, study);
    if (plan_study_good(study)) {
        plan_put_prices(request, study, model, json);
    }
    json_close(json, '}');
}

/* A plan that was proved may serve no blocks of different lengths, and a job refuses it for
 * them. */
static bool plan_check_serves(const plan_request_t *request, const plan_study_t *study)
{
    weft_vector_t need = weft_vectors_need(request->asked), has = study->reports[0].vector;
    bool passed = need == WEFT_VECTOR_PAIRS && has == WEFT_VECTOR_PASSED;
    if (need == WEFT_VECTOR_NONE || has == need || passed ||
        study->reports[0].verdict != WEFT_VERDICT_OK) {
        return true;
    }
    fprintf(stderr,
            "weft: %s does not serve %s over %u ranks: its plan serves blocks of equal length "
            "only\n",
            study->set.source->label, weft_coll_name(request->asked), study->set.nranks);
    return false;
}

int plan_check(const plan_request_t *request, const plan_study_t *study,
               const tool_session_t *session, json_t *json)
{
    bool good = plan_study_good(study), whole = request->form != PLAN_COST;
    price_model_t model;
    weft_status_t status =
        price_model_make(&request->price, session, study->set.view.topo.nhosts, &model);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    good = plan_check_serves(request, study) && good;
    if (json != NULL) {
        plan_check_put_json(json, request, study, &model);
        return good ? TOOL_OK : TOOL_LIBRARY;
    }
    if (whole) {
        plan_check_print_shape(request, study);
    }
    if (whole || !good) {
        plan_check_print_verdicts(study);
    }
    if (whole && study->reports[0].verdict == WEFT_VERDICT_OK) {
        plan_check_print_proof(request, study);
    }
    if (good && whole) {
        plan_check_print_figures(request, study);
    }
    if (good) {
        plan_put_prices(request, study, &model, NULL);
    }
    return good ? TOOL_OK : TOOL_LIBRARY;
}
