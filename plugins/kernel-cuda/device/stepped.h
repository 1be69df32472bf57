/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of stepped runs: the MOVEs of a program without loops, one after the other. The host
 * writes down what they are (lanes_stepped.c), a block where their operands are
 * (device_stepped.h). */
#ifndef KERNEL_CUDA_DEVICE_STEPPED_H
#define KERNEL_CUDA_DEVICE_STEPPED_H

#include <weft/plugin/kernel.h>
#include <weft/plugin/plan.h>

#define LANES_STEPS_MOST 24u    /* of a stepped program */
#define LANES_OPERANDS_MOST 72u /* of all its steps together */

/* An operand of a step. */
typedef struct lanes_stepped_operand {
    uint64_t offset; /* in the pass of channel 0, in elements from the begin of the buffer */
    uint32_t kind;   /* weft_operand_kind_t */
    uint32_t index;  /* chunk or port */
} lanes_stepped_operand_t;

/* A MOVE, by itself or as a member of a PAR. */
typedef struct lanes_stepped_step {
    uint64_t at;    /* in the pass of channel 0, the begin of its chunk in the block, in elements */
    uint32_t first; /* operand: the destinations, then the sources */
    uint32_t measure; /* chunk that gives the length */
    uint32_t pc;      /* of the MOVE or the PAR */
    uint32_t member;  /* of the PAR */
    uint8_t ndst, nsrc;
    uint8_t flags; /* of the combination */
    uint8_t pre_mask;
    uint8_t sends, receives; /* destinations and sources that are ports, a bit each */
    uint8_t copies;          /* one source, no arithmetic */
    uint8_t early; /* the step before only sends: sources are looked for while that is told */
} lanes_stepped_step_t;

typedef struct lanes_stepped {
    uint64_t nsteps;                             /* 0: the program, or the run, is not stepped */
    lanes_stepped_step_t step[LANES_STEPS_MOST]; /* behind the last one, the pc of STOP */
    lanes_stepped_operand_t operand[LANES_OPERANDS_MOST];
} lanes_stepped_t;

struct lanes_port;

/* A step in a block: all that does not change while it waits. */
typedef struct lanes_step {
    weft_combine_t combine;               /* no destination: there is nothing to combine */
    uint64_t bytes;                       /* of each payload */
    struct lanes_port *to[WEFT_MOVE_MAX]; /* NULL: memory */
    struct lanes_port *from[WEFT_MOVE_MAX];
    uint8_t *memory[WEFT_MOVE_MAX]; /* of destinations that are memory, else NULL */
    uint8_t *sent;                  /* what goes into flagged units */
    uint32_t form[WEFT_MOVE_MAX];   /* of what is sent, by destination */
    uint32_t copies, inlined;       /* inlined: the payload fits a header */
    uint32_t unpacks, packs;        /* flagged payloads that come, and go: a bit each */
} lanes_step_t;

/* What the threads of a block know of a stepped run. */
typedef struct lanes_steps {
    /* 1: something is not as such a run expects it, before the first step, or in a step. The second
     * is read only between two barriers of a step, or threads could part. */
    uint32_t irregular, failed;
    uint32_t done;
    uint32_t closed; /* 1: so are the ports */
    weft_combine_t rehearsed;
    lanes_step_t step[LANES_STEPS_MOST];
} lanes_steps_t;

#endif
