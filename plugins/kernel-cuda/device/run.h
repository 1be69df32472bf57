/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run of a plan on a device consists of: ports, MOVEs under way, what a lane tells the host, what
 * the threads of a block share. Made by lanes_image.c, used by lanes.h. */
#ifndef KERNEL_CUDA_DEVICE_RUN_H
#define KERNEL_CUDA_DEVICE_RUN_H

#include <weft/plugin/lanes.h>
#include <weft/plugin/plan.h>

/* One end of a FIFO, as the device sees it. */
typedef struct lanes_port {
    uint8_t *fifo;
    uint8_t *payloads;
    uint64_t next;  /* message to send or receive next */
    uint64_t limit; /* send: messages below it have a free slot */
    uint64_t slot_bytes;
    uint32_t mask; /* slots − 1 */
    uint32_t slots;
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
    uint32_t skip; /* copy onto itself */
} lanes_member_t;

enum {
    LANES_RUNNING = 0,
    LANES_OVER = 1,
    LANES_STOPPED = 2,
    LANES_MISMATCH = 3,
    LANES_BLOCKED = 4
};

/* What a lane tells; the lane writes, the host reads. Two cache lines. */
typedef struct lanes_record {
    uint64_t moved;   /* slices */
    int32_t blocked;  /* port that it waits for, or −1 */
    uint32_t status;  /* RUNNING, OVER, STOPPED, MISMATCH; stored last */
    int32_t mismatch; /* MISMATCH: the port */
    uint32_t reserved;
    uint64_t mine[WEFT_FIFO_SIGNATURE_WORDS], theirs[WEFT_FIFO_SIGNATURE_WORDS];
    uint64_t pad[7];
} lanes_record_t;

/* One run, as its blocks get it. Pointers are the device's. */
typedef struct lanes_run {
    weft_lanes_program_t
        program;           /* BAR: `n` is the number of its mask; MOVE, PAR: `mate_or_mask` is
                                     1 if a MOVE waits for this word */
    const uint32_t *owner; /* lane of each port */
    const uint8_t *in;
    uint8_t *out;
    uint8_t *tmp;
    weft_lanes_cut_t cut;
    weft_lanes_vectors_t vectors;
    uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS];
    uint64_t scalar;
    lanes_port_t *ports;
    lanes_member_t *members; /* largest_par for each lane */
    /* Words of one writer each, zero before the first run and after one that failed. */
    uint64_t *passed;   /* per lane: passes of earlier runs */
    uint64_t *finished; /* per word of code: the last of all passes in which it was finished */
    uint64_t *arrived;  /* per mask and lane: barriers that the lane has come to */
    uint32_t *stop;     /* set by any lane that fails */
    /* The host's side. */
    uint64_t *next; /* per port: read first, written last */
    lanes_record_t *records;
    const uint32_t *abort;
} lanes_run_t;

/* What the threads of a block share. Aligned to 16. */
typedef struct lanes_block {
    uint64_t inline_in[WEFT_MOVE_MAX][4]; /* inline payloads that were received */
    uint64_t inline_out[4];               /* the one to be sent */
    weft_combine_t combine;               /* what all threads do next */
    uint64_t scalar;
    uint32_t go; /* 0: nothing more to do */
    /* The leader's own. */
    uint32_t lane, pc;
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

#endif
