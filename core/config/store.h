/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a configuration: given values with their origins, and the options that claimed them.
 * Private to core/config. */
#ifndef WEFT_CONFIG_STORE_H
#define WEFT_CONFIG_STORE_H

#include <stdbool.h>

#include "core/config/config.h"
#include "core/config/option_table.h"

/* Higher wins. */
typedef enum weft_source { WEFT_FROM_FILE = 1, WEFT_FROM_ENV = 2, WEFT_FROM_SET = 3 } weft_source_t;

/* One value as the user wrote it. */
typedef struct weft_given {
    struct weft_given *next;
    weft_source_t source;
    const char *section; /* NULL from the environment, where it cannot be told from the key */
    const char *key;     /* from the environment: "NET_SOCKET_PORT" */
    const char *value;
    const char *origin; /* "weft.ini:12", "options.settings", "environment WEFT_X_Y" */
    uint32_t line;
    uint32_t first_line; /* of the file's first value for this key, if this is a later one */
    const struct weft_claim *claim; /* the option that it is for; NULL: none yet */
} weft_given_t;

/* One option that a table declared. */
typedef struct weft_claim {
    struct weft_claim *next;
    const char *section;
    weft_option_t option; /* a copy, for the plugin may be unloaded before the configuration */
    const char *value;    /* in shortest form */
    const char *origin;
} weft_claim_t;

typedef struct weft_ignored {
    struct weft_ignored *next;
    const char *section;
} weft_ignored_t;

/* The old name of an option. */
typedef struct weft_alias {
    struct weft_alias *next;
    const char *section;
    const char *name;
    const char *key; /* the present name */
} weft_alias_t;

typedef struct weft_store_block {
    struct weft_store_block *next;
} weft_store_block_t;

struct weft_config {
    weft_given_t *given, **given_end;
    weft_claim_t *claims, **claims_end;
    weft_ignored_t *ignored;
    weft_alias_t *aliases;
    const char *file;           /* the one that was read; NULL: none */
    weft_store_block_t *blocks; /* memory of all of this */
};

/* Returns zeroed memory that lives as long as the config, or NULL with the error recorded. */
void *weft_store_alloc(weft_config_t *config, size_t bytes);
const char *weft_store_text(weft_config_t *config, const char *text, size_t bytes);

/* Adds a given value and copies its texts. ERR_RESOURCE. */
weft_status_t weft_store_give(weft_config_t *config, const weft_given_t *given);
/* Returns the first value that one source gave, or NULL. */
const weft_given_t *weft_store_find(const weft_config_t *config, weft_source_t source,
                                    const char *section, const char *key);

/* True if the value is given for this option; `variable` is the option's name in the
 * environment. */
bool weft_store_given_is(const weft_given_t *given, const char *section, const char *key,
                         const char *variable);

#define WEFT_STORE_NAME_MAX (2 * WEFT_OPTION_NAME_MAX + 2) /* bytes of a name in the environment */

/* Writes an option's name in the environment, without "WEFT_"; with key NULL the section's part. */
void weft_store_env_name(const char *section, const char *key, char *name, size_t bytes);

#endif
