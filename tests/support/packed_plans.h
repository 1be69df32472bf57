/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random plans with packed MOVEs: blocks hop between random ranks in messages of random lengths,
 * some through a third rank. */
#ifndef TESTS_SUPPORT_PACKED_PLANS_H
#define TESTS_SUPPORT_PACKED_PLANS_H

#include <stdbool.h>

#include "core/plan/plan_ir.h"

enum { PACKED_RANKS_MAX = 6 };

/* Draws a script for all_gather or reduce_scatter with plan_dice(), and writes the plans of its
 * `nranks` ranks, which the caller destroys, NULL ones too. False: the builder refused one; those
 * before it are there. */
bool packed_plans_draw(weft_coll_t coll, weft_plan_t *plans[PACKED_RANKS_MAX], uint32_t *nranks);

#endif
