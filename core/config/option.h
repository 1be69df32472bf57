/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One option: its text as a typed value, and back. */
#ifndef WEFT_CONFIG_OPTION_H
#define WEFT_CONFIG_OPTION_H

#include <stdbool.h>

#include <weft/plugin/plugin.h>

#define WEFT_OPTION_NAME_MAX 48 /* bytes of a section or key; the INI parser cuts longer ones */
#define WEFT_OPTION_TABLE_MAX 256

/* Parses `text` into the field of `out` that the option names; a STRING keeps the pointer. On failure
 * says why in words, with what is allowed, and leaves `out` as it was. */
bool weft_option_parse(const weft_option_t *option, const char *text, void *out, char *why,
                       size_t bytes);

/* Writes the field's value in the shortest form that parses to the same value. A STRING is copied. */
void weft_option_format(const weft_option_t *option, const void *out, char *text, size_t bytes);

/* The allowed values in words, "one of: a, b" or "1s to 1h"; "" if there is no limit. */
void weft_option_limits(const weft_option_t *option, char *text, size_t bytes);

/* Bytes of the field in the config struct; 0 for an unknown type. */
size_t weft_option_type_bytes(uint32_t type);

/* True for one or more of [a-z0-9] and `extra`, at most WEFT_OPTION_NAME_MAX. */
bool weft_option_name_ok(const char *name, size_t bytes, char extra);

/* Looks for mistakes in a table whose struct has `config_size` bytes. False: what is wrong in `why`. */
bool weft_option_table_check(const weft_option_t *table, size_t config_size, char *why,
                             size_t bytes);

#endif
