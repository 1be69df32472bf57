/* SPDX-License-Identifier: BSD-3-Clause
 *
 * WEFT_UNIQUE_ID. */
#include "core/boot/id_exchange_given.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/unique_id.h"
#include "core/config/env.h"

#define VARIABLE "WEFT_UNIQUE_ID"

static bool id_exchange_given_applies(const weft_id_exchange_job_t *job, char *why, size_t bytes)
{
    bool set = weft_env(VARIABLE) != NULL;
    (void)job;
    snprintf(why, bytes, VARIABLE " is %s", set ? "set" : "not set");
    return set;
}

static weft_status_t id_exchange_given_take(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    weft_unique_id_t found;
    weft_id_t opened;
    (void)job;
    if (!weft_id_from_hex(weft_env(VARIABLE), &found)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "environment: " VARIABLE " is not %zu hexadecimal digits",
                         2 * sizeof found.bytes);
    }
    weft_status_t status = weft_id_decode(&found, &opened);
    weft_id_wipe(&opened);
    if (status == WEFT_OK) {
        *id = found;
    }
    return status;
}

uint16_t weft_id_given_port(void)
{
    const weft_error_t before = *weft_error_record();
    weft_unique_id_t found;
    weft_id_t opened = {.port = 0};
    if (weft_id_from_hex(weft_env(VARIABLE), &found) &&
        weft_id_decode(&found, &opened) != WEFT_OK) {
        opened.port = 0;
    }
    const uint16_t port = opened.port;
    weft_id_wipe(&opened);
    *weft_error_record() = before;
    return port;
}

const weft_id_exchange_t weft_id_exchange_given = {
    .name = "id", .applies = id_exchange_given_applies, .exchange = id_exchange_given_take};
