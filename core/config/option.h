/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One option: its text as a typed value, and back. */
#ifndef WEFT_CONFIG_OPTION_H
#define WEFT_CONFIG_OPTION_H

#include <stdbool.h>

#include <weft/plugin/plugin.h>

/* Parses `text` into the field of `out` that the option names; a STRING keeps the pointer. On
 * failure leaves `out` as it was, writes the reason and the allowed values to `why`, and returns
 * false. */
bool weft_option_parse(const weft_option_t *option, const char *text, void *out, char *why,
                       size_t bytes);

/* Writes the field's value in the shortest form that parses to the same value. A STRING is
 * copied. */
void weft_option_format(const weft_option_t *option, const void *out, char *text, size_t bytes);

/* Writes the allowed values, "one of: a, b" or "1s to 1h"; "" if there is no limit. */
void weft_option_limits(const weft_option_t *option, char *text, size_t bytes);

/* Bytes of the field in the config struct; 0 for an unknown type. */
size_t weft_option_type_bytes(uint32_t type);

#endif
