/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank of `weft run`: its environment, its core and its process. */
#ifndef WEFT_TOOLS_RUN_RANK_H
#define WEFT_TOOLS_RUN_RANK_H

#include <sys/types.h>

#include "tools/run_task.h"

typedef struct run_rank {
    pid_t pid;    /* leads a session of its own; 0: not started, or over */
    int out, err; /* what it writes; -1: closed */
    int in;       /* of rank 0: what it reads, does not block */
    bool stopped; /* by somebody else, which was told */
} run_rank_t;

/* What all ranks of an agent are told. */
typedef struct run_place {
    const run_task_t *task;
    const char *id;   /* as WEFT_UNIQUE_ID has it */
    const char *host; /* where rank 0 is */
    uint32_t port;    /* for the store of torch */
} run_place_t;

/* Starts rank `index` of those of this host. False: `text` says why. */
bool run_rank_start(const run_place_t *place, uint32_t index, run_rank_t *rank, char *text,
                    size_t bytes);

#endif
