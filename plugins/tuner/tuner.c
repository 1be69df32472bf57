/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin tuner: takes the candidate and the slices with the least modelled time. A pure
 * function of its arguments and options, so that all ranks come to the same answer. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/tuner.h>

#include "prefer.h"
#include "rules.h"

#define SLICE_MIN 4096u /* smaller slices are tried only where a chunk is smaller */
#define SLICE_ALIGN 64u /* of slice_bytes, by the ABI */

typedef struct tuner_config {
    const char *prefer;
    const char *rule;
} tuner_config_t;

struct weft_tuner {
    const weft_host_t *host;
    tuner_prefer_t prefer;
    rules_t rules;
};

/* What may be chosen. */
typedef struct tuner_wanted {
    const tuner_spec_t *specs[2]; /* NULL twice: any, as configured */
    uint32_t slices, channels;    /* 0: any */
    uint64_t slice_bytes;         /* 0: any */
    uint32_t protocol;            /* WEFT_TUNER_PROTOCOL_* */
} tuner_wanted_t;

/* The least time found, and where. */
typedef struct tuner_best {
    double seconds;
    uint32_t index;
    uint32_t slices;
    uint64_t slice_bytes;
    uint32_t channels;
    uint32_t protocol;
} tuner_best_t;

/* One evaluation of the model: which candidate, by which function. */
typedef struct tuner_search {
    const weft_tuner_call_t *call;
    weft_tuner_candidate_t candidate;
    uint32_t index;
    weft_tuner_cost_fn_t cost;
    const tuner_wanted_t *wanted;
} tuner_search_t;

static const weft_option_t tuner_options[] = {
    {.name = "prefer",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(tuner_config_t, prefer),
     .value = "",
     .help = "algorithms to take whatever the model says, as COLLECTIVE:ALGORITHM[:X=Y,…], comma "
             "separated",
     .flags = WEFT_OPTION_LIST},
    {.name = "rule",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(tuner_config_t, rule),
     .value = "",
     .help =
         "what serves some calls, once per rule: COLLECTIVE [bytes=64K..1M] [ranks=] [hosts=] "
         "[memory=] [dtype=]: ALGORITHM [slices=] [slice_bytes=] [channels=] [protocol=] [force]",
     .flags = WEFT_OPTION_LIST},
    {.name = NULL},
};

/* The first of equals stays, so the order of the candidates decides. NaN never wins. */
static void tuner_try(const tuner_search_t *search, uint32_t slices, uint64_t slice_bytes,
                      tuner_best_t *best)
{
    double seconds = search->cost(search->call, &search->candidate, slices, slice_bytes);
    if (seconds >= 0 && seconds < best->seconds) {
        *best = (tuner_best_t){seconds,
                               search->index,
                               slices,
                               slice_bytes,
                               search->candidate.channels,
                               search->wanted->protocol};
    }
}

/* Powers of two below slot_bytes and slot_bytes itself. */
static void tuner_try_sizes(const tuner_search_t *search, uint32_t slices, tuner_best_t *best)
{
    const uint64_t largest = search->call->slot_bytes / SLICE_ALIGN * SLICE_ALIGN;
    const uint64_t wanted = search->wanted->slice_bytes;
    if (wanted > 0) {
        tuner_try(search, slices, wanted < largest ? wanted : largest, best);
        return;
    }
    for (uint64_t bytes = SLICE_MIN; bytes < largest; bytes *= 2) {
        tuner_try(search, slices, bytes, best);
    }
    tuner_try(search, slices, largest, best);
}

