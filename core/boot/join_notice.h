/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the root of a join says while ranks are late, so that who waits before a job knows for whom.
 * While ranks keep coming nothing is said.
 *
 * Thread: the root's. */
#ifndef WEFT_BOOT_JOIN_NOTICE_H
#define WEFT_BOOT_JOIN_NOTICE_H

#include "core/boot/root_table.h"

#define WEFT_JOIN_NOTICE_BYTES 400

typedef struct weft_join_notice {
    uint64_t seen; /* steps that ranks had made */
    uint64_t due;
    uint64_t pause; /* between two notices; doubles */
} weft_join_notice_t;

/* To be called when something may have changed, and when the time returned has come. Writes a line
 * if it is time for one, else "". Returns when to call again; WEFT_NEVER: nobody is late. Starts
 * from zeros. */
uint64_t weft_join_notice(weft_join_notice_t *notice, const weft_root_table_t *table, bool welcomed,
                          uint64_t now, char text[WEFT_JOIN_NOTICE_BYTES]);

/* The same at this time, and logs the line as a warning. */
uint64_t weft_join_notice_log(weft_join_notice_t *notice, const weft_root_table_t *table,
                              bool welcomed);

#endif
