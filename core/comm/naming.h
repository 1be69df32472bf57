/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of communicators: what may be one, and how one is called after another. */
#ifndef WEFT_COMM_NAMING_H
#define WEFT_COMM_NAMING_H

#include <weft/weft.h>

/* Tells whether `name` may be a name; NULL may not. ERR_ARG. */
weft_status_t weft_naming_check(const char *call, const char *name);

/* Calls `child`, just made of `parent`, after it: "PARENT/" and what the format says. Does nothing
 * if `child` is NULL. Keeps the calling thread's error record. */
void weft_naming_derive(weft_comm_t *parent, weft_comm_t *child, const char *format, ...)
    WEFT_PRINTF(3, 4);

/* Where the name begins in the options; NULL: none, or they are older than names. */
const char *weft_naming_option(const weft_comm_options_t *options);

#endif
