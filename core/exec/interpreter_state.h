/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of one run of a program: its lanes, their MOVEs, and the device that may run it
 * instead. The interpreter, its MOVEs (member.h) and the device's runs (device_run.h) share it. */
#ifndef WEFT_EXEC_INTERPRETER_STATE_H
#define WEFT_EXEC_INTERPRETER_STATE_H

#include "core/exec/port.h"
#include "core/exec/program.h"

/* An operand of a MOVE under way. */
typedef union weft_place {
    weft_port_t *port;
    uint8_t *base;     /* memory: address of slice 0 */
    uintptr_t address; /* either */
} weft_place_t;

/* A MOVE under way, with the addresses of its current chunk. */
typedef struct weft_member {
    const weft_plan_move_t *move;
    const weft_plan_operand_t *operands; /* destinations, then sources */
    weft_place_t at[2 * WEFT_MOVE_MAX];  /* by operand */
    weft_shape_t shape;                  /* of the current chunk */
    weft_signature_t signature;          /* of a vector collective whose counts two ranks know */
    uint32_t slice;                      /* next slice of the chunk */
    uint32_t done;                       /* chunks finished, of `cnt` */
    uint32_t cnt;                        /* 1 for a packed MOVE: it finishes all of them at once */
    uint32_t holder; /* operand whose memory is stable and holds what is sent, or none */
    bool finished;
    bool sends_there;                      /* `where` says something of the slice */
    bool lands;                            /* the slice goes into memory of a receiver */
    bool reads_there;                      /* the slice of a source is in a peer's memory */
    const uint8_t *there[WEFT_MOVE_MAX];   /* sources: the slice in the peer's window; NULL: slot */
    weft_zero_copy_t where[WEFT_MOVE_MAX]; /* destinations: the slice in a window, or window 0 */
} weft_member_t;

typedef struct weft_lane_run {
    const weft_plan_lane_t *code;
    uint32_t channel; /* copy of the plan that the lane belongs to */
    uint32_t pc;
    uint32_t iteration; /* of the enclosing LOOP */
    uint32_t times;     /* iterations of the enclosing LOOP; 0: outside of one */
    uint32_t members;   /* active MOVEs; 0: the instruction is not entered yet */
    uint64_t bar;       /* mask of the BAR that it waits at; 0: none */
    bool stopped;
    uint64_t pass;
    weft_member_t *member; /* in the workspace, as are its lanes: as many as the largest PAR */
    uint64_t *finished;    /* per pc: passes in which it is finished, for `after` */
} weft_lane_run_t;

/* A run on the device. */
typedef struct weft_device_run {
    weft_lanes_handle_t *handle;  /* NULL: the host runs this program */
    weft_lanes_endpoint_t **ends; /* of all channels */
    uint64_t run;                 /* its number */
    weft_status_t started;        /* what start() returned */
    uint64_t moved;               /* slices done at the last look */
    uint64_t referred;            /* zero-copy messages so far */
    uint64_t whole;               /* whole runs of blocks so far */
    uint32_t launched;            /* runs in streams that are not complete */
    bool under_way;               /* the device has the run, and the ports with it */
    bool told;                    /* the log says why a run stayed on the host */
} weft_device_run_t;

typedef struct weft_interpreter {
    const weft_program_t *program;
    weft_segmentation_t segmentation;
    const weft_vectors_t *vectors;
    uint64_t *learned; /* per MOVE: the count of the block that it passes on; NULL: none does */
    struct weft_workspace *workspace; /* of the communicator: workspace.h */
    weft_lane_run_t *lanes;           /* in the workspace, while this run is under way */
    uint32_t nlanes, stopped;         /* of all channels */
    uint32_t width;                   /* MOVEs under way in a lane, at most */
    uint32_t length;                  /* instructions of the longest lane */
    /* Where IN, OUT and TMP begin, by weft_operand_kind_t; 0 for ports, which are addresses. */
    uintptr_t buffers[WEFT_OPERAND_PORT + 1];
    const void *scalar;
    uint32_t nt;                /* WEFT_NT_*: what goes past the caches (nt_tuner.h) */
    uint32_t stable;            /* WEFT_STABLE_*: MOVEs that may send without a copy; 0: none */
    uint32_t looks;             /* left for messages that are not there yet: near_move.h */
    weft_aim_t *aims;           /* of the program, if they hold in this run; else NULL */
    bool zero_copies;           /* one of them has */
    bool offers_landings;       /* peers may write to OUT: landing.h */
    weft_signature_t signature; /* that travels with every slice */
    weft_port_t *blocked;       /* port that stopped the last attempt, for waiting and for errors */
    weft_port_t *mismatched;    /* port whose message has another signature */
    weft_signature_t theirs;    /* what that message has instead */
    weft_device_run_t device_run;
} weft_interpreter_t;

#endif
