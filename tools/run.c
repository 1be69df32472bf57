/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft run`: its options. */
#include "tools/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/env.h"
#include "core/config/option_table.h"
#include "core/config/store.h"
#include "tools/args.h"
#include "tools/run_agent.h"
#include "tools/run_master.h"
#include "tools/run_ports.h"
#include "tools/run_task.h"
#include "tools/tool.h"
#include "tools/values.h"

enum { RUN_VARIABLES = 256, RUN_FOLDER = 4096 };

static const tool_option_t options_table[] = {
    {'n', "ranks", "N", "number of ranks [the processors of this host, or the slots of -H]", 'n'},
    {'H', "hosts", "HOST:N,…", "the hosts, each with the number of its ranks", 'H'},
    {0, "rsh", "COMMAND", "remote shell to other hosts [ssh -o BatchMode=yes]", 'r'},
    {'x', "export", "NAME[=VALUE]", "a variable for the ranks on all hosts; may be repeated", 'x'},
    {0, "set", "SECTION.KEY=VALUE",
     "an option of weft for the ranks, as that variable; may be repeated", 's'},
    {0, "wdir", "FOLDER", "folder in which the ranks start [this one]", 'w'},
    {'l', "label", NULL, "begin the lines of stdout with the rank, too", 'l'},
    {0, "bind-to", "core|none", "give each rank a core of its own [none]", 'b'},
    {'k', "keep-going", NULL, "ranks that fail do not end the others; the last one's code counts",
     'k'},
    {0, "grace", "SECONDS", "between the request to end and the kill [2]", 'g'},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void run_print_help(void)
{
    printf(
        "usage: weft run [-n N] [-H HOST:N,…] [options] PROGRAM [ARGUMENTS…]\n\n"
        "Starts the ranks of a job and passes on what they write, in whole lines. Rank 0 reads\n"
        "stdin. When a rank fails it is named, the others are ended, and its exit code is that\n"
        "of the command (128 + N after signal N). Hosts are reached by ssh without questions and\n"
        "have weft at the same path. A PROGRAM that ends in .py is run by python3.\n\n");
    tool_options_print(options_table, stdout);
}

/* Takes over the memory of the entry; NULL: there was none. */
static bool run_keep_variable(run_job_t *job, char *entry)
{
    if (entry == NULL || job->variable_count == RUN_VARIABLES) {
        tool_usage("more than %d variables", RUN_VARIABLES);
        free(entry);
        return false;
    }
    job->variables[job->variable_count++] = entry;
    return true;
}

/* NAME takes the value that it has here. */
static bool run_take_variable(run_job_t *job, const char *text)
{
    char *entry = NULL;
    if (text[0] == '\0' || text[0] == '=') {
        tool_usage("-x wants NAME or NAME=VALUE, got '%s'", text);
        return false;
    }
    if (strchr(text, '=') == NULL) {
        const char *value = weft_env(text);
        if (value == NULL) {
            tool_usage("-x %s: this variable is not set here", text);
            return false;
        }
        if (asprintf(&entry, "%s=%s", text, value) < 0) {
            return false;
        }
    } else {
        entry = strdup(text);
    }
    return run_keep_variable(job, entry);
}

static bool run_take_setting(run_job_t *job, const char *text)
{
    char section[WEFT_OPTION_NAME_MAX + 1], key[WEFT_OPTION_NAME_MAX + 1], *entry = NULL;
    char name[WEFT_STORE_NAME_MAX];
    const size_t whole = strcspn(text, "="), before = strcspn(text, ".=");
    const size_t behind = before < whole ? whole - before - 1 : 0;
    if (text[whole] == '\0' || !weft_option_name_ok(text, before, '-') ||
        !weft_option_name_ok(text + before + 1, behind, '_')) {
        tool_usage("--set wants section.key=value, got '%s'", text);
        return false;
    }
    snprintf(section, sizeof section, "%.*s", (int)before, text);
    snprintf(key, sizeof key, "%.*s", (int)behind, text + before + 1);
    weft_store_env_name(section, key, name, sizeof name);
    return asprintf(&entry, "WEFT_%s%s", name, text + whole) >= 0 && run_keep_variable(job, entry);
}

/* Configuration that is in the environment here holds for ranks on other hosts, too. */
static bool run_take_own_variables(run_job_t *job)
{
    bool fine = true;
    for (uint32_t i = 0; fine && weft_env_prefixed("WEFT_", i) != NULL; i++) {
        fine = run_take_variable(job, weft_env_prefixed("WEFT_", i));
    }
    return fine;
}

typedef struct run_request {
    run_job_t *job;
    const char *hosts;
    int64_t nranks; /* 0: not given */
    bool help;
} run_request_t;

static bool run_take(run_request_t *request, int id, const char *value)
{
    static const char *const bindings[] = {"core", "none", NULL};
    run_job_t *job = request->job;
    int binding;
    switch (id) {
    case 'n':
        return tool_parse_integer("-n", value, 1, 65536, &request->nranks);
    case 'H':
        request->hosts = value;
        return true;
    case 'r':
        job->rsh = value;
        if (value[strspn(value, " ")] == '\0') {
            tool_usage("--rsh is empty");
            return false;
        }
        return true;
    case 'x':
        return run_take_variable(job, value);
    case 's':
        return run_take_setting(job, value);
    case 'w':
        job->folder = value;
        return true;
    case 'l':
        job->label = true;
        return true;
    case 'b':
        binding = tool_parse_name("binding", value, bindings);
        job->bind = binding == 0;
        return binding >= 0;
    case 'k':
        job->keep_going = true;
        return true;
    case 'g':
        return tool_parse_real("--grace", value, 0, &job->grace);
    default:
        request->help = true;
        return true;
    }
}

static bool run_take_command(run_job_t *job, int argc, char **argv, int at)
{
    static char python[] = "python3";
    size_t count = 0;
    at += at < argc && strcmp(argv[at], "--") == 0;
    if (at >= argc) {
        tool_usage("which program? weft run -n 4 PROGRAM");
        return false;
    }
    const char *dot = strrchr(argv[at], '.');
    if (dot != NULL && strcmp(dot, ".py") == 0) {
        job->command[count++] = python;
    }
    while (at < argc) {
        job->command[count++] = argv[at++];
    }
    return true;
}

/* Reads the options; what follows is the command. False: reported. */
static bool run_read(run_request_t *request, int argc, char **argv)
{
    run_job_t *job = request->job;
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    while (args.at < argc && argv[args.at][0] == '-' && strcmp(argv[args.at], "--") != 0) {
        static char ranks[] = "-n";
        if (strcmp(argv[args.at], "-np") == 0) { /* as mpirun has it */
            argv[args.at] = ranks;
        }
        int id = tool_args_next(&args);
        if (id == TOOL_ARGS_OPERAND) {
            tool_usage("'-' is no program");
        }
        if (id < 0) {
            return false;
        }
        if (!run_take(request, id, args.value)) {
            return false;
        }
        if (request->help) {
            return true;
        }
    }
    return run_take_command(job, argc, argv, args.at);
}

static void run_free(run_job_t *job)
{
    for (uint32_t i = 0; i < job->variable_count; i++) {
        free((char *)(uintptr_t)job->variables[i]);
    }
    free(job->variables);
    free(job->command);
    free(job->hosts);
}

/* The ranks start in this folder unless --wdir says another. False: it has no path, which is
 * reported. */
static bool run_take_folder(run_job_t *job, char *folder)
{
    char name[RUN_FOLDER] = "";
    if (job->folder != NULL) {
        return true;
    }
    job->folder = getcwd(folder, RUN_FOLDER);
    if (job->folder == NULL) {
        const int error = errno == ERANGE ? ENAMETOOLONG : errno;
        const char *known = weft_env("PWD");
        const char *found = readlink("/proc/self/cwd", name, sizeof name - 1) > 0 ? name : known;
        tool_usage("cannot tell the path of this folder (%s), --wdir FOLDER names one: %s",
                   strerror(error), found != NULL ? found : "it has no name");
    }
    return job->folder != NULL;
}

int tool_run(int argc, char **argv)
{
    char folder[RUN_FOLDER];
    run_job_t job = {.rsh = "ssh -o BatchMode=yes", .grace = 2};
    run_request_t request = {.job = &job};
    int code = TOOL_USAGE;
    if (argc == 2 && strcmp(argv[1], "--agent") == 0) {
        return run_agent();
    }
    job.command = calloc((size_t)argc + 2, sizeof *job.command);
    job.variables = calloc(RUN_VARIABLES, sizeof *job.variables);
    if (job.command == NULL || job.variables == NULL) {
        code = tool_no_memory("a job");
    } else if (run_take_own_variables(&job) && run_read(&request, argc, argv)) {
        if (request.help) {
            run_print_help();
            code = TOOL_OK;
        } else if (run_take_folder(&job, folder) &&
                   run_task_hosts(&job, request.hosts, (uint32_t)request.nranks)) {
            job.ports = run_ports_configured(&job);
            code = run_master(&job);
        }
    }
    run_free(&job);
    return code;
}
