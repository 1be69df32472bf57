/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for core/config in programs that are linked without it: the plain environment, default
 * settings, and the folder of the rendezvous from TEST_RENDEZVOUS. */
#include <stdlib.h>
#include <string.h>

#include "core/config/env.h"
#include "core/config/settings.h"

__attribute__((weak)) const char *weft_env(const char *name)
{
    return getenv(name);
}

__attribute__((weak)) int weft_env_number(const char *name, uint64_t *value_p)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text < '0' || *text > '9') {
        return 0;
    }
    *value_p = strtoull(text, &end, 10);
    return *end == '\0';
}

__attribute__((weak)) weft_status_t weft_config_load(const weft_options_t *options,
                                                     weft_config_t **config_p)
{
    (void)options;
    *config_p = NULL;
    return WEFT_OK;
}

__attribute__((weak)) void weft_config_destroy(weft_config_t *config)
{
    (void)config;
}

__attribute__((weak)) weft_status_t weft_settings_read(weft_config_t *config,
                                                       weft_settings_t *settings)
{
    (void)config;
    memset(settings, 0, sizeof *settings);
    settings->boot.init_timeout = 5;
    settings->boot.interface = "";
    const char *folder = getenv("WEFT_BOOT_RENDEZVOUS");
    settings->boot.rendezvous = folder != NULL ? folder : "";
    return WEFT_OK;
}
