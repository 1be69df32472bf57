/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame of the conformance kits. */
#include "kit_frame.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/crash.h"
#include "kit_object.h"
#include "tests/support/fake_host.h"

#define WATCHDOG_S 60
#define OUTPUT 2048
#define REASONS 128u

/* What the command line asks for. */
typedef struct kit_request {
    kit_run_t run;
    bool list, json, measure;
    const char *one; /* part of the names of the cases to run; NULL: all */
} kit_request_t;

/* How cases ended. */
typedef struct kit_tally {
    uint32_t passed, skipped, failed, mistakes;
    bool stopped;           /* the first cases failed */
    char *reasons[REASONS]; /* of the mistakes */
} kit_tally_t;

typedef struct kit_outcome {
    int status; /* of waitpid */
    bool ended; /* by kit_end() */
    char text[OUTPUT];
} kit_outcome_t;

/* Command line --------------------------------------------------------------------------------- */

static void kit_usage_print(const kit_suite_t *suite, FILE *out)
{
    fprintf(out,
            "usage: %s [OPTIONS] PLUGIN.so [key=value...]\n"
            "  -l, --list        print the names of the cases, and run none\n"
            "  -c, --case TEXT   run the cases whose names contain the text\n"
            "  -s, --seed N      seed of what is drawn (default 1)\n"
            "  -j, --json        print one JSON object\n"
            "  -h, --help        this text\n",
            suite->program);
    if (suite->messages > 0) {
        fprintf(out,
                "  -m, --messages N  messages of the longest exchange, 100 or more (default %u)\n",
                suite->messages);
    }
    if (suite->measure != NULL) {
        fputs("  -M, --measure     measure what the properties say, and run no case\n", out);
    }
}

static bool kit_number_read(const char *text, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool kit_option_take(const kit_suite_t *suite, kit_request_t *request, int option)
{
    uint64_t number = 0;
    switch (option) {
    case 'm':
        request->run.messages = kit_number_read(optarg, &number) ? (uint32_t)number : 0;
        return suite->messages > 0 && request->run.messages >= 100;
    case 's':
        return kit_number_read(optarg, &request->run.seed);
    case 'l':
        request->list = true;
        return true;
    case 'c':
        request->one = optarg;
        return true;
    case 'j':
        request->json = true;
        return true;
    case 'h':
        kit_usage_print(suite, stdout);
        exit(0);
    case 'M':
        request->measure = true;
        return suite->measure != NULL;
    default:
        return false;
    }
}

static bool kit_request_read(const kit_suite_t *suite, int argc, char **argv,
                             kit_request_t *request)
{
    static const struct option options[] = {
        {"messages", required_argument, NULL, 'm'}, {"seed", required_argument, NULL, 's'},
        {"case", required_argument, NULL, 'c'},     {"list", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},           {"help", no_argument, NULL, 'h'},
        {"measure", no_argument, NULL, 'M'},        {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "m:s:c:ljhM", options, NULL)) != -1) {
        if (!kit_option_take(suite, request, option)) {
            return false;
        }
    }
    return (request->list || optind < argc) && !(request->measure && request->json);
}

static int kit_list(const kit_suite_t *suite)
{
    for (uint32_t i = 0; suite->name(i) != NULL; i++) {
        printf("%s\n", suite->name(i));
    }
    return 0;
}

/* Output --------------------------------------------------------------------------------------- */

static void kit_json_put(const char *text)
{
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if (*at < ' ') {
            printf("\\u%04x", *at);
        } else {
            putchar(*at);
        }
    }
    putchar('"');
}

/* Output of a case in one line: "; " between its lines. */
static void kit_text_fold(const char *from, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    while (*from != '\0') {
        from += strspn(from, " \n");
        size_t line = strcspn(from, "\n");
        if (line > 0 && used < bytes) {
            int more = snprintf(text + used, bytes - used, "%s%.*s", used > 0 ? "; " : "",
                                (int)line, from);
            used += more > 0 ? (size_t)more : 0;
        }
        from += line;
    }
}

