/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log lines on stderr: "weft[pid] level component: text". Dropped if they cannot be written. */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include <stdarg.h>

#include <weft/plugin/host.h>

/* Most verbose level printed by this process; WEFT_LOG_WARN at the start. */
void weft_log_set_level(weft_log_level_t level);
weft_log_level_t weft_log_level(void);

void weft_log(weft_log_level_t level, const char *component, const char *format, ...)
    WEFT_PRINTF(3, 4);
void weft_log_v(weft_log_level_t level, const char *component, const char *format, va_list args);

#endif
