/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeded damage to plans: one fault in one instruction or port of a copy of a sound plan. */
#ifndef TESTS_SUPPORT_PLAN_FAULTS_H
#define TESTS_SUPPORT_PLAN_FAULTS_H

#include "core/plan/plan_ir.h"

/* Where the damage is done: one instruction of one lane. */
typedef struct plan_place {
    weft_plan_t *plan;
    weft_plan_lane_t *lane;
    uint32_t pc; /* never the STOP */
} plan_place_t;

/* damage() returns 0 if it cannot be done there. */
typedef struct plan_fault {
    const char *name;
    int (*damage)(const plan_place_t *at);
} plan_fault_t;

#define PLAN_FAULTS 17
extern const plan_fault_t plan_faults[PLAN_FAULTS];

/* 0 to sides − 1; the same sequence in every run. */
uint32_t plan_dice(uint32_t sides);

#endif
