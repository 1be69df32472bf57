/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of options: one parser and one printer per type, in a table. */
#include "core/config/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/config/nearest.h"
#include "core/config/number.h"

/* A value while its text is parsed; only the member of the option's type is used. */
typedef union weft_value {
    bool yes;
    int64_t integer;
    uint64_t size;
    double real;
    const char *string;
} weft_value_t;

typedef struct weft_option_class {
    const char *expected;
    size_t bytes;
    bool ranged;
    /* On WEFT_NUMBER_OK *rest_p is what follows the value. */
    weft_number_t (*read)(const weft_option_t *option, const char *text, weft_value_t *value_p,
                          const char **rest_p);
    void (*print)(const weft_option_t *option, const weft_value_t *value, char *text, size_t bytes);
    double (*number)(const weft_value_t *value);
} weft_option_class_t;

typedef struct weft_unit {
    const char *name;
    double factor; /* the value of 1 */
    double per;    /* how many make 1, exact where factor is not */
} weft_unit_t;

static const weft_unit_t durations[] = {
    {"s", 1, 1}, {"", 1, 1}, {"ms", 0, 1e3}, {"us", 0, 1e6}, {"ns", 0, 1e9}, {"min", 60, 1},
};
static const weft_unit_t sizes[] = {
    {"G", 1 << 30, 1}, {"M", 1 << 20, 1}, {"K", 1 << 10, 1}, {"", 1, 1},
    {"g", 1 << 30, 1}, {"m", 1 << 20, 1}, {"k", 1 << 10, 1},
};

static const weft_unit_t *option_unit_find(const weft_unit_t *units, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* The i-th of the choices "one|two|three"; NULL past the end. */
static const char *option_choice_at(const char *choices, int64_t i, size_t *bytes_p)
{
    for (; i > 0; i--) {
        choices = strchr(choices, '|');
        if (choices == NULL) {
            return NULL;
        }
        choices++;
    }
    *bytes_p = strcspn(choices, "|");
    return choices;
}

static weft_number_t option_bool_read(const weft_option_t *option, const char *text,
                                      weft_value_t *value_p, const char **rest_p)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};
    (void)option;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            value_p->yes = (i & 1) != 0;
            *rest_p = "";
            return WEFT_NUMBER_OK;
        }
    }
    return WEFT_NUMBER_NONE;
}

static void option_bool_print(const weft_option_t *option, const weft_value_t *value, char *text,
                              size_t bytes)
{
    (void)option;
    snprintf(text, bytes, "%s", value->yes ? "yes" : "no");
}

static weft_number_t option_int_read(const weft_option_t *option, const char *text,
                                     weft_value_t *value_p, const char **rest_p)
{
    (void)option;
    return weft_number_int(text, &value_p->integer, rest_p);
}

static void option_int_print(const weft_option_t *option, const weft_value_t *value, char *text,
                             size_t bytes)
{
    (void)option;
    snprintf(text, bytes, "%" PRId64, value->integer);
}

static double option_int_number(const weft_value_t *value)
{
    return (double)value->integer;
}

static weft_number_t option_size_read(const weft_option_t *option, const char *text,
                                      weft_value_t *value_p, const char **rest_p)
{
    (void)option;
    weft_number_t result = weft_number_uint(text, &value_p->size, rest_p);
    if (result != WEFT_NUMBER_OK) {
        return result;
    }
    const weft_unit_t *unit = option_unit_find(sizes, sizeof sizes / sizeof sizes[0], *rest_p);
    if (unit == NULL) {
        return WEFT_NUMBER_OK;
    }
    uint64_t factor = (uint64_t)unit->factor;
    if (value_p->size > UINT64_MAX / factor) {
        return WEFT_NUMBER_RANGE;
    }
    value_p->size *= factor;
    *rest_p = "";
    return WEFT_NUMBER_OK;
}

static void option_size_text(uint64_t size, char *text, size_t bytes)
{
    const weft_unit_t *unit = sizes;
    while (size == 0 ? unit->factor > 1 : size % (uint64_t)unit->factor != 0) {
        unit++;
    }
    snprintf(text, bytes, "%" PRIu64 "%s", size / (uint64_t)unit->factor, unit->name);
}

static void option_size_print(const weft_option_t *option, const weft_value_t *value, char *text,
                              size_t bytes)
{
    (void)option;
    option_size_text(value->size, text, bytes);
}

static double option_size_number(const weft_value_t *value)
{
    return (double)value->size;
}

