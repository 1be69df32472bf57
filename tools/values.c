/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values on the command line: numbers, sizes, names, and the configuration options. */
#include "tools/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/nearest.h"
#include "tools/tool.h"

bool tool_parse_integer(const char *what, const char *text, int64_t min, int64_t max,
                        int64_t *value_p)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0) {
        tool_usage("%s wants a whole number, got '%s'", what, text);
        return false;
    }
    if (value < min || value > max) {
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

bool tool_settings_take(tool_settings_t *settings, int id, const char *value)
{
    if (id == TOOL_OPT_CONF) {
        settings->conf = value;
        return true;
    }
    if (settings->count == TOOL_SETTINGS_MAX) {
        tool_usage("more than %d --set", TOOL_SETTINGS_MAX);
        return false;
    }
    if (id == TOOL_OPT_ALGO) {
        if ((size_t)snprintf(settings->algo, sizeof settings->algo, "plan.algo=%s", value) >=
            sizeof settings->algo) {
            tool_usage("algorithm name too long: %s", value);
            return false;
        }
        value = settings->algo;
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
