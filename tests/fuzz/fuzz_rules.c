/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of the tuner: rules, preferences and measured figures. */
#include "core/comm/figures.h"
#include "fuzz.h"
#include "prefer.h"
#include "rules.h"
#include "tests/support/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const algos[] = {"algo-ring", "algo-tree"};
    static fake_host_t fake;
    rules_t rules = {.count = 0};
    tuner_prefer_t prefer;
    weft_figures_t figures;
    char *text = fuzz_text(data, bytes);
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    if (rules_parse(&fake.host, text, &rules) == WEFT_OK) {
        (void)rules_check(&fake.host, &rules, algos, 2);
        for (uint32_t r = 0; r < rules.count; r++) {
            FUZZ_NEED(memchr(rules.list[r].wanted.text, '\0', sizeof rules.list[r].wanted.text) !=
                      NULL);
            FUZZ_NEED(rules.list[r].bytes.first <= rules.list[r].bytes.last);
            FUZZ_NEED(rules.list[r].ranks.first <= rules.list[r].ranks.last);
        }
    }
    rules_destroy(&fake.host, &rules);
    (void)tuner_prefer_parse(&fake.host, text, &prefer);
    FUZZ_NEED(atomic_load(&fake.live) == 0);
    if (weft_figures_read(text, text, "kernel-cpu", &figures) == WEFT_OK) {
        FUZZ_NEED(figures.nedges <= WEFT_FIGURES_EDGES);
    }
    (void)weft_figures_read(text, "", "kernel-cpu", &figures);
    (void)weft_figures_read("", text, "kernel-cpu", &figures);
    free(text);
    return 0;
}
