/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the conformance kits of all kinds share: the command line, the loader's checks of a
 * descriptor, and cases that run in processes of their own, under a watchdog. What a case prints is
 * the reason of its failure, in one line. Cases that fail for one reason are one mistake, and are
 * printed once. */
#ifndef WEFT_TESTS_KITS_KIT_FRAME_H
#define WEFT_TESTS_KITS_KIT_FRAME_H

#include <stdbool.h>
#include <sys/types.h>

#include <weft/plugin/plugin.h>

#define KIT_SKIPPED 77 /* exit code of a case that cannot run; what it printed says why */

/* What the command line gave. */
typedef struct kit_run {
    const weft_plugin_t *plugin;
    const char *path;
    const char *const *settings; /* key=value, ended by NULL */
    uint64_t seed;
    uint32_t messages; /* of the longest exchange; 0 if the suite has none */
} kit_run_t;

/* The cases of a kind. */
typedef struct kit_suite {
    const char *program;
    weft_plugin_kind_t kind;
    uint32_t messages;                    /* default of --messages; 0: no such option */
    uint32_t first;                       /* if one of so many cases fails, the rest is not run */
    const char *(*name)(uint32_t number); /* of a case, from 0; NULL behind the last */
    /* Runs in a process of its own. Returns if the case holds; otherwise the process ends with 1,
     * or by kit_end(KIT_SKIPPED), after a line on stdout. */
    void (*run)(const kit_run_t *run, uint32_t number);
    /* Prints what the plugin does beside what it says of itself, for --measure. NULL: no such
     * option. Ends the process as run() does. */
    void (*measure)(const kit_run_t *run);
} kit_suite_t;

/* Ends the process of a case, or one that it forked, with `code`. An exit code of 0 or KIT_SKIPPED
 * counts with this word only: a plugin may call exit(). */
_Noreturn void kit_end(int code);
/* Whether `pid`, which has been waited for, ended by kit_end(), and no other one since. */
bool kit_has_ended(pid_t pid);
/* As fork(). The child dies with its parent, and with the watch over the case. */
pid_t kit_fork(void);

/* Reads the command line, runs the cases and prints. Returns the exit code: 0 all held, 1 some
 * failed, 2 nothing could be run. */
int kit_main(const kit_suite_t *suite, int argc, char **argv);

#endif
