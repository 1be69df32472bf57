/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program: a proved plan bound to one kind of call: cut, kernel function, ports. Made once per
 * (collective, count, type, operator, root) of a communicator and run many times. */
#ifndef WEFT_EXEC_PROGRAM_H
#define WEFT_EXEC_PROGRAM_H

#include <weft/plugin/lanes.h>

#include "core/exec/geometry.h"
#include "core/exec/links.h"
#include "core/exec/user.h"
#include "core/plan/cache.h"
#include "core/plan/steady.h"

typedef struct weft_program {
    const weft_plan_t *plan;
    weft_geometry_t geometry;
    weft_signature_t signature; /* sequence 0 */
    weft_combine_fn_t combine;
    const weft_kernel_lanes_t *device; /* NULL: the host runs it */
    weft_kernel_t *kernel;             /* of the device */
    weft_lanes_queue_t *queue;         /* of the communicator, on the device */
    weft_user_op_t user;               /* combines instead, if set */
    weft_dtype_t dtype;
    weft_op_t op; /* of the kernel */
    size_t elem;  /* bytes of an element */
    uint32_t in_chunks, out_chunks, tmp_chunks;
    uint32_t flags;      /* WEFT_COMBINE_FINAL if FINAL moves are to be told to the kernel */
    bool pairs;          /* v-form whose counts two ranks know: see plan.h, "Vectors" */
    bool pre;            /* IN is pre-multiplied */
    bool in_place;       /* proved for in-place calls */
    bool stream;         /* results are stored past the caches */
    uint32_t channels;   /* copies of the plan; copy c runs the passes c, c + channels … */
    uint32_t nports;     /* of all channels */
    weft_port_t **ports; /* those of a channel behind each other; NULL until bound */
    uint32_t bound;      /* ports bound so far */
    uint8_t *steady;     /* per MOVE: WEFT_STEADY_* */
    uint8_t *tmp;        /* scratch, of one channel behind the other */
    size_t tmp_bytes;
    char reason[320]; /* for weft_comm_explain */
} weft_program_t;

/* Allocates ports and scratch for program->plan, geometry and channels. ERR_RESOURCE. */
weft_status_t weft_program_allocate(weft_program_t *program);
void weft_program_release(weft_program_t *program);

/* What the plan says of port i. */
const weft_plan_port_t *weft_program_port(const weft_program_t *program, uint32_t i);

/* Binds ports as far as links are ready. OK when all are, IN_PROGRESS, or a failure. */
weft_status_t weft_program_bind(weft_program_t *program, weft_links_t *links);

/* Around a run of the host: ports that a device knows go on from where it has left them, and the device
 * from where the host leaves them. */
void weft_program_fetch_ports(const weft_program_t *program);
void weft_program_store_ports(const weft_program_t *program);

#endif
