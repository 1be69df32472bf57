/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes wrong in a run: drawn from its seed, and what each kind allows the ranks to say. */
#ifndef WEFT_SIMULATION_FAULTS_H
#define WEFT_SIMULATION_FAULTS_H

#include "machine.h"
#include "player.h"

/* Kinds of runs. */
typedef enum {
    RUN_CALM,
    RUN_REVOKED,
    RUN_DEATHS,
    RUN_REPLACED,
    RUN_NETWORK,
    RUN_SCARCE,
    RUN_RESETS,
    RUN_STORM,
    RUN_REGROWN,
    RUN_FIXED,
    RUN_FOLDER,
    RUN_LEAVING,
    RUN_FLAPS,
    RUN_JOINING,
    RUN_CUTS,
    RUN_FRAMES,
    RUN_KINDS
} run_kind_t;

/* A rank is guilty from the time on at which something happened to it. */
typedef struct guilt {
    uint64_t since; /* NEVER: it is innocent */
    bool killed, stopped, cut, starved, reset;
} guilt_t;

typedef struct faults {
    run_kind_t kind;
    uint32_t nranks, nhosts, count;
    bool twice;       /* a short cut is followed by another */
    uint32_t members; /* ranks, and newcomers */
    process_t *process[PLAYERS];
    guilt_t guilt[PLAYERS];
    uint32_t cuts[SIM_HOSTS]; /* that are now, of each host */
    uint64_t last;            /* when the last fault has ended: from then on all is well */
} faults_t;

/* Cuts shorter than boot.unresponsive, which cost nobody. */
bool run_kind_is_short(run_kind_t kind);
const char *run_kind_name(run_kind_t kind);
/* A rank has been started, also one that replaces another. */
void faults_started(faults_t *faults, uint32_t rank);
/* Kills all ranks. */
void faults_kill_all(faults_t *faults);
/* Draws what happens in the run, up to `within` ns after the beginning, and has it happen. */
void faults_plan(faults_t *faults, uint64_t within);
/* Chances of rare events, for every kind of run. */
void faults_oddities(void);

#endif
