/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of plugins: numbers, texts, option tables and operation tables that may be wrong in
 * any field, behind pointers that are good. What is taken has all that the core calls without
 * looking. */
#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>
#include <weft/plugin/topo.h>
#include <weft/plugin/tuner.h>

#include "core/base/error.h"
#include "core/plugin/plugin_check.h"
#include "fuzz.h"

enum { TEXTS = 6, OPTIONS = 4, PARAMS = 10, WORDS = 48 };

typedef struct source {
    const uint8_t *data;
    size_t bytes;
    char *texts[TEXTS];
} source_t;

static uint64_t number(source_t *s, size_t width)
{
    uint64_t value = 0;
    fuzz_take(&s->data, &s->bytes, &value, width);
    return value;
}

/* One of the texts, or none. */
static const char *text(source_t *s)
{
    uint64_t which = number(s, 1);
    return which % 16 == 15 ? NULL : s->texts[which % TEXTS];
}

/* Texts are at the front of the input: "name\0two\0…". */
static void take_texts(source_t *s)
{
    for (int i = 0; i < TEXTS; i++) {
        const uint8_t *end = s->bytes > 0 ? memchr(s->data, '\0', s->bytes) : NULL;
        size_t length = end != NULL ? (size_t)(end - s->data) : s->bytes;
        s->texts[i] = fuzz_text(s->data, length);
        s->data += length + (end != NULL);
        s->bytes -= length + (end != NULL);
    }
}

static void take_options(source_t *s, weft_option_t options[OPTIONS + 1])
{
    uint64_t count = number(s, 1) % (OPTIONS + 1);
    memset(options, 0, (OPTIONS + 1) * sizeof *options);
    for (uint64_t i = 0; i < count; i++) {
        options[i] = (weft_option_t){.name = text(s),
                                     .type = (uint32_t)number(s, 1),
                                     .offset = (uint32_t)number(s, 2),
                                     .value = text(s),
                                     .help = text(s),
                                     .choices = text(s),
                                     .min = (double)(int8_t)number(s, 1),
                                     .max = (double)(int8_t)number(s, 1),
                                     .flags = (uint32_t)number(s, 1),
                                     .reserved = (uint32_t)number(s, 1) / 255};
    }
}

static void take_params(source_t *s, weft_algo_param_t params[PARAMS + 1])
{
    uint64_t count = number(s, 1) % (PARAMS + 1);
    memset(params, 0, (PARAMS + 1) * sizeof *params);
    for (uint64_t i = 0; i < count; i++) {
        params[i] = (weft_algo_param_t){.name = text(s),
                                        .help = text(s),
                                        .value = (int8_t)number(s, 1),
                                        .min = (int8_t)number(s, 1),
                                        .max = (int8_t)number(s, 1)};
    }
}

static void nobody(void)
{
}

/* A table of its own length: sanitizers see who reads behind it. Slots are filled or not. */
static uintptr_t *take_table(source_t *s, uint64_t kind, weft_algo_param_t *params)
{
    static const size_t sizes[] = {sizeof(weft_net_ops_t), sizeof(weft_algo_ops_t),
                                   sizeof(weft_kernel_ops_t), sizeof(weft_tuner_ops_t),
                                   sizeof(weft_topo_ops_t)};
    uint64_t says = number(s, 2), empty = number(s, 8);
    size_t whole = sizes[kind % 5] / sizeof(uintptr_t);
    size_t words = (says & 1) != 0 ? whole : 1 + (says >> 1) % WORDS;
    uintptr_t *table = calloc(words, sizeof *table);
    FUZZ_NEED(table != NULL);
    for (size_t i = 0; i < words; i++) {
        table[i] = (empty >> i % 64 & 1) != 0 ? 0 : (uintptr_t)nobody;
    }
    table[0] = words * sizeof *table;
    if (kind % 5 == WEFT_KIND_NET - WEFT_KIND_NET && words > 1 &&
        words >= offsetof(weft_net_ops_t, caps) / sizeof *table + 1) {
        ((weft_net_ops_t *)(void *)table)->caps = (uint32_t)(says >> 12);
    }
    size_t last = offsetof(weft_algo_ops_t, params) / sizeof *table;
    if (words > last) {
        table[last] = (says >> 3 & 1) != 0 ? (uintptr_t)params : 0;
    }
    return table;
}

/* What the core reads without looking. */
static void check_taken(const weft_plugin_t *plugin)
{
    FUZZ_NEED(plugin->magic == WEFT_PLUGIN_MAGIC && plugin->size >= sizeof *plugin);
    FUZZ_NEED(plugin->name != NULL && plugin->name[0] != '\0' && strlen(plugin->name) <= 48);
    FUZZ_NEED(plugin->version != NULL && plugin->help != NULL && plugin->ops != NULL);
    for (const weft_option_t *o = plugin->options; o != NULL && o->name != NULL; o++) {
        FUZZ_NEED(o->value != NULL && o->help != NULL);
        FUZZ_NEED((o->flags & WEFT_OPTION_ALIAS) != 0 || o->offset < plugin->config_size);
    }
    const weft_algo_ops_t *algo = plugin->ops;
    if (plugin->kind == WEFT_KIND_ALGO && WEFT_HAS(algo, weft_algo_ops_t, params)) {
        size_t count = 0;
        for (const weft_algo_param_t *p = algo->params; p->name != NULL; p++) {
            FUZZ_NEED(++count <= WEFT_ALGO_PARAMS_MAX && p->min <= p->value && p->value <= p->max);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint16_t majors[] = {WEFT_ABI_NET_MAJOR, WEFT_ABI_ALGO_MAJOR,
                                      WEFT_ABI_KERNEL_MAJOR, WEFT_ABI_TUNER_MAJOR,
                                      WEFT_ABI_TOPO_MAJOR};
    source_t s = {.data = data, .bytes = bytes};
    weft_option_t options[OPTIONS + 1];
    weft_algo_param_t params[PARAMS + 1];
    take_texts(&s);
    uint64_t kind = number(&s, 1), odd = number(&s, 1);
    take_options(&s, options);
    take_params(&s, params);
    weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC ^ (uint32_t)(odd & 1),
                            .abi_major = (uint16_t)(majors[kind % 5] + (odd >> 1 & 1)),
                            .abi_minor = (uint16_t)(odd >> 2 & 7),
                            .size = (uint32_t)(sizeof plugin - (odd >> 5 & 1)),
                            .kind = (uint32_t)(WEFT_KIND_NET + kind % 5 + (odd >> 6)),
                            .name = text(&s),
                            .version = text(&s),
                            .help = text(&s),
                            .options = (odd & 8) != 0 ? NULL : options,
                            .config_size = (size_t)number(&s, 3)};
    uintptr_t *table = take_table(&s, kind, params);
    plugin.ops = (number(&s, 1) & 0x1f) == 0x1f ? NULL : table;
    weft_status_t status = weft_plugin_check(
        &plugin, (weft_plugin_kind_t)(WEFT_KIND_NET + kind % 5), text(&s), "plugin.so", "fuzz");
    if (status == WEFT_OK) {
        check_taken(&plugin);
    } else {
        FUZZ_NEED(status == WEFT_ERR_PLUGIN && weft_error_record()->text[0] != '\0');
    }
    free(table);
    for (int i = 0; i < TEXTS; i++) {
        free(s.texts[i]);
    }
    return 0;
}
