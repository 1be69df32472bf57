/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See xml_check.h. Knows what the drawings use: no CDATA, no comments. */
#include "tests/support/xml_check.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 64

typedef struct name {
    const char *text;
    size_t length;
} name_t;

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || strchr("-_:.", at[length]) != NULL) {
        if (at[length] == '\0') {
            break;
        }
        length++;
    }
    return length;
}

static int is_entity(const char *at)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < 5; i++) {
        if (strncmp(at, entities[i], strlen(entities[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Behind the attributes, at '>' or "/>"; NULL and *bad_p at a mistake. */
static const char *skip_attributes(const char *at, const char **bad_p)
{
    for (;;) {
        at += strspn(at, " \n\t");
        if (*at == '>' || (*at == '/' && at[1] == '>') || (*at == '?' && at[1] == '>')) {
            return at;
        }
        size_t length = name_length(at);
        char quote = length > 0 && at[length] == '=' ? at[length + 1] : '\0';
        const char *end = quote == '"' || quote == '\'' ? strchr(at + length + 2, quote) : NULL;
        if (end == NULL) {
            *bad_p = at;
            return NULL;
        }
        for (const char *c = at + length + 2; c < end; c++) {
            if (*c == '<' || (*c == '&' && !is_entity(c))) {
                *bad_p = c;
                return NULL;
            }
        }
        at = end + 1;
    }
}

const char *xml_check(const char *text)
{
    name_t open[DEPTH_MAX];
    size_t depth = 0, roots = 0;
    for (const char *at = text; *at != '\0';) {
        const char *bad = NULL;
        if (*at != '<') {
            if ((*at == '&' && !is_entity(at)) || *at == '>' ||
                (depth == 0 && !isspace((unsigned char)*at))) {
                return at;
            }
            at++;
            continue;
        }
        int closes = at[1] == '/', declares = at[1] == '?';
        const char *name = at + 1 + closes + declares;
        size_t length = name_length(name);
        const char *end = length > 0 ? skip_attributes(name + length, &bad) : NULL;
        if (end == NULL) {
            return bad != NULL ? bad : at;
        }
        if (closes) {
            if (depth == 0 || open[depth - 1].length != length ||
                memcmp(open[depth - 1].text, name, length) != 0) {
                return at;
            }
            depth--;
        } else if (*end == '>') {
            if (depth == DEPTH_MAX || (depth == 0 && roots++ > 0)) {
                return at;
            }
            open[depth++] = (name_t){name, length};
        }
        at = *end == '>' ? end + 1 : end + 2;
    }
    return depth == 0 && roots == 1 ? NULL : text + strlen(text);
}

size_t xml_count(const char *text, const char *name)
{
    size_t count = 0, length = strlen(name);
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at + 1, '<')) {
        count += strncmp(at + 1, name, length) == 0 && name_length(at + 1) == length;
    }
    return count;
}
