/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of the tuner: rules, preferences and measured figures. Behind a NUL the input has the
 * number of the allocation that fails, and calls for which rules are looked up. */
#include "core/base/error.h"
#include "core/comm/figures.h"
#include "fuzz.h"
#include "prefer.h"
#include "rules.h"
#include "tests/support/fake_host.h"

static const char *const algos[] = {"algo-ring", "algo-tree"};
static fake_host_t fake;

static bool in_range(const rules_range_t *range, uint64_t value)
{
    return range->first <= value && value <= range->last;
}

static const weft_tuner_candidate_t candidates[] = {{.algo = "algo-ring", .params = ""},
                                                    {.algo = "algo-tree", .params = "depth=2"}};

static bool holds(const void *arg, const rules_rule_t *rule)
{
    (void)arg;
    return rule->force || rules_is_offered(rule, candidates, 2);
}

/* What is found is about the call, and is offered or forced. */
static void find(const rules_t *rules, const uint8_t **data, size_t *bytes)
{
    const rules_rule_t *found[2] = {NULL, NULL};
    weft_tuner_call_t call = {.coll = (weft_coll_t)(fuzz_byte(data, bytes) % WEFT_COLL_COUNT),
                              .dtype = (weft_dtype_t)(fuzz_byte(data, bytes) % WEFT_DTYPE_COUNT),
                              .bytes = UINT64_C(1) << fuzz_byte(data, bytes) % 48,
                              .nranks = 1 + fuzz_byte(data, bytes),
                              .nhosts = 1 + fuzz_byte(data, bytes) % 8,
                              .memory = fuzz_byte(data, bytes) % 2};
    uint32_t count = rules_find(rules, &call, holds, NULL, found);
    FUZZ_NEED(count <= 2);
    for (uint32_t i = 0; i < count; i++) {
        const rules_rule_t *rule = found[i];
        FUZZ_NEED(rule->coll == RULES_ANY || rule->coll == (uint32_t)call.coll);
        FUZZ_NEED(holds(NULL, rule));
        FUZZ_NEED(in_range(&rule->hosts, call.nhosts));
        FUZZ_NEED(count == 2 ||
                  (in_range(&rule->bytes, call.bytes) && in_range(&rule->ranks, call.nranks)));
        FUZZ_NEED(count == 1 ||
                  in_range(&rule->bytes, call.bytes) != in_range(&rule->ranks, call.nranks));
    }
}

static void rules_of(const char *text, const uint8_t *data, size_t bytes)
{
    rules_t rules = {.count = 0};
    fake.error[0] = '\0';
    weft_status_t status = rules_parse(&fake.host, text, &rules);
    FUZZ_NEED(status == WEFT_OK || fake.error[0] != '\0');
    for (uint32_t r = 0; status == WEFT_OK && r < rules.count; r++) {
        const rules_rule_t *rule = &rules.list[r];
        FUZZ_NEED(memchr(rule->wanted.text, '\0', sizeof rule->wanted.text) != NULL);
        FUZZ_NEED(rule->bytes.first <= rule->bytes.last);
        FUZZ_NEED(rule->ranks.first <= rule->ranks.last);
        FUZZ_NEED(rules_protocol_text(rule->protocol) != NULL);
    }
    if (status == WEFT_OK && rules_check(&fake.host, &rules, algos, 2) == WEFT_OK) {
        while (bytes > 0) {
            find(&rules, &data, &bytes);
        }
    }
    rules_destroy(&fake.host, &rules);
}

static void prefer_of(const char *text)
{
    tuner_prefer_t prefer;
    fake.error[0] = '\0';
    if (tuner_prefer_parse(&fake.host, text, &prefer) != WEFT_OK) {
        FUZZ_NEED(fake.error[0] != '\0');
    } else if (tuner_prefer_check(&fake.host, &prefer, algos, 2) == WEFT_OK) {
        for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
            const char *name = prefer.wanted[coll].algo;
            FUZZ_NEED(name[0] == '\0' || strcmp(name, algos[0]) == 0 ||
                      strcmp(name, algos[1]) == 0);
        }
    } else {
        FUZZ_NEED(strstr(fake.error, "prefer") != NULL);
    }
}

static void figures_of(const char *edges, const char *kernels)
{
    weft_figures_t figures;
    if (weft_figures_read(edges, kernels, "kernel-cpu", NULL, &figures) != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        return;
    }
    FUZZ_NEED(figures.nedges <= WEFT_FIGURES_EDGES);
    for (uint32_t e = 0; e < figures.nedges; e++) {
        const weft_figures_edge_t *edge = &figures.edges[e];
        const bool of_devices = edge->path != WEFT_KERNEL_PATH_COUNT;
        FUZZ_NEED((of_devices
                       ? weft_figures_find_path(&figures, edge->net, edge->path, edge->protocol)
                       : weft_figures_find(&figures, edge->net, edge->level)) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    size_t length = strlen(text) + 1;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    data += length < bytes ? length : bytes;
    bytes -= length < bytes ? length : bytes;
    uint8_t fails = fuzz_byte(&data, &bytes);
    for (int turn = 0; turn < 2; turn++) {
        atomic_store(&fake.fail_at, fails == 0 ? 0 : atomic_load(&fake.allocs) + fails);
        if (turn == 0) {
            rules_of(text, data, bytes);
        } else {
            prefer_of(text);
        }
        atomic_store(&fake.fail_at, 0);
        FUZZ_NEED(atomic_load(&fake.live) == 0);
    }
    figures_of(text, text);
    figures_of(text, "");
    figures_of("", text);
    free(text);
    return 0;
}
