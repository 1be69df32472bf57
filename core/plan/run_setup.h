/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a run. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_SETUP_H
#define WEFT_PLAN_RUN_SETUP_H

#include "core/plan/run_state.h"

typedef struct weft_run_setup {
    const weft_verify_input_t *input;
    const weft_plan_facts_t *facts;
    const uint64_t *port_chunks;
    uint32_t passes;
    bool values;
} weft_run_setup_t;

/* Allocates a run whose queues are still to be connected (run_queues.h). ERR_RESOURCE;
 * weft_run_fini() frees it after a failure, too. */
weft_status_t weft_run_init(weft_run_t *run, const weft_run_setup_t *setup,
                            weft_verify_report_t *report);
void weft_run_fini(weft_run_t *run);

#endif
