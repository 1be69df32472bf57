/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program on a device that runs plans itself (api/weft/plugin/lanes.h): flattening, starting,
 * looking, stopping. Used by the interpreter of lanes only, which falls back to the host. */
#ifndef WEFT_EXEC_DEVICE_H
#define WEFT_EXEC_DEVICE_H

#include <weft/plugin/lanes.h>

#include "core/exec/program.h"

typedef struct weft_lanes weft_lanes_t;
typedef struct weft_binding weft_binding_t;

typedef struct weft_device_run {
    weft_lanes_handle_t *handle; /* NULL: the host runs this program */
    weft_lanes_end_t **ends;     /* of all channels */
    uint64_t run;                /* its number */
    weft_status_t started;       /* what start() said */
    uint64_t moved;              /* slices done when last looked */
    uint64_t referred;           /* messages by reference so far */
    uint32_t launched;           /* runs in streams that are not over */
    bool under_way;              /* the device has the run, and the ports with it */
    bool told;                   /* why a run stayed on the host */
} weft_device_run_t;

/* Prepares the program if program->device can run it. What the device does not support stays with the
 * host, with a line in the log. ERR_RESOURCE. */
weft_status_t weft_device_init(weft_device_run_t *device, const weft_program_t *program);
void weft_device_fini(weft_device_run_t *device, const weft_program_t *program);

/* Hands the run to the device. False: the host has to run it, because the device does not reach a
 * buffer, the operator is a function of the caller's, or runs of the program wait in streams. */
bool weft_device_start(weft_lanes_t *run, const weft_binding_t *binding);

/* Whether the device runs the program and knows its ports, so that a run can be put into a stream. */
bool weft_device_is_ready(const weft_lanes_t *run);
/* What start() is told for such a run; it points to what `run` and `binding` point to. */
void weft_device_describe(const weft_lanes_t *run, const weft_binding_t *binding,
                          weft_lanes_call_t *call);

/* Looks at run `number` of the program, and fills *state. As poll() of the device; ERR_PROTO with the peer,
 * ERR_INTERNAL. */
weft_status_t weft_device_look(weft_lanes_t *run, uint64_t number, weft_lanes_state_t *state);

/* As weft_lanes_step(). */
weft_status_t weft_device_step(weft_lanes_t *run, bool *moved_p);

/* Takes the run back from the device, so that nobody touches the buffers any more. Blocks: at most
 * 100 ms, if it has to be aborted. */
void weft_device_stop(weft_lanes_t *run);

#endif
