/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record of the calling thread. The first function that decides an error calls weft_fail();
 * callers only pass the status on. The record is printed once, where it leaves the library. */
#ifndef WEFT_BASE_ERROR_H
#define WEFT_BASE_ERROR_H

#include <stdarg.h>

#include <weft/weft.h>

/* Writes the record (rank, peer and transport unknown) and returns `status`. os_errno 0: none, else
 * ": <its text>" is appended. */
weft_status_t weft_fail(weft_status_t status, int os_errno, const char *format, ...)
    WEFT_PRINTF(3, 4);
weft_status_t weft_fail_v(weft_status_t status, int os_errno, const char *format, va_list args);

/* The record itself, to be completed (peer, host, transport …) by callers that know more. */
weft_error_t *weft_error_record(void);
void weft_error_clear(weft_error_t *error); /* no failure, numbers −1 */

#endif
