/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record of the calling thread. The function that first decides that something failed
 * calls weft_fail(); its callers pass the status on and add nothing but facts (rank, peer, host).
 * The record is logged once, where the error leaves the library. Thread: any; each has its own
 * record. */
#ifndef WEFT_BASE_ERROR_H
#define WEFT_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include <weft/weft.h>

/* Writes the record, with rank, peer and transport unknown, and returns `status`. Control
 * characters of the text are replaced. If os_errno is not 0, ": " and its text are appended. */
weft_status_t weft_fail(weft_status_t status, int os_errno, const char *format, ...)
    WEFT_PRINTF(3, 4);
weft_status_t weft_fail_v(weft_status_t status, int os_errno, const char *format, va_list args);

/* Puts `about` and ": " before the text of the record, for a caller that knows what the failed call
 * was for: the option that names a file, say. Returns the status of the record. */
weft_status_t weft_fail_about(const char *about);

/* Returns the record, so that a caller that knows more (peer, host, transport …) can add it. */
weft_error_t *weft_error_record(void);
/* Whether the status is one of the list, and a failure: plugins may return any number. */
bool weft_status_is_failure(weft_status_t status);
/* Sets the record to "no failure"; numbers become −1. */
void weft_error_clear(weft_error_t *error);

#endif
