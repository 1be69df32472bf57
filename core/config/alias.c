/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Old names of options. A given value under an old name is renamed in the store, so everything that
 * comes later knows new names only. */
#include "core/config/alias.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

static const weft_alias_t *alias_find(const weft_config_t *config, const char *section,
                                      const char *name)
{
    for (const weft_alias_t *alias = config->aliases; alias != NULL; alias = alias->next) {
        if (strcmp(alias->section, section) == 0 && strcmp(alias->name, name) == 0) {
            return alias;
        }
    }
    return NULL;
}

/* Remembers the alias for hints. A table that claims its section again finds it here. */
static const weft_alias_t *alias_keep(weft_config_t *config, const char *section,
                                      const weft_option_t *option)
{
    const weft_alias_t *known = alias_find(config, section, option->name);
    if (known != NULL) {
        return known;
    }
    weft_alias_t *alias = weft_store_alloc(config, sizeof *alias);
    if (alias == NULL) {
        return NULL;
    }
    alias->section = weft_store_text(config, section, strlen(section));
    alias->name = weft_store_text(config, option->name, strlen(option->name));
    alias->key = weft_store_text(config, option->value, strlen(option->value));
    if (alias->section == NULL || alias->name == NULL || alias->key == NULL) {
        return NULL;
    }
    alias->next = config->aliases;
    config->aliases = alias;
    return alias;
}

static const weft_given_t *alias_given_under(const weft_config_t *config, const char *section,
                                             const char *key)
{
    char variable[WEFT_STORE_NAME_MAX];
    weft_store_env_name(section, key, variable, sizeof variable);
    for (const weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (weft_store_given_is(g, section, key, variable)) {
            return g;
        }
    }
    return NULL;
}

static void alias_warn(const weft_given_t *given, const weft_alias_t *alias, const char *version)
{
    char variable[WEFT_STORE_NAME_MAX];
    if (given->source == WEFT_FROM_ENV) {
        weft_store_env_name(alias->section, alias->key, variable, sizeof variable);
        weft_log(WEFT_LOG_WARN, "config",
                 "%s is now named WEFT_%s; the old name goes with version %s", given->origin,
                 variable, version);
        return;
    }
    weft_log(WEFT_LOG_WARN, "config",
             "%s: [%s] %s is now named %s; the old name goes with version %s", given->origin,
             alias->section, alias->name, alias->key, version);
}

static weft_status_t alias_rename(weft_config_t *config, const weft_alias_t *alias,
                                  const char *version)
{
    char variable[WEFT_STORE_NAME_MAX];
    const weft_given_t *old = alias_given_under(config, alias->section, alias->name);
    const weft_given_t *new = alias_given_under(config, alias->section, alias->key);
    if (old == NULL) {
        return WEFT_OK;
    }
    if (new != NULL) {
        return weft_fail(
            WEFT_ERR_CONFIG, 0,
            "%s: [%s] %s is the old name of %s, which %s gives too; remove the old one",
            old->origin, alias->section, alias->name, alias->key, new->origin);
    }
    weft_store_env_name(alias->section, alias->key, variable, sizeof variable);
    const char *new_variable = weft_store_text(config, variable, strlen(variable));
    if (new_variable == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_store_env_name(alias->section, alias->name, variable, sizeof variable);
    for (weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (weft_store_given_is(g, alias->section, alias->name, variable)) {
            alias_warn(g, alias, version);
            g->key = g->source == WEFT_FROM_ENV ? new_variable : alias->key;
        }
    }
    return WEFT_OK;
}

weft_status_t weft_alias_apply(weft_config_t *config, const char *section,
                               const weft_option_t *table)
{
    for (const weft_option_t *option = table; option->name != NULL; option++) {
        if ((option->flags & WEFT_OPTION_ALIAS) == 0) {
            continue;
        }
        const weft_alias_t *alias = alias_keep(config, section, option);
        if (alias == NULL) {
            return WEFT_ERR_RESOURCE;
        }
        weft_status_t status = alias_rename(config, alias, option->help);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

void weft_alias_offer(const weft_config_t *config, const char *section, weft_nearest_t *nearest)
{
    for (const weft_alias_t *alias = config->aliases; alias != NULL; alias = alias->next) {
        if (strcmp(alias->section, section) != 0) {
            continue;
        }
        weft_nearest_offer(nearest, alias->name, strlen(alias->name));
        if (nearest->best == alias->name) {
            nearest->best = alias->key;
            nearest->best_bytes = strlen(alias->key);
        }
    }
}
