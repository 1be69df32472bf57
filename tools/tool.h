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

/* --conf, --set and --algo, as weft_comm_options_t wants them. */
#define TOOL_SETTINGS_MAX 64
typedef struct tool_settings {
    const char *conf;
    const char *set[TOOL_SETTINGS_MAX];
    uint32_t count, used;
    char texts[1024]; /* settings that --algo stands for; `used` bytes */
} tool_settings_t;

enum { TOOL_OPT_CONF = 1000, TOOL_OPT_SET, TOOL_OPT_ALGO, TOOL_OPT_JSON, TOOL_OPT_HELP };
/* Rows for the options above. */
#define TOOL_OPTIONS_CONFIG                                                                        \
    {0, "conf", "FILE", "INI file to read in place of WEFT_CONF and the others", TOOL_OPT_CONF},   \
    {                                                                                              \
        0, "set", "SECTION.KEY=VALUE", "override one option; may be repeated", TOOL_OPT_SET        \
    }

/* Exit code for a status. */
int tool_exit_code(weft_status_t status);
/* Prints the calling thread's error record as one line "weft: …" and returns the exit code. */
int tool_report(weft_status_t status);
/* Prints "weft: …" and returns TOOL_USAGE. */
int tool_usage(const char *format, ...) WEFT_PRINTF(1, 2);

/* Prints "weft: no memory for …" and returns TOOL_INTERNAL. */
int tool_no_memory(const char *what);

/* What a message calls a file that is written: "-" is standard output. */
const char *tool_out_name(const char *path);
/* Closes the file, or flushes standard output. False: something of it is lost, and one line says
 * so. */
bool tool_close(FILE *out, const char *path);

/* For main(): what is closed of the three standard streams leads nowhere from now on. Else the next
 * file that is opened gets its number, and the output. A file that grows beyond the limit is an
 * error of the write, and no signal that ends the process. Whoever started this may ignore SIGCHLD,
 * which would hide how the processes end that are started here: it has its default again. */
void tool_begin(void);
/* For main(): writes what waits in standard output. Returns `code`, or TOOL_INTERNAL after one line
 * if something of the output is lost. */
int tool_end(int code);

/* Which limits to look at after fork() failed with `error`: text to put behind that of the
 * error. */
const char *tool_fork_limits(int error);

/* Path of a program that is installed beside this one; false if it is not there. */
bool tool_beside(const char *name, char *path, size_t bytes);

#endif