/* Leaves out what the core's log puts before a text, and the path behind it. */
static void kit_text_trim(char *text, const char *path)
{
    const char *log = "error check: ";
    char *from = strstr(text, log), *tail;
    char behind[4200];
    if (strncmp(text, "weft[", 5) == 0 && from != NULL) {
        from += strlen(log);
        memmove(text, from, strlen(from) + 1);
    }
    snprintf(behind, sizeof behind, " (%s)", path);
    while ((tail = strstr(text, behind)) != NULL) {
        memmove(tail, tail + strlen(behind), strlen(tail + strlen(behind)) + 1);
    }
}

/* Two reasons that differ in numbers only are one. */
static bool kit_reason_same(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        bool number = *a >= '0' && *a <= '9';
        if (number ? *b < '0' || *b > '9' : *a != *b) {
            return false;
        }
        a += number ? strspn(a, "0123456789") : 1;
        b += number ? strspn(b, "0123456789") : 1;
    }
    return *a == *b;
}

/* What a sanitizer says after the line of a crash has the stack of the one case. */
static size_t kit_reason_bytes(const char *text)
{
    const char *end = strncmp(text, "weft: SIG", 9) == 0 ? strstr(text, "; ") : NULL;
    return end != NULL ? (size_t)(end - text) : strlen(text);
}

static bool kit_reason_is_new(kit_tally_t *tally, const char *said)
{
    char text[OUTPUT + 128];
    snprintf(text, sizeof text, "%.*s", (int)kit_reason_bytes(said), said);
    for (uint32_t i = 0; i < tally->mistakes && i < REASONS; i++) {
        if (kit_reason_same(tally->reasons[i], text)) {
            return false;
        }
    }
    if (tally->mistakes < REASONS) {
        tally->reasons[tally->mistakes] = strdup(text);
        if (tally->reasons[tally->mistakes] == NULL) {
            abort();
        }
    }
    tally->mistakes++;
    return true;
}

static void kit_put(const kit_request_t *request, kit_tally_t *tally, const char *name,
                    const char *result, const char *text)
{
    if (request->json) {
        printf("%s\n  {\"case\": ", tally->passed + tally->skipped + tally->failed > 1 ? "," : "");
        kit_json_put(name);
        printf(", \"result\": \"%s\", \"text\": ", result);
        kit_json_put(text);
        printf("}");
    } else {
        printf("%-5s %s%s%s\n", result, name, text[0] != '\0' ? ": " : "", text);
    }
    fflush(stdout);
}

/* The code with which a case ended; −1 if something else ended its process. */
static int kit_outcome_code(const kit_outcome_t *outcome)
{
    return outcome->ended && WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : -1;
}

/* Why a case failed, in `text`: what it said, and what ended it if that was not its own word. */
static void kit_reason_write(const kit_outcome_t *outcome, char *text, size_t bytes)
{
    const char *said = outcome->text;
    int status = outcome->status, code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) {
        snprintf(text, bytes, "%s (signal %d%s)", said[0] != '\0' ? said : "no word",
                 WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ", watchdog" : "");
    } else if (said[0] == '\0' || code == 0 || code == KIT_SKIPPED) {
        snprintf(text, bytes,
                 "%s%sthe process ended with exit code %d before the case did: does the plugin "
                 "call exit()?",
                 said, said[0] != '\0' ? "; " : "", code);
    } else {
        snprintf(text, bytes, "%s", said);
    }
}

static void kit_count(const kit_request_t *request, kit_tally_t *tally, const char *name,
                      kit_outcome_t *outcome)
{
    char text[OUTPUT + 128];
    int code = kit_outcome_code(outcome);
    if (code == 0) {
        tally->passed++;
        kit_put(request, tally, name, "ok", "");
        return;
    }
    if (code == KIT_SKIPPED) {
        tally->skipped++;
        kit_put(request, tally, name, "SKIP", outcome->text);
        return;
    }
    tally->failed++;
    kit_text_trim(outcome->text, request->run.path);
    kit_reason_write(outcome, text, sizeof text);
    if (kit_reason_is_new(tally, text) || request->json) {
        kit_put(request, tally, name, "FAIL", text);
    }
}