static tuner_best_t tuner_best_of(const tuner_search_t *search)
{
    const weft_tuner_call_t *call = search->call;
    const uint32_t most = call->slots - 1;
    const uint32_t wanted = search->wanted->slices;
    const uint32_t chunks = search->candidate.chunks > 0 ? search->candidate.chunks : 1;
    const uint32_t channels = search->candidate.channels > 0 ? search->candidate.channels : 1;
    const uint64_t parts = (uint64_t)chunks * channels;
    const uint64_t chunk = call->bytes / parts + (call->bytes % parts != 0);
    tuner_best_t best = {.seconds = INFINITY};

    if (wanted > 0) {
        tuner_try_sizes(search, wanted < most ? wanted : most, &best);
        return best;
    }
    if (search->wanted->slice_bytes == 0 && chunk <= call->slot_bytes / SLICE_ALIGN * SLICE_ALIGN) {
        uint64_t whole = (chunk + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
        tuner_try(search, 1, whole > 0 ? whole : SLICE_ALIGN, &best);
    }
    for (uint32_t slices = 1; slices < most; slices *= 2) {
        tuner_try_sizes(search, slices, &best);
    }
    tuner_try_sizes(search, most, &best);
    return best;
}

static void tuner_size_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes % 1024 == 0) {
        snprintf(text, size, "%llu KiB", (unsigned long long)(bytes / 1024));
    } else {
        snprintf(text, size, "%llu B", (unsigned long long)bytes);
    }
}

/* The answer in words; `next` is the best of another algorithm or parameters, if its time is
 * finite. */
static void tuner_explain(const weft_tuner_candidate_t *candidates, const tuner_best_t *best,
                          const tuner_best_t *next, const char *why, weft_tuner_choice_t *choice)
{
    const char *travel = rules_protocol_text(best->protocol);
    const weft_tuner_candidate_t *other = &candidates[next->index];
    char slice[32];
    size_t used;
    int n;

    tuner_size_text(best->slice_bytes, slice, sizeof slice);
    n = snprintf(choice->reason, sizeof choice->reason,
                 "%smodelled %.1f us with %u × %s slice%s%s%s", why, best->seconds * 1e6,
                 best->slices, slice, best->slices == 1 ? "" : "s", travel[0] != '\0' ? " by " : "",
                 travel);
    used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof choice->reason && next->seconds < INFINITY) {
        snprintf(choice->reason + used, sizeof choice->reason - used, "; next %s%s%s %.1f us",
                 other->algo, other->params[0] != '\0' ? " " : "", other->params,
                 next->seconds * 1e6);
    }
}

static bool tuner_is_wanted(const tuner_wanted_t *wanted, const weft_tuner_candidate_t *candidate)
{
    if (wanted->specs[0] == NULL) {
        return candidate->params[0] == '\0';
    }
    return tuner_spec_is(wanted->specs[0], candidate) ||
           (wanted->specs[1] != NULL && tuner_spec_is(wanted->specs[1], candidate));
}

/* One question to the tuner. */
typedef struct tuner_question {
    const weft_tuner_call_t *call;
    const weft_tuner_candidate_t *candidates;
    uint32_t count;
    weft_tuner_cost_fn_t cost;
} tuner_question_t;

/* The best of the candidates that are wanted, but for number `without`. */
static tuner_best_t tuner_search(const tuner_question_t *q, const tuner_wanted_t *wanted,
                                 uint32_t without)
{
    tuner_best_t best = {.seconds = INFINITY};
    weft_tuner_call_t call = *q->call; /* which may be longer, of a newer core */
    call.size = call.size < sizeof call ? call.size : sizeof call;
    call.protocol = wanted->protocol;
    for (uint32_t i = 0; i < q->count; i++) {
        tuner_search_t search = {&call, q->candidates[i], i, q->cost, wanted};
        if (i == without || !tuner_is_wanted(wanted, &q->candidates[i])) {
            continue;
        }
        if (wanted->channels > 0) {
            uint32_t most = q->call->channels > 0 ? q->call->channels : 1;
            search.candidate.channels = wanted->channels < most ? wanted->channels : most;
        }
        tuner_best_t found = tuner_best_of(&search);
        best = found.seconds < best.seconds ? found : best;
    }
    return best;
}

