/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values on the command line: numbers, sizes, names, and the configuration options. */
#ifndef WEFT_TOOLS_VALUES_H
#define WEFT_TOOLS_VALUES_H

#include "tools/tool.h"

/* Numbers. False and one line on stderr if `text` is none, or out of range. */
bool tool_parse_integer(const char *what, const char *text, int64_t min, int64_t max,
                        int64_t *value_p);
bool tool_parse_real(const char *what, const char *text, double min, double *value_p);
/* Bytes: a decimal, fractions allowed, with an optional K, M, G or T (binary). */
bool tool_parse_size(const char *what, const char *text, uint64_t *value_p);
/* Index in a NULL-terminated list, or −1 and one line on stderr with the nearest name. */
int tool_parse_name(const char *what, const char *text, const char *const *names);
/* The same for names of collectives. `all`, if not NULL, is one more name: WEFT_COLL_COUNT. */
int tool_parse_coll(const char *text, const char *all);
/* A data type by any of its names: "float", "fp32", "float32", "WEFT_FP32", in either case. `all`,
 * if not NULL, is one more name: WEFT_DTYPE_COUNT. −1 and one line on stderr as above. */
int tool_parse_dtype(const char *text, const char *all);
/* The nearest name, or NULL if none is near. */
const char *tool_nearest(const char *text, const char *const *names);
/* Adds SECTION.TEXT, of which a copy is kept; TEXT is "key=value", and the
 * key new. Errors as below. */
bool tool_settings_add(tool_settings_t *settings, const char *section, const char *text,
                       size_t bytes);
/* Reads NAME[:X=Y,…] into `name` and settings of its section: parameters and options alike. */
bool tool_settings_take_algo(tool_settings_t *settings, const char *spec, char *name, size_t bytes);
/* Takes --conf, --set or --algo. False and one line on stderr if it cannot. */
bool tool_settings_take(tool_settings_t *settings, int id, const char *value);
weft_comm_options_t tool_settings_options(const tool_settings_t *settings);

#endif
