/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.lanes/1" of kernel plugins: a device that runs plans itself. The core flattens
 * a proved plan into arrays, the device interprets them, one block of threads per lane, over FIFOs of
 * slots that it and the peers can load and store. get_extension() of the kernel answers with a
 * weft_kernel_lanes_t. Plain numbers only, so that the header serves C, C++ and CUDA.
 *
 * The semantics of every instruction are those of plan.h. The layout of the slots is part of this ABI:
 * ranks that run the same plan on processors and on devices meet in the same FIFO. */
#ifndef WEFT_PLUGIN_LANES_H
#define WEFT_PLUGIN_LANES_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_LANES "weft.kernel.lanes/1"

/* FIFOs ----------------------------------------------------------------------------------------------
 *
 * A FIFO is one control block, then `slots` heads of 64 bytes, then `slots` payloads of `slot_bytes`,
 * all at multiples of 64; `slot_bytes` holds a whole slice.
 * Message n lives in slot n mod slots. The producer writes the signature and the payload (at most 32
 * bytes: into the head, else into the slot's payload) and then stores n + 1 into the head's sequence
 * with release semantics of the whole system; the consumer loads it with acquire. The consumer stores
 * the number of messages it has given back into `released`, with release. Message n may be written when
 * n < released + slots. All words grow for ever; each has one writer.
 * Who publishes a message looks at the other side's sleep word: if it is not 0, the peer may sleep on a
 * futex there. A device cannot wake it; the peer's sleep is short for that reason.
 * The 256 bytes in front of the heads are the card on which the two hosts agree where the payloads lie
 * before the first message; a device does not touch it. */
#define WEFT_FIFO_RELEASED 0u          /* offset of uint64_t */
#define WEFT_FIFO_CONSUMER_SLEEPS 128u /* offset of uint32_t */
#define WEFT_FIFO_PRODUCER_SLEEPS 256u /* offset of uint32_t */
#define WEFT_FIFO_HEADS 640u           /* offset of the first head */
#define WEFT_FIFO_HEAD_BYTES 64u
#define WEFT_FIFO_HEAD_SEQUENCE 0u  /* offset of uint64_t in a head */
#define WEFT_FIFO_HEAD_SIGNATURE 8u /* offset of 24 bytes in a head */
#define WEFT_FIFO_HEAD_PAYLOAD 32u  /* offset of the inline payload in a head */
#define WEFT_FIFO_INLINE 32u        /* largest inline payload */
#define WEFT_FIFO_SIGNATURE_WORDS 3u
#define WEFT_MESSAGE_HEAD_BYTES 64u /* in front of a payload that an adapter sends: `direct` */

/* The inline payload of a longer message says where its payload is: a reference, in two 64-bit words.
 * With 0 in the first it is in the slot, and the second says nothing; with w + 1 it is memory of window w
 * of the producer, from the byte on that the second word says. A producer refers only to windows that
 * the consumer has open, and keeps the bytes as they are until the message has been given back. The
 * consumer takes a copy of both words, as the producer can write them at any time, and refuses windows
 * that it does not have open, bytes beyond their end and elements that are not aligned: ERR_PROTO. */
#define WEFT_FIFO_REFERENCE_WINDOW 32u /* offset of uint64_t in a head */
#define WEFT_FIFO_REFERENCE_OFFSET 40u /* offset of uint64_t in a head */

#define WEFT_LANES_WINDOWS 16 /* of a communicator */

/* A window as this process reaches it. */
typedef struct weft_lanes_window {
    uint8_t *base;
    uint64_t bytes; /* 0: not open */
} weft_lanes_window_t;

/* Where one end of a FIFO is. The three parts may lie apart: the slots of a port that carries messages
 * are the transport's, those between two devices are a device's (weft.kernel.share/1). */
