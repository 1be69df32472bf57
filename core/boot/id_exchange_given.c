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

/* Characters without the line end that the text of a file has. */
static size_t id_exchange_given_length(const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
        length--;
    }
    return length;
}

/* False: the variable is not set, or no id. */
static bool id_exchange_given_read(weft_unique_id_t *id)
{
    char hex[WEFT_ID_HEX];
    const char *text = weft_env(VARIABLE);
    if (text == NULL || id_exchange_given_length(text) != sizeof hex - 1) {
        return false;
    }
    snprintf(hex, sizeof hex, "%s", text);
    return weft_id_from_hex(hex, id);
}

/* An id is a password: what is wrong is said without it. */
static weft_status_t id_exchange_given_wrong(void)
{
    const char *text = weft_env(VARIABLE);
    const size_t length = id_exchange_given_length(text);
    const size_t digits = strspn(text, "0123456789abcdefABCDEF");
    char what[48] = "it is empty";
    if (digits < length) {
        snprintf(what, sizeof what, "character %zu is none", digits + 1);
    } else if (length > 0) {
        snprintf(what, sizeof what, "it has %zu characters", length);
    }
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "environment: " VARIABLE " is not %d hexadecimal digits: %s", WEFT_ID_HEX - 1,
                     what);
}

static weft_status_t id_exchange_given_take(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    weft_unique_id_t found;
    weft_id_t opened;
    (void)job;
    if (!id_exchange_given_read(&found)) {
        return id_exchange_given_wrong();
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
    if (id_exchange_given_read(&found) && weft_id_decode(&found, &opened) != WEFT_OK) {
        opened.port = 0;
    }
    const uint16_t port = opened.port;
    weft_id_wipe(&opened);
    *weft_error_record() = before;
    return port;
}

const weft_id_exchange_t weft_id_exchange_given = {
    .name = "id", .applies = id_exchange_given_applies, .exchange = id_exchange_given_take};
