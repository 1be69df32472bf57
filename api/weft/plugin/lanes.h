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
 * futex there. A device cannot wake it; the peer's sleep is short for that reason. */
#define WEFT_FIFO_RELEASED 0u          /* offset of uint64_t */
#define WEFT_FIFO_CONSUMER_SLEEPS 128u /* offset of uint32_t */
#define WEFT_FIFO_PRODUCER_SLEEPS 256u /* offset of uint32_t */
#define WEFT_FIFO_HEADS 384u           /* offset of the first head */
#define WEFT_FIFO_HEAD_BYTES 64u
#define WEFT_FIFO_HEAD_SEQUENCE 0u  /* offset of uint64_t in a head */
#define WEFT_FIFO_HEAD_SIGNATURE 8u /* offset of 24 bytes in a head */
#define WEFT_FIFO_HEAD_PAYLOAD 32u  /* offset of the inline payload in a head */
#define WEFT_FIFO_INLINE 32u        /* largest inline payload */
#define WEFT_FIFO_SIGNATURE_WORDS 3u

/* One end of a FIFO. `next` is read at the start and written back at the end of every run: other runs,
 * and runs of the host, go on from there. */
typedef struct weft_lanes_port {
    uint8_t *fifo; /* as mapped by this process; the device registers the mapping itself */
    uint64_t fifo_bytes;
    uint64_t next; /* number of the message to send or receive next */
    uint64_t slot_bytes;
    uint32_t slots; /* power of two */
    uint32_t sends; /* 1: this end sends */
} weft_lanes_port_t;

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

typedef struct weft_lanes_move {
    uint32_t operand; /* first of its destinations, then sources, in operands[] */
    uint32_t after;   /* first of its waits in afters[] */
    uint32_t cnt;     /* chunks, at least 1 */
    uint8_t ndst, nsrc, nafter;
    uint8_t flags; /* WEFT_MOVE_FINAL, WEFT_LANES_LIKE */
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
} weft_lanes_program_t;

/* How a message is cut; lengths in elements of one block (core: weft_geometry_t). Chunk c of IN or OUT
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

/* One run. Everything but `ports` is copied by start(). */
typedef struct weft_lanes_call {
    size_t size;
    const void *in;
    void *out;
    weft_lanes_cut_t cut;
    weft_lanes_vectors_t vectors;
    uint32_t nin, nout;       /* entries of the vectors */
    uint64_t signature[3];    /* of every slice */
    uint64_t scalar;          /* first `elem` bytes of it, little-endian */
    weft_lanes_port_t *ports; /* nports; they live until the run is over */
    void *stream;             /* of the device, e.g. cudaStream_t; NULL: the plugin's own */
} weft_lanes_call_t;

/* Where a run is. */
typedef struct weft_lanes_state {
    size_t size;
    uint64_t moved;   /* slices done so far; grows while anything moves */
    int32_t blocked;  /* a port that a lane waits for, or −1 */
    int32_t mismatch; /* ERR_MISMATCH: the port whose message has another signature, else −1 */
    uint64_t mine[3], theirs[3]; /* ERR_MISMATCH: both signatures */
} weft_lanes_state_t;

typedef struct weft_lanes_handle weft_lanes_handle_t; /* one prepared program */

typedef struct weft_kernel_lanes {
    size_t size;

    /* What: takes a program. Failure: ERR_UNSUPPORTED (with the reason set; the core runs it on the
     * host), ERR_RESOURCE. Ownership: the core's, until release(). Blocks: no. Thread: [progress]. */
    weft_status_t (*prepare)(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                             weft_lanes_handle_t **handle_p);

    /* What: starts a run; the handle has no other run under way. Failure: ERR_UNSUPPORTED (a buffer
     * that the device cannot reach; the text says which, and why: the core runs this call on the
     * host), ERR_ARG (a slot that does not hold a slice), ERR_RESOURCE, ERR_SYSTEM. Blocks: no.
     * Thread: [progress]. */
    weft_status_t (*start)(weft_lanes_handle_t *handle, const weft_lanes_call_t *call);

    /* What: looks at the run and fills state->size bytes. OK: over; IN_PROGRESS; ERR_MISMATCH;
     * ERR_ABORTED after abort(); ERR_SYSTEM (the device failed). After a failure the run is over, and
     * the handle may start another. When it is over, however it ended, ports[].next are written back
     * (not if the device failed). Blocks: no. Thread: [progress]. */
    weft_status_t (*poll)(weft_lanes_handle_t *handle, weft_lanes_state_t *state);

    /* What: tells the run to stop; poll() answers ERR_ABORTED within 100 ms. Blocks: no.
     * Thread: [progress]. */
    void (*abort)(weft_lanes_handle_t *handle);

    /* What: ends what is under way and frees the handle. NULL is allowed. Blocks: at most 100 ms.
     * Thread: [progress]. */
    void (*release)(weft_lanes_handle_t *handle);
} weft_kernel_lanes_t;

#ifdef __cplusplus
}
#endif
#endif