typedef struct weft_lanes_port {
    size_t size;
    uint8_t *fifo;       /* control block and heads, host memory as mapped by this process */
    uint64_t fifo_bytes; /* … and `lengths`, where there are any: what the device registers */
    uint8_t *payloads;   /* of slot 0 */
    uint64_t stride;     /* bytes from slot to slot */
    uint64_t slot_bytes; /* that a slot holds */
    uint32_t slots;      /* power of two */
    uint32_t sends;      /* 1: this end sends */
    uint32_t near;       /* 1: `payloads` is memory that this kernel exported or imported; else host
                            memory, which the device registers */
    uint32_t *lengths; /* NULL, or a word for each slot: who sends stores the payload's bytes there
                            before the sequence */
    uint32_t direct;   /* 1: `payloads` is memory of this device that an adapter reads and writes
                          (weft.kernel.direct/1), and `near`. The 64 bytes in front of each payload are the
                          head of the message: the signature, then the payload's bytes as a uint64_t. Who
                          sends writes it, who receives compares the signature there, and messages of any
                          length have their payload in the slot. Of the heads of `fifo` only the sequences
                          are used then */
    uint32_t reserved; /* 0 */
} weft_lanes_port_t;

/* An end that the device knows. It holds the number of the message to send or receive next: each run
 * takes it up where the last one left it, in the order of the runs, without the host. */
typedef struct weft_lanes_end weft_lanes_end_t;

/* Programs ----------------------------------------------------------------------------------------- */

enum {
    WEFT_LANES_MOVE = 0, /* moves[n] */
    WEFT_LANES_PAR = 1,  /* the next n words, all MOVE, advance together */
    WEFT_LANES_LOOP = 2, /* n times; `mate` is the pc of END */
    WEFT_LANES_END = 3,  /* `mate` is the pc of LOOP */
    WEFT_LANES_BAR = 4,  /* mask of lanes */
    WEFT_LANES_STOP = 5
};

typedef struct weft_lanes_code {
    uint32_t opcode; /* WEFT_LANES_* */
    uint32_t n;
    uint64_t mate_or_mask; /* LOOP, END: pc in the lane; BAR: lanes */
} weft_lanes_code_t;

/* kind: weft_operand_kind_t. The chunk that an operand of a buffer names in iteration i of its LOOP, for
 * the j-th chunk of the MOVE, is (index + stride · i + j) mod `chunks`; a port is `index`. */
typedef struct weft_lanes_operand {
    uint32_t kind;
    uint32_t index;
    int32_t stride;
    uint32_t chunks; /* of that buffer */
} weft_lanes_operand_t;

/* Flag of a MOVE: behind its sources is an operand whose chunk says how long the MOVE is; without it the
 * first operand in IN or OUT does, and without such a one chunk 0 of IN. */
#define WEFT_LANES_LIKE 0x80u

/* Flags of a MOVE that has in memory what it sends, where no other MOVE of the pass writes: in its first
 * destination in OUT or, without one, in its only source. In a run that allows it (weft_lanes_call_t),
 * its messages may refer to that memory; such a run is over only when they have all been given back. */
#define WEFT_LANES_STEADY 0x40u          /* … in calls whose IN and OUT are two buffers */
#define WEFT_LANES_STEADY_IN_PLACE 0x20u /* … in calls in place */

typedef struct weft_lanes_move {
    uint32_t operand; /* first of its destinations, then sources, in operands[] */
    uint32_t after;   /* first of its waits in afters[] */
    uint32_t cnt;     /* chunks, at least 1 */
    uint8_t ndst, nsrc, nafter;
    uint8_t flags; /* WEFT_MOVE_FINAL, WEFT_LANES_LIKE, WEFT_LANES_STEADY… */
} weft_lanes_move_t;

/* The wait of a MOVE: in the same pass, word `pc` of `lane` is finished; in a LOOP, its last iteration. */
typedef struct weft_lanes_after {
    uint32_t lane, pc;
} weft_lanes_after_t;

/* A plan as one rank runs it. Arrays belong to the core and may be freed after prepare(). */
typedef struct weft_lanes_program {
    size_t size;
    uint32_t nlanes, nports, ncode, nmoves, noperands, nafters;
    const uint32_t *lane; /* nlanes + 1: where each lane's code begins; pcs count from there */
    const weft_lanes_code_t *code;
    const weft_lanes_move_t *moves;
    const weft_lanes_operand_t *operands;
    const weft_lanes_after_t *afters;
    uint32_t largest_par; /* MOVEs under way at once in one lane, at least 1 */
    uint32_t tmp_chunks;  /* scratch of tmp_chunks · chunk elements is the device's to provide */
    uint32_t nranks;      /* divisor of AVG */
    uint32_t dtype, op;   /* weft_dtype_t, weft_op_t */
    uint32_t elem;        /* bytes of an element */
    uint32_t pre;         /* 1: sources in IN are multiplied by the scalar first */
    uint32_t final;       /* 1: MOVEs with WEFT_MOVE_FINAL combine with WEFT_COMBINE_FINAL */
    uint32_t pairs;       /* 1: a v-form whose counts two ranks know; see `vectors` */
    uint32_t channels;    /* copies of all lanes, at least 1. Copy c has ports, scratch, waits and
                             barriers of its own, and does the passes c, c + channels …; its port p is
                             number c · nports + p of the call's ends, and in weft_lanes_state_t */
} weft_lanes_program_t;

