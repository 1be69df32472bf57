/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process beside the agent of `weft run`. Ranks die with the agent, whatever ends it; the warden
 * then ends what they have started in their process groups. */
#ifndef WEFT_TOOLS_RUN_WARDEN_H
#define WEFT_TOOLS_RUN_WARDEN_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct run_warden {
    pid_t pid;
    int fd; /* its end is that of the agent */
} run_warden_t;

/* False if it cannot (errno). */
bool run_warden_start(run_warden_t *warden);
/* A group has begun. */
void run_warden_add(const run_warden_t *warden, pid_t group);
/* A group has been killed. Its number must not be free yet: else it may be that of others when the
 * warden looks. */
void run_warden_remove(const run_warden_t *warden, pid_t group);
/* Nothing is left: the warden ends, if it was started. */
void run_warden_end(run_warden_t *warden);

#endif
