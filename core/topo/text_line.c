/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines, words, and the few kinds of values. */
#include "core/topo/text_line.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/number.h"
#include "core/os/os.h"

#define BANDWIDTH_MAX 1e15 /* bytes per second; more would be cut by capacities */

weft_status_t weft_text_read(const char *path, char **text_p)
{
    char *text = NULL;
    size_t bytes = 0;
    int error = 0;
    weft_status_t status = weft_os_read_file(path, WEFT_TEXT_BYTES_MAX, &text, &bytes, &error);
    if (status != WEFT_OK) {
        return error == EFBIG    ? weft_fail(WEFT_ERR_CONFIG, 0, "%s has more than %u bytes", path,
                                             WEFT_TEXT_BYTES_MAX)
               : error == EINVAL ? weft_fail(WEFT_ERR_CONFIG, 0, "%s is no regular file", path)
                                 : weft_fail(status, error, "cannot read %s", path);
    }
    if (memchr(text, '\0', bytes) != NULL) {
        weft_os_free(text);
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s is not a text", path);
    }
    *text_p = text;
    return WEFT_OK;
}

void weft_text_begin(weft_text_line_t *line, const char *file, const char *text)
{
    *line = (weft_text_line_t){.file = file, .at = text, .line = 1};
}

void weft_text_refuse(weft_text_line_t *line, const char *format, ...)
{
    char text[512];
    va_list args;
    if (line->status != WEFT_OK) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    line->status = weft_fail(WEFT_ERR_CONFIG, 0, "%s:%u: %s", line->file, line->line, text);
}

static void text_line_skip(weft_text_line_t *line)
{
    while (*line->at == ' ' || *line->at == '\t' || *line->at == '\r') {
        line->at++;
    }
    while (*line->at == '#') {
        line->at += strcspn(line->at, "\n");
    }
}

static void text_line_take(weft_text_line_t *line, const char *from, size_t bytes)
{
    if (bytes >= sizeof line->word) {
        weft_text_refuse(line, "a word of %zu characters, at most %zu are read", bytes,
                         sizeof line->word - 1);
        bytes = 0;
    }
    memcpy(line->word, from, bytes);
    line->word[bytes] = '\0';
}

static void text_line_take_value(weft_text_line_t *line)
{
    if (*line->at != '"') {
        size_t bytes = strcspn(line->at, " \t\r\n#");
        text_line_take(line, line->at, bytes);
        line->at += bytes;
        return;
    }
    size_t bytes = strcspn(line->at + 1, "\"\n");
    text_line_take(line, line->at + 1, bytes);
    line->at += 1 + bytes;
    if (*line->at != '"') {
        weft_text_refuse(line, "a quoted word does not end on its line");
        return;
    }
    line->at++;
}

bool weft_text_next_word(weft_text_line_t *line)
{
    text_line_skip(line);
    if (line->status != WEFT_OK || *line->at == '\n' || *line->at == '\0') {
        return false;
    }
    size_t bytes = strcspn(line->at, "= \t\r\n#\"");
    line->key[0] = '\0';
    if (line->at[bytes] == '=') {
        if (bytes == 0 || bytes >= sizeof line->key) {
            weft_text_refuse(line, "expected KEY=VALUE, found \"%.40s\"", line->at);
            return false;
        }
        memcpy(line->key, line->at, bytes);
        line->key[bytes] = '\0';
        line->at += bytes + 1;
    }
    text_line_take_value(line);
    return line->status == WEFT_OK;
}

bool weft_text_next_line(weft_text_line_t *line)
{
    /* What is left of a line was not asked for. */
    if (line->line > 1 || line->word[0] != '\0') {
        line->at += strcspn(line->at, "\n");
    }
    for (;;) {
        text_line_skip(line);
        if (*line->at != '\n') {
            return weft_text_next_word(line);
        }
        line->at++;
        line->line++;
    }
}

void weft_text_take_head(weft_text_line_t *line, const char *name)
{
    if (!weft_text_next_line(line) || !weft_text_is(line, name) || !weft_text_next_word(line) ||
        !weft_text_is(line, "1") || weft_text_next_word(line)) {
        weft_text_refuse(line, "expected \"%s 1\" as the first line", name);
    }
}

bool weft_text_is(const weft_text_line_t *line, const char *word)
{
    return line->key[0] == '\0' && strcmp(line->word, word) == 0;
}

uint32_t weft_text_count(weft_text_line_t *line, const char *what, uint32_t most)
{
    uint64_t value = 0;
    const char *rest = line->word;
    if (weft_number_uint(line->word, &value, &rest) != WEFT_NUMBER_OK || *rest != '\0' ||
        value > most) {
        weft_text_refuse(line, "%s is \"%.60s\", expected a number from 0 to %u", what, line->word,
                         most);
        return 0;
    }
    return (uint32_t)value;
}

typedef struct text_unit {
    const char *name;
    double value;
} text_unit_t;

static bool text_line_scaled(const weft_text_line_t *line, const text_unit_t *units, size_t count,
                             double *value_p)
{
    const char *rest = line->word;
    if (weft_number_real(line->word, value_p, &rest) != WEFT_NUMBER_OK || !isfinite(*value_p) ||
        *value_p < 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rest, units[i].name) == 0) {
            *value_p *= units[i].value;
            return true;
        }
    }
    return false;
}

double weft_text_bandwidth(weft_text_line_t *line, const char *what)
{
    static const text_unit_t units[] = {
        {"GB/s", 1e9}, {"MB/s", 1e6}, {"B/s", 1}, {"Gb/s", 1e9 / 8}, {"Mb/s", 1e6 / 8}};
    double value = 0;
    if (!text_line_scaled(line, units, sizeof units / sizeof units[0], &value) || !(value > 0) ||
        value > BANDWIDTH_MAX) {
        weft_text_refuse(line,
                         "%s is \"%.60s\", expected a bandwidth such as 25GB/s or 200Gb/s, above 0 "
                         "and at most 1000000GB/s",
                         what, line->word);
        return 0;
    }
    return value;
}

uint64_t weft_text_bytes(weft_text_line_t *line, const char *what)
{
    static const text_unit_t units[] = {{"", 1},
                                        {"KiB", 1024},
                                        {"MiB", 1024.0 * 1024},
                                        {"GiB", 1024.0 * 1024 * 1024},
                                        {"TiB", 1024.0 * 1024 * 1024 * 1024}};
    double value = 0;
    if (!text_line_scaled(line, units, sizeof units / sizeof units[0], &value) || value > 1e18) {
        weft_text_refuse(line, "%s is \"%.60s\", expected a size such as 512GiB", what, line->word);
        return 0;
    }
    return (uint64_t)value;
}

void weft_text_put_bandwidth(double value, char *text, size_t bytes)
{
    char number[64];
    weft_number_format(value / 1e9, number, sizeof number);
    double back = 0;
    const char *rest;
    if (weft_number_real(number, &back, &rest) == WEFT_NUMBER_OK && back * 1e9 == value) {
        snprintf(text, bytes, "%sGB/s", number);
        return;
    }
    weft_number_format(value, number, sizeof number);
    snprintf(text, bytes, "%sB/s", number);
}
