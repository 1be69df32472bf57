/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error lines, exit codes, and programs that are installed beside this one. */
#include "tools/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/os/os.h"

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

int tool_no_memory(const char *what)
{
    fprintf(stderr, "weft: no memory for %s\n", what);
    return TOOL_INTERNAL;
}

void tool_begin(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    weft_os_open_standard();
    weft_config_name_settings("--set");
}

const char *tool_fork_limits(int error)
{
    return error == EAGAIN ? " (see ulimit -u, and pids.max of the cgroup)" : "";
}

const char *tool_out_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "to standard output" : path;
}

bool tool_close(FILE *out, const char *path)
{
    const bool lost = ferror(out) != 0;
    const bool failed = (out == stdout ? fflush(out) : fclose(out)) != 0;
    if (lost || failed) {
        const char *cause = failed ? strerror(errno) : "some of it is lost";
        fprintf(stderr, "weft: cannot write %s: %s\n", tool_out_name(path), cause);
    }
    return !lost && !failed;
}

int tool_end(int code)
{
    bool failed = fflush(stdout) != 0;
    const char *cause = failed ? strerror(errno) : "some of it is lost";
    if (code == TOOL_OK && (failed || ferror(stdout))) {
        fprintf(stderr, "weft: cannot write to standard output: %s\n", cause);
        return TOOL_INTERNAL;
    }
    return code;
}

bool tool_beside(const char *name, char *path, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes);
    if (length <= 0 || (size_t)length >= bytes) {
        return false;
    }
    path[length] = '\0';
    char *file = strrchr(path, '/') + 1;
    size_t room = bytes - (size_t)(file - path);
    return (size_t)snprintf(file, room, "%s", name) < room && access(path, X_OK) == 0;
}
