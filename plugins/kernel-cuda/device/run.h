/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run of a plan on a device consists of: ports, MOVEs under way, what a lane tells the host, what
 * the threads of a block share. Made by lanes_image.c, used by lanes.h. */
#ifndef KERNEL_CUDA_DEVICE_RUN_H
#define KERNEL_CUDA_DEVICE_RUN_H

#include <weft/plugin/lanes.h>
#include <weft/plugin/plan.h>

/* Windows that messages of a port refer to. */
typedef struct lanes_windows {
    uint64_t count; /* beyond it there are none */
    weft_lanes_window_t window[WEFT_LANES_WINDOWS];
} lanes_windows_t;

/* What a message of more than 32 bytes says of its payload: see lanes.h. */
typedef struct lanes_reference {
    uint64_t window, offset;
} lanes_reference_t;

/* One end of a FIFO, as the device sees it. Signatures and inline payloads are in the FIFO's heads, or in
 * the slots if an adapter reads and writes those. */
typedef struct lanes_port {
    uint8_t *fifo;                            /* control block and heads */
    uint8_t *payloads, *signatures, *inlines; /* of slot 0 */
    uint32_t *lengths;                        /* or NULL */
    uint64_t *at;      /* of host and device: number of the next message while no run has the end */
    uint64_t next;     /* … while one has it */
    uint64_t limit;    /* send: messages below it have a free slot */
    uint64_t referred; /* send: messages up to the last one by reference in this run */
    uint64_t stride;   /* of payloads */
    uint64_t head_stride;           /* of signatures and inlines */
    const lanes_windows_t *windows; /* or NULL */
    uint64_t count;                 /* … of which so many are looked at in this run */
    uint32_t mask;                  /* slots − 1 */
    uint32_t slots;
    uint32_t direct; /* 1: behind a signature is room for the payload's bytes */
    uint32_t reserved;
} lanes_port_t;

/* A MOVE under way: addresses of its current chunk. */
typedef struct lanes_member {
    const weft_lanes_move_t *move;
    const weft_lanes_operand_t *operands;
    lanes_port_t *port[2 * WEFT_MOVE_MAX]; /* destinations, then sources; NULL = memory */
    uint8_t *base[2 * WEFT_MOVE_MAX];      /* address of slice 0 */
    uint64_t chunk;                        /* elements of the current chunk */
    uint64_t count;                        /* elements of its block */
    uint32_t slice, done;
    uint32_t pre_mask;
    uint32_t finished;
    uint32_t copies; /* one source, no arithmetic */
    uint32_t holder; /* operand that keeps what is sent for the run, or LANES_NO_HOLDER */
} lanes_member_t;

enum {
    LANES_RUNNING = 0,
    LANES_OVER = 1,
    LANES_STOPPED = 2,
    LANES_MISMATCH = 3,
    LANES_BLOCKED = 4
};

/* What a lane tells; the lane writes, the host reads. Two cache lines. Numbers of runs only grow, so what
 * became of a run can be asked for when others have followed it. Runs that a stream records have no number
 * and are counted by the lane. */
typedef struct lanes_record {
    uint64_t moved;  /* slices, in the run begun last */
    uint64_t begun;  /* number of the run begun last */
    uint64_t over;   /* … of the last one that ended well */
    uint64_t ended;  /* … of the last one that ended; stored last */
    int32_t blocked; /* port that the lane waits for, or −1 */
    uint32_t failed; /* 1: a run did not end well */
    uint64_t replays_begun, replays_ended;
    uint64_t mismatch_run; /* the run that found another signature; 0: a replay */
    uint64_t mine[WEFT_FIFO_SIGNATURE_WORDS], theirs[WEFT_FIFO_SIGNATURE_WORDS];
    int32_t mismatch;  /* the port of it, or −1 */
    uint32_t lied;     /* 1: its signature was right, but it refers to nothing that may be read */
    uint64_t referred; /* messages by reference, in all runs that have ended */
} lanes_record_t;

