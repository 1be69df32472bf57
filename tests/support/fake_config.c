/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens plugins and fills config structs from their option tables. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_host.h"

typedef const weft_plugin_t *(*entry_fn_t)(void);

typedef struct suffix {
    const char *text;
    double factor;
} suffix_t;

static const suffix_t size_suffixes[] = {
    {"", 1}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}, {NULL, 0}};
static const suffix_t time_suffixes[] = {{"", 1},      {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                                         {"ns", 1e-9}, {"min", 60}, {NULL, 0}};
static const suffix_t no_suffixes[] = {{"", 1}, {NULL, 0}};

const weft_plugin_t *fake_plugin_open(const char *path, weft_plugin_kind_t kind, char *why,
                                      size_t bytes)
{
    static const uint16_t majors[] = {0,
                                      WEFT_ABI_NET_MAJOR,
                                      WEFT_ABI_ALGO_MAJOR,
                                      WEFT_ABI_KERNEL_MAJOR,
                                      WEFT_ABI_TUNER_MAJOR,
                                      WEFT_ABI_TOPO_MAJOR};
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        snprintf(why, bytes, "%s", dlerror());
        return NULL;
    }
    void *symbol = dlsym(object, "weft_plugin_entry");
    if (symbol == NULL) {
        snprintf(why, bytes, "%s exports no weft_plugin_entry", path);
        return NULL;
    }
    entry_fn_t entry;
    memcpy(&entry, &symbol, sizeof entry);
    const weft_plugin_t *plugin = entry();
    if (plugin == NULL || plugin->magic != WEFT_PLUGIN_MAGIC) {
        snprintf(why, bytes, "%s: no descriptor, or wrong magic", path);
        return NULL;
    }
    if (plugin->kind != (uint32_t)kind || plugin->abi_major != majors[kind] ||
        plugin->size != sizeof *plugin || plugin->ops == NULL) {
        snprintf(why, bytes, "%s: kind %u, ABI %u.%u, size %u do not fit", path, plugin->kind,
                 plugin->abi_major, plugin->abi_minor, plugin->size);
        return NULL;
    }
    return plugin;
}

static bool parse_number(const char *text, const suffix_t *suffix, double *number_p)
{
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number)) {
        return false;
    }
    for (; suffix->text != NULL; suffix++) {
        if (strcmp(end, suffix->text) == 0) {
            *number_p = number * suffix->factor;
            return true;
        }
    }
    return false;
}

static bool parse_bool(const char *text, bool *value_p)
{
    static const char *const words[] = {"no", "off", "false", "0", "yes", "on", "true", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value_p = i >= 4;
            return true;
        }
    }
    return false;
}

static bool parse_choice(const char *text, const char *choices, int64_t *value_p)
{
    size_t length = strlen(text);
    for (*value_p = 0; choices != NULL; (*value_p)++) {
        if (strncmp(choices, text, length) == 0 &&
            (choices[length] == '|' || choices[length] == '\0')) {
            return true;
        }
        const char *bar = strchr(choices, '|');
        choices = bar != NULL ? bar + 1 : NULL;
    }
    return false;
}

static bool set_number(const weft_option_t *option, const char *text, void *field)
{
    const suffix_t *suffixes = option->type == WEFT_OPT_SIZE       ? size_suffixes
                               : option->type == WEFT_OPT_DURATION ? time_suffixes
                                                                   : no_suffixes;
    double number;
    bool ranged = option->min != 0 || option->max != 0;
    if (!parse_number(text, suffixes, &number) ||
        (ranged && (number < option->min || number > option->max))) {
        return false;
    }
    int64_t integer = (int64_t)number;
    uint64_t size = number >= 0 ? (uint64_t)number : 0;
    switch (option->type) {
    case WEFT_OPT_INT:
        memcpy(field, &integer, sizeof integer);
        return true;
    case WEFT_OPT_SIZE:
        memcpy(field, &size, sizeof size);
        return number >= 0;
    default:
        memcpy(field, &number, sizeof number);
        return true;
    }
}

static bool set_option(const weft_option_t *option, const char *text, uint8_t *config)
{
    void *field = config + option->offset;
    bool flag;
    int64_t choice;
    switch (option->type) {
    case WEFT_OPT_BOOL:
        if (!parse_bool(text, &flag)) {
            return false;
        }
        memcpy(field, &flag, sizeof flag);
        return true;
    case WEFT_OPT_STRING:
        memcpy(field, &text, sizeof text);
        return true;
    case WEFT_OPT_CHOICE:
        if (!parse_choice(text, option->choices, &choice)) {
            return false;
        }
        memcpy(field, &choice, sizeof choice);
        return true;
    default:
        return set_number(option, text, field);
    }
}

static bool set_key(const weft_plugin_t *plugin, const char *setting, uint8_t *config)
{
    const char *equals = strchr(setting, '=');
    size_t length = equals != NULL ? (size_t)(equals - setting) : 0;
    for (const weft_option_t *o = plugin->options; length > 0 && o != NULL && o->name; o++) {
        if (strlen(o->name) == length && memcmp(o->name, setting, length) == 0 &&
            (o->flags & WEFT_OPTION_ALIAS) == 0) {
            return set_option(o, equals + 1, config);
        }
    }
    return false;
}

void *fake_config_create(const weft_plugin_t *plugin, const char *const *settings, char *why,
                         size_t bytes)
{
    uint8_t *config = calloc(1, plugin->config_size + 1);
    if (config == NULL) {
        snprintf(why, bytes, "no memory for the config struct");
        return NULL;
    }
    for (const weft_option_t *o = plugin->options; o != NULL && o->name != NULL; o++) {
        if ((o->flags & WEFT_OPTION_ALIAS) == 0 && !set_option(o, o->value, config)) {
            snprintf(why, bytes, "default of option %s does not parse: %s", o->name, o->value);
            free(config);
            return NULL;
        }
    }
    for (; settings != NULL && *settings != NULL; settings++) {
        if (!set_key(plugin, *settings, config)) {
            snprintf(why, bytes, "not an option of %s, or a bad value: %s", plugin->name,
                     *settings);
            free(config);
            return NULL;
        }
    }
    return config;
}

void fake_config_destroy(void *config)
{
    free(config);
}
