/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables claim sections: precedence, provenance, and what remains unclaimed at the end. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/alias.h"
#include "core/config/config.h"
#include "core/config/nearest.h"
#include "core/config/option.h"
#include "core/config/store.h"

/* The given value that wins, the later one among equals; NULL if nobody gave any. */
static const weft_given_t *claims_winner(const weft_config_t *config, const char *section,
                                         const char *key)
{
    char env_name[WEFT_STORE_NAME_MAX];
    const weft_given_t *best = NULL;
    weft_store_env_name(section, key, env_name, sizeof env_name);
    for (const weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (weft_store_given_is(g, section, key, env_name) &&
            (best == NULL || g->source >= best->source)) {
            best = g;
        }
    }
    return best;
}

static weft_claim_t *claims_claim_find(const weft_config_t *config, const char *section,
                                       const char *key)
{
    for (weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        if (strcmp(c->section, section) == 0 && (key == NULL || strcmp(c->option.name, key) == 0)) {
            return c;
        }
    }
    return NULL;
}

bool weft_config_claimed(const weft_config_t *config, const char *section)
{
    return claims_claim_find(config, section, NULL) != NULL;
}

static weft_status_t claims_value_parse(const weft_claim_t *claim, const char *value,
                                        const char *origin, void *out)
{
    char why[400];
    const weft_option_t *option = &claim->option;
    if (weft_option_parse(option, value, out, why, sizeof why)) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [%s] %s = %.80s: %s", origin, claim->section,
                     option->name, value, why);
}

/* Every given value of the option becomes known and must be right, also those that do not win: a
 * mistake in a file is found before somebody removes the override that hid it. */
static weft_status_t claims_mark_known(weft_config_t *config, const weft_claim_t *claim, void *out)
{
    char env_name[WEFT_STORE_NAME_MAX];
    weft_status_t status = WEFT_OK;
    weft_store_env_name(claim->section, claim->option.name, env_name, sizeof env_name);
    for (weft_given_t *g = config->given; g != NULL && status == WEFT_OK; g = g->next) {
        if (!weft_store_given_is(g, claim->section, claim->option.name, env_name)) {
            continue;
        }
        if (g->claim != NULL && g->claim != claim) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "%s means both [%s] %s and [%s] %s; use a setting or a file",
                             g->origin, g->claim->section, g->claim->option.name, claim->section,
                             claim->option.name);
        }
        if (g->first_line != 0 && (claim->option.flags & WEFT_OPTION_LIST) == 0) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [%s] %s is given twice, first on line %u",
                             g->origin, claim->section, claim->option.name, g->first_line);
        }
        g->claim = claim;
        status = claims_value_parse(claim, g->value, g->origin, out);
    }
    return status;
}

/* The claim of a key, made on the first call and filled anew on each. */
static weft_claim_t *claims_claim_make(weft_config_t *config, const char *section,
                                       const weft_option_t *option)
{
    weft_claim_t *claim = claims_claim_find(config, section, option->name);
    if (claim != NULL) {
        return claim;
    }
    claim = weft_store_alloc(config, sizeof *claim);
    if (claim == NULL) {
        return NULL;
    }
    claim->section = weft_store_text(config, section, strlen(section));
    claim->option = *option;
    const char **texts[] = {&claim->option.name, &claim->option.value, &claim->option.help,
                            &claim->option.choices};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (*texts[i] != NULL) {
            *texts[i] = weft_store_text(config, *texts[i], strlen(*texts[i]));
        }
    }
    if (claim->section == NULL || claim->option.name == NULL || claim->option.value == NULL ||
        claim->option.help == NULL || (option->choices != NULL && claim->option.choices == NULL)) {
        return NULL;
    }
    *config->claims_end = claim;
    config->claims_end = &claim->next;
    return claim;
}

typedef struct claims_list {
    const char *section, *key;
    char env_name[WEFT_STORE_NAME_MAX];
    weft_source_t source; /* of the values that count */
} claims_list_t;

/* Writes the values of a list, a line each, with their origins or without; "" and NULL: measures.
 * Returns the bytes without the zero. */
static size_t claims_list_write(const weft_config_t *config, const claims_list_t *list,
                                bool origins, char *text, size_t bytes)
{
    size_t at = 0;
    for (const weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (g->source != list->source ||
            !weft_store_given_is(g, list->section, list->key, list->env_name)) {
            continue;
        }
        int n = snprintf(text != NULL ? text + at : NULL, text != NULL ? bytes - at : 0, "%s%s%s%s",
                         origins ? g->origin : "",
                         origins              ? "\t"
                         : !origins && at > 0 ? "\n"
                                              : "",
                         g->value, origins ? "\n" : "");
        at += n > 0 ? (size_t)n : 0;
    }
    return at;
}

