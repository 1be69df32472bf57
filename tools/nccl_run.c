/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a program with libnccl.so.2 of weft before every other one. The library is preloaded: that
 * is what also replaces one that the program finds by a path of its own (DT_RPATH), because a
 * library of the same name is loaded once. At the end it says which calls were refused. */
#include "tools/nccl_run.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "core/config/env.h"
#include "tools/tool.h"

enum { NCCL_RUN_PATH = 4096, NCCL_RUN_NAMES = 64, NCCL_RUN_NOT_FOUND = 127, NCCL_RUN_SIGNAL = 128 };

/* What bindings/nccl/debug.c writes when it is called first. */
#define NCCL_RUN_ANSWERED "answered"

static const char usage_text[] =
    "usage: weft nccl-run [--] COMMAND [ARGUMENTS…]\n\n"
    "Runs a program that uses NCCL with weft's libnccl.so.2 in its place. Sets LD_PRELOAD,\n"
    "LD_LIBRARY_PATH and VLLM_NCCL_SO_PATH. Ends with the exit code of the program, and names the\n"
    "calls that weft refused. NCCL_DEBUG=INFO says which library answers, NCCL_DEBUG=WARN prints\n"
    "errors.\n";

/* Writes the path of the library: in a build tree, or where programs and libraries are
 * installed. */
static bool nccl_run_find(char *library, size_t bytes)
{
    static const char *const places[] = {"../lib/weft/nccl/libnccl.so.2",
                                         "../lib64/weft/nccl/libnccl.so.2",
                                         WEFT_LIBDIR "/weft/nccl/libnccl.so.2"};
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

/* What is preloaded already stays first: it may be a profiler that calls the library. Another NCCL
 * would be called in place of weft's: it is left out. */
static void nccl_run_set_preload(const char *library)
{
    char value[2 * NCCL_RUN_PATH] = "";
    const char *rest = weft_env("LD_PRELOAD");
    size_t used = 0;
    while (rest != NULL && *(rest += strspn(rest, ": ")) != '\0') {
        const int length = (int)strcspn(rest, ": ");
        const char *name = rest;
        for (const char *c = rest; c < rest + length; c++) {
            name = *c == '/' ? c + 1 : name;
        }
        if (strncmp(name, "libnccl.so", sizeof "libnccl.so" - 1) == 0) {
            fprintf(stderr, "weft: LD_PRELOAD has another NCCL, which is left out: %.*s\n", length,
                    rest);
        } else if (used + (size_t)length + 2 < sizeof value - NCCL_RUN_PATH) {
            used += (size_t)snprintf(value + used, sizeof value - used, "%.*s:", length, rest);
        }
        rest += length;
    }
    snprintf(value + used, sizeof value - used, "%s", library);
    setenv("LD_PRELOAD", value, 1);
}

static void nccl_run_set_environment(const char *library, const char *refused)
{
    char folder[NCCL_RUN_PATH];
    snprintf(folder, sizeof folder, "%s", library);
    *strrchr(folder, '/') = '\0';
    nccl_run_set_preload(library);
    nccl_run_prepend("LD_LIBRARY_PATH", folder);
    setenv("VLLM_NCCL_SO_PATH", library, 1);
    if (refused != NULL) {
        setenv("NCCL_RUN_REFUSED_FILE", refused, 1);
    }
}

/* Opens a program as the shell would find it, or returns NULL. */
static FILE *nccl_run_open(const char *name)
{
    char path[NCCL_RUN_PATH];
    const char *rest = weft_env("PATH");
    if (strchr(name, '/') != NULL) {
        return fopen(name, "rb");
    }
    while (rest != NULL && *rest != '\0') {
        const int length = (int)strcspn(rest, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, rest, name);
        if (access(path, X_OK) == 0) {
            return fopen(path, "rb");
        }
        rest += length;
        rest += *rest == ':';
    }
    return NULL;
}

/* Whether the program is one of ELF that names no loader: then nothing is loaded before it. */
static bool nccl_run_is_static(const char *name)
{
    FILE *in = nccl_run_open(name);
    Elf64_Ehdr head;
    bool loader = true;
    if (in != NULL && fread(&head, sizeof head, 1, in) == 1 &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_phentsize == sizeof(Elf64_Phdr) && fseek(in, (long)head.e_phoff, SEEK_SET) == 0) {
        Elf64_Phdr part = {.p_type = PT_NULL};
        loader = false;
        for (unsigned i = 0; i < head.e_phnum && !loader; i++) {
            loader = fread(&part, sizeof part, 1, in) != 1 || part.p_type == PT_INTERP;
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    return !loader;
}

/* Signals ------------------------------------------------------------------------------------- */

static const int nccl_run_passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

typedef struct run_signals {
    sigset_t before, held;
    struct sigaction child; /* what was done about SIGCHLD */
} run_signals_t;

/* The signals wait until they can be passed to the program. What is ignored stays so. */
static void nccl_run_hold(run_signals_t *signals)
{
    struct sigaction old;
    const struct sigaction tell = {.sa_handler = SIG_DFL};
    sigemptyset(&signals->held);
    sigaddset(&signals->held, SIGCHLD);
    for (size_t i = 0; i < sizeof nccl_run_passed / sizeof nccl_run_passed[0]; i++) {
        if (sigaction(nccl_run_passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaddset(&signals->held, nccl_run_passed[i]);
        }
    }
    (void)sigprocmask(SIG_BLOCK, &signals->held, &signals->before);
    (void)sigaction(SIGCHLD, &tell, &signals->child);
}

/* A terminal, launchers and batch systems signal the whole process group, and the program hears
 * that by itself. A signal does not tell to whom it was sent: a process of the group that lets its
 * signals pend is the witness. It cannot be replaced by a group of the program's own, which a
 * SIGKILL of this group would leave alive. */
static pid_t nccl_run_witness(void)
{
    const pid_t parent = getpid(), witness = fork();
    if (witness != 0) {
        return witness;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        (void)pause();
    }
    _exit(0);
}

static bool nccl_run_is_pending(pid_t witness, int number)
{
    char path[64], line[128];
    unsigned long long pending = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)witness);
    FILE *status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "ShdPnd:", sizeof "ShdPnd:" - 1) == 0) {
            pending = strtoull(line + sizeof "ShdPnd:" - 1, NULL, 16);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return (pending >> (number - 1) & 1) != 0;
}

/* Linux signals the youngest of a group first; who signals its processes one by one takes a
 * while. */
static bool nccl_run_group_heard(pid_t witness, int number)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    for (int i = 0; i < 10; i++) {
        if (witness > 0 && nccl_run_is_pending(witness, number)) {
            return true;
        }
        (void)nanosleep(&nap, NULL);
    }
    return false;
}

