/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a run on a device: ports, MOVEs that progress, the words that a lane writes for the
 * host, and the memory that the threads of a block share. lanes_image.c makes it,
 * device_interpreter.h uses it. */
#ifndef KERNEL_CUDA_DEVICE_RUN_H
#define KERNEL_CUDA_DEVICE_RUN_H

#include <stddef.h>

#include <weft/plugin/draft/lanes.h>
#include <weft/plugin/plan.h>

#include "stepped.h"

/* The windows that zero-copy descriptors of a port may name. */
typedef struct lanes_windows {
    uint64_t count; /* entries in use */
    weft_lanes_window_t window[WEFT_LANES_WINDOWS];
} lanes_windows_t;

/* An end of a FIFO as the runs of all programs leave it to each other, in memory of the device.
 * Whenever `seeks` is the number of seeks that the notice of a run has, `next` is that of the next
 * slice. */
typedef struct lanes_end {
    uint64_t next;
    uint64_t seeks;
    lanes_windows_t windows;
} lanes_end_t;

/* A zero-copy descriptor; see weft/plugin/draft/lanes.h. */
typedef struct lanes_zero_copy {
    uint64_t window, offset;
} lanes_zero_copy_t;

/* How payloads travel in flagged units, between two devices only. */
typedef struct lanes_flagged {
    weft_lanes_flagged_t words, lines;
    uint8_t *bench; /* memory of this device for one payload */
    /* Send: a payload of up to `words_most` bytes goes in flagged words, then up to `lines_most` in
     * flagged lines. */
    uint32_t words_most, lines_most;
} lanes_flagged_t;

/* One end of a FIFO, as the device sees it. Signatures and inline payloads are in the FIFO's
 * headers, or in the slots if an adapter reads and writes those. */
typedef struct lanes_port {
    uint8_t *fifo;      /* control block and headers */
    uint8_t *headers;   /* `apart`: flagged header of slot 0, on the receiver's device */
    uint64_t *released; /* for devices: in `fifo` or on the sender's device */
    uint8_t *payloads;  /* of slot 0 */
    uint32_t *lengths;  /* or NULL */
    uint64_t *at;     /* shared with the host: number of the next slice while no run has the end */
    lanes_end_t *end; /* the same for runs, without reads of the host's memory; windows */
    uint64_t next;    /* number of the next slice while a run has the end */
    uint64_t limit;   /* send: slices below it have a free slot */
    uint64_t found;   /* receive: 1 more than the number of the slice that was found last */
    uint64_t zero_copied; /* send: slices up to the last descriptor of this run */
    uint64_t stride;      /* bytes from payload to payload */
    uint64_t count;       /* windows that this run looks at */
    uint32_t mask;        /* slots - 1 */
    uint32_t slots;
    uint32_t gpudirect; /* 1: the payload's bytes follow the signature */
    uint32_t apart;     /* 1: a peer's host uses other words than its device: those in `fifo` */
    uint32_t looks;     /* in vain, at the words of devices */
    uint32_t in_fifo;   /* receive: the header of the slice found last is behind `fifo` */
    uint32_t by_host;   /* the peer's host told last: look at its words each time */
    uint32_t sends;     /* 1: this end sends */
    uint32_t greets;    /* 1: the next slice is a greeting: sent, or found and not yet taken */
    uint32_t greeting;  /* send: bytes of the message that the greeting is */
    /* Send: IN of a run that may be whole, then the first message; window 0: it cannot be. */
    lanes_zero_copy_t in_at;
    lanes_flagged_t flagged;
} lanes_port_t;

/* A payload that travels in flagged words or lines. */
typedef struct lanes_transit {
    uint64_t *units;  /* in the slot */
    uint8_t *payload; /* at this end; aligned to 8 */
    uint64_t flag;
    uint32_t bytes;
    uint32_t form; /* WEFT_FIFO_FORM_* */
    int32_t port;
    uint32_t reserved;
} lanes_transit_t;

