/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes of a kernel without a device: they note what they are told, and answer as the test says. */
#ifndef TESTS_SUPPORT_RECORDING_LANES_H
#define TESTS_SUPPORT_RECORDING_LANES_H

#include "core/exec/program.h"

struct weft_lanes_endpoint {
    weft_lanes_port_t port;
    uint64_t next;
    weft_lanes_window_t windows[WEFT_LANES_WINDOWS];
};

typedef struct recording_lanes {
    /* Answers, set by the test. */
    weft_status_t prepare, start, poll;
    weft_lanes_state_t state;
    uint64_t advance; /* of every port, in each look that finds an end */
    /* What was told. */
    weft_lanes_program_t program;
    weft_lanes_code_t code[16];
    weft_lanes_operand_t operands[16];
    weft_lanes_move_t moves[8];
    weft_lanes_after_t afters[2];
    weft_lanes_call_t call;
    uint64_t run; /* that was looked at last */
    int starts, aborts, releases, closed, nends;
    weft_lanes_endpoint_t ends[2];
} recording_lanes_t;

/* One job at a time: the lanes of a test are the kernel's of its process. */
extern recording_lanes_t recording;
extern const weft_kernel_lanes_t recording_lanes;

/* Forgets what was told. Runs are under way until the test says otherwise. */
void recording_lanes_reset(void);

#endif
