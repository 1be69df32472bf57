/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithm that is forced. */
#include "core/comm/forced_algo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/nearest.h"

static weft_status_t forced_fail(const weft_family_t *family, const char *why)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [plan] algo = %s: %s",
                     weft_config_origin(family->config, "plan", "algo"), family->settings.plan.algo,
                     why);
}

static const weft_algo_param_t *forced_table(const weft_algo_loaded_t *algo)
{
    return WEFT_HAS(algo->ops, weft_algo_ops_t, params) ? algo->ops->params : NULL;
}

static weft_status_t forced_no_algo(const weft_family_t *family, const char *name)
{
    const char *names[WEFT_ALGOS_MAX];
    char why[400];
    if (weft_registry_has_spare(family->registry, WEFT_KIND_ALGO, name)) {
        snprintf(why, sizeof why, "%s is not loaded: add it to [core] algo", name);
        return forced_fail(family, why);
    }
    for (uint32_t i = 0; i < family->algos.count; i++) {
        names[i] = family->algos.list[i].loaded->plugin->name;
    }
    (void)weft_plan_no_algo(name, names, family->algos.count);
    snprintf(why, sizeof why, "%.390s", weft_error_record()->text);
    return forced_fail(family, why);
}

static weft_status_t forced_no_param(const weft_family_t *family, const weft_algo_loaded_t *algo,
                                     const char *name)
{
    char why[300], hint[96] = "";
    const weft_algo_param_t *table = forced_table(algo);
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, name);
    for (uint32_t i = 0; table != NULL && i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL; i++) {
        weft_nearest_offer(&nearest, table[i].name, strlen(table[i].name));
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    snprintf(why, sizeof why, "%s has no parameter \"%s\"%s", algo->loaded->plugin->name, name,
             hint);
    return forced_fail(family, why);
}

/* Takes one X=Y. */
static weft_status_t forced_take(weft_family_t *family, const weft_algo_loaded_t *algo, char *word)
{
    char why[300], *end;
    const weft_algo_param_t *table = forced_table(algo);
    char *value = strchr(word, '=');
    if (value == NULL) {
        snprintf(why, sizeof why, "\"%.100s\" is no NAME=VALUE", word);
        return forced_fail(family, why);
    }
    *value++ = '\0';
    uint32_t i = 0;
    while (table != NULL && i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL &&
           strcmp(table[i].name, word) != 0) {
        i++;
    }
    if (table == NULL || i == WEFT_ALGO_PARAMS_MAX || table[i].name == NULL) {
        return forced_no_param(family, algo, word);
    }
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (*value == '\0' || *end != '\0' || errno != 0 || number < table[i].min ||
        number > table[i].max) {
        snprintf(why, sizeof why, "%s = %.60s, expected a number from %" PRId64 " to %" PRId64,
                 word, value, table[i].min, table[i].max);
        return forced_fail(family, why);
    }
    family->algos.forced.params[i] = number;
    return WEFT_OK;
}

static void forced_defaults(const weft_algo_loaded_t *algo, int64_t params[WEFT_ALGO_PARAMS_MAX])
{
    const weft_algo_param_t *table = forced_table(algo);
    for (uint32_t i = 0; table != NULL && i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL; i++) {
        params[i] = table[i].value;
    }
}

weft_status_t weft_forced_algo_read(weft_family_t *family)
{
    char text[256], *rest = NULL;
    const char *given = family->settings.plan.algo;
    family->algos.forced.algo = NULL;
    if (given == NULL || given[0] == '\0') {
        return WEFT_OK;
    }
    if (strlen(given) >= sizeof text) {
        return forced_fail(family, "too long");
    }
    snprintf(text, sizeof text, "%s", given);
    char *params = strchr(text, ':');
    if (params != NULL) {
        *params++ = '\0';
    }
    const weft_algo_loaded_t *algo = family->algos.list;
    const weft_algo_loaded_t *end = algo + family->algos.count;
    while (algo != end && strcmp(algo->loaded->plugin->name, text) != 0) {
        algo++;
    }
    if (algo == end) {
        return forced_no_algo(family, text);
    }
    family->algos.forced.algo = algo;
    forced_defaults(algo, family->algos.forced.params);
    weft_status_t status = WEFT_OK;
    for (char *word = params != NULL ? strtok_r(params, ",", &rest) : NULL;
         word != NULL && status == WEFT_OK; word = strtok_r(NULL, ",", &rest)) {
        status = forced_take(family, algo, word);
    }
    return status;
}

bool weft_forced_algo_excludes(const weft_family_t *family, const weft_algo_loaded_t *algo)
{
    return family->algos.forced.algo != NULL && family->algos.forced.algo != algo;
}

void weft_forced_algo_params(const weft_family_t *family, const weft_algo_loaded_t *algo,
                             int64_t params[WEFT_ALGO_PARAMS_MAX])
{
    if (family->algos.forced.algo == algo) {
        memcpy(params, family->algos.forced.params, sizeof family->algos.forced.params);
    } else {
        forced_defaults(algo, params);
    }
}