/* How a message is cut; lengths in elements of one block (core: weft_segmentation_t). Chunk c of IN or OUT
 * is piece c mod k of block c / k; in pass t it starts at element t · pass + (c mod k) · chunk of the
 * block and is clipped at the block's end. A chunk passes as `slices` slices of `slice` elements; the
 * last ones may be shorter or empty, and empty ones are messages too. */
typedef struct weft_lanes_cut {
    uint64_t count, slice, chunk, pass, passes;
    uint32_t slices, k;
} weft_lanes_cut_t;

/* Blocks of a v-form, in elements; all NULL for a fixed form, where every block has `cut.count` and
 * block b starts at b · count. With `pairs`, a slice's signature has its block's count as the second
 * 64-bit word, and chunks that are empty in this pass are left out, except in pass 0. */
typedef struct weft_lanes_vectors {
    const uint64_t *in_counts, *in_displs, *out_counts, *out_displs;
} weft_lanes_vectors_t;

/* What one run works on. Everything is copied by start(). */
typedef struct weft_lanes_call {
    size_t size;
    const void *in;
    void *out;
    weft_lanes_cut_t cut;
    weft_lanes_vectors_t vectors;
    uint32_t nin, nout;    /* entries of the vectors */
    uint64_t signature[3]; /* of every slice */
    uint64_t scalar;       /* first `elem` bytes of it, little-endian */
    const void *scalar_at; /* not NULL: the run reads its scalar there when it begins */
    void *staging;         /* not NULL: `staging_bytes` bytes of IN are copied there when the run */
    uint64_t staging_bytes;        /* begins, and IN is read there; memory of the device */
    weft_lanes_end_t *const *ends; /* of the ports of all channels */
    uint64_t steady;               /* MOVEs with this flag may send by reference; 0: none may */
} weft_lanes_call_t;

/* Where a run is. */
typedef struct weft_lanes_state {
    size_t size;
    uint64_t moved;   /* slices done so far; grows while anything moves */
    int32_t blocked;  /* a port that a lane waits for, each time another lane's; or −1 */
    int32_t mismatch; /* ERR_MISMATCH: the port whose message has another signature; ERR_PROTO: …
                         refers to nothing that may be read; else −1 */
    uint64_t mine[3], theirs[3]; /* ERR_MISMATCH: both signatures */
    uint32_t begun;              /* 1: the device has come to it */
    uint32_t reserved;
    uint64_t referred; /* messages by reference in all runs of the handle that have ended */
} weft_lanes_state_t;

typedef struct weft_lanes_handle weft_lanes_handle_t; /* one prepared program */

/* The order of one communicator on the device: its runs and gates happen one after another, as they were
 * started, whatever their streams. Queues do not wait for each other. */
typedef struct weft_lanes_queue weft_lanes_queue_t;

/* One run of a launch. */
typedef struct weft_lanes_job {
    weft_lanes_handle_t *handle;
    const weft_lanes_call_t *call;
    uint64_t run; /* out: its number, counted per handle from 1; 0: the stream records it */
} weft_lanes_job_t;

/* Streams. A stream is named by the address of the device's handle for it (cudaStream_t *), so that a
 * handle of 0 is a stream too; NULL is one of the plugin's own, in which a run starts at once. While a
 * stream records (CUDA: is being captured), what is put into it runs with every replay of the recording:
 * such runs have the number 0, are polled together as run 0, and are never over. */
