/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values on the command line: numbers, sizes, names, and the configuration options. */
#include "tools/values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/config/nearest.h"
#include "core/config/number.h"
#include "tools/tool.h"

bool tool_parse_integer(const char *what, const char *text, int64_t min, int64_t max,
                        int64_t *value_p)
{
    const char *end = text;
    int64_t value = 0;
    const weft_number_t found = weft_number_int(text, &value, &end);
    if (found == WEFT_NUMBER_NONE || (found == WEFT_NUMBER_OK && *end != '\0')) {
        tool_usage("%s wants a whole number, got '%s'", what, text);
        return false;
    }
    if (found == WEFT_NUMBER_RANGE || value < min || value > max) {
        tool_usage("%s is %s, allowed are %lld to %lld", what, text, (long long)min,
                   (long long)max);
        return false;
    }
    *value_p = value;
    return true;
}

bool tool_parse_real(const char *what, const char *text, double min, double *value_p)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= min) || value > 1e18) {
        tool_usage("%s wants a number from %g, got '%s'", what, min, text);
        return false;
    }
    *value_p = value;
    return true;
}

bool tool_parse_size(const char *what, const char *text, uint64_t *value_p)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    double value = strtod(text, &end);
    if (end != text && *end != '\0') {
        char upper = (char)(*end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
        const char *unit = strchr(units, upper);
        for (const char *u = units; unit != NULL && u <= unit; u++) {
            value *= 1024;
        }
        end += unit != NULL;
    }
    if (end == text || *end != '\0' || !(value >= 0) || value > 1e17) {
        tool_usage("%s wants a number of bytes such as 8, 1.5K or 16M, got '%s'", what, text);
        return false;
    }
    *value_p = (uint64_t)value;
    return true;
}

const char *tool_nearest(const char *text, const char *const *names)
{
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, text);
    for (; *names != NULL; names++) {
        weft_nearest_offer(&nearest, *names, strlen(*names));
    }
    return nearest.best;
}

int tool_parse_name(const char *what, const char *text, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    const char *near = tool_nearest(text, names);
    if (near != NULL) {
        tool_usage("unknown %s '%s'; did you mean %s?", what, text, near);
        return -1;
    }
    char all[512] = "";
    for (size_t i = 0, at = 0; names[i] != NULL && at < sizeof all - 32; i++) {
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%.24s", i > 0 ? ", " : "", names[i]);
    }
    tool_usage("unknown %s '%s'; there are %s", what, text, all);
    return -1;
}

int tool_parse_coll(const char *text, const char *all)
{
    const char *names[WEFT_COLL_COUNT + 2] = {NULL};
    for (int coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        names[coll] = weft_coll_name((weft_coll_t)coll);
    }
    names[WEFT_COLL_COUNT] = all;
    return tool_parse_name("collective", text, names);
}

/* Names of data types: those of nccl-tests, which weft prints, then those of the API and of
 * others. */
typedef struct values_dtype {
    const char *name;
    weft_dtype_t dtype;
} values_dtype_t;

static const values_dtype_t values_dtypes[] = {
#define NAME(value, name, bytes, text) {text, WEFT_##name},
    WEFT_DTYPE_MAP(NAME)
#undef NAME
#define NAME(value, name, bytes, text) {#name, WEFT_##name},
        WEFT_DTYPE_MAP(NAME)
#undef NAME
            {"char", WEFT_INT8},
    {"byte", WEFT_UINT8},
    {"int", WEFT_INT32},
    {"float16", WEFT_FP16},
    {"float32", WEFT_FP32},
    {"float64", WEFT_FP64},
    {"float8_e4m3", WEFT_FP8_E4M3},
    {"float8_e4m3fn", WEFT_FP8_E4M3},
    {"float8_e5m2", WEFT_FP8_E5M2},
    {"fp8_e4m3", WEFT_FP8_E4M3},
    {"fp8_e5m2", WEFT_FP8_E5M2},
};
enum { VALUES_DTYPES = sizeof values_dtypes / sizeof values_dtypes[0] };

