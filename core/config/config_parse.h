/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of an INI file. Private to core/config. */
#ifndef WEFT_CONFIG_PARSE_H
#define WEFT_CONFIG_PARSE_H

#include "core/config/store.h"

#define WEFT_CONFIG_LINE_MAX 1000 /* bytes */

/* Stores every value of the text; `path` is for messages. ERR_CONFIG with file:line. */
weft_status_t weft_config_parse(weft_config_t *config, const char *path, const char *text,
                                size_t bytes);

/* Says why the text up to `end` is no plain text, or returns NULL. Values get onto terminals and
 * into files. */
const char *weft_config_text_wrong(const char *text, const char *end);

#endif
