/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The entry point for what the user has set. */
#include <string.h>

#include <weft/option.h>

#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/config/config.h"

#define CALL "weft_option_given"

static weft_status_t option_write(const char *given, char *value, size_t bytes)
{
    const size_t needed = strlen(given) + 1;
    if (needed > bytes) {
        return weft_fail(WEFT_ERR_ARG, 0, CALL ": the value needs %zu bytes, there are %zu", needed,
                         bytes);
    }
    memcpy(value, given, needed);
    return WEFT_OK;
}

static weft_status_t option_given(const weft_comm_options_t *options, const char *section,
                                  const char *key, char *value, size_t bytes)
{
    weft_config_t *config = NULL;
    if (section == NULL || key == NULL || value == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, CALL ": %s is NULL",
                         section == NULL ? "section"
                         : key == NULL   ? "key"
                                         : "value");
    }
    weft_status_t status = weft_config_load(options, &config);
    if (status == WEFT_OK) {
        status = option_write(weft_config_given(config, section, key), value, bytes);
    }
    weft_config_destroy(config);
    return status;
}

weft_status_t weft_option_given(const weft_comm_options_t *options, const char *section,
                                const char *key, char *value, size_t bytes)
{
    weft_status_t status = option_given(options, section, key, value, bytes);
    return status == WEFT_OK ? status : weft_api_error("init", status);
}