/* Those of a slice: unpacked before the combination, packed after it. */
typedef struct lanes_transits {
    lanes_transit_t unpack[WEFT_MOVE_MAX], pack[WEFT_MOVE_MAX];
    uint32_t unpacks, packs;
    uint32_t stopped; /* 1: the run was stopped while units were awaited */
    uint32_t reserved;
} lanes_transits_t;

/* A MOVE that progresses: the addresses of its current chunk. */
typedef struct lanes_member {
    const weft_lanes_move_t *move;
    const weft_lanes_operand_t *operands;
    lanes_port_t *port[2 * WEFT_MOVE_MAX]; /* destinations, then sources; NULL: memory */
    uint8_t *base[2 * WEFT_MOVE_MAX];      /* address of slice 0 */
    uint64_t chunk;                        /* elements of the current chunk */
    uint64_t count;                        /* elements of its block */
    uint64_t step;                         /* elements of a chunk of its message: a bundle only */
    uint32_t slice, done;
    uint32_t pre_mask;
    uint32_t finished;
    uint32_t copies; /* one source, no arithmetic */
    /* Operand that stays unchanged until the run ends, or LANES_NOT_STABLE. */
    uint32_t stable_operand;
    uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS]; /* of its message: a bundle only */
} lanes_member_t;

enum {
    LANES_RUNNING = 0,
    LANES_COMPLETED = 1,
    LANES_STOPPED = 2,
    LANES_MISMATCH = 3,
    LANES_BLOCKED = 4
};

/* The words of a lane; the lane writes them, the host reads them. Three cache lines. Numbers of
 * runs only grow, so that the host can ask about a run when later runs have begun. Captured runs
 * have no number; the lane counts them. */
typedef struct lanes_record {
    uint64_t moved;     /* slices done in the run begun last; told now and then, and at its end */
    uint64_t begun;     /* number of the run begun last */
    uint64_t completed; /* number of the last run that completed */
    uint64_t ended;     /* number of the last run that ended; stored last */
    int32_t blocked;    /* port that the lane waits for, or -1 */
    uint32_t failed;    /* 1: a run failed */
    uint64_t graph_runs_begun, graph_runs_ended;
    uint64_t mismatch_run; /* run that found another signature; 0: a captured run */
    uint64_t mine[WEFT_FIFO_SIGNATURE_WORDS], theirs[WEFT_FIFO_SIGNATURE_WORDS];
    int32_t mismatch;       /* port of that signature, or -1 */
    uint32_t bad_zero_copy; /* 1: the signature was right, the descriptor was invalid */
    uint64_t zero_copied;   /* descriptors sent in all runs that have ended */
    uint64_t whole;         /* whole runs that have ended */
    uint64_t reserved[7];
} lanes_record_t;

#define LANES_NOTICES 16u

/* 16 bytes, as a thread loads at once. */
typedef struct lanes_news {
    uint32_t abort; /* 1: runs stop */
    uint32_t reserved;
    uint64_t seeks; /* how often the host has set the number of any end of the instance */
} lanes_news_t;

/* What the host tells all runs of a program: one load, of the notice of a block. There are several
 * alike, each in a line of its own: the device reads a line of the host's memory again for each
 * block that asks for it, one after the other, and a half microsecond each. */
typedef struct lanes_notice {
    lanes_news_t news;
    uint64_t apart[14];
} lanes_notice_t;

/* The vectors of a run. */
typedef struct lanes_vectors {
    weft_lanes_vectors_t of;
    const uint64_t *at; /* all of them, one behind the other */
    uint64_t words;     /* their length; 0: there are none */
} lanes_vectors_t;

/* What a run needs to be whole (weft/plugin/draft/lanes.h). */
typedef struct lanes_meeting {
    weft_lanes_segmentation_t whole; /* the segmentation that it then has */
    uint64_t in_bytes, out_bytes;    /* of IN and OUT, if they are sent */
    uint32_t meets;                  /* 1: it begins with a meeting … */
    uint32_t may;                    /* … and may be whole as far as this rank is concerned */
} lanes_meeting_t;

