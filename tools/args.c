/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option parser of all subcommands, driven by tables that also print the help. */
#include "tools/args.h"

#include <string.h>

#include "tools/tool.h"
#include "tools/values.h"

static const tool_option_t *args_find_letter(const tool_option_t *options, char letter)
{
    for (; options->name != NULL; options++) {
        if (letter != '\0' && options->letter == letter) {
            return options;
        }
    }
    return NULL;
}

static const tool_option_t *args_find_name(const tool_option_t *options, const char *name,
                                           size_t length)
{
    for (; options->name != NULL; options++) {
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0) {
            return options;
        }
    }
    return NULL;
}

static int args_unknown_option(const tool_args_t *args, const char *name, size_t length)
{
    const char *names[64];
    char text[64];
    size_t n = 0;
    for (const tool_option_t *o = args->options; o->name != NULL && n < 63; o++) {
        names[n++] = o->name;
    }
    names[n] = NULL;
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    const char *near = length > 1 ? tool_nearest(text, names) : NULL;
    if (near != NULL) {
        tool_usage("unknown option --%s; did you mean --%s?", text, near);
    } else {
        tool_usage("unknown option %s%s; --help lists them", length == 1 ? "-" : "--", text);
    }
    return TOOL_ARGS_ERROR;
}

static int args_take_value(tool_args_t *args, const tool_option_t *option, const char *inside)
{
    if (option->arg == NULL) {
        if (inside != NULL) {
            tool_usage("option --%s takes no value", option->name);
            return TOOL_ARGS_ERROR;
        }
        return option->id;
    }
    if (inside == NULL && args->at >= args->argc) {
        tool_usage("option --%s needs a value: %s", option->name, option->arg);
        return TOOL_ARGS_ERROR;
    }
    args->value = inside != NULL ? inside : args->argv[args->at++];
    return option->id;
}

static int args_next_long(tool_args_t *args, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const tool_option_t *option = args_find_name(args->options, text, length);
    if (option == NULL) {
        return args_unknown_option(args, text, length);
    }
    return args_take_value(args, option, equals != NULL ? equals + 1 : NULL);
}

int tool_args_next(tool_args_t *args)
{
    if (args->at >= args->argc) {
        return TOOL_ARGS_END;
    }
    const char *text = args->argv[args->at++];
    if (text[0] != '-' || text[1] == '\0') {
        args->value = text;
        return TOOL_ARGS_OPERAND;
    }
    if (text[1] == '-') {
        return args_next_long(args, text + 2);
    }
    const tool_option_t *option = args_find_letter(args->options, text[1]);
    if (option == NULL) {
        return args_unknown_option(args, text + 1, 1);
    }
    return args_take_value(args, option, text[2] != '\0' ? text + 2 : NULL);
}

/* A character of UTF-8 has one byte that does not go on with 10xxxxxx. */
static int args_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++) {
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return columns;
}

void tool_options_print(const tool_option_t *options, FILE *out)
{
    for (const tool_option_t *o = options; o->name != NULL; o++) {
        char left[64];
        snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter != '\0' ? '-' : ' ',
                 o->letter != '\0' ? o->letter : ' ', o->letter != '\0' ? "," : " ", o->name,
                 o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
        int columns = args_columns(left);
        if (columns > 32) {
            fprintf(out, "  %s\n  %-32s  %s\n", left, "", o->help);
        } else {
            fprintf(out, "  %s%*s  %s\n", left, 32 - columns, "", o->help);
        }
    }
}
