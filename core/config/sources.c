/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where given values come from: settings of the caller, the environment, and one file. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/config_parse.h"
#include "core/config/env.h"
#include "core/os/os.h"
#include "core/os/os_path.h"

#ifndef WEFT_SYSTEM_CONF
#define WEFT_SYSTEM_CONF "/etc/weft/weft.ini"
#endif

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define VALUE_MAX_BYTES 1000
#define PREFIX "WEFT_"

/* Variables with that prefix that are no options. */
static const char *const other_variables[] = {"CONF",   "UNIQUE_ID",  "RANK",
                                              "NRANKS", "LOCAL_RANK", "LOCAL_NRANKS"};

/* The origin of settings, of the whole process. */
static const char *settings_name = "options.settings";

void weft_config_name_settings(const char *name)
{
    settings_name = name;
}

static weft_status_t sources_setting_fail(const char *setting, const char *why)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s %.80s: %s, expected section.key=value", settings_name,
                     setting, why);
}

static weft_status_t sources_setting_read(weft_config_t *config, const char *setting)
{
    char name[2 * WEFT_OPTION_NAME_MAX + 2];
    if (setting == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "options.settings has a NULL entry");
    }
    const char *equals = strchr(setting, '=');
    const char *dot = strchr(setting, '.');
    if (equals == NULL || dot == NULL || dot > equals) {
        return sources_setting_fail(setting, equals == NULL ? "no '='" : "no '.' before '='");
    }
    if (strlen(setting) > VALUE_MAX_BYTES) {
        return sources_setting_fail(setting, "longer than 1000 bytes");
    }
    const char *wrong = weft_config_text_wrong(equals, setting + strlen(setting));
    if (wrong != NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s %.80s: %s", settings_name, setting, wrong);
    }
    if (!weft_option_name_ok(setting, (size_t)(dot - setting), '-') ||
        !weft_option_name_ok(dot + 1, (size_t)(equals - dot - 1), '_')) {
        return sources_setting_fail(setting, "bad section or key");
    }
    memcpy(name, setting, (size_t)(equals - setting));
    name[dot - setting] = '\0';
    name[equals - setting] = '\0';
    const weft_given_t given = {.source = WEFT_FROM_SET,
                                .section = name,
                                .key = name + (dot - setting) + 1,
                                .value = equals + 1,
                                .origin = settings_name};
    return weft_store_give(config, &given);
}

static bool sources_is_other_variable(const char *name)
{
    for (size_t i = 0; i < sizeof other_variables / sizeof other_variables[0]; i++) {
        if (strcmp(name, other_variables[i]) == 0) {
            return true;
        }
    }
    return false;
}

static weft_status_t sources_environment_read(weft_config_t *config)
{
    char name[160], origin[200];
    const char *entry;
    for (uint32_t i = 0; (entry = weft_env_prefixed(PREFIX, i)) != NULL; i++) {
        const char *start = entry + strlen(PREFIX);
        const char *equals = strchr(start, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - start), start);
        if (sources_is_other_variable(name)) {
            continue;
        }
        snprintf(origin, sizeof origin, "environment %s%s", PREFIX, name);
        if (strlen(equals + 1) > VALUE_MAX_BYTES) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "%s: value longer than 1000 bytes", origin);
        }
        const char *wrong = weft_config_text_wrong(equals, entry + strlen(entry));
        if (wrong != NULL) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "%s: %s", origin, wrong);
        }
        const weft_given_t given = {
            .source = WEFT_FROM_ENV, .key = name, .value = equals + 1, .origin = origin};
        weft_status_t status = weft_store_give(config, &given);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* Files that the user did not name himself must be the user's or root's. */
static const char *sources_distrust(const weft_os_file_t *file)
{
    if (!file->owner_trusted) {
        return "owned by somebody else, expected your user or root";
    }
    return file->others_write ? "writable by everybody, expected at most by its group" : NULL;
}

static weft_status_t sources_file_read(weft_config_t *config, const char *path, bool named)
{
    char *text = NULL;
    size_t bytes = 0;
    int os_errno = 0;
    const weft_os_file_t file = weft_os_file(path);
    const char *why = !file.exists || file.regular ? NULL
                      : file.folder                ? "a folder, expected a file"
                                                   : "no regular file";
    if (why == NULL && file.exists && !named) {
        why = sources_distrust(&file);
    }
    if (why != NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "configuration file %s: %s", path, why);
    }
    weft_status_t status = weft_os_read_file(path, FILE_MAX_BYTES, &text, &bytes, &os_errno);
    if (os_errno == EFBIG) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "configuration file %s: larger than 1 MiB", path);
    }
    if (status == WEFT_ERR_RESOURCE) {
        return status;
    }
    if (status != WEFT_OK) {
        return weft_fail(WEFT_ERR_CONFIG, os_errno, "cannot read configuration file %s", path);
    }
    config->file = weft_store_text(config, path, strlen(path));
    status = weft_config_parse(config, path, text, bytes);
    weft_os_free(text);
    return status;
}