/* The factor of a run. */
typedef struct lanes_scalar {
    uint64_t value;
    const uint8_t *at; /* not NULL: the run reads it there when it begins */
} lanes_scalar_t;

/* One run, as its blocks get it. All pointers are the device's. */
typedef struct lanes_run {
    /* In code[]: BAR has the number of its mask in `n`; MOVE and PAR have 1 in `mate_or_mask` if a
     * MOVE waits for the word. */
    weft_lanes_program_t program;
    uint32_t nmasks;       /* number of distinct masks of BAR */
    uint32_t nblocks;      /* channels * nlanes */
    const uint32_t *owner; /* lane of each port of a channel */
    const uint8_t *in;
    uint8_t *out;
    uint8_t *tmp;
    weft_lanes_segmentation_t segmentation;
    lanes_meeting_t meeting;
    lanes_vectors_t vectors;
    const weft_lanes_message_t *messages; /* of a bundle */
    uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS];
    lanes_scalar_t scalar;
    uint64_t number;         /* 0: captured */
    uint64_t stable;         /* flag of the MOVEs that may send descriptors; 0: none */
    lanes_port_t *ports;     /* ports of channel 0, then of channel 1, ... */
    lanes_member_t *members; /* largest_par for each block */
    /* Words with one writer each; zero before the first run and after a failed one. */
    uint64_t *passed;     /* per block: passes of earlier runs */
    uint64_t *graph_runs; /* per block: captured runs that have ended */
    uint64_t *finished;   /* per channel and word of code: number of passes that finished it */
    uint64_t *arrived;    /* per channel, mask and lane: barriers that the lane has reached */
    uint32_t *stop;       /* a lane that fails sets it; no run continues */
    /* Words of the host's memory. */
    lanes_record_t *records;
    const lanes_notice_t *notices; /* LANES_NOTICES of them */
    lanes_stepped_t stepped;
} lanes_run_t;

/* A run as words, which all threads of a block copy together. */
typedef union lanes_run_copy {
    lanes_run_t run;
    uint64_t word[sizeof(lanes_run_t) / sizeof(uint64_t)];
} lanes_run_copy_t;

/* The runs of one launch, one after another. */
typedef struct lanes_launch {
    lanes_run_copy_t run;         /* if it is the only one */
    const lanes_run_copy_t *runs; /* else all of them */
    uint64_t *arrived; /* LANES_BLOCKS_MAX for each barrier passed, in all launches of the queue */
    uint32_t nruns, nblocks;
} lanes_launch_t;

/* What a lane has done, how long it has waited, and what it told the host about that. */
typedef struct lanes_idle {
    uint32_t ticks;  /* steps, for looks at the stop words */
    uint32_t rounds; /* fruitless looks since something moved */
    uint32_t noted;  /* 1: the record says that this lane is blocked */
    int32_t blocked; /* port that the lane waits for, or -1 */
    uint64_t moved;  /* slices done in this run */
    uint64_t seen;   /* `moved` at the last look */
    uint64_t told;   /* `moved` that the host knows */
} lanes_idle_t;

/* The position of a lane in its program. */
typedef struct lanes_position {
    uint32_t block, channel, lane; /* block = channel * nlanes + lane */
    uint32_t first;                /* word of the program with which the lane begins */
    uint32_t pc;
    uint32_t iteration, times; /* of the LOOP around; times 0: none */
    uint64_t pass, passed;     /* pass of this run; passes of earlier runs */
} lanes_position_t;

#define LANES_CHUNKS_MAX 65535u /* of a buffer */
#define LANES_BLOCKS_MAX 1024u  /* of a launch; a power of two */
#define LANES_MEMBERS_NEAR 4u   /* MOVEs in progress whose state is in the block's memory */
#define LANES_PORTS_NEAR 32u    /* ports of a channel that are */
#define LANES_CODE_NEAR 128u    /* words of a lane that are */
#define LANES_MOVES_NEAR 64u    /* MOVEs of a program that are, with their operands */
#define LANES_OPERANDS_NEAR 192u
#define LANES_VECTORS_NEAR 256u /* words of vectors that are: those of 64 ranks */
#define LANES_BENCH_NEAR                                                                           \
    8192u /* bytes of payloads between flagged units and a combination that are */