static tuner_wanted_t tuner_wanted_of(const rules_rule_t *rule)
{
    return (tuner_wanted_t){.specs = {&rule->wanted, NULL},
                            .slices = rule->slices,
                            .channels = rule->channels,
                            .slice_bytes = rule->slice_bytes,
                            .protocol = rule->protocol};
}

/* Only what names a protocol may be offered and not serve: these slices may not travel by it. */
static bool tuner_rule_serves(const tuner_question_t *q, const rules_rule_t *rule)
{
    const tuner_wanted_t wanted = tuner_wanted_of(rule);
    return rules_is_offered(rule, q->candidates, q->count) &&
           (rule->protocol == WEFT_TUNER_PROTOCOL_BEST ||
            tuner_search(q, &wanted, WEFT_TUNER_NONE).seconds < INFINITY);
}

/* A rule that forces what is not offered holds too, to be refused; where the configuration leaves
 * no choice it has none either. */
static bool tuner_rule_holds(const void *arg, const rules_rule_t *rule)
{
    const tuner_question_t *q = arg;
    const bool decided = q->call->size > offsetof(weft_tuner_call_t, decided) && q->call->decided;
    return tuner_rule_serves(q, rule) ||
           (rule->force && (!decided || rules_is_offered(rule, q->candidates, q->count)));
}

/* A forced protocol that the path has not, with those that it has. */
static weft_status_t tuner_refuse_protocol(const weft_tuner_t *tuner, const rules_rule_t *rule,
                                           const tuner_question_t *q)
{
    char names[64] = "";
    size_t at = 0;
    tuner_wanted_t wanted = tuner_wanted_of(rule);
    for (uint32_t p = 1; p <= WEFT_TUNER_PROTOCOL_WHOLE && at < sizeof names; p++) {
        wanted.protocol = p;
        if (tuner_search(q, &wanted, WEFT_TUNER_NONE).seconds < INFINITY) {
            int n = snprintf(names + at, sizeof names - at, "%s%s", at > 0 ? ", " : "",
                             rules_protocol_text(p));
            at += n > 0 ? (size_t)n : 0;
        }
    }
    return tuner->host->set_error(
        tuner->host, WEFT_ERR_UNSUPPORTED, 0,
        "%.200s: protocol %s does not serve this %s of %llu bytes on %u ranks; possible are %s",
        rule->text, rules_protocol_text(rule->protocol), weft_algo_coll_text(q->call->coll),
        (unsigned long long)q->call->bytes, q->call->nranks, names);
}

/* A forced algorithm that does not serve is an error that lists those which do. */
static weft_status_t tuner_refuse_force(const weft_tuner_t *tuner, const rules_rule_t *rule,
                                        const tuner_question_t *q)
{
    char names[256] = "";
    size_t at = 0;
    if (rules_is_offered(rule, q->candidates, q->count)) {
        return tuner_refuse_protocol(tuner, rule, q);
    }
    for (uint32_t i = 0; i < q->count && at < sizeof names; i++) {
        int n = snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? ", " : "",
                         q->candidates[i].algo);
        at += n > 0 ? (size_t)n : 0;
    }
    return tuner->host->set_error(tuner->host, WEFT_ERR_UNSUPPORTED, 0,
                                  "%.200s: %s does not serve this %s on %u ranks; possible are %s",
                                  rule->text, rule->wanted.text, weft_algo_coll_text(q->call->coll),
                                  q->call->nranks, names);
}

/* A forced number beyond the limits of the call is an error that names the limit; others are
 * cut. */
