/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft config`: every option with its value and where it came from, as a list, an INI file or
 * JSON. */
#include "tools/config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/args.h"
#include "tools/json.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/values.h"

enum { FORM_LIST, FORM_INI, FORM_JSON };

typedef struct config_row {
    const char *section;
    const weft_option_t *option;
    const char *value, *origin;
    bool printed;
} config_row_t;

/* All rows: several tables may share a section, and a section is shown once. The pointers live as
 * long as the configuration. */
typedef struct config_rows {
    config_row_t *rows;
    size_t count, room;
    bool failed;
} config_rows_t;

static const tool_option_t options_table[] = {
    {0, "ini", NULL, "print a complete INI file", 'i'},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void config_collect(void *arg, const char *section, const weft_option_t *option,
                           const char *value, const char *origin)
{
    config_rows_t *all = arg;
    if (all->count == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 64;
        config_row_t *rows = realloc(all->rows, room * sizeof *rows);
        if (rows == NULL) {
            all->failed = true;
            return;
        }
        all->rows = rows;
        all->room = room;
    }
    all->rows[all->count++] =
        (config_row_t){.section = section, .option = option, .value = value, .origin = origin};
}

static void config_put_json(json_t *json, const config_row_t *row)
{
    const weft_option_t *option = row->option;
    json_open(json, option->name, '{');
    json_string(json, "value", row->value);
    json_string(json, "origin", row->origin);
    json_string(json, "default", option->value != NULL ? option->value : "");
    json_string(json, "help", option->help != NULL ? option->help : "");
    if (option->choices != NULL) {
        json_string(json, "choices", option->choices);
    }
    json_close(json, '}');
}

static void config_print_section(config_rows_t *all, size_t first, json_t *json)
{
    const char *section = all->rows[first].section;
    if (json != NULL) {
        json_open(json, section, '{');
    } else {
        printf("%s[%s]\n", first > 0 ? "\n" : "", section);
    }
    for (size_t i = first; i < all->count; i++) {
        config_row_t *row = &all->rows[i];
        if (strcmp(row->section, section) != 0) {
            continue;
        }
        row->printed = true;
        if (json != NULL) {
            config_put_json(json, row);
        } else {
            printf("%-16s = %-28s  %s\n", row->option->name, row->value, row->origin);
        }
    }
    if (json != NULL) {
        json_close(json, '}');
    }
}

static weft_status_t config_print_rows(const weft_config_t *config, bool as_json)
{
    config_rows_t all = {0};
    json_t json = {.out = stdout};
    weft_config_each(config, config_collect, &all);
    if (all.failed) {
        free(all.rows);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the list of options");
    }
    if (as_json) {
        json_open(&json, NULL, '{');
    }
    for (size_t i = 0; i < all.count; i++) {
        if (!all.rows[i].printed) {
            config_print_section(&all, i, as_json ? &json : NULL);
        }
    }
    if (as_json) {
        json_close(&json, '}');
    }
    free(all.rows);
    return WEFT_OK;
}

static int config_print_all(const tool_settings_t *settings, int form)
{
    tool_session_t session;
    weft_status_t status = tool_session_open(&session, settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    status = form == FORM_INI ? weft_config_print(session.config, stdout)
                              : config_print_rows(session.config, form == FORM_JSON);
    tool_session_close(&session);
    return status != WEFT_OK ? tool_report(status) : TOOL_OK;
}

int tool_config(int argc, char **argv)
{
    tool_settings_t settings = {0};
    int form = FORM_LIST;
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        int id = tool_args_next(&args);
        switch (id) {
        case TOOL_ARGS_END:
            return config_print_all(&settings, form);
        case TOOL_ARGS_ERROR:
            return TOOL_USAGE;
        case TOOL_ARGS_OPERAND:
            return tool_usage("weft config takes no name, got '%s'", args.value);
        case 'i':
            form = FORM_INI;
            break;
        case TOOL_OPT_JSON:
            form = FORM_JSON;
            break;
        case 'h':
            printf("usage: weft config [options]\n\n");
            tool_options_print(options_table, stdout);
            return TOOL_OK;
        default:
            if (!tool_settings_take(&settings, id, args.value)) {
                return TOOL_USAGE;
            }
        }
    }
}