/* What a leader looks up for each MOVE, in the memory of its block where there is room. A look at a
 * table in the device's memory takes longer than all that the leader does with it, and a step has
 * many. Ports are those of the channel, of which only the lane's own are used. */
typedef struct lanes_tables {
    /* Of the lane, the program and the channel: below, or in the device's memory. */
    const weft_lanes_code_t *code;
    const weft_lanes_move_t *moves;
    const weft_lanes_operand_t *operands;
    lanes_port_t *ports;
    lanes_port_t near_ports[LANES_PORTS_NEAR];
    weft_lanes_code_t near_code[LANES_CODE_NEAR];
    weft_lanes_move_t near_moves[LANES_MOVES_NEAR];
    weft_lanes_operand_t near_operands[LANES_OPERANDS_NEAR];
} lanes_tables_t;

/* A slice whose data is in place: what the peers of its MOVE are told of it. Slots, and so the
 * numbers of ports, are already those of the next slice. */
typedef struct lanes_held {
    uint32_t told;   /* ports that are told, a bit each; 0: nothing is held */
    uint32_t behind; /* 1: behind a fence */
    uint64_t bytes;
    lanes_zero_copy_t zero_copy[WEFT_MOVE_MAX];
    uint32_t form[WEFT_MOVE_MAX];
} lanes_held_t;

/* The MOVEs of an instruction that progress. */
typedef struct lanes_active {
    uint32_t n; /* 0: the instruction is not entered yet */
    lanes_member_t *member;
    lanes_member_t near[LANES_MEMBERS_NEAR]; /* of a run whose MOVEs all find room */
} lanes_active_t;

/* The memory that the threads of a block share. Aligned to 16. */
typedef struct lanes_block {
    lanes_news_t news; /* of the notice, as the run began */
    /* Headers of the sources, laid out as flagged ones are. */
    uint64_t head[WEFT_MOVE_MAX][WEFT_FIFO_FLAGGED_HEADER_WORDS];
    uint64_t inline_out[4]; /* inline payload to be sent */
    uint64_t bench[LANES_BENCH_NEAR / sizeof(uint64_t)];
    weft_combine_t combine; /* next combination of all threads */
    uint64_t scalar;
    lanes_zero_copy_t zero_copy[WEFT_MOVE_MAX]; /* descriptors of the slice, by destination */
    const uint8_t *source_at[WEFT_MOVE_MAX]; /* payloads in windows, by source; NULL: in the slot */
    uint64_t zero_copied;                    /* descriptors sent in this run */
    lanes_transits_t transits;
    uint32_t go;    /* 0: the run has ended */
    uint32_t begin; /* LANES_STOPPED: the run must not begin */
    lanes_steps_t stepped;
    /* Only the leader uses the rest. */
    lanes_position_t at;
    uint32_t at_bar;              /* 1: the arrival at a barrier is published */
    uint32_t found;               /* LANES_FOUND_*: by looks at ports since the last fence */
    uint32_t form[WEFT_MOVE_MAX]; /* of what the slice sends, by destination */
    lanes_held_t held;
    uint32_t whole;   /* 1: the run is whole */
    uint32_t inlined; /* bytes of the largest payload that is in a header */
    lanes_idle_t idle;
    uint64_t bytes; /* of the slice under way */
    lanes_record_t *record;
    lanes_active_t active;
    lanes_tables_t tables;
} lanes_block_t;

enum { LANES_FOUND_DATA = 1, LANES_FOUND_ROOM = 2 };

/* The memory of a block. What its leader looks at for each slice is here: each look at a port
 * empties the cache in front of all other memory. */
typedef struct lanes_shared {
    lanes_block_t block;
    lanes_run_copy_t copy; /* the current run */
    uint64_t vectors[LANES_VECTORS_NEAR];
} lanes_shared_t;

#endif
