/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log lines. One write per line, so that lines of several processes do not mix. */
#include "core/base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/utf8.h"

static _Atomic uint32_t max_level = WEFT_LOG_WARN;

void weft_log_set_level(weft_log_level_t level)
{
    atomic_store_explicit(&max_level, (uint32_t)level, memory_order_relaxed);
}

weft_log_level_t weft_log_level(void)
{
    return (weft_log_level_t)atomic_load_explicit(&max_level, memory_order_relaxed);
}

void weft_log_v(weft_log_level_t level, const char *component, const char *format, va_list args)
{
    static const char *const names[] = {"error", "warn", "info", "debug", "trace"};
    if (level > weft_log_level()) {
        return;
    }
    char line[1024];
    int used = snprintf(line, sizeof line, "weft[%d] %s %s: ", (int)getpid(),
                        names[level <= WEFT_LOG_TRACE ? level : WEFT_LOG_TRACE], component);
    size_t at = used > 0 && (size_t)used < sizeof line ? (size_t)used : 0;
    used = vsnprintf(line + at, sizeof line - at - 1, format, args);
    at += used > 0 ? (size_t)used : 0;
    if (at > sizeof line - 2) {
        at = sizeof line - 2;
    }
    line[at] = '\0';
    weft_utf8_clean(line);
    line[at] = '\n';
    /* A log that cannot be written is dropped: diagnosis must not make things worse. */
    ssize_t ignored = write(STDERR_FILENO, line, at + 1);
    (void)ignored;
}

void weft_log(weft_log_level_t level, const char *component, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weft_log_v(level, component, format, args);
    va_end(args);
}
