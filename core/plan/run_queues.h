/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queues of a run. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_QUEUES_H
#define WEFT_PLAN_RUN_QUEUES_H

#include "core/plan/run_state.h"

/* Connects the ports of all ranks and makes the slots. A port without an other end is a finding:
 * UNMATCHED. ERR_RESOURCE. */
weft_status_t weft_run_pair(weft_run_t *run);

/* Adds one queue, through which `chunks` chunks go in each pass, and returns its number. After the
 * last one weft_run_make_slots() makes the slots of all. ERR_RESOURCE. */
uint32_t weft_run_connect(weft_run_t *run, const weft_run_way_t *way, uint32_t sender,
                          uint32_t receiver, uint64_t chunks);
weft_status_t weft_run_make_slots(weft_run_t *run);

#endif
