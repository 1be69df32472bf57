/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record of the calling thread, and the names of status codes. */
#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

static _Thread_local weft_error_t last;

bool weft_status_is_failure(weft_status_t status)
{
    switch (status) {
#define CASE(value, name, text) case value:
        WEFT_STATUS_MAP(CASE)
#undef CASE
        return status < 0;
    default:
        return false;
    }
}

void weft_error_clear(weft_error_t *error)
{
    memset(error, 0, sizeof *error);
    error->size = sizeof *error;
    error->rank = -1;
    error->peer = -1;
    error->peer_pid = -1;
}

weft_error_t *weft_error_record(void)
{
    if (last.size == 0) {
        weft_error_clear(&last);
    }
    return &last;
}

/* Puts the system's cause behind the text of `used` bytes; a text that leaves no room for it is
 * cut. One that ends with it, because it was another rank's or an earlier failure, stays. */
static void error_add_cause(char *text, size_t bytes, size_t used, int os_errno)
{
    static const char cut[] = "…";
    char buffer[128];
    /* GNU strerror_r: may return a constant in place of the buffer. */
    const char *why = strerror_r(os_errno, buffer, sizeof buffer);
    const size_t length = strlen(why);
    if (used >= length && strcmp(text + used - length, why) == 0) {
        return;
    }
    size_t most = bytes - length - sizeof ": ";
    if (used > most) {
        used = most - (sizeof cut - 1);
        /* No half of a character. */
        while (used > 0 && ((unsigned char)text[used] & 0xc0) == 0x80) {
            used--;
        }
        memcpy(text + used, cut, sizeof cut);
        used += sizeof cut - 1;
    }
    snprintf(text + used, bytes - used, ": %s", why);
}

weft_status_t weft_fail_v(weft_status_t status, int os_errno, const char *format, va_list args)
{
    weft_error_t *error = weft_error_record();
    char text[sizeof error->text];
    int used = vsnprintf(text, sizeof text, format, args);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof text ? (size_t)used : sizeof text - 1;
    weft_utf8_clean(text);
    if (os_errno != 0) {
        error_add_cause(text, sizeof text, at, os_errno);
    }
    weft_error_clear(error);
    error->status = status;
    error->os_errno = os_errno;
    /* Records are copied whole: nothing of this stack goes with them. */
    memcpy(error->text, text, strlen(text));
    return status;
}

weft_status_t weft_fail(weft_status_t status, int os_errno, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weft_fail_v(status, os_errno, format, args);
    va_end(args);
    return status;
}

weft_status_t weft_fail_about(const char *about)
{
    const weft_error_t *error = weft_error_record();
    return weft_fail(error->status, error->os_errno, "%s: %s", about, error->text);
}