/* Path of the user's own file; false if nothing says where it would be. */
static bool sources_user_file(char *path, size_t bytes)
{
    const char *base = weft_env("XDG_CONFIG_HOME");
    const char *home = weft_env("HOME");
    int used = -1;
    if (base != NULL && base[0] == '/') {
        used = snprintf(path, bytes, "%s/weft/weft.ini", base);
    } else if (home != NULL && home[0] == '/') {
        used = snprintf(path, bytes, "%s/.config/weft/weft.ini", home);
    }
    return used > 0 && (size_t)used < bytes;
}

static weft_status_t sources_files_read(weft_config_t *config, const char *named)
{
    char path[WEFT_OS_PATH_MAX];
    if (named == NULL) {
        named = weft_env(PREFIX "CONF");
    }
    if (named != NULL && named[0] != '\0') {
        return sources_file_read(config, named, true);
    }
    if (sources_user_file(path, sizeof path) && weft_os_file(path).exists) {
        return sources_file_read(config, path, false);
    }
    if (weft_os_file(WEFT_SYSTEM_CONF).exists) {
        return sources_file_read(config, WEFT_SYSTEM_CONF, false);
    }
    return WEFT_OK;
}

static weft_status_t sources_settings_read(weft_config_t *config,
                                           const weft_comm_options_t *options)
{
    if (options->settings_count > 0 && options->settings == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "options.settings is NULL, settings_count is %u",
                         options->settings_count);
    }
    for (uint32_t i = 0; i < options->settings_count; i++) {
        weft_status_t status = sources_setting_read(config, options->settings[i]);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_config_t *sources_config_create(void)
{
    weft_config_t *config = weft_os_alloc(sizeof *config, 0);
    if (config == NULL) {
        weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory while reading the configuration");
        return NULL;
    }
    config->given_end = &config->given;
    config->claims_end = &config->claims;
    return config;
}

weft_status_t weft_config_load(const weft_comm_options_t *options, weft_config_t **config_p)
{
    static const weft_comm_options_t none = {.size = sizeof none};
    options = options != NULL ? options : &none;
    /* Programs that were built before options had a name say a smaller size. */
    if (options->size < offsetof(weft_comm_options_t, name)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "options.size is %zu, expected sizeof(weft_comm_options_t) %zu",
                         options->size, sizeof *options);
    }
    weft_config_t *config = sources_config_create();
    if (config == NULL) {
        return weft_error_record()->status;
    }
    weft_status_t status = sources_files_read(config, options->config);
    status = status == WEFT_OK ? sources_environment_read(config) : status;
    status = status == WEFT_OK ? sources_settings_read(config, options) : status;
    if (status != WEFT_OK) {
        weft_config_destroy(config);
        return status;
    }
    *config_p = config;
    return WEFT_OK;
}

int weft_config_cancel_fd(const weft_comm_options_t *options)
{
    const size_t needed = offsetof(weft_comm_options_t, cancel_fd) + sizeof options->cancel_fd;
    return options != NULL && options->size >= needed ? options->cancel_fd : 0;
}

weft_status_t weft_config_copy(const weft_config_t *config, weft_config_t **copy_p)
{
    weft_config_t *copy = sources_config_create();
    weft_status_t status = copy != NULL ? WEFT_OK : weft_error_record()->status;
    for (const weft_given_t *g = config->given; status == WEFT_OK && g != NULL; g = g->next) {
        weft_given_t given = *g;
        given.claim = NULL;
        status = weft_store_give(copy, &given);
    }
    if (status != WEFT_OK) {
        weft_config_destroy(copy);
        return status;
    }
    *copy_p = copy;
    return WEFT_OK;
}

void weft_config_destroy(weft_config_t *config)
{
    if (config == NULL) {
        return;
    }
    for (weft_store_block_t *block = config->blocks; block != NULL;) {
        weft_store_block_t *next = block->next;
        weft_os_free(block);
        block = next;
    }
    weft_os_free(config);
}

const char *weft_config_file(const weft_config_t *config)
{
    return config->file;
}