static weft_status_t tuner_refuse_beyond(const weft_tuner_t *tuner, const rules_rule_t *rule,
                                         const weft_tuner_call_t *call)
{
    const struct {
        const char *name;
        uint64_t wanted, most;
    } numbers[] = {
        {"slices", rule->slices, call->slots - 1},
        {"slice_bytes", rule->slice_bytes, call->slot_bytes / SLICE_ALIGN * SLICE_ALIGN},
        {"channels", rule->channels, call->channels > 0 ? call->channels : 1},
    };
    for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers && rule->force; i++) {
        if (numbers[i].wanted > numbers[i].most) {
            return tuner->host->set_error(tuner->host, WEFT_ERR_UNSUPPORTED, 0,
                                          "%.200s: %s=%llu, at most %llu are possible", rule->text,
                                          numbers[i].name, (unsigned long long)numbers[i].wanted,
                                          (unsigned long long)numbers[i].most);
        }
    }
    return WEFT_OK;
}

/* By the rule that holds, or by the model between two rules on both sides of the call. */
static weft_status_t tuner_by_rules(const weft_tuner_t *tuner, const tuner_question_t *q,
                                    tuner_best_t *best, weft_tuner_choice_t *choice)
{
    const rules_rule_t *found[2] = {NULL, NULL};
    tuner_wanted_t wanted = {.specs = {NULL, NULL}};
    uint32_t n = rules_find(&tuner->rules, q->call, tuner_rule_holds, q, found);
    if (n == 0) {
        return WEFT_OK;
    }
    if (n == 1 && !tuner_rule_serves(q, found[0])) {
        return tuner_refuse_force(tuner, found[0], q);
    }
    if (n == 2) {
        wanted.specs[0] = &found[0]->wanted;
        wanted.specs[1] = &found[1]->wanted;
    } else {
        weft_status_t status = tuner_refuse_beyond(tuner, found[0], q->call);
        if (status != WEFT_OK) {
            return status;
        }
        wanted = tuner_wanted_of(found[0]);
    }
    *best = tuner_search(q, &wanted, WEFT_TUNER_NONE);
    if (best->seconds < INFINITY && WEFT_HAS(choice, weft_tuner_choice_t, rule)) {
        uint32_t taken = n == 2 && !tuner_spec_is(&found[0]->wanted, &q->candidates[best->index]);
        snprintf(choice->rule, sizeof choice->rule, "%s%.140s", n == 2 ? "between rules, " : "",
                 found[taken]->text);
    }
    return WEFT_OK;
}

static tuner_best_t tuner_by_preference(const weft_tuner_t *tuner, const tuner_question_t *q,
                                        char *why, size_t bytes)
{
    const tuner_spec_t *spec = &tuner->prefer.wanted[q->call->coll];
    const tuner_wanted_t any = {.specs = {NULL, NULL}}, wanted = {.specs = {spec, NULL}};
    if (spec->text[0] == '\0') {
        return tuner_search(q, &any, WEFT_TUNER_NONE);
    }
    tuner_best_t best = tuner_search(q, &wanted, WEFT_TUNER_NONE);
    if (best.seconds < INFINITY) {
        snprintf(why, bytes, "preferred by the configuration; ");
        return best;
    }
    snprintf(why, bytes, "%s is preferred but not offered; ", spec->text);
    return tuner_search(q, &any, WEFT_TUNER_NONE);
}

static void tuner_answer(const tuner_question_t *q, const tuner_best_t *best, const char *why,
                         weft_tuner_choice_t *choice_p)
{
    const tuner_wanted_t any = {.specs = {NULL, NULL}};
    tuner_best_t next = tuner_search(q, &any, best->index);
    choice_p->index = best->index;
    choice_p->slices = best->slices;
    choice_p->slice_bytes = best->slice_bytes;
    if (choice_p->size >= offsetof(weft_tuner_choice_t, reserved)) {
        choice_p->protocol = best->protocol;
    }
    if (WEFT_HAS(choice_p, weft_tuner_choice_t, rule)) {
        choice_p->channels = best->channels;
        choice_p->next = next.seconds < INFINITY ? next.index : WEFT_TUNER_NONE;
        choice_p->next_seconds = next.seconds;
    }
    tuner_explain(q->candidates, best, &next, why, choice_p);
}

