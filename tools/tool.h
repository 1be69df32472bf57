/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `weft` share: exit codes, the error line, the option parser and the
 * configuration options that all of them take. */
#ifndef WEFT_TOOLS_TOOL_H
#define WEFT_TOOLS_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include <weft/weft.h>

/* Exit codes of nccl-tests; scripts depend on them. */
typedef enum tool_exit {
    TOOL_OK = 0,
    TOOL_INTERNAL = 1,
    TOOL_LIBRARY = 3,
    TOOL_TIMEOUT = 4,
    TOOL_UNIMPLEMENTED = 5,
    TOOL_USAGE = 6,
    TOOL_WRONG = 7
} tool_exit_t;

/* One option of a subcommand. Tables end with an entry whose name is NULL. An entry without a short
 * name has '\0' there. */
typedef struct tool_option {
    char letter;
    const char *name;
    const char *arg; /* placeholder of the value in the help; NULL: the option takes no value */
    const char *help;
    int id;
} tool_option_t;

/* A walk over the arguments. */
typedef struct tool_args {
    const tool_option_t *options;
    int argc;
    char **argv;
    int at;            /* next argument */
    const char *value; /* of the option found, or the operand */
} tool_args_t;

#define TOOL_ARGS_END (-1)
#define TOOL_ARGS_OPERAND (-2)
#define TOOL_ARGS_ERROR (-3) /* already reported */

/* Next option's id, or one of TOOL_ARGS_*. Accepts -b8, -b 8, --name 8 and --name=8; after "--" only
 * operands follow. */
int tool_args_next(tool_args_t *args);
/* One line an option, for --help. */
void tool_options_print(const tool_option_t *options, FILE *out);

/* Numbers. False and one line on stderr if `text` is none, or out of range. */
bool tool_parse_integer(const char *what, const char *text, int64_t min, int64_t max,
                        int64_t *value_p);
bool tool_parse_real(const char *what, const char *text, double min, double *value_p);
/* Bytes: a decimal, fractions allowed, with an optional K, M, G or T (binary). */
bool tool_parse_size(const char *what, const char *text, uint64_t *value_p);

/* Index in a NULL-terminated list, or −1 and one line on stderr with the nearest name. */
int tool_parse_name(const char *what, const char *text, const char *const *names);
/* The same for names of collectives. `all`, if not NULL, is one more name: WEFT_COLL_COUNT. */
int tool_parse_coll(const char *text, const char *all);
/* The nearest name, or NULL if none is near. */
const char *tool_nearest(const char *text, const char *const *names);

/* --conf, --set and --algo, as weft_comm_options_t wants them. */
#define TOOL_SETTINGS_MAX 64
typedef struct tool_settings {
    const char *conf;
    const char *set[TOOL_SETTINGS_MAX];
    uint32_t count;
    char algo[128];
} tool_settings_t;

enum { TOOL_OPT_CONF = 1000, TOOL_OPT_SET, TOOL_OPT_ALGO, TOOL_OPT_JSON, TOOL_OPT_HELP };
/* Rows for the options above. */
#define TOOL_OPTIONS_CONFIG                                                                        \
    {0, "conf", "FILE", "INI file to read in place of WEFT_CONF and the others", TOOL_OPT_CONF},   \
    {                                                                                              \
        0, "set", "SECTION.KEY=VALUE", "override one option; may be repeated", TOOL_OPT_SET        \
    }

/* Takes --conf, --set or --algo. False and one line on stderr if it cannot. */
bool tool_settings_take(tool_settings_t *settings, int id, const char *value);
weft_comm_options_t tool_settings_options(const tool_settings_t *settings);

/* Exit code for a status. */
int tool_exit_code(weft_status_t status);
/* Prints the calling thread's error record as one line "weft: …" and returns the exit code. */
int tool_report(weft_status_t status);
/* Prints "weft: …" and returns TOOL_USAGE. */
int tool_usage(const char *format, ...) WEFT_PRINTF(1, 2);

/* Path of a program that is installed beside this one; false if it is not there. */
bool tool_beside(const char *name, char *path, size_t bytes);

/* The subcommands; argv[0] is the subcommand's name. */
int tool_perf(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_config(int argc, char **argv);
int tool_plan(int argc, char **argv);
int tool_sim(int argc, char **argv);
int tool_topo(int argc, char **argv);

#endif