/* Processes of cases --------------------------------------------------------------------------- */

/* The one that called kit_end() last, in memory that they share with this process. */
static _Atomic pid_t *kit_ended;

static bool kit_ended_open(void)
{
    void *page =
        mmap(NULL, sizeof *kit_ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    kit_ended = page != MAP_FAILED ? page : NULL;
    return kit_ended != NULL;
}

void kit_end(int code)
{
    fflush(stdout);
    atomic_store(kit_ended, getpid());
    if (code == 0) {
        exit(0); /* what looks for leaks does so now */
    }
    _exit(code);
}

bool kit_has_ended(pid_t pid)
{
    return atomic_load(kit_ended) == pid;
}

pid_t kit_fork(void)
{
    const pid_t parent = getpid();
    const unsigned left = alarm(0);
    (void)alarm(left);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        (void)alarm(left);
    }
    return pid;
}

/* Cases ---------------------------------------------------------------------------------------- */

/* Everything that the child writes to stdout and stderr until it ends; what is too long is
 * dropped. */
static void kit_output_read(int from, pid_t child, kit_outcome_t *outcome)
{
    char said[OUTPUT];
    size_t used = 0;
    bool ended = false;
    for (;;) {
        char rest[512];
        struct pollfd poll_one = {.fd = from, .events = POLLIN};
        if (poll(&poll_one, 1, ended ? 0 : 20) > 0) {
            ssize_t got = used + 1 < sizeof said ? read(from, said + used, sizeof said - 1 - used)
                                                 : read(from, rest, sizeof rest);
            if (got > 0) {
                used += used + 1 < sizeof said ? (size_t)got : 0;
                continue;
            }
            /* All have closed it. */
            if (!ended && waitpid(child, &outcome->status, 0) != child) {
                exit(2);
            }
            break;
        }
        /* A process that the case left behind may hold the pipe open. */
        if (ended) {
            break;
        }
        ended = waitpid(child, &outcome->status, WNOHANG) == child;
    }
    said[used] = '\0';
    kit_text_fold(said, outcome->text, sizeof outcome->text);
}

static void kit_child(int to)
{
    (void)setpgid(0, 0); /* what the case forks dies with it */
    (void)dup2(to, 1);
    (void)dup2(to, 2);
    (void)close(to);
    alarm(WATCHDOG_S);
}

/* Runs a case, or the look at the object if there is no case, in a process of its own. */
static void kit_case_run(const kit_suite_t *suite, const kit_request_t *request, uint32_t number,
                         bool is_case, kit_outcome_t *outcome)
{
    int ends[2];
    fflush(stdout);
    *outcome = (kit_outcome_t){.status = 0};
    if (pipe(ends) != 0) {
        perror(suite->program);
        exit(2);
    }
    pid_t pid = kit_fork();
    if (pid == 0) {
        char why[OUTPUT];
        (void)close(ends[0]);
        kit_child(ends[1]);
        if (is_case) {
            suite->run(&request->run, number);
        } else if (kit_object_open(request->run.path, suite->kind, why, sizeof why) == NULL) {
            printf("%s\n", why);
            exit(1);
        }
        kit_end(0);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        perror(suite->program);
        exit(2);
    }
    kit_output_read(ends[0], pid, outcome);
    outcome->ended = kit_has_ended(pid);
    (void)close(ends[0]);
    (void)kill(-pid, SIGKILL);
}

/* In a process of its own too, which prints to where this one does. */
static int kit_measure(const kit_suite_t *suite, const kit_run_t *run)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = kit_fork();
    if (pid == 0) {
        suite->measure(run);
        kit_end(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror(suite->program);
        return 2;
    }
    if (!kit_has_ended(pid) || !WIFEXITED(status)) {
        fprintf(stderr, "%s: the process that measures ended before it had measured\n",
                suite->program);
        return 1;
    }
    return WEXITSTATUS(status);
}

/* The object is looked at in a process of its own first: its entry may crash. Wrong settings would
 * fail every case. */