static const char *claims_list_text(weft_config_t *config, const claims_list_t *list, bool origins)
{
    size_t bytes = claims_list_write(config, list, origins, NULL, 0) + 1;
    char *text = weft_store_alloc(config, bytes);
    if (text != NULL) {
        (void)claims_list_write(config, list, origins, text, bytes);
    }
    return text;
}

/* An option that may be given many times. Its field gets the origins too, the claim does not. */
static weft_status_t claims_list_fill(weft_config_t *config, weft_claim_t *claim, void *out)
{
    const weft_given_t *given = claims_winner(config, claim->section, claim->option.name);
    const char *text = "";
    claim->value = "";
    claim->origin = given != NULL ? given->origin : "default";
    if (given != NULL) {
        claims_list_t list = {
            .section = claim->section, .key = claim->option.name, .source = given->source};
        weft_store_env_name(list.section, list.key, list.env_name, sizeof list.env_name);
        text = claims_list_text(config, &list, true);
        claim->value = claims_list_text(config, &list, false);
    }
    memcpy((char *)out + claim->option.offset, &text, sizeof text);
    return text != NULL && claim->value != NULL ? WEFT_OK : WEFT_ERR_RESOURCE;
}

static weft_status_t claims_option_fill(weft_config_t *config, const char *section,
                                        const weft_option_t *option, void *out)
{
    char text[1024];
    weft_claim_t *claim = claims_claim_make(config, section, option);
    if (claim == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    claim->option.offset = option->offset;
    weft_status_t status = claims_mark_known(config, claim, out);
    if (status != WEFT_OK) {
        return status;
    }
    if ((option->flags & WEFT_OPTION_LIST) != 0) {
        return claims_list_fill(config, claim, out);
    }
    const weft_given_t *given = claims_winner(config, section, option->name);
    claim->origin = given != NULL ? given->origin : "default";
    status = claims_value_parse(claim, given != NULL ? given->value : claim->option.value,
                                claim->origin, out);
    if (status != WEFT_OK) {
        return status;
    }
    weft_option_format(&claim->option, out, text, sizeof text);
    claim->value = weft_store_text(config, text, strlen(text));
    return claim->value != NULL ? WEFT_OK : WEFT_ERR_RESOURCE;
}

weft_status_t weft_config_section(weft_config_t *config, const char *section,
                                  const weft_option_t *table, void *out)
{
    weft_status_t status = weft_alias_apply(config, section, table);
    for (const weft_option_t *option = table; option->name != NULL && status == WEFT_OK; option++) {
        if ((option->flags & WEFT_OPTION_ALIAS) == 0) {
            status = claims_option_fill(config, section, option, out);
        }
    }
    return status;
}

weft_status_t weft_config_ignore(weft_config_t *config, const char *section)
{
    weft_ignored_t *ignored = weft_store_alloc(config, sizeof *ignored);
    if (ignored == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    ignored->section = weft_store_text(config, section, strlen(section));
    if (ignored->section == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    ignored->next = config->ignored;
    config->ignored = ignored;
    return WEFT_OK;
}

/* A variable names its section by its first words. */
static bool claims_is_of(const weft_given_t *given, const char *section)
{
    char prefix[WEFT_STORE_NAME_MAX];
    weft_store_env_name(section, NULL, prefix, sizeof prefix);
    return given->section != NULL ? strcmp(given->section, section) == 0
                                  : strncmp(given->key, prefix, strlen(prefix)) == 0;
}

bool weft_config_has(const weft_config_t *config, const char *section)
{
    const weft_given_t *given = config->given;
    while (given != NULL && !claims_is_of(given, section)) {
        given = given->next;
    }
    return given != NULL;
}

static bool claims_is_ignored(const weft_config_t *config, const weft_given_t *given)
{
    for (const weft_ignored_t *i = config->ignored; i != NULL; i = i->next) {
        if (claims_is_of(given, i->section)) {
            return true;
        }
    }
    /* A section with a path is that of a plugin from elsewhere, which is not in use now. */
    return given->section != NULL && !weft_config_claimed(config, given->section) &&
           claims_winner(config, given->section, "path") != NULL;
}

/* Offers a variable's name. If it is the nearest so far, the hint shows that of `key` instead,
 * which is kept in `best`. */
static void claims_variable_offer(weft_nearest_t *nearest, const char *section, const char *name,
                                  const char *key, char best[WEFT_STORE_NAME_MAX])
{
    char variable[WEFT_STORE_NAME_MAX];
    weft_store_env_name(section, name, variable, sizeof variable);
    weft_nearest_offer(nearest, variable, strlen(variable));
    if (nearest->best == variable) {
        weft_store_env_name(section, key, best, WEFT_STORE_NAME_MAX);
        nearest->best = best;
        nearest->best_bytes = strlen(best);
    }
}

static weft_status_t claims_unknown_variable(const weft_config_t *config, const weft_given_t *given)
{
    /* Variables that are no options, without "WEFT_". */
    static const char *const others[] = {"CONF",   "UNIQUE_ID",  "RANK",
                                         "NRANKS", "LOCAL_RANK", "LOCAL_NRANKS"};
    char hint[200], best[WEFT_STORE_NAME_MAX] = "";
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, given->key);
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        claims_variable_offer(&nearest, c->section, c->option.name, c->option.name, best);
    }
    for (const weft_alias_t *a = config->aliases; a != NULL; a = a->next) {
        claims_variable_offer(&nearest, a->section, a->name, a->key, best);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        weft_nearest_offer(&nearest, others[i], strlen(others[i]));
    }
    weft_nearest_hint(&nearest, "WEFT_", "", hint, sizeof hint);
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "%s: no such option%s (expected WEFT_<SECTION>_<KEY>, WEFT_CONF, "
                     "WEFT_UNIQUE_ID, WEFT_RANK, WEFT_NRANKS, WEFT_LOCAL_RANK or "
                     "WEFT_LOCAL_NRANKS)",
                     given->origin, hint);
}

