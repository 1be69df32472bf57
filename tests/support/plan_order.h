/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of all MOVEs of a job, in full: for each one the set of those that must come before it.
 * It shares no code with the verifier and so is its oracle for races. */
#ifndef TESTS_SUPPORT_PLAN_ORDER_H
#define TESTS_SUPPORT_PLAN_ORDER_H

#include "core/plan/plan_ir.h"

typedef enum plan_order { PLAN_ORDERED, PLAN_RACES, PLAN_STANDS } plan_order_t;

/* Two passes over queues without end. Do all uses of each chunk, of which one writes, come one
 * after the other? STANDS: the lanes do not come to their ends. Plans have neither LOOPs nor packed
 * MOVEs. */
plan_order_t plan_order_of(weft_plan_t *const *plans, uint32_t nranks, int in_place);

#endif
