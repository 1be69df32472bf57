/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The configuration of one family of communicators. Option tables claim sections of it; what no
 * table claims is an error. A value comes from the first of these that gives one: settings of the
 * options (--set of the tools), the variable WEFT_<SECTION>_<KEY>, one file (options.config, else
 * WEFT_CONF, else the user's, else the system's), the default. Not safe for several threads. */
#ifndef WEFT_CONFIG_CONFIG_H
#define WEFT_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include <weft/plugin/plugin.h>
#include <weft/weft.h>

typedef struct weft_config weft_config_t;

/* Reads all given values; which sections exist is not known yet. `options` may be NULL. ERR_CONFIG
 * with file:line, section and key; ERR_RESOURCE. */
weft_status_t weft_config_load(const weft_comm_options_t *options, weft_config_t **config_p);
/* What error messages call the settings of the options: "options.settings" unless a program with a
 * command line calls this first, before it has threads. `name` is a constant. */
void weft_config_name_settings(const char *name);
/* The descriptor of the options that ends a join; 0: none, or they are older than it. */
int weft_config_cancel_fd(const weft_comm_options_t *options);
/* Makes a configuration with the values that another one was given, claimed by nobody.
 * ERR_RESOURCE. */
weft_status_t weft_config_copy(const weft_config_t *config, weft_config_t **copy_p);
void weft_config_destroy(weft_config_t *config);

/* Claims a section: copies the table and fills `out`, the table's struct, which the caller has
 * zeroed, from given values and defaults. Strings live as long as the config. Tables may share a
 * section; a key that is claimed again is filled again. An old name of an option works and is
 * warned about. ERR_CONFIG, ERR_RESOURCE. */
weft_status_t weft_config_section(weft_config_t *config, const char *section,
                                  const weft_option_t *table, void *out);

/* True if anything was given for the section, by a file, a setting or a variable. */
bool weft_config_has(const weft_config_t *config, const char *section);

/* True if a table has claimed a key of the section. */
bool weft_config_claimed(const weft_config_t *config, const char *section);

/* Tolerates a section that no table claims, because its plugin is installed but not in use.
 * ERR_RESOURCE. */
weft_status_t weft_config_ignore(weft_config_t *config, const char *section);

/* The last step. A given section or key that is not claimed is an error with its origin and the
 * nearest known name. ERR_CONFIG. */
weft_status_t weft_config_finish(weft_config_t *config);

/* Returns the path of the INI file that was read, or NULL if none was. */
const char *weft_config_file(const weft_config_t *config);
/* Returns the value that `section.key` was given, claimed or not; "" if nobody gave one. */
const char *weft_config_given(const weft_config_t *config, const char *section, const char *key);
/* Returns where `section.key` was given: "file.ini:12", "environment WEFT_X_Y", "default"
 * or the name of the settings. */
const char *weft_config_origin(const weft_config_t *config, const char *section, const char *key);

/* Visits every claimed option in the order of the tables. Values are in their shortest form, "64K"
 * for 65536. */
typedef void (*weft_config_visit_t)(void *arg, const char *section, const weft_option_t *option,
                                    const char *value, const char *origin);
void weft_config_each(const weft_config_t *config, weft_config_visit_t visit, void *arg);

/* Prints all claimed options as an INI file with help. Defaults stand behind ';'. ERR_SYSTEM;
 * ERR_CONFIG: a value cannot stand in a file. */
weft_status_t weft_config_print(const weft_config_t *config, FILE *out);

#endif
