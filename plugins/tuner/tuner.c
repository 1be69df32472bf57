/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin tuner: takes the candidate and the slices with the least modelled time. A pure function
 * of its arguments and options, so that all ranks come to the same answer. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/tuner.h>

#include "prefer.h"

#define SLICE_MIN 4096u /* smaller slices are tried only where a chunk is smaller */
#define SLICE_ALIGN 64u /* of slice_bytes, by the ABI */

typedef struct tuner_config {
    const char *prefer;
} tuner_config_t;

struct weft_tuner {
    const weft_host_t *host;
    tuner_prefer_t prefer;
};

/* The least time found, and where. */
typedef struct tuner_best {
    double seconds;
    uint32_t index;
    uint32_t slices;
    uint64_t slice_bytes;
} tuner_best_t;

/* One evaluation of the model: which candidate, by which function. */
typedef struct tuner_search {
    const weft_tuner_call_t *call;
    const weft_tuner_candidate_t *candidate;
    uint32_t index;
    weft_tuner_cost_fn_t cost;
} tuner_search_t;

static const weft_option_t tuner_options[] = {
    {.name = "prefer",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(tuner_config_t, prefer),
     .value = "",
     .help =
         "algorithms to take whatever the model says, as COLLECTIVE:ALGORITHM, comma separated"},
    {.name = NULL},
};

/* The first of equals stays, so the order of the candidates decides. NaN never wins. */
static void tuner_try(const tuner_search_t *search, uint32_t slices, uint64_t slice_bytes,
                      tuner_best_t *best)
{
    double seconds = search->cost(search->call, search->candidate, slices, slice_bytes);
    if (seconds >= 0 && seconds < best->seconds) {
        *best = (tuner_best_t){seconds, search->index, slices, slice_bytes};
    }
}

/* Powers of two below slot_bytes and slot_bytes itself. */
static void tuner_try_sizes(const tuner_search_t *search, uint32_t slices, tuner_best_t *best)
{
    const uint64_t largest = search->call->slot_bytes / SLICE_ALIGN * SLICE_ALIGN;
    for (uint64_t bytes = SLICE_MIN; bytes < largest; bytes *= 2) {
        tuner_try(search, slices, bytes, best);
    }
    tuner_try(search, slices, largest, best);
}

static tuner_best_t tuner_best_of(const tuner_search_t *search)
{
    const weft_tuner_call_t *call = search->call;
    const uint32_t most = call->slots - 1;
    const uint32_t chunks = search->candidate->chunks > 0 ? search->candidate->chunks : 1;
    const uint32_t channels = search->candidate->channels > 0 ? search->candidate->channels : 1;
    const uint64_t parts = (uint64_t)chunks * channels;
    const uint64_t chunk = call->bytes / parts + (call->bytes % parts != 0);
    tuner_best_t best = {.seconds = INFINITY};

    if (chunk <= call->slot_bytes / SLICE_ALIGN * SLICE_ALIGN) {
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

/* The answer in words; `next` is the best of another algorithm or parameters, if its time is finite. */
static void tuner_explain(const weft_tuner_candidate_t *candidates, const tuner_best_t *best,
                          const tuner_best_t *next, const char *why, weft_tuner_choice_t *choice)
{
    const weft_tuner_candidate_t *other = &candidates[next->index];
    char slice[32];
    size_t used;
    int n;

    tuner_size_text(best->slice_bytes, slice, sizeof slice);
    n = snprintf(choice->reason, sizeof choice->reason, "%smodelled %.1f us with %u × %s slice%s",
                 why, best->seconds * 1e6, best->slices, slice, best->slices == 1 ? "" : "s");
    used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof choice->reason && next->seconds < INFINITY) {
        snprintf(choice->reason + used, sizeof choice->reason - used, "; next %s%s%s %.1f us",
                 other->algo, other->params[0] != '\0' ? " " : "", other->params,
                 next->seconds * 1e6);
    }
}

static bool tuner_is_wanted(const char *wanted, const weft_tuner_candidate_t *candidate)
{
    return wanted[0] == '\0' || strcmp(wanted, candidate->algo) == 0;
}

/* The best and the second best of the candidates that are wanted. Returns false if there is none. */
static bool tuner_search(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidates,
                         uint32_t count, weft_tuner_cost_fn_t cost, const char *wanted,
                         tuner_best_t best[2])
{
    best[0].seconds = best[1].seconds = INFINITY;
    best[0].index = best[1].index = 0;
    for (uint32_t i = 0; i < count; i++) {
        tuner_search_t search = {call, &candidates[i], i, cost};
        tuner_best_t found = {.seconds = INFINITY};
        if (tuner_is_wanted(wanted, &candidates[i])) {
            found = tuner_best_of(&search);
        }
        if (found.seconds < best[0].seconds) {
            best[1] = best[0];
            best[0] = found;
        } else if (found.seconds < best[1].seconds) {
            best[1] = found;
        }
    }
    return best[0].seconds < INFINITY;
}

static weft_status_t tuner_choose(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                                  const weft_tuner_candidate_t *candidates, uint32_t count,
                                  weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p)
{
    const char *wanted = tuner->prefer.algo[call->coll];
    char why[PREFER_NAME_MAX + 32] = "";
    tuner_best_t best[2];
    bool found;

    if (call->slots < 2 || call->slot_bytes < SLICE_ALIGN) {
        return tuner->host->set_error(
            tuner->host, WEFT_ERR_UNSUPPORTED, 0,
            "no slices fit %u slots of %llu bytes: at least 2 of 64 bytes "
            "are needed",
            call->slots, (unsigned long long)call->slot_bytes);
    }
    found = tuner_search(call, candidates, count, cost, wanted, best);
    if (found && wanted[0] != '\0') {
        snprintf(why, sizeof why, "preferred by the configuration; ");
    }
    if (!found && wanted[0] != '\0') {
        snprintf(why, sizeof why, "%s is preferred but not offered; ", wanted);
        found = tuner_search(call, candidates, count, cost, "", best);
    }
    if (!found) {
        return tuner->host->set_error(tuner->host, WEFT_ERR_UNSUPPORTED, 0,
                                      "the model gives no finite time for any of %u candidates",
                                      count);
    }
    choice_p->index = best[0].index;
    choice_p->slices = best[0].slices;
    choice_p->slice_bytes = best[0].slice_bytes;
    tuner_explain(candidates, &best[0], &best[1], why, choice_p);
    return WEFT_OK;
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
    if (status != WEFT_OK) {
        host->free(host, tuner);
        return status;
    }
    *tuner_p = tuner;
    return WEFT_OK;
}

static void tuner_destroy(weft_tuner_t *tuner)
{
    if (tuner != NULL) {
        tuner->host->free(tuner->host, tuner);
    }
}

static const weft_tuner_ops_t tuner_ops = {
    .size = sizeof(weft_tuner_ops_t),
    .create = tuner_create,
    .destroy = tuner_destroy,
    .choose = tuner_choose,
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
        .help = "chooses by modelled time",
        .options = tuner_options,
        .config_size = sizeof(tuner_config_t),
        .ops = &tuner_ops,
    };
    return &plugin;
}
