/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of parameters. */
#include "core/plugin/algo_params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/nearest.h"

#define WORD_MAX 100

/* The table of an algorithm's parameters; empty, not NULL, if it has none. */
static const weft_algo_param_t *algo_params_table(const weft_algo_ops_t *ops)
{
    static const weft_algo_param_t none = {.name = NULL};
    return WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : &none;
}

static bool algo_params_is_inside(const weft_algo_param_t *param, int64_t value)
{
    return value >= param->min && value <= param->max;
}

/* The ranges as the table has them: of an option, 0 to 0 is none. */
static weft_status_t algo_params_check(const weft_config_t *config, const char *plugin,
                                       const weft_algo_param_t *table,
                                       const int64_t params[WEFT_ALGO_PARAMS_MAX])
{
    for (uint32_t i = 0; i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL; i++) {
        if (!algo_params_is_inside(&table[i], params[i])) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "%s: [%s] %s = %" PRId64 ": out of range, expected %" PRId64
                             " to %" PRId64,
                             weft_config_origin(config, plugin, table[i].name), plugin,
                             table[i].name, params[i], table[i].min, table[i].max);
        }
    }
    return WEFT_OK;
}

weft_status_t weft_algo_params_configure(weft_config_t *config, const char *plugin,
                                         const weft_algo_ops_t *ops,
                                         int64_t params[WEFT_ALGO_PARAMS_MAX])
{
    const weft_algo_param_t *table = algo_params_table(ops);
    weft_option_t options[WEFT_ALGO_PARAMS_MAX + 1] = {{.name = NULL}};
    char values[WEFT_ALGO_PARAMS_MAX][24];
    memset(params, 0, WEFT_ALGO_PARAMS_MAX * sizeof *params);
    for (uint32_t i = 0; i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL; i++) {
        snprintf(values[i], sizeof values[i], "%" PRId64, table[i].value);
        options[i] = (weft_option_t){.name = table[i].name,
                                     .type = WEFT_OPT_INT,
                                     .offset = (uint32_t)(i * sizeof *params),
                                     .value = values[i],
                                     .help = table[i].help,
                                     .min = (double)table[i].min,
                                     .max = (double)table[i].max};
    }
    weft_status_t status = weft_config_section(config, plugin, options, params);
    return status == WEFT_OK ? algo_params_check(config, plugin, table, params) : status;
}

static weft_status_t algo_params_unknown(const char *plugin, const weft_algo_param_t *table,
                                         const char *name)
{
    char hint[96] = "", all[200] = "";
    size_t at = 0;
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, name);
    for (uint32_t i = 0; i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL; i++) {
        weft_nearest_offer(&nearest, table[i].name, strlen(table[i].name));
        at += at < sizeof all ? (size_t)snprintf(all + at, sizeof all - at, "%s%s",
                                                 i > 0 ? ", " : "; it has ", table[i].name)
                              : 0;
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "%s has no parameter \"%s\"%s; its options are keys of [%s]", plugin, name,
                     hint[0] != '\0'  ? hint
                     : all[0] != '\0' ? all
                                      : ", nor any other",
                     plugin);
}

/* Takes one X=Y; `given` has a bit for each parameter. */
static weft_status_t algo_params_take_word(const char *plugin, const weft_algo_param_t *table,
                                           char *word, int64_t params[WEFT_ALGO_PARAMS_MAX],
                                           uint32_t *given)
{
    char *end, *value = strchr(word, '=');
    if (value == NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: \"%s\" is no NAME=VALUE", plugin, word);
    }
    *value++ = '\0';
    uint32_t i = 0;
    while (i < WEFT_ALGO_PARAMS_MAX && table[i].name != NULL && strcmp(table[i].name, word) != 0) {
        i++;
    }
    if (i == WEFT_ALGO_PARAMS_MAX || table[i].name == NULL) {
        return algo_params_unknown(plugin, table, word);
    }
    if ((*given >> i & 1) != 0) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: %s is given twice", plugin, word);
    }
    *given |= UINT32_C(1) << i;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (*value == '\0' || *end != '\0' || errno != 0 || !algo_params_is_inside(&table[i], number)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s: %s = %s, expected a number from %" PRId64 " to %" PRId64, plugin,
                         word, value, table[i].min, table[i].max);
    }
    params[i] = number;
    return WEFT_OK;
}

weft_status_t weft_algo_params_take(const char *plugin, const weft_algo_ops_t *ops,
                                    const char *text, int64_t params[WEFT_ALGO_PARAMS_MAX])
{
    weft_status_t status = WEFT_OK;
    uint32_t given = 0;
    for (const char *at = text; *at != '\0' && status == WEFT_OK; at += *at == ',') {
        char word[WORD_MAX];
        size_t length = strcspn(at, ",");
        if (length >= sizeof word) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "%s: \"%.*s…\" is longer than %d characters",
                             plugin, 40, at, WORD_MAX - 1);
        }
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        status = algo_params_take_word(plugin, algo_params_table(ops), word, params, &given);
        at += length;
    }
    return status;
}
