/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of variants. */
#include "core/comm/algo_variants.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/call_note.h"

/* Who asks for a variant: "weft.ini:7: [plan] algo = ". */
typedef struct variant_origin {
    const char *place, *key;
} variant_origin_t;

static weft_status_t variants_fail(const variant_origin_t *origin, const char *spec,
                                   const char *why)
{
    char reason[320];
    snprintf(reason, sizeof reason, "%.310s", why);
    return weft_fail(WEFT_ERR_CONFIG, 0, "%.160s: %s%.160s: %s", origin->place, origin->key, spec,
                     reason);
}

static weft_status_t variants_no_algo(const weft_family_t *family, const variant_origin_t *origin,
                                      const char *spec, const char *name)
{
    const char *names[WEFT_ALGOS_MAX];
    char why[200];
    if (weft_registry_has_spare(family->registry, WEFT_KIND_ALGO, name)) {
        snprintf(why, sizeof why, "%s is not loaded: add it to [core] algo", name);
        return variants_fail(origin, spec, why);
    }
    for (uint32_t i = 0; i < family->algos.count; i++) {
        names[i] = family->algos.list[i].loaded->plugin->name;
    }
    (void)weft_plan_no_algo(name, names, family->algos.count);
    return variants_fail(origin, spec, weft_error_record()->text);
}

/* Reads NAME[:X=Y,…]. */
static weft_status_t variants_read(const weft_family_t *family, const variant_origin_t *origin,
                                   const char *spec, weft_algo_variant_t *variant)
{
    size_t length = strcspn(spec, ":");
    const weft_family_algos_t *algos = &family->algos;
    uint32_t i = 0;
    if (strlen(spec) >= sizeof variant->label) {
        return variants_fail(origin, spec, "too long");
    }
    snprintf(variant->label, sizeof variant->label, "%.*s", (int)length, spec);
    while (i < algos->count && strcmp(algos->list[i].loaded->plugin->name, variant->label) != 0) {
        i++;
    }
    if (i == algos->count) {
        return variants_no_algo(family, origin, spec, variant->label);
    }
    variant->algo = &algos->list[i];
    const weft_loaded_t *loaded = variant->algo->loaded;
    memcpy(variant->params, loaded->params, sizeof variant->params);
    variant->text = "";
    if (spec[length] == '\0' || spec[length + 1] == '\0') {
        return WEFT_OK;
    }
    snprintf(variant->label, sizeof variant->label, "%s", spec);
    variant->text = variant->label + length + 1;
    weft_status_t status = weft_algo_params_take(loaded->plugin->name, variant->algo->ops,
                                                 variant->text, variant->params);
    return status == WEFT_OK ? WEFT_OK : variants_fail(origin, spec, weft_error_record()->text);
}

static weft_status_t variants_force(weft_family_t *family)
{
    weft_algo_variant_t forced;
    const char *spec = family->settings.plan.algo;
    const variant_origin_t origin = {.place = weft_config_origin(family->config, "plan", "algo"),
                                     .key = "[plan] algo = "};
    family->algos.forced = NULL;
    if (spec == NULL || spec[0] == '\0') {
        return WEFT_OK;
    }
    weft_status_t status = variants_read(family, &origin, spec, &forced);
    if (status == WEFT_OK) {
        weft_algo_variant_t *taken = &family->algos.variants[forced.algo - family->algos.list];
        memcpy(taken->params, forced.params, sizeof taken->params);
        memcpy(taken->label, forced.label, sizeof taken->label);
        family->algos.forced = taken;
    }
    return status;
}

static bool variants_has(const weft_family_algos_t *algos, const char *label)
{
    uint32_t i = 0;
    while (i < algos->nvariants && strcmp(algos->variants[i].label, label) != 0) {
        i++;
    }
    return i < algos->nvariants;
}

/* Adds what the tuner may choose besides; a variant that it names twice stands there once. */
static weft_status_t variants_add(weft_family_t *family, const variant_origin_t *origin,
                                  const char *spec)
{
    weft_family_algos_t *algos = &family->algos;
    weft_algo_variant_t variant;
    if (variants_has(algos, spec)) {
        return WEFT_OK;
    }
    weft_status_t status = variants_read(family, origin, spec, &variant);
    if (status != WEFT_OK || variant.text[0] == '\0') {
        return status;
    }
    if (algos->nvariants == WEFT_VARIANTS_MAX) {
        return variants_fail(origin, spec, "too many algorithms with parameters of their own");
    }
    weft_algo_variant_t *added = &algos->variants[algos->nvariants++];
    *added = variant;
    added->text = added->label + (variant.text - variant.label);
    return WEFT_OK;
}

/* What variant() returned for `index` breaks its contract: says so. */
static weft_status_t variants_check(const char *name, uint32_t index, const char *spec)
{
    if (index == WEFT_TUNER_VARIANTS_MAX) {
        return weft_fail(WEFT_ERR_PLUGIN, 0,
                         "%s: variant: found more than %u algorithms, expected NULL after the last",
                         name, WEFT_TUNER_VARIANTS_MAX);
    }
    if (strnlen(spec, WEFT_TUNER_VARIANT_TEXT) == WEFT_TUNER_VARIANT_TEXT ||
        strchr(spec, ':') == NULL) {
        return weft_fail(
            WEFT_ERR_PLUGIN, 0,
            "%s: variant: found \"%.60s\", expected \"NAME:X=Y\" of less than %u bytes", name, spec,
            WEFT_TUNER_VARIANT_TEXT);
    }
    return WEFT_OK;
}

static weft_status_t variants_ask_tuner(weft_family_t *family)
{
    const weft_family_tuner_t *tuner = &family->tuner;
    const char *spec = "", *name = tuner->loaded->plugin->name;
    weft_status_t status = WEFT_OK;
    if (!WEFT_HAS(tuner->ops, weft_tuner_ops_t, variant)) {
        return WEFT_OK;
    }
    for (uint32_t i = 0; status == WEFT_OK; i++) {
        variant_origin_t origin = {.place = name, .key = ""};
        weft_call_note_t before = weft_call_enter(name, "variant");
        spec = tuner->ops->variant(tuner->instance, i, &origin.place);
        weft_call_leave(before);
        if (spec == NULL) {
            break;
        }
        origin.place = origin.place != NULL ? origin.place : name;
        status = variants_check(name, i, spec);
        status = status == WEFT_OK ? variants_add(family, &origin, spec) : status;
    }
    return status;
}

weft_status_t weft_algo_variants_make(weft_family_t *family)
{
    weft_family_algos_t *algos = &family->algos;
    for (uint32_t i = 0; i < algos->count; i++) {
        weft_algo_variant_t *variant = &algos->variants[i];
        const weft_loaded_t *loaded = algos->list[i].loaded;
        *variant = (weft_algo_variant_t){.algo = &algos->list[i], .text = ""};
        snprintf(variant->label, sizeof variant->label, "%s", loaded->plugin->name);
        memcpy(variant->params, loaded->params, sizeof variant->params);
    }
    algos->nvariants = algos->count;
    weft_status_t status = variants_force(family);
    return status == WEFT_OK ? variants_ask_tuner(family) : status;
}

bool weft_algo_variants_excludes(const weft_family_t *family, uint32_t number)
{
    const weft_family_algos_t *algos = &family->algos;
    return algos->forced != NULL && algos->forced != &algos->variants[number];
}
