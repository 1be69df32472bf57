/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of a program on a device that runs plans itself (api/weft/plugin/draft/lanes.h). The
 * interpreter starts, steps and stops them, and falls back to the host. Launches in streams look at
 * them. The thread that owns the communicator makes all calls; none blocks but stop. */
#ifndef WEFT_EXEC_DEVICE_RUN_H
#define WEFT_EXEC_DEVICE_RUN_H

#include "core/exec/interpreter_state.h"

/* Prepares the program if its offload can run it. A program that the device does not support stays
 * on the host, with a line in the log. ERR_RESOURCE. */
weft_status_t weft_device_run_init(weft_device_run_t *device, const weft_program_t *program);
void weft_device_run_fini(weft_device_run_t *device, const weft_program_t *program);

/* Hands the run of a program that has a handle to the device. Returns false if the host has to run
 * it: the device does not reach a buffer, the operator is a function of the caller's, or runs of
 * the program wait in streams. */
bool weft_device_run_start(weft_interpreter_t *run, const weft_binding_t *binding);

/* Gives the device the ports of the program, which are all bound. ERR_UNSUPPORTED: it cannot have
 * them. Else the kernel's failure. */
weft_status_t weft_device_run_export(weft_interpreter_t *run);

/* Returns whether a run can be put into a stream: the device runs the program and knows its
 * ports. */
bool weft_device_run_is_ready(const weft_interpreter_t *run);
/* Describes such a run to start(). *call points to what `run` and `binding` point to. */
void weft_device_run_describe(const weft_interpreter_t *run, const weft_binding_t *binding,
                              weft_lanes_call_t *call);

/* Looks at run `number` of the program and fills *state. Returns what the device's poll() returns;
 * ERR_PROTO comes with the peer. ERR_INTERNAL: the device names a port that does not exist. */
weft_status_t weft_device_run_look(weft_interpreter_t *run, uint64_t number,
                                   weft_lanes_state_t *state);

/* Moves what a run that has ended has sent into the slots of its ports, where those look for it who
 * wait for the last messages to leave. */
void weft_device_run_settle(const weft_interpreter_t *run);

/* Returns the device's handle of the program. */
static inline weft_lanes_handle_t *weft_device_run_handle(const weft_interpreter_t *run)
{
    return run->device_run.handle;
}

/* Returns whether the device has the run. */
static inline bool weft_device_run_is_under_way(const weft_interpreter_t *run)
{
    return run->device_run.under_way;
}

/* Counts runs of the program that are in streams. While there are any, other runs stay on the
 * host. */
static inline void weft_device_run_add_launch(weft_interpreter_t *run)
{
    run->device_run.launched++;
}

static inline void weft_device_run_drop_launch(weft_interpreter_t *run)
{
    weft_assert(run->device_run.launched > 0);
    run->device_run.launched--;
}

/* As weft_interpreter_step(). */
weft_status_t weft_device_run_step(weft_interpreter_t *run, bool *moved_p);

/* Takes the run back from the device. Nobody touches the buffers afterwards. Blocks while the
 * device aborts it, for 100 ms by contract and a second at most. */
void weft_device_run_stop(weft_interpreter_t *run);

#endif
