/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON writer. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/json.h"

#include "core/base/utf8.h"

/* A byte that is no text becomes U+FFFD. */
static void json_put_text(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    fputc('"', out);
    while (p < end) {
        const size_t bytes = weft_utf8_bytes(p, end);
        if (bytes == 0) {
            fputs("\\ufffd", out);
        } else if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if (*p < 0x20) {
            fprintf(out, "\\u%04x", *p);
        } else {
            fwrite(p, 1, bytes, out);
        }
        p += bytes > 0 ? bytes : 1;
    }
    fputc('"', out);
}

static void json_begin(json_t *json, const char *key)
{
    if (json->depth > 0) {
        fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    }
    json->first = false;
    if (key != NULL) {
        json_put_text(json->out, key);
        fputs(": ", json->out);
    }
}

void json_open(json_t *json, const char *key, char bracket)
{
    json_begin(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void json_close(json_t *json, char bracket)
{
    json->depth--;
    if (!json->first) {
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    }
    fputc(bracket, json->out);
    json->first = false;
    if (json->depth == 0) {
        fputc('\n', json->out);
    }
}

void json_string(json_t *json, const char *key, const char *value)
{
    json_begin(json, key);
    json_put_text(json->out, value);
}

void json_integer(json_t *json, const char *key, int64_t value)
{
    json_begin(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_unsigned(json_t *json, const char *key, uint64_t value)
{
    json_begin(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_real(json_t *json, const char *key, double value)
{
    json_begin(json, key);
    if (isfinite(value)) {
        fprintf(json->out, "%.9g", value);
    } else {
        fputs("null", json->out);
    }
}

void json_microseconds(json_t *json, const char *key, uint64_t ns)
{
    json_begin(json, key);
    fprintf(json->out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

void json_bool(json_t *json, const char *key, bool value)
{
    json_begin(json, key);
    fputs(value ? "true" : "false", json->out);
}
