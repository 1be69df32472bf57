/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error lines and exit codes. */
#include <stdarg.h>

#include "core/base/error.h"
#include "tools/tool.h"

int tool_exit_code(weft_status_t status)
{
    if (status >= 0) {
        return TOOL_OK;
    }
    return status == WEFT_ERR_TIMEOUT ? TOOL_TIMEOUT : TOOL_LIBRARY;
}

int tool_report(weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    const char *text = error->text[0] != '\0' ? error->text : weft_status_text(status);
    fprintf(stderr, "weft: %s\n", text);
    return tool_exit_code(status);
}

int tool_usage(const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "weft: %s\n", text);
    return TOOL_USAGE;
}