static weft_status_t claims_unknown_section(const weft_config_t *config, const weft_given_t *given)
{
    char hint[100];
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, given->section);
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        weft_nearest_offer(&nearest, c->section, strlen(c->section));
    }
    for (const weft_ignored_t *i = config->ignored; i != NULL; i = i->next) {
        weft_nearest_offer(&nearest, i->section, strlen(i->section));
    }
    weft_nearest_hint(&nearest, "[", "]", hint, sizeof hint);
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [%s] %s: unknown section%s", given->origin,
                     given->section, given->key, hint);
}

/* Returns the section, other than the one that is given, that has a key of this very name, or
 * NULL. */
static const char *claims_other_section(const weft_config_t *config, const weft_given_t *given)
{
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        if (strcmp(c->option.name, given->key) == 0) {
            return c->section;
        }
    }
    return NULL;
}

/* Writes the keys of a section, as many as there is room for. */
static void claims_list(const weft_config_t *config, const char *section, char *text, size_t bytes)
{
    int at = snprintf(text, bytes, "; [%s] has", section);
    const char *before = " ";
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        size_t left = bytes - (size_t)at;
        if (strcmp(c->section, section) != 0) {
            continue;
        }
        if (left < strlen(c->option.name) + sizeof ", , ...") {
            snprintf(text + at, left, ", ...");
            return;
        }
        at += snprintf(text + at, left, "%s%s", before, c->option.name);
        before = ", ";
    }
}

/* A key of the same section that is much like it comes first: [kernel-cuda] devices is device. */
static weft_status_t claims_unknown_key(const weft_config_t *config, const weft_given_t *given)
{
    char hint[240];
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, given->key);
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        if (strcmp(c->section, given->section) == 0) {
            weft_nearest_offer(&nearest, c->option.name, strlen(c->option.name));
        }
    }
    weft_alias_offer(config, given->section, &nearest);
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    const char *other = claims_other_section(config, given);
    if (other != NULL && hint[0] == '\0') {
        snprintf(hint, sizeof hint, ", did you mean %s in section [%s]?", given->key, other);
    } else if (hint[0] == '\0') {
        claims_list(config, given->section, hint, sizeof hint);
    }
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [%s] %s: unknown key%s", given->origin,
                     given->section, given->key, hint);
}

weft_status_t weft_config_finish(weft_config_t *config)
{
    for (const weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (g->claim != NULL || claims_is_ignored(config, g)) {
            continue;
        }
        if (g->section == NULL) {
            return claims_unknown_variable(config, g);
        }
        return weft_config_claimed(config, g->section) ? claims_unknown_key(config, g)
                                                       : claims_unknown_section(config, g);
    }
    return WEFT_OK;
}

const char *weft_config_given(const weft_config_t *config, const char *section, const char *key)
{
    const weft_given_t *given = claims_winner(config, section, key);
    return given != NULL ? given->value : "";
}

const char *weft_config_origin(const weft_config_t *config, const char *section, const char *key)
{
    const weft_given_t *given = claims_winner(config, section, key);
    return given != NULL ? given->origin : "default";
}

void weft_config_each(const weft_config_t *config, weft_config_visit_t visit, void *arg)
{
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        visit(arg, c->section, &c->option, c->value, c->origin);
    }
}
