/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and lists of a configuration. */
#include "core/config/store.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* Keeps what follows aligned for any object. */
#define BLOCK_HEADER 16

_Static_assert(sizeof(weft_store_block_t) <= BLOCK_HEADER, "the header has room");

void *weft_store_alloc(weft_config_t *config, size_t bytes)
{
    weft_store_block_t *block = weft_os_alloc(BLOCK_HEADER + bytes, 0);
    if (block == NULL) {
        weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory while reading the configuration");
        return NULL;
    }
    block->next = config->blocks;
    config->blocks = block;
    return (char *)block + BLOCK_HEADER;
}

const char *weft_store_text(weft_config_t *config, const char *text, size_t bytes)
{
    char *copy = weft_store_alloc(config, bytes + 1);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

static const char *store_keep(weft_config_t *config, const char *text, bool *failed)
{
    if (text == NULL) {
        return NULL;
    }
    const char *copy = weft_store_text(config, text, strlen(text));
    *failed |= copy == NULL;
    return copy;
}

weft_status_t weft_store_give(weft_config_t *config, const weft_given_t *given)
{
    bool failed = false;
    weft_given_t *copy = weft_store_alloc(config, sizeof *copy);
    if (copy == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *copy = *given;
    copy->section = store_keep(config, given->section, &failed);
    copy->key = store_keep(config, given->key, &failed);
    copy->value = store_keep(config, given->value, &failed);
    copy->origin = store_keep(config, given->origin, &failed);
    copy->next = NULL;
    if (failed) {
        return WEFT_ERR_RESOURCE;
    }
    *config->given_end = copy;
    config->given_end = &copy->next;
    return WEFT_OK;
}

const weft_given_t *weft_store_find(const weft_config_t *config, weft_source_t source,
                                    const char *section, const char *key)
{
    for (const weft_given_t *g = config->given; g != NULL; g = g->next) {
        if (g->source == source && strcmp(g->key, key) == 0 && g->section != NULL &&
            strcmp(g->section, section) == 0) {
            return g;
        }
    }
    return NULL;
}

bool weft_store_given_is(const weft_given_t *given, const char *section, const char *key,
                         const char *variable)
{
    if (given->source == WEFT_FROM_ENV) {
        return strcmp(given->key, variable) == 0;
    }
    return strcmp(given->section, section) == 0 && strcmp(given->key, key) == 0;
}

/* Appends a part in capitals, as far as there is room. Returns the end, where a NUL stands. */
static char *store_env_append(char *at, const char *end, const char *part)
{
    for (; *part != '\0' && at < end; part++) {
        bool small = *part >= 'a' && *part <= 'z';
        *at++ = small ? (char)(*part - 'a' + 'A') : (char)(*part == '-' ? '_' : *part);
    }
    *at = '\0';
    return at;
}

void weft_store_env_name(const char *section, const char *key, char *name, size_t bytes)
{
    const char *end = name + bytes - 1;
    char *at = store_env_append(name, end, section);
    at = store_env_append(at, end, "_");
    (void)store_env_append(at, end, key != NULL ? key : "");
}