static weft_status_t tuner_choose(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                                  const weft_tuner_candidate_t *candidates, uint32_t count,
                                  weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p)
{
    const tuner_question_t q = {call, candidates, count, cost};
    char why[SPEC_MAX + 32] = "";
    tuner_best_t best = {.seconds = INFINITY};

    if (call->slots < 2 || call->slot_bytes < SLICE_ALIGN) {
        return tuner->host->set_error(
            tuner->host, WEFT_ERR_UNSUPPORTED, 0,
            "no slices fit %u slots of %llu bytes: at least 2 of 64 bytes "
            "are needed",
            call->slots, (unsigned long long)call->slot_bytes);
    }
    weft_status_t status = tuner_by_rules(tuner, &q, &best, choice_p);
    if (status != WEFT_OK) {
        return status;
    }
    if (best.seconds < INFINITY) {
        snprintf(why, sizeof why, "by a rule; ");
    } else {
        best = tuner_by_preference(tuner, &q, why, sizeof why);
    }
    if (!(best.seconds < INFINITY)) {
        return tuner->host->set_error(tuner->host, WEFT_ERR_UNSUPPORTED, 0,
                                      "the model gives no finite time for any of %u candidates",
                                      count);
    }
    tuner_answer(&q, &best, why, choice_p);
    return WEFT_OK;
}

static weft_status_t tuner_check(weft_tuner_t *tuner, const char *const *algos, uint32_t count)
{
    weft_status_t status = tuner_prefer_check(tuner->host, &tuner->prefer, algos, count);
    return status == WEFT_OK ? rules_check(tuner->host, &tuner->rules, algos, count) : status;
}

/* What preferences and rules name with parameters, in this order. */
static const char *tuner_variant(weft_tuner_t *tuner, uint32_t index, const char **origin_p)
{
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        const tuner_spec_t *spec = &tuner->prefer.wanted[coll];
        if (spec->text[0] != '\0' && spec->params[0] != '\0' && index-- == 0) {
            *origin_p = tuner->prefer.origin[coll];
            return spec->text;
        }
    }
    for (uint32_t i = 0; i < tuner->rules.count; i++) {
        const rules_rule_t *rule = &tuner->rules.list[i];
        if (rule->wanted.params[0] != '\0' && index-- == 0) {
            *origin_p = rule->origin;
            return rule->wanted.text;
        }
    }
    return NULL;
}

static weft_status_t tuner_create(const weft_host_t *host, const void *config,
                                  weft_tuner_t **tuner_p)
{
    const tuner_config_t *settings = config;
    weft_tuner_t *tuner = host->alloc(host, sizeof *tuner, 0);
    weft_status_t status;

    if (tuner == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    tuner->host = host;
    status = tuner_prefer_parse(host, settings->prefer, &tuner->prefer);
    if (status == WEFT_OK) {
        status = rules_parse(host, settings->rule, &tuner->rules);
    }
    if (status != WEFT_OK) {
        rules_destroy(host, &tuner->rules);
        host->free(host, tuner);
        return status;
    }
    *tuner_p = tuner;
    return WEFT_OK;
}

static void tuner_destroy(weft_tuner_t *tuner)
{
    if (tuner != NULL) {
        rules_destroy(tuner->host, &tuner->rules);
        tuner->host->free(tuner->host, tuner);
    }
}

static const weft_tuner_ops_t tuner_ops = {
    .size = sizeof(weft_tuner_ops_t),
    .create = tuner_create,
    .destroy = tuner_destroy,
    .choose = tuner_choose,
    .check = tuner_check,
    .variant = tuner_variant,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_TUNER_MAJOR,
        .abi_minor = WEFT_ABI_TUNER_MINOR,
        .size = sizeof(weft_plugin_t),
        .kind = WEFT_KIND_TUNER,
        .name = "tuner",
        .version = "1",
        .help = "chooses by rules and by modelled time",
        .options = tuner_options,
        .config_size = sizeof(tuner_config_t),
        .ops = &tuner_ops,
    };
    return &plugin;
}
