/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parser of the option `prefer`. */
#include "prefer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/algo.h>

#include "nearest_word.h"

#define SEPARATORS ", \t"
#define HINT_MAX 400
#define PREFER_LIST_MAX 320 /* names of all collectives */

/* "all_reduce, reduce_scatter, …": all that run algorithms. */
static void prefer_list(char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < WEFT_COLL_COUNT && at < bytes; i++) {
        if (i != WEFT_SEND_RECV) {
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at > 0 ? ", " : "",
                                   weft_algo_coll_text((weft_coll_t)i));
        }
    }
}

/* The word that is being read. */
typedef struct prefer_reader {
    const weft_host_t *host;
    char origin[PREFER_ORIGIN_MAX];
    tuner_prefer_t *prefer;
} prefer_reader_t;

static weft_status_t prefer_coll(const prefer_reader_t *r, const char *name, size_t length,
                                 uint32_t *coll_p)
{
    char all[PREFER_LIST_MAX];
    for (uint32_t i = 0; i < WEFT_COLL_COUNT; i++) {
        const char *known = weft_algo_coll_text((weft_coll_t)i);
        if (strlen(known) != length || memcmp(known, name, length) != 0) {
            continue;
        }
        *coll_p = i;
        return i != WEFT_SEND_RECV
                   ? WEFT_OK
                   : r->host->set_error(r->host, WEFT_ERR_CONFIG, 0,
                                        "%s: no collective: \"%s\" runs no algorithm", r->origin,
                                        known);
    }
    prefer_list(all, sizeof all);
    return r->host->set_error(r->host, WEFT_ERR_CONFIG, 0,
                              "%s: no collective is called \"%.*s\"; there are %s", r->origin,
                              (int)length, name, all);
}

static weft_status_t prefer_entry(const prefer_reader_t *r, const char *word, size_t length)
{
    const char *colon = memchr(word, ':', length);
    size_t before = colon == NULL ? 0 : (size_t)(colon - word);
    weft_status_t status;
    uint32_t coll = 0;
    tuner_spec_t spec = {.params = ""};

    if (before == 0 || !tuner_spec_read(&spec, colon + 1, length - before - 1)) {
        return r->host->set_error(r->host, WEFT_ERR_CONFIG, 0,
                                  "%s: \"%.*s\" is not COLLECTIVE:ALGORITHM[:X=Y,…], for example "
                                  "all_reduce:algo-ring",
                                  r->origin, (int)length, word);
    }
    status = prefer_coll(r, word, before, &coll);
    if (status != WEFT_OK) {
        return status;
    }
    if (r->prefer->wanted[coll].text[0] != '\0') {
        return r->host->set_error(r->host, WEFT_ERR_CONFIG, 0, "%s: %s is named twice", r->origin,
                                  weft_algo_coll_text((weft_coll_t)coll));
    }
    (void)tuner_spec_read(&r->prefer->wanted[coll], colon + 1, length - before - 1);
    memcpy(r->prefer->origin[coll], r->origin, sizeof r->origin);
    return WEFT_OK;
}

/* The length of a word; ",x=y" without a colon continues the parameters before it. */
static size_t prefer_word(const char *text)
{
    size_t length = strcspn(text, SEPARATORS);
    while (text[length] == ',') {
        size_t more = strcspn(text + length + 1, SEPARATORS);
        const char *next = text + length + 1;
        if (memchr(next, '=', more) == NULL || memchr(next, ':', more) != NULL) {
            break;
        }
        length += 1 + more;
    }
    return length;
}

static weft_status_t prefer_line(const prefer_reader_t *r, const char *text)
{
    for (text += strspn(text, SEPARATORS); *text != '\0'; text += strspn(text, SEPARATORS)) {
        size_t length = prefer_word(text);
        weft_status_t status = prefer_entry(r, text, length);
        if (status != WEFT_OK) {
            return status;
        }
        text += length;
    }
    return WEFT_OK;
}

/* File and line, and the option. Of a long path the end. */
static void prefer_set_origin(prefer_reader_t *r, const char *origin, size_t bytes)
{
    const size_t most = sizeof r->origin - sizeof ": [tuner] prefer";
    const size_t cut = bytes > most ? bytes - most : 0;
    snprintf(r->origin, sizeof r->origin, "%.*s: [tuner] prefer", (int)(bytes - cut), origin + cut);
}

/* A line is origin, tab, value. */
weft_status_t tuner_prefer_parse(const weft_host_t *host, const char *text, tuner_prefer_t *prefer)
{
    weft_status_t status = WEFT_OK;
    memset(prefer, 0, sizeof *prefer);
    while (*text != '\0' && status == WEFT_OK) {
        size_t length = strcspn(text, "\n");
        const char *tab = memchr(text, '\t', length);
        prefer_reader_t reader = {.host = host, .origin = "[tuner] prefer", .prefer = prefer};
        size_t origin = tab != NULL ? (size_t)(tab - text) + 1 : 0;
        char *line = host->alloc(host, length - origin + 1, 0);
        if (line == NULL) {
            return WEFT_ERR_RESOURCE;
        }
        if (tab != NULL) {
            prefer_set_origin(&reader, text, origin - 1);
        }
        memcpy(line, text + origin, length - origin);
        line[length - origin] = '\0';
        status = prefer_line(&reader, line);
        host->free(host, line);
        text += length + (text[length] == '\n');
    }
    return status;
}

weft_status_t tuner_prefer_check(const weft_host_t *host, const tuner_prefer_t *prefer,
                                 const char *const *algos, uint32_t count)
{
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        char hint[HINT_MAX];
        const char *name = prefer->wanted[coll].algo;
        bool known = name[0] == '\0';
        for (uint32_t i = 0; i < count; i++) {
            known = known || strcmp(algos[i], name) == 0;
        }
        if (!known) {
            nearest_word_hint(name, strlen(name), algos, count, hint, sizeof hint);
            return host->set_error(host, WEFT_ERR_CONFIG, 0,
                                   "%s: no loaded algorithm is called %s%s", prefer->origin[coll],
                                   name, hint);
        }
    }
    return WEFT_OK;
}