typedef struct weft_kernel_lanes {
    size_t size;

    /* What: takes a program. Failure: ERR_UNSUPPORTED (with the reason set; the core runs it on the
     * host), ERR_RESOURCE. Ownership: the core's, until release(). Blocks: no. Thread: [progress]. */
    weft_status_t (*prepare)(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                             weft_lanes_handle_t **handle_p);

    /* What: makes an end known, at message 0. Failure: ERR_ARG, ERR_RESOURCE, ERR_SYSTEM. Ownership: the
     * core's, until end_close(); the memory outlives it. Blocks: registering takes time.
     * Thread: [progress]. */
    weft_status_t (*end_open)(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                              weft_lanes_end_t **end_p);
    /* What: forgets it; no run uses it any more. NULL is allowed. Thread: [progress]. */
    void (*end_close)(weft_lanes_end_t *end);
    /* What: the number of the next message; sets it, after messages that the host moved. Only while no
     * run that uses the end executes; runs may wait in the queue. Thread: [progress]. */
    uint64_t (*end_next)(const weft_lanes_end_t *end);
    void (*end_seek)(weft_lanes_end_t *end, uint64_t next);

    /* What: makes a queue. Failure: ERR_RESOURCE, ERR_SYSTEM. Ownership: the core's, until queue_close(),
     * before which its runs are over and its gates broken. Thread: [progress]. */
    weft_status_t (*queue_open)(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p);
    void (*queue_close)(weft_lanes_queue_t *queue);

    /* What: puts the runs into the stream, one after another, as one launch. All or none of them.
     * Failure: ERR_UNSUPPORTED (a buffer that the device cannot reach; the text says which, and why: the
     * host can run it), ERR_ARG (a slot that does not hold a slice; a stream of another device),
     * ERR_RESOURCE, ERR_STATE (a recording that has been spoilt), ERR_SYSTEM. Blocks: no.
     * Thread: [progress]. */
    weft_status_t (*start)(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                           uint32_t njobs);

    /* What: whether the stream records what is put into it. Failure: ERR_ARG (a stream of another
     * device), ERR_STATE (a recording that has been spoilt), ERR_SYSTEM. Blocks: no.
     * Thread: [progress]. */
    weft_status_t (*records)(weft_lanes_queue_t *queue, void *const *stream, bool *records_p);

    /* What: looks at a run and fills state->size bytes; of run 0, the state of the replay under way, if
     * there is one. OK: over (run 0: nothing went wrong so far); IN_PROGRESS; ERR_MISMATCH; ERR_PROTO (a
     * wrong reference); ERR_ABORTED after abort(); ERR_SYSTEM (the device failed). Once a run of a handle
     * has failed, later ones end with ERR_ABORTED. Blocks: no. Thread: [progress]. */
    weft_status_t (*poll)(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state);

    /* What: tells all runs of the handle to stop; poll() answers ERR_ABORTED within 100 ms of their
     * begin. When the last of them has ended the handle may be started again. Blocks: no.
     * Thread: [progress]. */
    void (*abort)(weft_lanes_handle_t *handle);

    /* What: ends what is under way and frees the handle. NULL is allowed. Blocks: at most 100 ms.
     * Thread: [progress]. */
    void (*release)(weft_lanes_handle_t *handle);

    /* Gates: places in a stream where it waits for the host, which does there what the device cannot.
     * At most one gate of a queue is reached at a time. */

    /* What: puts a gate with this number into the stream. *recorded_p: it comes with every replay.
     * Failure: as start(). Blocks: no. Thread: [progress]. */
    weft_status_t (*gate_put)(weft_lanes_queue_t *queue, void *const *stream, uint64_t number,
                              bool *recorded_p);
    /* What: whether a stream waits at a gate, and its number. Thread: [progress]. */
    bool (*gate_reached)(weft_lanes_queue_t *queue, uint64_t *number_p);
    /* What: opens the gate that was reached. Thread: [progress]. */
    void (*gate_pass)(weft_lanes_queue_t *queue);
    /* What: opens all gates of the queue for ever. Thread: [any]. */
    void (*gate_break)(weft_lanes_queue_t *queue);

    /* What: says which windows the messages of an end may refer to, WEFT_LANES_WINDOWS of them by number:
     * of an end that sends those of this rank that the peer has open, else those of the peer that this
     * rank has open. They hold for recordings too, from the next replay on. Optional: without it the
     * device refers to none. Only while no run that uses the end executes. Failure: ERR_RESOURCE,
     * ERR_SYSTEM. Blocks: briefly. Thread: [progress]. */
    weft_status_t (*end_windows)(weft_lanes_end_t *end, const weft_lanes_window_t *windows);
} weft_kernel_lanes_t;

#ifdef __cplusplus
}
#endif
#endif
