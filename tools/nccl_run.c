/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a program with libnccl.so.2 of weft before every other one. The library is preloaded: that
 * is what also replaces one that the program finds by a path of its own (DT_RPATH), because a
 * library of the same name is loaded once. At the end it says which calls were refused. */
#include "tools/nccl_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config/env.h"
#include "tools/args.h"
#include "tools/tool.h"

enum { NCCL_RUN_PATH = 4096, NCCL_RUN_NAMES = 64, NCCL_RUN_NOT_FOUND = 127, NCCL_RUN_SIGNAL = 128 };

static const char usage_text[] =
    "usage: weft nccl-run [--] COMMAND [ARGUMENTS…]\n\n"
    "Runs a program that uses NCCL with weft's libnccl.so.2 in its place. Sets LD_PRELOAD,\n"
    "LD_LIBRARY_PATH and VLLM_NCCL_SO_PATH. Ends with the exit code of the program, and names the\n"
    "calls that weft refused. NCCL_DEBUG=INFO says which library answers, NCCL_DEBUG=WARN prints\n"
    "errors.\n";

/* Writes the path of the library: in a build tree, or where programs and libraries are installed. */
static bool nccl_run_find(char *library, size_t bytes)
{
    static const char *const places[] = {"../lib/weft/nccl/libnccl.so.2",
                                         "../lib64/weft/nccl/libnccl.so.2",
                                         "../" WEFT_LIBDIR "/weft/nccl/libnccl.so.2"};
    char place[NCCL_RUN_PATH + 64];
    ssize_t length = readlink("/proc/self/exe", place, NCCL_RUN_PATH);
    if (length <= 0 || length >= NCCL_RUN_PATH) {
        return false;
    }
    place[length] = '\0';
    char *file = strrchr(place, '/') + 1;
    const size_t room = sizeof place - (size_t)(file - place);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        /* A library need not be executable, so this is not tool_beside(). */
        const bool whole = (size_t)snprintf(file, room, "%s", places[i]) < room;
        char *real = whole ? realpath(place, NULL) : NULL;
        if (real != NULL) {
            const bool fits = (size_t)snprintf(library, bytes, "%s", real) < bytes;
            free(real);
            return fits;
        }
    }
    return false;
}

/* Puts `first` before what the variable has. */
static void nccl_run_prepend(const char *name, const char *first)
{
    char value[2 * NCCL_RUN_PATH];
    const char *rest = weft_env(name);
    const bool alone = rest == NULL || rest[0] == '\0';
    snprintf(value, sizeof value, "%s%s%s", first, alone ? "" : ":", alone ? "" : rest);
    setenv(name, value, 1);
}

/* What is preloaded already stays first: it may be a profiler that calls the library. */
static void nccl_run_set_environment(const char *library, const char *refused)
{
    char folder[NCCL_RUN_PATH], preload[2 * NCCL_RUN_PATH];
    const char *before = weft_env("LD_PRELOAD");
    snprintf(folder, sizeof folder, "%s", library);
    *strrchr(folder, '/') = '\0';
    snprintf(preload, sizeof preload, "%s%s%s", before != NULL ? before : "",
             before != NULL && before[0] != '\0' ? ":" : "", library);
    setenv("LD_PRELOAD", preload, 1);
    nccl_run_prepend("LD_LIBRARY_PATH", folder);
    setenv("VLLM_NCCL_SO_PATH", library, 1);
    setenv("NCCL_RUN_REFUSED_FILE", refused, 1);
}

static void nccl_run_child(char **command)
{
    execvp(command[0], command);
    fprintf(stderr, "weft: cannot start %s: %s\n", command[0], strerror(errno));
    _exit(NCCL_RUN_NOT_FOUND);
}

/* The program's exit code, or 128 and its signal. Signals of the terminal reach the program by
 * themselves; this process outlives them, for the report. */
static int nccl_run_command(char **command, const char *library, const char *refused)
{
    int state = 0;
    pid_t child = fork();
    if (child < 0) {
        tool_usage("cannot start a process: %s", strerror(errno));
        return TOOL_INTERNAL;
    }
    if (child == 0) {
        nccl_run_set_environment(library, refused);
        nccl_run_child(command);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(state) ? NCCL_RUN_SIGNAL + WTERMSIG(state) : WEXITSTATUS(state);
}

typedef struct refused_call {
    char name[64];
    unsigned times;
} refused_call_t;

/* Prints the names in the file, each once. */
static void nccl_run_report(FILE *in)
{
    refused_call_t calls[NCCL_RUN_NAMES];
    size_t known = 0;
    char line[sizeof calls[0].name];
    while (fgets(line, sizeof line, in) != NULL) {
        size_t i = 0;
        line[strcspn(line, "\n")] = '\0';
        while (i < known && strcmp(calls[i].name, line) != 0) {
            i++;
        }
        if (i == known && known < NCCL_RUN_NAMES) {
            calls[known].times = 0;
            memcpy(calls[known++].name, line, sizeof line);
        }
        if (i < known) {
            calls[i].times++;
        }
    }
    for (size_t i = 0; i < known; i++) {
        fprintf(stderr, "weft: refused: %s (%u times)\n", calls[i].name, calls[i].times);
    }
}

int tool_nccl_run(int argc, char **argv)
{
    char library[NCCL_RUN_PATH], refused[] = "/tmp/weft-refused-XXXXXX";
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage_text, stdout);
        return TOOL_OK;
    }
    if (first >= argc || (first == 1 && argv[1][0] == '-')) {
        return tool_usage("nccl-run: %s; see `weft nccl-run --help`",
                          first >= argc ? "which command?" : "options belong to the command");
    }
    if (!nccl_run_find(library, sizeof library)) {
        tool_usage("weft nccl-run needs lib/weft/nccl/libnccl.so.2, which is built unless "
                   "WEFT_NCCL is OFF");
        return TOOL_UNIMPLEMENTED;
    }
    int fd = mkstemp(refused);
    FILE *report = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (report == NULL) {
        tool_usage("cannot make %s: %s", refused, strerror(errno));
        return TOOL_INTERNAL;
    }
    int code = nccl_run_command(argv + first, library, refused);
    nccl_run_report(report);
    fclose(report);
    unlink(refused);
    return code;
}
