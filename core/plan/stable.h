/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which MOVEs send memory that stays as it is: a message may then say where its payload is, in place of
 * a copy, until the run is over. */
#ifndef WEFT_PLAN_STABLE_H
#define WEFT_PLAN_STABLE_H

#include "core/plan/plan_ir.h"

#define WEFT_STABLE_APART 1u    /* … in calls whose IN and OUT are two buffers */
#define WEFT_STABLE_IN_PLACE 2u /* … in calls in place */

/* What the program adds to a copy. */
typedef struct weft_stable_arithmetic {
    bool pre;   /* IN is multiplied where it is read */
    bool final; /* MOVEs with WEFT_MOVE_FINAL divide */
} weft_stable_arithmetic_t;

/* Fills marks[] for each of plan->nmoves MOVEs with WEFT_STEADY_*. A marked MOVE holds what it sends in
 * memory that no other MOVE of the pass writes: in its first destination in OUT if it has one, else in
 * its only source. ERR_RESOURCE. */
weft_status_t weft_plan_stable(const weft_plan_t *plan, const weft_stable_arithmetic_t *arithmetic,
                               uint8_t *marks);

#endif