static int kit_open(const kit_suite_t *suite, kit_request_t *request, kit_tally_t *tally)
{
    char why[OUTPUT];
    kit_outcome_t outcome;
    kit_case_run(suite, request, 0, false, &outcome);
    if (kit_outcome_code(&outcome) != 0) {
        kit_count(request, tally, "descriptor", &outcome);
        return 1;
    }
    request->run.plugin = kit_object_open(request->run.path, suite->kind, why, sizeof why);
    void *config =
        request->run.plugin == NULL
            ? NULL
            : fake_config_create(request->run.plugin, request->run.settings, why, sizeof why);
    if (config == NULL) {
        fprintf(stderr, "%s: %s\n", suite->program, why);
        return 2;
    }
    fake_config_destroy(config);
    return 0;
}

static void kit_cases_run(const kit_suite_t *suite, const kit_request_t *request,
                          kit_tally_t *tally)
{
    for (uint32_t i = 0; suite->name(i) != NULL; i++) {
        if (i == suite->first && tally->failed > 0) {
            tally->stopped = true;
            return;
        }
        if (request->one == NULL || strstr(suite->name(i), request->one) != NULL) {
            kit_outcome_t outcome;
            kit_case_run(suite, request, i, true, &outcome);
            kit_count(request, tally, suite->name(i), &outcome);
        }
    }
}

static int kit_finish(const kit_suite_t *suite, const kit_request_t *request,
                      const kit_tally_t *tally)
{
    uint32_t ran = tally->passed + tally->skipped + tally->failed;
    if (request->json) {
        printf("\n], \"held\": %u, \"skipped\": %u, \"failed\": %u}\n", tally->passed,
               tally->skipped, tally->failed);
    } else if (ran > 0) {
        printf("%u held, %u skipped, %u failed", tally->passed, tally->skipped, tally->failed);
        printf("%s%s\n", tally->failed > tally->mistakes ? "; the same reason is printed once" : "",
               tally->stopped ? "; the other cases are run when these hold" : "");
    }
    if (ran == 0) {
        fprintf(stderr, "%s: no case has \"%s\" in its name (--list)\n", suite->program,
                request->one);
        return 2;
    }
    return tally->failed > 0 ? 1 : 0;
}

int kit_main(const kit_suite_t *suite, int argc, char **argv)
{
    char path[4096];
    const struct rlimit no_core = {0, 0};
    kit_request_t request = {.run = {.seed = 1, .messages = suite->messages}};
    static kit_tally_t tally;
    if (!kit_request_read(suite, argc, argv, &request)) {
        kit_usage_print(suite, stderr);
        return 2;
    }
    if (request.list) {
        return kit_list(suite);
    }
    argv += optind;
    setrlimit(RLIMIT_CORE, &no_core);
    if (!kit_ended_open()) {
        perror(suite->program);
        return 2;
    }
    weft_crash_install();
    /* A name without a slash is a file here, not one of the system's libraries. */
    snprintf(path, sizeof path, "%s%s", strchr(argv[0], '/') == NULL ? "./" : "", argv[0]);
    request.run.path = path;
    request.run.settings = (const char *const *)argv + 1;
    if (request.json) {
        printf("{\"kit\": \"%s\", \"plugin\": ", suite->program);
        kit_json_put(path);
        printf(", \"seed\": %llu, \"cases\": [", (unsigned long long)request.run.seed);
    }
    int code = kit_open(suite, &request, &tally);
    if (code == 0 && !request.json) {
        const weft_plugin_t *plugin = request.run.plugin;
        printf("weft conformance: %s %s, ABI %d.%d of the kind\n", plugin->name, plugin->version,
               plugin->abi_major, plugin->abi_minor);
    }
    if (code == 0 && request.measure) {
        return kit_measure(suite, &request.run);
    }
    if (code == 0) {
        kit_cases_run(suite, &request, &tally);
    }
    if (code == 2) {
        fputs(request.json ? "]}\n" : "", stdout);
        return 2;
    }
    return kit_finish(suite, &request, &tally);
}
