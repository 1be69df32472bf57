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

/* "all_reduce, reduce_scatter, …": all that there are. */
static void prefer_list(char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < WEFT_COLL_COUNT && at < bytes; i++) {
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i > 0 ? ", " : "",
                               weft_algo_coll_text((weft_coll_t)i));
    }
}

static weft_status_t prefer_coll(const weft_host_t *host, const char *name, size_t length,
                                 uint32_t *coll_p)
{
    char all[PREFER_LIST_MAX];
    for (uint32_t i = 0; i < WEFT_COLL_COUNT; i++) {
        const char *known = weft_algo_coll_text((weft_coll_t)i);
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *coll_p = i;
            return WEFT_OK;
        }
    }
    prefer_list(all, sizeof all);
    return host->set_error(host, WEFT_ERR_CONFIG, 0,
                           "prefer: no collective is called \"%.*s\"; there are %s", (int)length,
                           name, all);
}

static weft_status_t prefer_entry(const weft_host_t *host, const char *word, size_t length,
                                  tuner_prefer_t *prefer)
{
    const char *colon = memchr(word, ':', length);
    size_t before = colon == NULL ? 0 : (size_t)(colon - word);
    size_t after = colon == NULL ? 0 : length - before - 1;
    weft_status_t status;
    uint32_t coll = 0;

    if (before == 0 || after == 0 || after >= PREFER_NAME_MAX) {
        return host->set_error(host, WEFT_ERR_CONFIG, 0,
                               "prefer: \"%.*s\" is not COLLECTIVE:ALGORITHM, for example "
                               "all_reduce:algo-ring",
                               (int)length, word);
    }
    status = prefer_coll(host, word, before, &coll);
    if (status != WEFT_OK) {
        return status;
    }
    if (prefer->algo[coll][0] != '\0') {
        return host->set_error(host, WEFT_ERR_CONFIG, 0, "prefer: %s is named twice",
                               weft_algo_coll_text((weft_coll_t)coll));
    }
    memcpy(prefer->algo[coll], colon + 1, after);
    return WEFT_OK;
}

weft_status_t tuner_prefer_parse(const weft_host_t *host, const char *text, tuner_prefer_t *prefer)
{
    memset(prefer, 0, sizeof *prefer);
    for (text += strspn(text, SEPARATORS); *text != '\0'; text += strspn(text, SEPARATORS)) {
        size_t length = strcspn(text, SEPARATORS);
        weft_status_t status = prefer_entry(host, text, length, prefer);
        if (status != WEFT_OK) {
            return status;
        }
        text += length;
    }
    return WEFT_OK;
}

weft_status_t tuner_prefer_check(const weft_host_t *host, const tuner_prefer_t *prefer,
                                 const char *const *algos, uint32_t count)
{
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        char hint[HINT_MAX];
        const char *name = prefer->algo[coll];
        bool known = name[0] == '\0';
        for (uint32_t i = 0; i < count; i++) {
            known = known || strcmp(algos[i], name) == 0;
        }
        if (!known) {
            nearest_word_hint(name, strlen(name), algos, count, hint, sizeof hint);
            return host->set_error(host, WEFT_ERR_CONFIG, 0,
                                   "prefer: no loaded algorithm is called %s%s", name, hint);
        }
    }
    return WEFT_OK;
}