static weft_number_t option_duration_read(const weft_option_t *option, const char *text,
                                          weft_value_t *value_p, const char **rest_p)
{
    (void)option;
    weft_number_t result = weft_number_real(text, &value_p->real, rest_p);
    if (result != WEFT_NUMBER_OK) {
        return result;
    }
    const weft_unit_t *unit =
        option_unit_find(durations, sizeof durations / sizeof durations[0], *rest_p);
    if (unit != NULL) {
        /* Dividing by an exact number rounds once: 100us is the double nearest to 0.0001. */
        value_p->real = unit->factor > 0 ? value_p->real * unit->factor : value_p->real / unit->per;
        *rest_p = "";
    }
    return WEFT_NUMBER_OK;
}

static void option_duration_text(double seconds, char *text, size_t bytes)
{
    double magnitude = seconds < 0 ? -seconds : seconds;
    const char *unit = magnitude >= 1 || magnitude == 0 ? "s"
                       : magnitude >= 1e-3              ? "ms"
                       : magnitude >= 1e-6              ? "us"
                                                        : "ns";
    char number[40];
    weft_value_t back = {.real = 0};
    const char *rest;
    weft_number_format(
        seconds * option_unit_find(durations, sizeof durations / sizeof durations[0], unit)->per,
        number, sizeof number);
    snprintf(text, bytes, "%s%s", number, unit);
    /* The product may be rounded. */
    if (option_duration_read(NULL, text, &back, &rest) != WEFT_NUMBER_OK || back.real != seconds) {
        weft_number_format(seconds, number, sizeof number);
        snprintf(text, bytes, "%ss", number);
    }
}

static void option_duration_print(const weft_option_t *option, const weft_value_t *value,
                                  char *text, size_t bytes)
{
    (void)option;
    option_duration_text(value->real, text, bytes);
}

static weft_number_t option_real_read(const weft_option_t *option, const char *text,
                                      weft_value_t *value_p, const char **rest_p)
{
    (void)option;
    return weft_number_real(text, &value_p->real, rest_p);
}

static void option_real_print(const weft_option_t *option, const weft_value_t *value, char *text,
                              size_t bytes)
{
    (void)option;
    weft_number_format(value->real, text, bytes);
}

static double option_real_number(const weft_value_t *value)
{
    return value->real;
}

static weft_number_t option_string_read(const weft_option_t *option, const char *text,
                                        weft_value_t *value_p, const char **rest_p)
{
    (void)option;
    value_p->string = text;
    *rest_p = "";
    return WEFT_NUMBER_OK;
}

static void option_string_print(const weft_option_t *option, const weft_value_t *value, char *text,
                                size_t bytes)
{
    (void)option;
    snprintf(text, bytes, "%s", value->string != NULL ? value->string : "");
}

static weft_number_t option_choice_read(const weft_option_t *option, const char *text,
                                        weft_value_t *value_p, const char **rest_p)
{
    size_t bytes;
    for (int64_t i = 0;; i++) {
        const char *choice = option_choice_at(option->choices, i, &bytes);
        if (choice == NULL) {
            return WEFT_NUMBER_NONE;
        }
        if (strlen(text) == bytes && memcmp(text, choice, bytes) == 0) {
            value_p->integer = i;
            *rest_p = "";
            return WEFT_NUMBER_OK;
        }
    }
}

static void option_choice_print(const weft_option_t *option, const weft_value_t *value, char *text,
                                size_t bytes)
{
    size_t length = 0;
    const char *choice = option_choice_at(option->choices, value->integer, &length);
    snprintf(text, bytes, "%.*s", (int)length, choice != NULL ? choice : "");
}

static const weft_option_class_t classes[] = {
    [WEFT_OPT_BOOL] = {"yes or no", sizeof(bool), false, option_bool_read, option_bool_print, NULL},
    [WEFT_OPT_INT] = {"a whole number", sizeof(int64_t), true, option_int_read, option_int_print,
                      option_int_number},
    [WEFT_OPT_SIZE] = {"a number of bytes, e.g. 4096, 64K, 8M or 1G", sizeof(uint64_t), true,
                       option_size_read, option_size_print, option_size_number},
    [WEFT_OPT_DURATION] = {"a number with ns, us, ms, s or min", sizeof(double), true,
                           option_duration_read, option_duration_print, option_real_number},
    [WEFT_OPT_REAL] = {"a number", sizeof(double), true, option_real_read, option_real_print,
                       option_real_number},
    [WEFT_OPT_STRING] = {"text", sizeof(const char *), false, option_string_read,
                         option_string_print, NULL},
    [WEFT_OPT_CHOICE] = {"one of the choices", sizeof(int64_t), false, option_choice_read,
                         option_choice_print, NULL},
};

