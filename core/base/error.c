/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record of the calling thread, and the names of status codes. */
#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

static _Thread_local weft_error_t last;

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

weft_status_t weft_fail_v(weft_status_t status, int os_errno, const char *format, va_list args)
{
    weft_error_t *error = weft_error_record();
    char text[sizeof error->text];
    int used = vsnprintf(text, sizeof text, format, args);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof text ? (size_t)used : sizeof text - 1;
    if (os_errno != 0 && at < sizeof text) {
        char why[128];
        /* GNU strerror_r: may return a constant in place of the buffer. */
        snprintf(text + at, sizeof text - at, ": %s", strerror_r(os_errno, why, sizeof why));
    }
    weft_error_clear(error);
    error->status = status;
    error->os_errno = os_errno;
    memcpy(error->text, text, sizeof text);
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
