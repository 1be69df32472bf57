/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of the plans of all ranks that do not depend on values. They are found from classes of
 * ranks that run in lock step. Two ranks belong to one class if their plans have the same structure
 * (instructions, ports, loops; not peers and chunk numbers) and each port leads to the same port of
 * ranks of one class. The classes are the coarsest such partition, found by colour refinement. The
 * network of all ranks covers the network with one rank per class; chains, depths of queues and
 * blocking are the same in both. A ring of 65,536 ranks is one rank whose send port leads to its
 * own receive port.
 *
 * Source: E. F. Moore, "Gedanken-experiments on sequential machines", 1956 (refinement); P. Boldi
 * and S. Vigna, "Fibrations of graphs", Discrete Mathematics 2002 (coverings). */
#ifndef WEFT_PLAN_CLASSES_H
#define WEFT_PLAN_CLASSES_H

#include "core/plan/cost.h"
#include "core/plan/verdict.h"

/* Makes the plan of `rank`; the survey destroys it. Any failure ends the survey. */
typedef weft_status_t (*weft_plan_make_fn_t)(void *arg, uint32_t rank, weft_plan_t **plan_p);

/* Figures per pass, with one slice per chunk. */
typedef struct weft_plan_survey {
    weft_verdict_t verdict; /* OK, MALFORMED, UNMATCHED or DEADLOCK; TOO_BIG: not walked */
    char text[256];         /* the reason, if not OK */
    uint32_t nranks;
    uint32_t emitted;    /* ranks whose plans were made; a sample if fewer than nranks */
    uint32_t classes;    /* nranks if no two ranks are known to be alike */
    weft_cost_t cost;    /* equal to weft_plan_cost() */
    uint32_t peak_slots; /* most slots used in any queue */
    uint64_t moves_max;  /* MOVEs of one rank, loops counted as often as they run */
    uint64_t words_max;  /* instructions of one rank as they are in memory */
    uint64_t bytes_max;  /* memory of the plan of one rank */
    uint32_t lanes_max, ports_max, k, tmp_chunks_max;
    double emit_seconds;     /* all that were emitted */
    double emit_seconds_max; /* one rank */
} weft_plan_survey_t;

/* `host` has the host of each rank, or is NULL: all on one.
 *
 * Emits one plan after the other, keeps one per structure and the ports of all, and runs one rank
 * per class. If the ports of all ranks would not fit into memory, only some ranks are emitted: if
 * their peers lie at equal distances (by difference or by exclusive or), one stands for all,
 * otherwise the verdict is TOO_BIG. A verdict other than OK is no failure. Fails with ERR_RESOURCE,
 * or as `source` does. */
weft_status_t weft_plan_survey(uint32_t nranks, const uint32_t *host, weft_plan_make_fn_t source,
                               void *arg, uint32_t slots, weft_plan_survey_t *out);

/* Prices one pass of the plans of all ranks by a run of one rank per class. If these move more than
 * 32 million chunks, there is no run, and the busiest rank stands for the chain. `host` as above.
 * ERR_RESOURCE; ERR_PLAN if the plans cannot run. */
weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, const uint32_t *host,
                             uint32_t slots, weft_cost_t *cost);

#endif
