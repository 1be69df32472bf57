/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts of a plan that need no run, gathered in one reading. The plans of all ranks may take
 * hundreds of megabytes, so reading them once matters. Private to core/plan. */
#ifndef WEFT_PLAN_FACTS_H
#define WEFT_PLAN_FACTS_H

#include "core/plan/plan_ir.h"

typedef struct weft_plan_facts {
    double moves;   /* of one pass, loops unrolled; as double, since loops may exceed any integer */
    double chunks;  /* moved */
    double hops;    /* … counting each MOVE once, however many chunks it moves */
    double touched; /* … in sources and destinations */
    double bars;    /* barriers at which a lane arrives */
    uint32_t packed; /* most chunks of a packed MOVE; 1: there is none */
    bool waits;      /* some MOVE has `after` */
    bool direct;     /* each MOVE goes from IN to ports or OUT, or from a port to OUT */
    /* As `direct`, or from a port to ports: one chunk, once in a pass, in a plan of one chunk a
     * block without waits and BARs. */
    bool passes_on;
} weft_plan_facts_t;

/* Also adds the chunks that each port passes on in one pass to chunks[port], and the messages that
 * carry a slice of them to messages[port]; NULL: nobody asks. */
weft_plan_facts_t weft_plan_facts(const weft_plan_t *plan, uint64_t *chunks, uint64_t *messages);

#endif
