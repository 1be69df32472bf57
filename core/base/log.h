/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log lines on stderr: "weft[pid] level component: text", behind the time of day if it is wanted.
 * Each is one write(2), so that lines of several processes do not mix. A line that cannot be
 * written is dropped: also one for which nobody makes room, because a log holds up neither a call
 * nor a process that ends. The next line that is written says how many were dropped. Nobody dies of
 * a log whose reader has gone. Thread: any. */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/plugin/host.h>

/* The most verbose level that this process prints; initially WEFT_LOG_WARN. */
void weft_log_set_level(weft_log_level_t level);
weft_log_level_t weft_log_level(void);

/* Whether lines begin with the time of day, as "2026-12-01 01:35:02.123 "; initially not. */
void weft_log_set_timed(bool on);

void weft_log(weft_log_level_t level, const char *component, const char *format, ...)
    WEFT_PRINTF(3, 4);
void weft_log_v(weft_log_level_t level, const char *component, const char *format, va_list args);

/* Writes a line that ends with its '\n' and has at most 1024 bytes. False: it was dropped. Thread:
 * any; it may be called in a handler of a signal. */
bool weft_log_put(const char *line, size_t bytes);

#endif
