/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stable sources: MOVEs whose payload does not change until the run is complete. Such a MOVE may
 * send a zero-copy descriptor of its source instead of a copy. */
#ifndef WEFT_PLAN_STABLE_H
#define WEFT_PLAN_STABLE_H

#include "core/plan/plan_ir.h"

#define WEFT_STABLE_APART 1u    /* stable if IN and OUT are two buffers */
#define WEFT_STABLE_IN_PLACE 2u /* stable in a call in place */
#define WEFT_STABLE_FOLDED 4u   /* not that, but read before it is overwritten in place */

/* Arithmetic that the program adds to a copy. */
typedef struct weft_stable_arithmetic {
    bool pre;   /* IN is multiplied when it is read */
    bool final; /* MOVEs with WEFT_MOVE_FINAL divide */
} weft_stable_arithmetic_t;

/* Fills marks[] with WEFT_STABLE_* for each of the plan->nmoves MOVEs. The payload of a marked MOVE
 * lies in memory that no other MOVE of the pass writes: its first destination in OUT if it has one,
 * otherwise its only source. ERR_RESOURCE. */
weft_status_t weft_plan_stable(const weft_plan_t *plan, const weft_stable_arithmetic_t *arithmetic,
                               uint8_t *marks);

/* A chunk of OUT that a MOVE copies from a port as it came. No other MOVE of the pass writes it,
 * and those that read it come later. Whoever sends the chunk may therefore write it there as soon
 * as the pass has begun, if IN and OUT are two buffers. */
typedef struct weft_plan_landing {
    uint32_t port;  /* of the plan */
    uint32_t ahead; /* messages of each slice that come over the port before it in a pass */
    uint32_t chunk; /* of OUT */
} weft_plan_landing_t;

typedef struct weft_plan_landings {
    weft_plan_landing_t *list;
    uint32_t count;
} weft_plan_landings_t;

/* Finds the first such chunk of each port, outside of loops. landings->list has room for
 * plan->nports entries. ERR_RESOURCE. */
weft_status_t weft_plan_find_landings(const weft_plan_t *plan,
                                      const weft_stable_arithmetic_t *arithmetic,
                                      weft_plan_landings_t *landings);

#endif