int tool_parse_dtype(const char *text, const char *all)
{
    static const char prefix[] = "WEFT_";
    const bool prefixed = weft_ascii_same(text, prefix, sizeof prefix - 1);
    const char *bare = prefixed ? text + sizeof prefix - 1 : text;
    const char *names[WEFT_DTYPE_COUNT + 2] = {NULL};
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, text);
    if (all != NULL && strcmp(text, all) == 0) {
        return WEFT_DTYPE_COUNT;
    }
    for (size_t i = 0; i < VALUES_DTYPES; i++) {
        if (weft_ascii_same(bare, values_dtypes[i].name, SIZE_MAX)) {
            return (int)values_dtypes[i].dtype;
        }
        weft_nearest_offer(&nearest, values_dtypes[i].name, strlen(values_dtypes[i].name));
    }
    if (nearest.best != NULL) {
        tool_usage("unknown data type '%s'; did you mean %s?", text, nearest.best);
        return -1;
    }
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) { /* none is near: lists them */
        names[dtype] = weft_dtype_name((weft_dtype_t)dtype);
    }
    names[WEFT_DTYPE_COUNT] = all;
    return tool_parse_name("data type", text, names);
}

/* Whether one of the texts that are kept sets what `text` sets. */
static bool values_has_key(const tool_settings_t *settings, const char *text)
{
    size_t length = strcspn(text, "=") + 1;
    for (const char *at = settings->texts; at < settings->texts + settings->used;
         at += strlen(at) + 1) {
        if (strncmp(at, text, length) == 0) {
            return true;
        }
    }
    return false;
}

bool tool_settings_add(tool_settings_t *settings, const char *section, const char *text,
                       size_t bytes)
{
    char *kept = settings->texts + settings->used;
    size_t room = sizeof settings->texts - settings->used;
    int n = snprintf(kept, room, "%s.%.*s", section, (int)bytes, text);
    if (memchr(text, '=', bytes) == NULL) {
        tool_usage("%s: a parameter or option is name=value, not '%.*s'", section, (int)bytes,
                   text);
        return false;
    }
    if (n < 0 || (size_t)n >= room) {
        tool_usage("too many parameters and options of %s", section);
        return false;
    }
    if (values_has_key(settings, kept)) {
        tool_usage("%s: %.*s is given twice", section, (int)strcspn(text, "="), text);
        return false;
    }
    settings->used += (uint32_t)n + 1;
    return tool_settings_take(settings, TOOL_OPT_SET, kept);
}

bool tool_settings_take_algo(tool_settings_t *settings, const char *spec, char *name, size_t bytes)
{
    size_t length = strcspn(spec, ":");
    if (length == 0 || length >= bytes) {
        tool_usage("expected the name of an algorithm, got '%s'", spec);
        return false;
    }
    snprintf(name, bytes, "%.*s", (int)length, spec);
    for (const char *at = spec + length + (spec[length] == ':'); *at != '\0'; at += *at == ',') {
        size_t part = strcspn(at, ",");
        if (!tool_settings_add(settings, name, at, part)) {
            return false;
        }
        at += part;
    }
    return true;
}

static bool values_take_forced(tool_settings_t *settings, const char *spec)
{
    char name[64], forced[80];
    if (!tool_settings_take_algo(settings, spec, name, sizeof name)) {
        return false;
    }
    int n = snprintf(forced, sizeof forced, "algo=%s", name);
    return tool_settings_add(settings, "plan", forced, (size_t)n);
}

bool tool_settings_take(tool_settings_t *settings, int id, const char *value)
{
    if (id == TOOL_OPT_CONF) {
        settings->conf = value;
        return true;
    }
    if (id == TOOL_OPT_ALGO) {
        return values_take_forced(settings, value);
    }
    if (settings->count == TOOL_SETTINGS_MAX) {
        tool_usage("more than %d --set", TOOL_SETTINGS_MAX);
        return false;
    }
    if (strchr(value, '=') == NULL) {
        tool_usage("--set wants section.key=value, got '%s'", value);
        return false;
    }
    settings->set[settings->count++] = value;
    return true;
}

weft_comm_options_t tool_settings_options(const tool_settings_t *settings)
{
    return (weft_comm_options_t){.size = sizeof(weft_comm_options_t),
                                 .config = settings->conf,
                                 .settings = settings->set,
                                 .settings_count = settings->count};
}
