/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The `weft` command: finds the subcommand, or the collective from the name it was called by. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/check/check.h"
#include "core/os/crash.h"
#include "tools/config.h"
#include "tools/id.h"
#include "tools/info.h"
#include "tools/nccl_run.h"
#include "tools/new.h"
#include "tools/perf.h"
#include "tools/plan.h"
#include "tools/run.h"
#include "tools/sim.h"
#include "tools/tool.h"
#include "tools/trace.h"
#include "tools/tune.h"
#include "tools/values.h"
#include "tools/why.h"

typedef struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} subcommand_t;

static int main_run_topo(int argc, char **argv);
static int main_run_help(int argc, char **argv);
static int main_run_version(int argc, char **argv);

static const subcommand_t commands[] = {
    {"perf", tool_perf, "measure and check a collective; the options are those of nccl-tests"},
    {"info", tool_info,
     "plugins, their options, devices; with --launcher, who started this process"},
    {"run", tool_run, "start the ranks of a job, on this host or on several"},
    {"id", tool_id, "a unique id for ranks that are started by hand"},
    {"topo", main_run_topo,
     "this machine: NUMA nodes, cores, GPUs, NICs and the paths between them"},
    {"config", tool_config, "every option with its value and where it came from"},
    {"plan", tool_plan, "show, draw and prove the plan of an algorithm"},
    {"sim", tool_sim, "what collectives would cost on up to 65,536 ranks"},
    {"tune", tool_tune, "measure the algorithms on a job, and write rules"},
    {"why", tool_why, "which algorithm serves which sizes in a job, and who decided"},
    {"status", tool_status,
     "the jobs of this host: who is inside which operation, and waits for whom"},
    {"trace", tool_trace, "what the ranks did last, also of a job that hangs or has failed"},
    {"new", tool_new, "the folder of a plugin, to begin with"},
    {"nccl-run", tool_nccl_run, "run a program that uses NCCL with weft in its place"},
    {"version", main_run_version, "version of weft"},
    {"help", main_run_help, "this text"},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void main_print_help(FILE *out)
{
    fprintf(out, "weft %s: collective communication made of plugins\n\nusage:\n", weft_version());
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  weft %-8s  %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "\n`weft COMMAND --help` tells the options.\n"
                 "Try: weft perf all_reduce -P 4 -b 8 -e 16M -f 4\n");
}

static int main_run_help(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0 && commands[i].run != main_run_help) {
            char help[] = "--help";
            char *args[] = {argv[1], help, NULL};
            return commands[i].run(2, args);
        }
    }
    main_print_help(stdout);
    return TOOL_OK;
}

/* `weft topo` becomes the program weft-topo. */
static int main_run_topo(int argc, char **argv)
{
    char program[512];
    (void)argc;
    if (!tool_beside("weft-topo", program, sizeof program)) {
        tool_usage("weft topo needs the program weft-topo beside weft");
        return TOOL_UNIMPLEMENTED;
    }
    execv(program, argv);
    tool_usage("cannot start %s: %s", program, strerror(errno));
    return TOOL_INTERNAL;
}

static int main_run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("weft %s\n", weft_version());
    return TOOL_OK;
}

static int main_run_command(int argc, char **argv)
{
    const char *names[COMMANDS + 1];
    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[0], names[i]) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    names[COMMANDS] = NULL;
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
        return main_run_version(argc, argv);
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        return main_run_help(1, argv);
    }
    tool_parse_name("command", argv[0], names);
    return TOOL_USAGE;
}

static int main_run(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "weft";
    size_t length = strlen(program);
    if (length > 5 && strcmp(program + length - 5, "_perf") == 0) {
        return tool_perf(argc, argv);
    }
    if (argc < 2) {
        main_print_help(stderr);
        return TOOL_USAGE;
    }
    return main_run_command(argc - 1, argv + 1);
}

/* A breach in a call that cannot fail, such as destroy(), is a failure all the same. */
int main(int argc, char **argv)
{
    tool_begin();
    weft_crash_install();
    int code = main_run(argc, argv);
    return tool_end(code == TOOL_OK && weft_check_breaches() > 0 ? TOOL_LIBRARY : code);
}
