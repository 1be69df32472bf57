/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the text of a plan says without running it, gathered in one pass over it: plans of all ranks
 * may be hundreds of megabytes, which are not read more often than needed. Private to core/plan. */
#ifndef WEFT_PLAN_FACTS_H
#define WEFT_PLAN_FACTS_H

#include "core/plan/plan_ir.h"

typedef struct weft_plan_facts {
    double moves;   /* of one pass, loops unrolled; a text may ask for loops beyond any integer */
    double chunks;  /* that they move */
    double ends;    /* … out of and into ports */
    double hops;    /* … each MOVE counted once, however many chunks it moves */
    double touched; /* … in sources and destinations */
    bool waits;     /* some MOVE has `after` */
    bool direct;    /* each MOVE goes from IN to ports or OUT, or from a port to OUT */
} weft_plan_facts_t;

/* Adds to chunks[port] what each port passes on in one pass. */
weft_plan_facts_t weft_plan_facts(const weft_plan_t *plan, uint64_t *chunks);

#endif