static const weft_option_class_t *option_class_of(uint32_t type)
{
    return type >= WEFT_OPT_BOOL && type <= WEFT_OPT_CHOICE ? &classes[type] : NULL;
}

size_t weft_option_type_bytes(uint32_t type)
{
    const weft_option_class_t *class = option_class_of(type);
    return class != NULL ? class->bytes : 0;
}

static bool option_has_range(const weft_option_t *option)
{
    return option_class_of(option->type)->ranged &&
           (option->min < 0 || option->min > 0 || option->max < 0 || option->max > 0);
}

static void option_choices_text(const char *choices, char *text, size_t bytes)
{
    size_t at = (size_t)snprintf(text, bytes, "one of: ");
    for (; *choices != '\0' && at + 3 < bytes; choices++) {
        text[at++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|') {
            text[at++] = ' ';
        }
    }
    text[at < bytes ? at : bytes - 1] = '\0';
}

static void option_bound_text(const weft_option_t *option, double bound, char *text, size_t bytes)
{
    if (option->type == WEFT_OPT_SIZE) {
        option_size_text((uint64_t)bound, text, bytes);
    } else if (option->type == WEFT_OPT_DURATION) {
        option_duration_text(bound, text, bytes);
    } else {
        weft_number_format(bound, text, bytes);
    }
}

void weft_option_limits(const weft_option_t *option, char *text, size_t bytes)
{
    text[0] = '\0';
    if (option->type == WEFT_OPT_CHOICE) {
        option_choices_text(option->choices, text, bytes);
    } else if (option_has_range(option)) {
        char low[48], high[48];
        option_bound_text(option, option->min, low, sizeof low);
        option_bound_text(option, option->max, high, sizeof high);
        snprintf(text, bytes, "%s to %s", low, high);
    }
}

/* Says what would have been right for a text that is no value of the type. */
static void option_say_expected(const weft_option_t *option, const char *text, char *why,
                                size_t bytes)
{
    char hint[128] = "", limits[256];
    weft_option_limits(option, limits, sizeof limits);
    if (option->type != WEFT_OPT_CHOICE) {
        snprintf(why, bytes, "expected %s%s%s", option_class_of(option->type)->expected,
                 limits[0] != '\0' ? ", " : "", limits);
        return;
    }
    weft_nearest_t nearest;
    size_t length;
    weft_nearest_start(&nearest, text);
    for (int64_t i = 0; option_choice_at(option->choices, i, &length) != NULL; i++) {
        weft_nearest_offer(&nearest, option_choice_at(option->choices, i, &length), length);
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    snprintf(why, bytes, "unknown choice%s; expected %s", hint, limits);
}

bool weft_option_parse(const weft_option_t *option, const char *text, void *out, char *why,
                       size_t bytes)
{
    const weft_option_class_t *class = option_class_of(option->type);
    weft_value_t value = {0};
    const char *rest = "";
    if (*text == '\0' && option->type != WEFT_OPT_STRING) {
        char expected[320];
        option_say_expected(option, text, expected, sizeof expected);
        snprintf(why, bytes, "no value, %s", expected);
        return false;
    }
    weft_number_t result = class->read(option, text, &value, &rest);
    if (result == WEFT_NUMBER_NONE || (result == WEFT_NUMBER_OK && *rest != '\0')) {
        option_say_expected(option, text, why, bytes);
        return false;
    }
    double number = class->ranged && result == WEFT_NUMBER_OK ? class->number(&value) : 0;
    if (result == WEFT_NUMBER_RANGE ||
        (option_has_range(option) && (number < option->min || number > option->max))) {
        char limits[256];
        weft_option_limits(option, limits, sizeof limits);
        snprintf(why, bytes, "out of range, expected %s",
                 limits[0] != '\0' ? limits : class->expected);
        return false;
    }
    memcpy((char *)out + option->offset, &value, class->bytes);
    return true;
}

void weft_option_format(const weft_option_t *option, const void *out, char *text, size_t bytes)
{
    const weft_option_class_t *class = option_class_of(option->type);
    weft_value_t value = {0};
    memcpy(&value, (const char *)out + option->offset, class->bytes);
    class->print(option, &value, text, bytes);
}
