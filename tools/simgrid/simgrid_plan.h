/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as actors of SimGrid. A lane is an actor, a queue is a mailbox with one credit for each
 * slot, combining is computation. */
#ifndef WEFT_TOOLS_SIMGRID_PLAN_H
#define WEFT_TOOLS_SIMGRID_PLAN_H

#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>

#include "core/plan/cursor.h"

typedef struct job_options {
    const char *plans, *platform; /* files; platform NULL: a fat tree is made */
    uint32_t per_host, slots, slices;
    uint32_t passes;
    double slice_bytes;
    double alpha, beta, gamma, overhead;
} job_options_t;

typedef struct job_queue {
    sg_mailbox_t mailbox;
    sg_sem_t credits;
} job_queue_t;

typedef struct job_barrier {
    uint64_t mask;
    sg_bar_t barrier;
} job_barrier_t;

typedef struct job_rank {
    const weft_plan_t *plan;
    job_queue_t **queue; /* by port */
    struct job_lane *lanes;
    sg_sem_t wake; /* wakes lanes that wait for another lane of the rank */
    uint32_t waiting, nbarriers;
    job_barrier_t barriers[WEFT_LANE_MAX];
} job_rank_t;

/* A member of the PAR that a lane runs. */
typedef struct job_member {
    struct job_lane *lane;
    weft_plan_view_t move;
    sg_sem_t start;
} job_member_t;

typedef struct job_lane {
    struct job *job;
    job_rank_t *rank;
    weft_cursor_t cursor;
    uint32_t number, width; /* width: members of its widest PAR, 0: it has none */
    job_member_t *members;
    sg_sem_t done;
} job_lane_t;

typedef struct job {
    const job_options_t *options;
    weft_plan_t **plans;
    uint32_t nranks, lanes_over, nlanes;
    job_rank_t *ranks;
    job_queue_t *queues;
    double end;
} job_t;

/* Creates mailboxes and actors; the platform is loaded. 0, or −1 after one line on stderr. */
int job_start(job_t *job);
void job_free(job_t *job);

#endif