static void nccl_run_dismiss(pid_t witness)
{
    if (witness > 0) {
        (void)kill(witness, SIGKILL);
        (void)waitpid(witness, NULL, 0);
    }
}

/* Waits for the end of the program, and passes on what this process alone has heard. */
static int nccl_run_wait(pid_t program, const run_signals_t *signals)
{
    pid_t witness = nccl_run_witness();
    int state = 0;
    while (waitpid(program, &state, WNOHANG) == 0) {
        siginfo_t info;
        const int number = sigwaitinfo(&signals->held, &info);
        if (number <= 0 || number == SIGCHLD) {
            continue;
        }
        if (info.si_code <= 0 && !nccl_run_group_heard(witness, number)) {
            (void)kill(program, number);
        }
        nccl_run_dismiss(witness);
        witness = nccl_run_witness();
    }
    nccl_run_dismiss(witness);
    return state;
}

/* The program is asked to end if this process is killed: it may be a launcher, which then ends its
 * ranks. */
static void nccl_run_child(char **command, pid_t parent, const run_signals_t *signals)
{
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(NCCL_RUN_NOT_FOUND);
    }
    (void)sigaction(SIGCHLD, &signals->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
    execvp(command[0], command);
    fprintf(stderr, "weft: cannot start %s: %s\n", command[0], strerror(errno));
    _exit(NCCL_RUN_NOT_FOUND);
}