/* One run, as its blocks get it. Pointers are the device's. */
typedef struct lanes_run {
    weft_lanes_program_t
        program;           /* BAR: `n` is the number of its mask; MOVE, PAR: `mate_or_mask` is
                                     1 if a MOVE waits for this word */
    uint32_t nmasks;       /* distinct masks of BAR */
    uint32_t nblocks;      /* channels · nlanes */
    const uint32_t *owner; /* lane of each port of a channel */
    const uint8_t *in;
    uint8_t *out;
    uint8_t *tmp;
    weft_lanes_cut_t cut;
    weft_lanes_vectors_t vectors;
    uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS];
    uint64_t scalar;
    const uint8_t *scalar_at; /* not NULL: where the scalar is when the run begins */
    uint64_t number;          /* 0: recorded */
    uint64_t steady;          /* flag of MOVEs that may send by reference; 0: none */
    lanes_port_t *ports;      /* of a channel behind those of another */
    lanes_member_t *members;  /* largest_par for each block */
    /* Words of one writer each, zero before the first run and after one that failed. */
    uint64_t *passed;  /* per block: passes of earlier runs */
    uint64_t *replays; /* per block: recorded runs that have ended */
    uint64_t *
        finished; /* per channel and word of code: the last of all passes in which it was finished */
    uint64_t *arrived; /* per channel, mask and lane: barriers that the lane has come to */
    uint32_t *stop;    /* set by any lane that fails: no run goes on */
    /* The host's side. */
    lanes_record_t *records;
    const uint32_t *abort;
} lanes_run_t;

/* All threads of a block copy it together. */
typedef union lanes_run_copy {
    lanes_run_t run;
    uint64_t word[sizeof(lanes_run_t) / sizeof(uint64_t)];
} lanes_run_copy_t;

/* Runs of one launch, one after another. */
typedef struct lanes_launch {
    lanes_run_t run;              /* if it is the only one */
    const lanes_run_copy_t *runs; /* else all of them */
    uint64_t *arrived; /* blocks that have come to the end of a run, in all launches of so many */
    uint32_t nruns, nblocks;
} lanes_launch_t;

/* What the threads of a block share. Aligned to 16. */
typedef struct lanes_block {
    uint64_t inline_in[WEFT_MOVE_MAX][4]; /* inline payloads that were received */
    uint64_t inline_out[4];               /* the one to be sent */
    weft_combine_t combine;               /* what all threads do next */
    uint64_t scalar;
    lanes_reference_t at[WEFT_MOVE_MAX]; /* of the slice under way, by destination */
    const uint8_t *far[WEFT_MOVE_MAX]; /* … by source: where the peer keeps it; NULL: in the slot */
    uint64_t referred;                 /* messages by reference in this run */
    uint32_t go;                       /* 0: nothing more to do */
    uint32_t begin;                    /* STOPPED: the run is not to begin */
    /* The leader's own. */
    uint32_t block, channel, lane; /* block = channel · nlanes + lane */
    uint32_t pc;
    uint32_t iteration, times; /* of the LOOP around; times 0 = none */
    uint32_t members;          /* MOVEs under way; 0 = instruction not entered yet */
    uint32_t at_bar;           /* arrival is told */
    uint32_t ticks;            /* for looks at abort */
    uint32_t idle;             /* looks in vain since something moved */
    uint32_t noted;            /* the record says that this lane is blocked */
    int32_t blocked;
    uint64_t pass, passed;
    uint64_t moved, seen;
    const weft_lanes_code_t *code;
    lanes_member_t *member;
    lanes_record_t *record;
} lanes_block_t;

/* The memory of a block. */
typedef struct lanes_shared {
    lanes_block_t block;
    lanes_run_copy_t copy; /* of one run of several */
} lanes_shared_t;

#endif
