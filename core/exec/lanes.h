/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter: runs the lanes of one program on one set of buffers, slice by slice, and never
 * blocks. */
#ifndef WEFT_EXEC_LANES_H
#define WEFT_EXEC_LANES_H

#include "core/exec/device.h"

/* A MOVE under way: addresses of its current chunk. Ports have NULL addresses. */
typedef struct weft_member {
    const weft_plan_move_t *move;
    const weft_plan_operand_t *operands;  /* of it */
    weft_port_t *port[2 * WEFT_MOVE_MAX]; /* destinations, then sources; NULL = memory */
    uint8_t *base[2 * WEFT_MOVE_MAX];     /* address of slice 0; NULL = port */
    uint64_t chunk;                       /* elements of the current chunk */
    weft_signature_t signature;           /* of a v-form whose counts two ranks know */
    uint32_t slice;                       /* next slice of it */
    uint32_t done;                        /* chunks of `cnt` finished */
    uint32_t cnt;
    uint32_t pre_mask;
    uint32_t holder; /* operand that keeps what is sent, or none */
    bool finished;
    bool copies; /* one source, no arithmetic */
    const uint8_t
        *far[WEFT_MOVE_MAX]; /* sources: where the peer keeps this slice; NULL: in the slot */
    weft_reference_t at[WEFT_MOVE_MAX]; /* destinations: how this slice is referred to */
} weft_member_t;

typedef struct weft_lane_run {
    const weft_plan_lane_t *code;
    uint32_t channel; /* the copy of the plan that it is of */
    uint32_t pc;
    uint32_t iteration; /* of the enclosing LOOP */
    uint32_t times;     /* iterations of the enclosing LOOP; 0 = outside of one */
    uint32_t members;   /* active MOVEs, 0 = instruction not entered yet */
    uint64_t bar;       /* mask of the BAR it waits at, 0 = none */
    bool stopped;
    uint64_t pass;
    weft_member_t *member; /* as many as the largest PAR of the lane */
    uint64_t *finished;    /* per pc: passes in which it is finished, for `after` */
} weft_lane_run_t;

/* Counts and displacements of this rank's blocks in a v-form, in elements. */
typedef struct weft_vectors {
    const uint64_t *in_counts, *in_displs;
    const uint64_t *out_counts, *out_displs;
} weft_vectors_t;

/* What a program is run on. */
struct weft_binding {
    const void *in;
    void *out;
    const void *scalar;
    uint32_t sequence;
    uint32_t plan;                   /* v-forms: hash of the vectors, mixed into the signature */
    uint64_t count;                  /* v-forms: total for the signature */
    const weft_vectors_t *vectors;   /* NULL: fixed form */
    const weft_geometry_t *geometry; /* NULL: the program's */
    bool in_place;                   /* `in` and `out` are the same memory */
};

/* What travels with every slice of such a run. */
static inline weft_signature_t weft_binding_signature(const weft_program_t *program,
                                                      const weft_binding_t *binding)
{
    weft_signature_t signature = program->signature;
    signature.sequence = binding->sequence;
    if (binding->vectors != NULL) {
        signature.count = binding->count;
        signature.plan += binding->plan;
    }
    return signature;
}

/* WEFT_STEADY_*: MOVEs that may send by reference in such a run; 0: none. Where blocks of v-forms are in
 * place, inputs may overlap in any way. */
static inline uint32_t weft_binding_steady(const weft_binding_t *binding)
{
    return !binding->in_place         ? WEFT_STEADY_APART
           : binding->vectors == NULL ? WEFT_STEADY_IN_PLACE
                                      : 0;
}

struct weft_lanes {
    const weft_program_t *program;
    weft_geometry_t geometry;
    const weft_vectors_t *vectors;
    weft_lane_run_t *lanes;
    uint32_t nlanes, stopped; /* of all channels */
    const uint8_t *in;
    uint8_t *out;
    const void *scalar;
    bool stream_ports; /* payloads go past the caches into slots: see adapt.h */
    uint32_t steady;   /* WEFT_STEADY_*: MOVEs that may send by reference; 0: none */
    bool refers;       /* one has */
    weft_signature_t signature;
    weft_port_t *blocked;    /* port that stopped the last attempt, for waiting and for errors */
    weft_port_t *mismatched; /* port whose message has another signature */
    weft_signature_t theirs;
    weft_device_run_t device;
};

/* Memory for one program; freed by fini. ERR_RESOURCE. */
weft_status_t weft_lanes_init(weft_lanes_t *run, const weft_program_t *program);
void weft_lanes_fini(weft_lanes_t *run);

/* Sets it to the start, with these buffers. Vectors must outlive the run. */
void weft_lanes_start(weft_lanes_t *run, const weft_binding_t *binding);

/* Goes as far as slots allow. Returns OK when all lanes have stopped, IN_PROGRESS (*moved_p: something
 * was done), or a failure: ERR_MISMATCH (run->mismatched, run->theirs), or that of a port. */
weft_status_t weft_lanes_step(weft_lanes_t *run, bool *moved_p);

/* Ends a run that is not over, so that nobody touches its buffers any more. */
void weft_lanes_stop(weft_lanes_t *run);

/* A send port of the run whose messages have not all left our slots, one that works if there is one; or
 * NULL. */
weft_port_t *weft_lanes_undrained(const weft_lanes_t *run);

/* The device that runs the program: true while it has the run, and the ports with it. */
static inline bool weft_lanes_is_on_device(const weft_lanes_t *run)
{
    return run->device.under_way;
}

/* The program as the device knows it; NULL: the host runs it. */
static inline weft_lanes_handle_t *weft_lanes_handle(const weft_lanes_t *run)
{
    return run->device.handle;
}

/* A run of the program was put into a stream; one of them has ended. */
static inline void weft_lanes_note_launch(weft_lanes_t *run)
{
    run->device.launched++;
}

static inline void weft_lanes_note_launch_end(weft_lanes_t *run)
{
    run->device.launched--;
}

#endif
