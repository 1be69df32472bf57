/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans: runs the lanes of one program on one set of buffers, slice by slice. It
 * hands the run to the device where that can run plans (device_run.h). It never blocks, except to
 * abort a run of the device. The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_INTERPRETER_H
#define WEFT_EXEC_INTERPRETER_H

#include "core/exec/device_run.h"
#include "core/exec/workspace.h"

/* Makes the state of a program's runs, which the workspace outlives. Another run may be under way
 * in it. ERR_RESOURCE. */
weft_status_t weft_interpreter_init(weft_interpreter_t *run, const weft_program_t *program,
                                    weft_workspace_t *workspace);
/* Stops a run under way, and frees the state. */
void weft_interpreter_fini(weft_interpreter_t *run);

/* Goes to the start, with these buffers. The program's ports must be bound. The binding's vectors
 * must outlive the run. No other run of the workspace may be under way on the host. ERR_RESOURCE:
 * the workspace cannot grow to what the run needs, and nothing has begun. */
weft_status_t weft_interpreter_start(weft_interpreter_t *run, const weft_binding_t *binding);

/* Goes as far as slots allow, and sets *moved_p if it did anything. OK: all lanes have stopped;
 * IN_PROGRESS; ERR_MISMATCH, with run->mismatched and run->theirs; or the failure of a port, with
 * run->blocked. */
weft_status_t weft_interpreter_step(weft_interpreter_t *run, bool *moved_p);

/* Ends a run that is not complete. Nobody touches its buffers afterwards. Blocks while the device
 * aborts it, for 100 ms by contract and a second at most. */
void weft_interpreter_stop(weft_interpreter_t *run);

/* Returns a send port of the run whose messages have not all left our slots, if possible one that
 * works; else NULL. */
weft_port_t *weft_interpreter_undrained(const weft_interpreter_t *run);

#endif
