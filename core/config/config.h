/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configuration: one parser (inih), option tables, strict errors. Order of precedence:
 * settings ("--set section.key=value"), WEFT_<SECTION>_<KEY>, the file (options.config, else
 * WEFT_CONF, else the user's, else the system's), defaults. */
#ifndef WEFT_CONFIG_CONFIG_H
#define WEFT_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include <weft/plugin/plugin.h>
#include <weft/weft.h>

typedef struct weft_config weft_config_t;

/* Reads everything that is given, without knowing yet which sections exist. `options` may be NULL.
 * ERR_CONFIG with file:line, section, key. */
weft_status_t weft_config_load(const weft_comm_options_t *options, weft_config_t **config_p);
void weft_config_destroy(weft_config_t *config);

/* Claims a section: fills `out` (struct of the table, zeroed by the caller) from defaults and given
 * values, and copies the table. Strings live as long as the config. Several tables may share a
 * section; a key claimed again is filled again. ERR_CONFIG. */
weft_status_t weft_config_section(weft_config_t *config, const char *section,
                                  const weft_option_t *table, void *out);

/* True once somebody claimed a key of it. */
bool weft_config_claimed(const weft_config_t *config, const char *section);

/* Tolerates a section that nobody claims: its plugin is installed but not in use. */
weft_status_t weft_config_ignore(weft_config_t *config, const char *section);

/* Last step: a given section or key that nobody claimed is an error with its place and the nearest
 * known name. */
weft_status_t weft_config_finish(weft_config_t *config);

/* Where `section.key` was given, as "file.ini:12", "--set", "environment WEFT_X_Y" or "default".
 * A value is printed in its shortest form, e.g. "64K" for 65536. */
const char *weft_config_origin(const weft_config_t *config, const char *section, const char *key);

/* Every claimed option in order: for `weft config`, `weft info` and the agreement check. */
typedef void (*weft_config_visit_t)(void *arg, const char *section, const weft_option_t *option,
                                    const char *value, const char *origin);
void weft_config_each(const weft_config_t *config, weft_config_visit_t visit, void *arg);

/* Prints all claimed options as a complete INI file with help; defaults are commented out by ';'.
 * ERR_SYSTEM. */
weft_status_t weft_config_print(const weft_config_t *config, FILE *out);

#endif