/* The program's exit code, or 128 and its signal. This process outlives signals, for the report. */
static int nccl_run_command(char **command, const char *library, const char *refused)
{
    run_signals_t signals;
    const pid_t parent = getpid();
    nccl_run_hold(&signals);
    pid_t child = fork();
    if (child < 0) {
        tool_usage("cannot start a process: %s", strerror(errno));
        return TOOL_INTERNAL;
    }
    if (child == 0) {
        nccl_run_set_environment(library, refused);
        nccl_run_child(command, parent, &signals);
    }
    const int state = nccl_run_wait(child, &signals);
    return WIFSIGNALED(state) ? NCCL_RUN_SIGNAL + WTERMSIG(state) : WEXITSTATUS(state);
}

typedef struct refused_call {
    char name[64];
    unsigned times;
} refused_call_t;

typedef struct report {
    refused_call_t calls[NCCL_RUN_NAMES];
    size_t known;
    bool answered;
} report_t;

/* Counts the call of this name. */
static void report_count(report_t *report, const char *name)
{
    size_t i = 0;
    while (i < report->known && strcmp(report->calls[i].name, name) != 0) {
        i++;
    }
    if (i == report->known && report->known < NCCL_RUN_NAMES) {
        snprintf(report->calls[i].name, sizeof report->calls[i].name, "%s", name);
        report->calls[i].times = 0;
        report->known++;
    }
    if (i < report->known) {
        report->calls[i].times++;
    }
}

/* Prints the names of refused calls in the file, each once. The library begins with a word of its
 * own, which is missing where another one has answered. */
static void nccl_run_report(FILE *in)
{
    report_t report = {.known = 0};
    char line[sizeof report.calls[0].name];
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        report.answered = true;
        if (strcmp(line, NCCL_RUN_ANSWERED) != 0) {
            report_count(&report, line);
        }
    }
    for (size_t i = 0; i < report.known; i++) {
        fprintf(stderr, "weft: refused: %s (%u time%s)\n", report.calls[i].name,
                report.calls[i].times, weft_plural(report.calls[i].times));
    }
    if (!report.answered) {
        fputs("weft: no call reached weft's libnccl.so.2: the command used no NCCL, or has one "
              "linked "
              "in or loads one by its full path\n",
              stderr);
    }
}

/* Runs the command with a file for what the library has to tell. */
static int nccl_run_reported(char **command, const char *library)
{
    char refused[NCCL_RUN_PATH];
    const char *folder = weft_env("TMPDIR");
    snprintf(refused, sizeof refused, "%s/weft-refused-XXXXXX",
             folder != NULL && folder[0] == '/' ? folder : "/tmp");
    int fd = mkstemp(refused);
    FILE *report = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (report == NULL) {
        fprintf(stderr, "weft: cannot make %s (%s): refused calls are not named\n", refused,
                strerror(errno));
        return nccl_run_command(command, library, NULL);
    }
    int code = nccl_run_command(command, library, refused);
    if (code != NCCL_RUN_NOT_FOUND) {
        nccl_run_report(report);
    }
    fclose(report);
    unlink(refused);
    return code;
}

int tool_nccl_run(int argc, char **argv)
{
    char library[NCCL_RUN_PATH];
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage_text, stdout);
        return TOOL_OK;
    }
    if (first >= argc || (first == 1 && argv[1][0] == '-')) {
        return tool_usage("%s See `weft nccl-run --help`",
                          first >= argc ? "which command?" : "options belong to the command.");
    }
    if (!nccl_run_find(library, sizeof library)) {
        tool_usage("weft nccl-run needs lib/weft/nccl/libnccl.so.2, which is built unless "
                   "WEFT_NCCL is OFF");
        return TOOL_UNIMPLEMENTED;
    }
    if (strpbrk(library, ": ") != NULL) {
        return tool_usage("LD_PRELOAD takes no path with a blank or a colon: %s", library);
    }
    if (nccl_run_is_static(argv[first])) {
        fprintf(stderr, "weft: %s is linked statically: an NCCL inside it cannot be replaced\n",
                argv[first]);
    }
    return nccl_run_reported(argv + first, library);
}
