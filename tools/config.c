/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft config`: every option with its value and where it came from, as a list, an INI file or JSON. */
#include <string.h>

#include "tools/json.h"
#include "tools/session.h"

enum { FORM_LIST, FORM_INI, FORM_JSON };

typedef struct config_walk {
    int form;
    char section[128]; /* of the option before */
    json_t json;
} config_walk_t;

static const tool_option_t options_table[] = {
    {0, "ini", NULL, "print a complete INI file", 'i'},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void open_section(config_walk_t *walk, const char *section)
{
    bool first = walk->section[0] == '\0';
    if (strcmp(walk->section, section) == 0) {
        return;
    }
    snprintf(walk->section, sizeof walk->section, "%s", section);
    if (walk->form == FORM_JSON) {
        if (!first) {
            json_close(&walk->json, '}');
        }
        json_open(&walk->json, section, '{');
    } else {
        printf("%s[%s]\n", first ? "" : "\n", section);
    }
}

static void print_json(json_t *json, const weft_option_t *option, const char *value,
                       const char *origin)
{
    json_open(json, option->name, '{');
    json_string(json, "value", value);
    json_string(json, "origin", origin);
    json_string(json, "default", option->value != NULL ? option->value : "");
    json_string(json, "help", option->help != NULL ? option->help : "");
    if (option->choices != NULL) {
        json_string(json, "choices", option->choices);
    }
    json_close(json, '}');
}

static void visit(void *arg, const char *section, const weft_option_t *option, const char *value,
                  const char *origin)
{
    config_walk_t *walk = arg;
    open_section(walk, section);
    if (walk->form == FORM_JSON) {
        print_json(&walk->json, option, value, origin);
    } else if (walk->form == FORM_INI) {
        printf("; %s%s%s%s\n%s = %s\n", option->help, option->choices != NULL ? " (" : "",
               option->choices != NULL ? option->choices : "", option->choices != NULL ? ")" : "",
               option->name, value);
    } else {
        printf("%-16s = %-28s  %s\n", option->name, value, origin);
    }
}

static int print_all(const tool_settings_t *settings, int form)
{
    tool_session_t session;
    config_walk_t walk = {.form = form, .json = {.out = stdout}};
    weft_status_t status = tool_session_open(&session, settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    if (form == FORM_JSON) {
        json_open(&walk.json, NULL, '{');
    }
    weft_config_each(session.config, visit, &walk);
    if (form == FORM_JSON) {
        if (walk.section[0] != '\0') {
            json_close(&walk.json, '}');
        }
        json_close(&walk.json, '}');
    }
    tool_session_close(&session);
    return TOOL_OK;
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
            return print_all(&settings, form);
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
