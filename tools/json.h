/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes JSON, indented, with commas where they belong. */
#ifndef WEFT_TOOLS_JSON_H
#define WEFT_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    int depth;
    bool first; /* nothing written yet in the open object or array */
} json_t;

/* `key` is NULL inside arrays and for the outermost value. */
void json_open(json_t *json, const char *key, char bracket);
void json_close(json_t *json, char bracket);
void json_string(json_t *json, const char *key, const char *value);
void json_integer(json_t *json, const char *key, int64_t value);
void json_unsigned(json_t *json, const char *key, uint64_t value);
void json_real(json_t *json, const char *key, double value); /* null if not finite */
/* Nanoseconds as microseconds, every one of them however many there are. */
void json_microseconds(json_t *json, const char *key, uint64_t ns);
void json_bool(json_t *json, const char *key, bool value);

#endif
