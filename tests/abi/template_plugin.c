/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One tuner plugin from which all broken ones are made: a compile definition BREAK_<WHAT> spoils
 * one thing. Every operation aborts, so a loader that runs code of a refused plugin is caught. */
#include <stdlib.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/tuner.h>

typedef struct sample_config {
    int64_t depth;
    const char *label;
} sample_config_t;

static weft_status_t sample_create(const weft_host_t *host, const void *config,
                                   weft_tuner_t **tuner_p)
{
    (void)host;
    (void)config;
    (void)tuner_p;
    abort();
}

static void sample_destroy(weft_tuner_t *tuner)
{
    (void)tuner;
    abort();
}

#ifndef BREAK_MISSING_SLOT
static weft_status_t sample_choose(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                                   const weft_tuner_candidate_t *candidates, uint32_t count,
                                   weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p)
{
    (void)tuner;
    (void)call;
    (void)candidates;
    (void)count;
    (void)cost;
    (void)choice_p;
    abort();
}
#endif

static const weft_tuner_ops_t ops = {
#if defined(BREAK_SHORT_OPS)
    .size = offsetof(weft_tuner_ops_t, choose),
#elif defined(BREAK_NO_OPS_SIZE)
    .size = 0,
#else
    .size = sizeof(weft_tuner_ops_t),
#endif
    .create = sample_create,
    .destroy = sample_destroy,
#ifndef BREAK_MISSING_SLOT
    .choose = sample_choose,
#endif
};

static const weft_option_t options[] = {
    {.name = "depth",
     .type = WEFT_OPT_INT,
#ifdef BREAK_OPTION_OUTSIDE
     .offset = 4096,
#else
     .offset = offsetof(sample_config_t, depth),
#endif
#ifdef BREAK_OPTION_DEFAULT
     .value = "many",
#else
     .value = "4",
#endif
     .help = "depth of the sample",
     .min = 1,
     .max = 64},
    {.name = "label",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(sample_config_t, label),
     .value = "plain",
     .help = "label of the sample"},
    {.name = NULL},
};

static const weft_plugin_t sample = {
#ifdef BREAK_MAGIC
    .magic = 0x21706f6eu,
#else
    .magic = WEFT_PLUGIN_MAGIC,
#endif
#ifdef BREAK_MAJOR
    .abi_major = WEFT_ABI_TUNER_MAJOR + 1,
#else
    .abi_major = WEFT_ABI_TUNER_MAJOR,
#endif
#ifdef BREAK_MINOR
    .abi_minor = WEFT_ABI_TUNER_MINOR + 1,
#else
    .abi_minor = WEFT_ABI_TUNER_MINOR,
#endif
#ifdef BREAK_SIZE
    .size = offsetof(weft_plugin_t, ops),
#else
    .size = sizeof(weft_plugin_t),
#endif
#ifdef BREAK_KIND
    .kind = WEFT_KIND_ALGO,
#else
    .kind = WEFT_KIND_TUNER,
#endif
    .name = SAMPLE_NAME,
    .version = "1",
    .help = "sample for tests of the loader",
    .options = options,
    .config_size = sizeof(sample_config_t),
    .ops = &ops,
};

#ifdef BREAK_UNDEFINED
void nobody_defines_this(void);
#endif

#ifdef BREAK_SYMBOL
WEFT_EXPORT const weft_plugin_t *another_entry(void);
#define weft_plugin_entry another_entry
#endif

const weft_plugin_t *weft_plugin_entry(void)
{
#ifdef BREAK_UNDEFINED
    nobody_defines_this();
#endif
#ifdef BREAK_NULL
    return (void)sample, NULL;
#else
    return &sample;
#endif
}
