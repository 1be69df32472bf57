/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes of ranks that run in lock step. Two ranks are of one class if their plans have the same
 * structure (instructions, ports, loops; not peers and chunk numbers) and each of their ports leads to
 * the same port of ranks of one class: the coarsest such partition, found by colour refinement. The
 * network of ranks covers the network that has one rank per class, so chains, depths of queues and
 * blocking are the same in both, and what does not depend on values is decided there: a ring of 65,536
 * ranks is one rank whose send port leads to its own receive port.
 *
 * Source: E. F. Moore, "Gedanken-experiments on sequential machines", 1956 (refinement); P. Boldi and
 * S. Vigna, "Fibrations of graphs", Discrete Mathematics 2002 (coverings). */
#ifndef WEFT_PLAN_CLASSES_H
#define WEFT_PLAN_CLASSES_H

#include "core/plan/cost.h"
#include "core/plan/verdict.h"

/* Makes the plan of `rank`, which the callee of the survey destroys. Any failure ends the survey. */
typedef weft_status_t (*weft_plan_make_fn_t)(void *arg, uint32_t rank, weft_plan_t **plan_p);

/* What can be said of the plans of all ranks without their values. Per pass, one slice per chunk. */
typedef struct weft_plan_survey {
    weft_verdict_t verdict; /* OK, MALFORMED, UNMATCHED or DEADLOCK; TOO_BIG: not walked */
    char text[256];         /* in words, if not OK */
    uint32_t nranks;
    uint32_t emitted; /* ranks whose plans were made; fewer than nranks: a sample stands for all */
    uint32_t classes; /* of ranks; nranks where no two are known to be alike */
    weft_cost_t cost; /* equal to weft_plan_cost() */
    uint32_t peak_slots; /* most slots used in any queue */
    uint64_t moves;      /* MOVEs of all ranks, loops counted as often as they run */
    uint64_t moves_max;  /* of one rank */
    uint64_t words_max;  /* instructions of one rank as they are in memory */
    uint64_t bytes_max;  /* memory of the plan of one rank */
    uint32_t lanes_max, ports_max, k, tmp_chunks_max;
    double emit_seconds;     /* all that were emitted */
    double emit_seconds_max; /* one rank */
} weft_plan_survey_t;

/* Emits one plan after the other, keeps one per structure and the ports of all, and walks one rank per
 * class. Where all ports would not fit into memory, some ranks are emitted; if their peers lie at
 * equal distances (by difference or by exclusive or), one stands for all, else the verdict is TOO_BIG.
 * A verdict that is not OK is no failure. Returns ERR_RESOURCE or the source's failure. */
weft_status_t weft_plan_survey(uint32_t nranks, weft_plan_make_fn_t source, void *arg,
                               uint32_t slots, weft_plan_survey_t *survey);

/* Prices one pass of the plans of all ranks, by one rank of each class that runs in lock step
 * (classes.h). Where those move more than 32 million chunks nothing is walked: the busiest rank stands
 * for the chain. ERR_RESOURCE; ERR_PLAN if they cannot run. */
weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                             weft_cost_t *cost);

#endif
