/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mistakes in an option table, found before it is used. */
#include "core/config/option_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/config/option.h"

bool weft_option_name_ok(const char *name, size_t bytes, char extra)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == extra)) {
            return false;
        }
    }
    return bytes > 0 && bytes <= WEFT_OPTION_NAME_MAX;
}

static bool option_table_name_check(const char *name, char *why, size_t bytes)
{
    if (weft_option_name_ok(name, strnlen(name, WEFT_OPTION_NAME_MAX + 1), '_')) {
        return true;
    }
    snprintf(why, bytes, "option name \"%.60s\", expected 1 to 48 of a-z, 0-9 and _", name);
    return false;
}

/* An alias names an option of the same table, and the version in which it goes. */
static bool option_table_alias_check(const weft_option_t *table, const weft_option_t *alias,
                                     char *why, size_t bytes)
{
    if (alias->value == NULL || alias->help == NULL) {
        snprintf(why, bytes, "alias %s has no %s, expected text", alias->name,
                 alias->value == NULL ? "new name" : "version");
        return false;
    }
    for (size_t i = 0; i < WEFT_OPTION_TABLE_MAX && table[i].name != NULL; i++) {
        if (strcmp(table[i].name, alias->value) == 0 && (table[i].flags & WEFT_OPTION_ALIAS) == 0) {
            return true;
        }
    }
    snprintf(why, bytes, "alias %s is for \"%.60s\", expected an option of the same table",
             alias->name, alias->value);
    return false;
}

static bool option_table_entry_check(const weft_option_t *option, size_t config_size, char *why,
                                     size_t bytes)
{
    size_t width = weft_option_type_bytes(option->type);
    const char *name = option->name;
    if (width == 0) {
        snprintf(why, bytes, "option %s has type %" PRIu32 ", expected %d to %d", name,
                 option->type, WEFT_OPT_BOOL, WEFT_OPT_CHOICE);
    } else if (option->offset > config_size || config_size - option->offset < width) {
        snprintf(why, bytes, "option %s ends at byte %zu, expected at most config_size %zu", name,
                 option->offset + width, config_size);
    } else if (option->offset % width != 0) {
        snprintf(why, bytes, "option %s is at offset %" PRIu32 ", expected a multiple of %zu", name,
                 option->offset, width);
    } else if (option->value == NULL || option->help == NULL) {
        snprintf(why, bytes, "option %s has no %s, expected text", name,
                 option->value == NULL ? "default" : "help");
    } else if ((option->flags & WEFT_OPTION_LIST) != 0 &&
               (option->type != WEFT_OPT_STRING || option->value[0] != '\0')) {
        snprintf(why, bytes, "option %s is a list, expected a STRING whose default is empty", name);
    } else if ((option->flags & WEFT_OPTION_ALGO) != 0 && option->type != WEFT_OPT_STRING) {
        snprintf(why, bytes, "option %s names an algorithm, expected a STRING", name);
    } else if (option->type == WEFT_OPT_CHOICE && option->choices == NULL) {
        snprintf(why, bytes, "option %s has no choices, expected \"one|two\"", name);
    } else {
        return true;
    }
    return false;
}

/* Sizes and durations are never negative. 0 to 0 is no range. */
static bool option_table_range_check(const weft_option_t *option, char *why, size_t bytes)
{
    bool positive = option->type == WEFT_OPT_SIZE || option->type == WEFT_OPT_DURATION;
    if (option->type == WEFT_OPT_BOOL || option->type == WEFT_OPT_STRING ||
        option->type == WEFT_OPT_CHOICE ||
        (option->min <= option->max && (!positive || option->min >= 0) &&
         (option->type != WEFT_OPT_SIZE || option->max <= 0x1p63))) {
        return true;
    }
    snprintf(why, bytes, "range %g to %g of option %s, expected %s", option->min, option->max,
             option->name,
             option->type == WEFT_OPT_SIZE ? "0 <= min <= max <= 2^63"
             : positive                    ? "0 <= min <= max"
                                           : "min <= max");
    return false;
}

static bool option_table_default_check(const weft_option_t *option, char *why, size_t bytes)
{
    uint64_t value = 0;
    char reason[400];
    weft_option_t alone = *option;
    alone.offset = 0;
    if (weft_option_parse(&alone, option->value, &value, reason, sizeof reason)) {
        return true;
    }
    snprintf(why, bytes, "default \"%.60s\" of option %s: %s", option->value, option->name, reason);
    return false;
}

bool weft_option_table_check(const weft_option_t *table, size_t config_size, char *why,
                             size_t bytes)
{
    for (size_t i = 0; table[i].name != NULL; i++) {
        if (i == WEFT_OPTION_TABLE_MAX) {
            snprintf(why, bytes, "option table without end, expected at most %d options",
                     WEFT_OPTION_TABLE_MAX);
            return false;
        }
        if (!option_table_name_check(table[i].name, why, bytes)) {
            return false;
        }
        bool good = (table[i].flags & WEFT_OPTION_ALIAS) != 0
                        ? option_table_alias_check(table, &table[i], why, bytes)
                        : option_table_entry_check(&table[i], config_size, why, bytes) &&
                              option_table_range_check(&table[i], why, bytes) &&
                              option_table_default_check(&table[i], why, bytes);
        if (!good) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(table[i].name, table[j].name) == 0) {
                snprintf(why, bytes, "option %s twice in the table, expected once", table[i].name);
                return false;
            }
        }
    }
    return true;
}
