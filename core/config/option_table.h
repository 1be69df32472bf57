/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of options, and the check of a table of options. */
#ifndef WEFT_CONFIG_OPTION_TABLE_H
#define WEFT_CONFIG_OPTION_TABLE_H

#include <stdbool.h>

#include <weft/plugin/plugin.h>

#define WEFT_OPTION_NAME_MAX 48 /* bytes of a section or key; the INI parser cuts longer ones */
#define WEFT_OPTION_TABLE_MAX 256

/* True for one or more of [a-z0-9] and `extra`, at most WEFT_OPTION_NAME_MAX. */
bool weft_option_name_ok(const char *name, size_t bytes, char extra);

/* Looks for mistakes in a table whose struct has `config_size` bytes. On failure writes the mistake
 * to `why` and returns false. */
bool weft_option_table_check(const weft_option_t *table, size_t config_size, char *why,
                             size_t bytes);

#endif
