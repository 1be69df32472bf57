/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of several lanes, from plans of one. */
#ifndef TESTS_SUPPORT_PLAN_LANES_H
#define TESTS_SUPPORT_PLAN_LANES_H

#include "core/plan/plan_ir.h"

/* Writes the MOVEs of a plan into one to three lanes, drawn with plan_dice(). MOVEs that share a
 * port stay in one lane, LOOPs are unrolled, some PARs are taken apart, some neighbours become one,
 * and some results rest in scratch. Where MOVEs of two lanes use a chunk, the later one waits for
 * the other; a few waits are left out, and so are some of the barriers at the end of a pass. The
 * caller destroys the plan. NULL: `sound` has several lanes, packs, or is too long. */
weft_plan_t *plan_lanes_spread(const weft_plan_t *sound);

#endif
