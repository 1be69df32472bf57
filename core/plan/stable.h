/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stable sources: MOVEs whose payload does not change until the run is complete. Such a MOVE may
 * send a zero-copy descriptor of its source instead of a copy. */
#ifndef WEFT_PLAN_STABLE_H
#define WEFT_PLAN_STABLE_H

#include "core/plan/plan_ir.h"

#define WEFT_STABLE_APART 1u    /* stable if IN and OUT are two buffers */
#define WEFT_STABLE_IN_PLACE 2u /* stable in a call in place */

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

#endif
