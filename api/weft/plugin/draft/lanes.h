/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DRAFT, version 0: this extension changes without notice, and no compatibility is promised. It
 * becomes stable when a second plugin implements it and both have run on devices.
 *
 * Extension "draft.weft.kernel.lanes/0" of kernel plugins whose devices run plans themselves. The
 * core flattens a verified plan into arrays. The device interprets them, one block of threads for
 * each lane, over FIFOs of slots that the device and the peers can load and store. The kernel's
 * get_extension() returns a weft_kernel_lanes_t. All structs hold plain numbers and pointers, so
 * that the header serves C, C++ and CUDA.
 *
 * plan.h defines the semantics of every instruction. The layout of the slots is part of this ABI:
 * ranks on hosts and ranks on devices run the same plan and meet in the same FIFOs. */
#ifndef WEFT_PLUGIN_DRAFT_LANES_H
#define WEFT_PLUGIN_DRAFT_LANES_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_LANES "draft.weft.kernel.lanes/0"

/* FIFOs -------------------------------------------------------------------------------------------
 *
 * A FIFO is a control block, then `slots` headers of 64 bytes, then `slots` payloads of
 * `slot_bytes` bytes, all at multiples of 64. `slot_bytes` holds a whole slice. Slice n lives in
 * slot n mod slots.
 *
 * The producer writes the signature and the payload: into the header if it has at most 32 bytes,
 * else into the slot's payload. Then it stores n + 1 into the header's sequence with release
 * semantics for the whole system; the consumer loads the sequence with acquire. The consumer stores
 * the number of slices it has released into `released`, with release. Slice n may be written once n
 * < released + slots. All these words only grow, and each has one writer.
 *
 * After publishing, each side looks at the other side's sleep word. If it is not 0, the peer may
 * sleep on a futex there. A device cannot wake it, so such a peer sleeps briefly.
 *
 * Where the payloads lie on the receiver's device, so do headers for devices, and `released` is
 * once more in memory of the sender's device. A device stores into these, a host into those above.
 * So a slice is told by one of two headers, and as many slices are released as the greater of two
 * words says. A device looks at these and now and then at those above; a host the other way round.
 * Headers for devices are flagged: see below.
 *
 * The hosts use the 320 bytes before the headers to agree on the location of the payloads before
 * the first slice. A device does not touch them. */
#define WEFT_FIFO_RELEASED 0u          /* offset of uint64_t */
#define WEFT_FIFO_CONSUMER_SLEEPS 128u /* offset of uint32_t */
#define WEFT_FIFO_PRODUCER_SLEEPS 256u /* offset of uint32_t */
#define WEFT_FIFO_HEADERS 704u         /* offset of the first header */
#define WEFT_FIFO_HEADER_BYTES 64u
#define WEFT_FIFO_HEADER_SEQUENCE 0u  /* offset of uint64_t in a header */
#define WEFT_FIFO_HEADER_SIGNATURE 8u /* offset of 24 bytes in a header */
#define WEFT_FIFO_HEADER_PAYLOAD 32u  /* offset of the inline payload in a header */
#define WEFT_FIFO_INLINE 32u          /* largest inline payload, in bytes */
#define WEFT_FIFO_SIGNATURE_WORDS 3u
#define WEFT_MESSAGE_HEADER_BYTES 64u /* before a payload that an adapter sends: `gpudirect` */

/* Headers for devices, and payloads that a device sends in the same manner, carry their own flags:
 * n + 1 for slice n, in units that are stored and loaded whole. Who finds all flags has the data,
 * in whatever order the units came, so neither side has a fence. A unit is
 *
 *   a flagged word (NCCL: LL)       16 bytes, 8 of them data, one store of a thread
 *   a flagged line (NCCL: LL128)    128 bytes, 120 of them data, one store of eight threads of a
 *                                   warp: only where path and devices keep that whole
 *
 * data first, the flag in the last 8 bytes. Memory for units of a kind holds nothing else, ever,
 * and is zero at first: so no payload is taken for a flag, and no flag of an earlier slice for that
 * of a later one.
 *
 * The header of a slice is eight flagged words: the inline payload or the zero-copy descriptor, the
 * signature, the form. The form tells how the payload travels: WEFT_FIFO_FORM_*, and above these 8
 * bits the payload's bytes. The sender's device chooses for each slice; it stores the header after
 * the payload. */
#define WEFT_FIFO_FLAGGED_WORD_BYTES 16u
#define WEFT_FIFO_FLAGGED_LINE_BYTES 128u
#define WEFT_FIFO_FLAGGED_HEADER_BYTES 128u
#define WEFT_FIFO_FLAGGED_HEADER_WORDS 8u
#define WEFT_FIFO_FLAGGED_HEADER_SIGNATURE 4u /* number of its first word */
#define WEFT_FIFO_FLAGGED_HEADER_FORM 7u
#define WEFT_FIFO_FORM_SLOT 0u  /* in the header, the slot, or where the descriptor says (Simple) */
#define WEFT_FIFO_FORM_WORDS 1u /* in flagged words */
#define WEFT_FIFO_FORM_LINES 2u /* in flagged lines */
#define WEFT_FIFO_FORM_BITS 8u
#define WEFT_FIFO_WORDS_ROOM 8192u  /* most payload bytes of a slice in flagged words */
#define WEFT_FIFO_LINES_ROOM 65536u /* in flagged lines */

/* Memory of flagged units of one kind, for all slots. */
typedef struct weft_lanes_flagged {
    uint8_t *memory; /* of slot 0; NULL: there is none */
    uint64_t stride; /* bytes from slot to slot */
    uint64_t room;   /* payload bytes that a slot holds, a multiple of 8 */
} weft_lanes_flagged_t;

/* A zero-copy descriptor takes the place of the inline payload when the slice is longer: two 64-bit
 * words. If the first word is 0, the payload is in the slot and the second word means nothing. If
 * it is w + 1, the payload is in window w of the producer, at the byte offset in the second word.
 *
 * The producer names only windows that the consumer has open. It leaves the bytes unchanged until
 * the slice is released. The consumer copies both words first, because the producer can write them
 * at any time. It refuses, with ERR_PROTO, a window that it does not have open, bytes beyond its
 * end, and elements that are not aligned. */
#define WEFT_FIFO_ZERO_COPY_WINDOW 32u /* offset of uint64_t in a header */
#define WEFT_FIFO_ZERO_COPY_OFFSET 40u /* offset of uint64_t in a header */

#define WEFT_LANES_WINDOWS 16 /* windows of a communicator */

/* Meetings. In a program that `meets`, a device begins a run whose chunks have more than
 * WEFT_FIFO_INLINE bytes with a greeting: a header with WEFT_FIFO_GREETS in the first word of its
 * signature, to each peer that has a window of this rank open. It waits for the first header of
 * each peer that it has a window of open. With WEFT_FIFO_WHOLE a device says that all it will send
 * lies in windows which all its peers have open, and the greeting is then also the descriptor of
 * the first message, of which a flagged one has the bytes; else it has neither.
 *
 * If this device and all its peers say so, the run is *whole*: each channel does one pass, number c
 * for channel c, in which a chunk is one slice, and every slice is a zero-copy descriptor or empty.
 * No slice is released before the lane has done all its MOVEs. Otherwise greetings are released,
 * and the run goes as if there had been none. A host that finds a greeting releases it and looks
 * for the next slice. */
#define WEFT_FIFO_GREETS (UINT64_C(1) << 24)
#define WEFT_FIFO_WHOLE (UINT64_C(2) << 24)

/* A window as this process accesses it. */
typedef struct weft_lanes_window {
    uint8_t *base;
    uint64_t bytes; /* 0: not open */
} weft_lanes_window_t;

/* One end of a FIFO. Its three parts may lie apart: the slots of a port that carries messages
 * belong to the transport, those between two devices lie in a device (draft.weft.kernel.ipc/0). */
typedef struct weft_lanes_port {
    size_t size;
    uint8_t *fifo;       /* control block and headers, host memory as mapped by this process */
    uint64_t fifo_bytes; /* bytes for the device to register: `fifo`, and `lengths` if not NULL */
    uint8_t *payloads;   /* payload of slot 0 */
    uint64_t stride;     /* bytes from slot to slot */
    uint64_t slot_bytes; /* room of a slot */
    uint32_t slots;      /* power of two */
    uint32_t sends;      /* 1: this end sends */
    /* 1: `payloads` is memory that this kernel exported or imported. 0: it is host memory, which
     * the device registers. */
    uint32_t on_device;
    /* NULL, or one word for each slot: the sender stores the payload's bytes there before it stores
     * the sequence. */
    uint32_t *lengths;
    /* 1: `payloads` is memory of this device that an adapter reads and writes
     * (draft.weft.kernel.gpudirect/0); `on_device` is 1 too. The 64 bytes before each payload are
     * the message header: the signature, then the payload's bytes as a uint64_t. The sender writes
     * the header, the receiver compares the signature there. Payloads of any length are in the
     * slot. Of the headers in `fifo` only the sequences are used. */
    uint32_t gpudirect;
    uint32_t reserved; /* 0 */
    /* NULL, or the words of devices in memory that this kernel exported or imported: the flagged
     * header of slot 0, and `released`. Both or none; zero at first. */
    uint8_t *headers;
    uint64_t *released;
    weft_lanes_flagged_t words, lines; /* with `headers`; zero at first */
} weft_lanes_port_t;

/* An end of a FIFO that the device knows. It holds the number of the next slice. Each run continues
 * where the run before it stopped, in the order of the runs and without the host. */
typedef struct weft_lanes_endpoint weft_lanes_endpoint_t;

/* Programs
 * -------------------------------------------------------------------------------------- */

enum {
    WEFT_LANES_MOVE = 0, /* moves[n] */
    WEFT_LANES_PAR = 1,  /* the next n words, all MOVE, progress together */
    WEFT_LANES_LOOP = 2, /* n iterations; mate_or_mask is the pc of END */
    WEFT_LANES_END = 3,  /* mate_or_mask is the pc of LOOP */
    WEFT_LANES_BAR = 4,  /* barrier; mate_or_mask is a mask of lanes */
    WEFT_LANES_STOP = 5
};

typedef struct weft_lanes_code {
    uint32_t opcode; /* WEFT_LANES_* */
    uint32_t n;
    uint64_t mate_or_mask; /* LOOP, END: pc in the lane; BAR: lanes */
} weft_lanes_code_t;

/* `kind` is a weft_operand_kind_t. In iteration i of its LOOP, for the j-th chunk of the MOVE, an
 * operand in a buffer names chunk (index + stride * i + j) mod `chunks`. For a port, `index` is the
 * port. */
typedef struct weft_lanes_operand {
    uint32_t kind;
    uint32_t index;
    int32_t stride;
    uint32_t chunks; /* chunks of the buffer */
} weft_lanes_operand_t;

/* Flag of a MOVE: one more operand follows its sources, and the length of the MOVE is that of the
 * operand's chunk. Without the flag the first operand in IN or OUT gives the length, and without
 * such an operand chunk 0 of IN does. */
#define WEFT_LANES_LIKE 0x80u

/* Flags of a MOVE that sends memory which no other MOVE of the pass writes: its first destination
 * in OUT or, without one, its only source. If the call allows it (weft_lanes_call_t.stable), its
 * slices may be zero-copy descriptors of that memory. Such a run completes only when all of them
 * have been released. */
#define WEFT_LANES_STABLE 0x40u          /* in calls whose IN and OUT are two buffers */
#define WEFT_LANES_STABLE_IN_PLACE 0x20u /* in calls in place */

typedef struct weft_lanes_move {
    uint32_t operand; /* first destination in operands[]; the sources follow the destinations */
    uint32_t after;   /* first wait in afters[] */
    uint32_t cnt;     /* chunks, at least 1 */
    uint8_t ndst, nsrc, nafter;
    uint8_t flags; /* WEFT_MOVE_FINAL, WEFT_LANES_LIKE, WEFT_LANES_STABLE, ... */
} weft_lanes_move_t;

/* A wait of a MOVE: word `pc` of `lane` has finished in the same pass; in a LOOP, its last
 * iteration has. A PAR begins when the waits of all its MOVEs are over, and finishes as one. */
typedef struct weft_lanes_after {
    uint32_t lane, pc;
} weft_lanes_after_t;

/* The plan of one rank. The core owns the arrays and may free them after prepare(). */
typedef struct weft_lanes_program {
    size_t size;
    uint32_t nlanes, nports, ncode, nmoves, noperands, nafters;
    const uint32_t *lane; /* nlanes + 1 entries: start of each lane in code[], base of its pcs */
    const weft_lanes_code_t *code;
    const weft_lanes_move_t *moves;
    const weft_lanes_operand_t *operands;
    const weft_lanes_after_t *afters;
    uint32_t largest_par; /* most MOVEs of one lane that progress together, at least 1 */
    uint32_t tmp_chunks;  /* the device provides scratch of tmp_chunks * chunk elements */
    uint32_t nranks;      /* divisor of AVG */
    uint32_t dtype, op;   /* weft_dtype_t, weft_op_t */
    uint32_t elem;        /* bytes of an element */
    uint32_t pre;         /* 1: sources in IN are multiplied by the scalar first */
    uint32_t final;       /* 1: MOVEs with WEFT_MOVE_FINAL combine with WEFT_COMBINE_FINAL */
    uint32_t pairs;       /* 1: a vector collective whose counts two ranks know; see below */
    /* Copies of all lanes, at least 1. Copy c has ports, scratch, waits and barriers of its own and
     * does the passes c, c + channels, ... Its port p has the number c * nports + p in the call's
     * endpoints and in weft_lanes_state_t. */
    uint32_t channels;
    /* Not 0: a bundle, that many sends and receives. It differs from a collective in four things.
     * An operand in IN or OUT names a message of the call by `index`: one in IN is sent, one in OUT
     * received, and a MOVE from IN to OUT has both ends of what this rank sends to itself. A
     * message is a row of chunks of its own length (weft_lanes_message_t), chunk 0 also if there is
     * nothing in it. `cnt` MOVEs in as many lanes share it; `after` is the number of a MOVE among
     * them, and it moves the chunks after, after + cnt, ... The operand of a port names `stride`
     * ports from `index` on, a power of two, and chunk c goes through port c mod `stride` of them;
     * `cnt` divides `stride`. Every slice has the signature of its message. There is one pass, of
     * one channel, whose chunks are slices. */
    uint32_t messages;
    /* 1: the ranks can meet, which all of them know. The program then has one lane, and a port to
     * and from each other rank. The first message to each is a chunk of IN, in the order of the
     * lane, which waits for nothing before. A run that sends everything from stable memory may
     * be whole. */
    uint32_t meets;
    /* Slices of up to `words_most` bytes are worth flagged words, longer ones of up to `lines_most`
     * flagged lines, wherever a port has them; words take the place of lines where it has no lines.
     * Longer ones go through slots. 0: none are. */
    uint32_t words_most, lines_most;
    uint32_t reserved; /* 0 */
} weft_lanes_program_t;

/* Segmentation of the blocks; lengths in elements of one block. Chunk c of IN or OUT is piece c mod
 * k of block c / k. In pass t it starts at element t * pass + (c mod k) * chunk of the block and is
 * clipped at the block's end. A chunk travels as `slices` slices of `slice` elements. The last
 * slices may be shorter or empty; empty slices are sent too. */
typedef struct weft_lanes_segmentation {
    uint64_t count, slice, chunk, pass, passes;
    uint32_t slices, k;
} weft_lanes_segmentation_t;

/* Blocks of a vector collective, in elements. All arrays are NULL for other collectives, where
 * every block has segmentation.count elements and block b starts at b * count. With `pairs`, the
 * second 64-bit word of a slice's signature is the count of its block, and chunks that are empty in
 * a pass are left out, except in pass 0. */
typedef struct weft_lanes_vectors {
    const uint64_t *in_counts, *in_displs, *out_counts, *out_displs;
} weft_lanes_vectors_t;

/* A message of a bundle. */
typedef struct weft_lanes_message {
    void *memory;   /* that is sent, or that receives; not aligned to anything */
    uint64_t count; /* elements */
    uint64_t slice; /* elements of a chunk, at most those of a slice; the last one may be shorter */
    uint64_t signature[3];
} weft_lanes_message_t;

/* The arguments of one run. start() copies all of them. */
typedef struct weft_lanes_call {
    size_t size;
    const void *in;
    void *out;
    weft_lanes_segmentation_t segmentation;
    weft_lanes_vectors_t vectors;
    uint32_t nin, nout;    /* entries of the vectors */
    uint64_t signature[3]; /* signature of every slice */
    uint64_t scalar;       /* its first `elem` bytes, little-endian */
    const void *scalar_at; /* not NULL: the run reads its scalar there when it begins */
    /* Not NULL: when the run begins it copies `staging_bytes` bytes of IN to this memory of the
     * device and reads IN there. */
    void *staging;
    uint64_t staging_bytes;
    weft_lanes_endpoint_t *const *ends; /* endpoints of the ports of all channels */
    uint64_t stable; /* flag of the MOVEs that may send zero-copy descriptors; 0: none may */
    const weft_lanes_message_t *messages; /* of a bundle, which has no `in`, `out`, `signature` */
    uint64_t nmessages;                   /* as many as its program says; else 0 */
} weft_lanes_call_t;

/* The state of a run. */
typedef struct weft_lanes_state {
    size_t size;
    uint64_t moved;   /* slices done so far; grows while anything progresses */
    int32_t blocked;  /* port that a lane waits for, or -1; successive calls visit all lanes */
    int32_t mismatch; /* ERR_MISMATCH: port whose slice has another signature; ERR_PROTO: port whose
                         zero-copy descriptor is invalid; else -1 */
    uint64_t mine[3], theirs[3]; /* ERR_MISMATCH: both signatures */
    uint32_t begun;              /* 1: the device has begun the run */
    uint32_t reserved;
    uint64_t zero_copied; /* descriptors sent in all runs of the handle that have ended */
    uint64_t whole;       /* blocks that have ended whole runs of the handle */
} weft_lanes_state_t;

typedef struct weft_lanes_handle weft_lanes_handle_t; /* a prepared program */

/* The order of one communicator on the device. Its runs and host waits execute one after another,
 * in the order of their start and whatever their streams. Queues do not wait for each other. */
typedef struct weft_lanes_queue weft_lanes_queue_t;

/* One run of a launch. */
typedef struct weft_lanes_job {
    weft_lanes_handle_t *handle;
    const weft_lanes_call_t *call;
    uint64_t run; /* out: number per handle, from 1; 0: the stream captures it */
} weft_lanes_job_t;

/* Streams. A stream is passed as the address of the device's handle for it (cudaStream_t *), so
 * that a handle of 0 is a stream too. NULL means a stream of the plugin's own, in which a run
 * starts at once. While a stream captures, work enqueued into it executes with every launch of the
 * graph. Such runs have the number 0, are polled together as run 0, and never complete. */
typedef struct weft_kernel_lanes {
    size_t size;

    /* Prepares a program. The core owns the handle until release(). Errors: ERR_UNSUPPORTED with
     * the reason recorded (the core then runs the program on the host), ERR_RESOURCE. Blocking: no.
     * Thread: [progress]. */
    weft_status_t (*prepare)(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                             weft_lanes_handle_t **handle_p);

    /* Opens an endpoint; its next slice is slice 0. The core owns it until endpoint_close(). The
     * memory of the port outlives it.
     * Errors: ERR_ARG, ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: while memory is registered. Thread: [progress]. */
    weft_status_t (*endpoint_open)(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                   weft_lanes_endpoint_t **endpoint_p);

    /* Closes an endpoint that no run uses any more. NULL is allowed.
     * Blocking: briefly. Thread: [progress]. */
    void (*endpoint_close)(weft_lanes_endpoint_t *endpoint);

    /* endpoint_next() returns the number of the next slice. endpoint_seek() sets it, after the host
     * has moved slices itself. No run that uses the endpoint may execute; runs may wait in the
     * queue. Blocking: no. Thread: [progress]. */
    uint64_t (*endpoint_next)(const weft_lanes_endpoint_t *endpoint);
    void (*endpoint_seek)(weft_lanes_endpoint_t *endpoint, uint64_t next);

    /* Opens a queue. The core owns it until queue_close(). Before that its runs have ended and its
     * host waits are cancelled.
     * Errors: ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: briefly. Thread: [progress]. */
    weft_status_t (*queue_open)(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p);
    void (*queue_close)(weft_lanes_queue_t *queue);

    /* Enqueues runs into a stream, one after another, in one launch: all of them, or none on error.
     * Errors: ERR_UNSUPPORTED (the device cannot access a buffer; the text says which one and why;
     * the host can run the program), ERR_ARG (a slot is smaller than a slice; a stream of another
     * device), ERR_RESOURCE, ERR_STATE (the capture was invalidated), ERR_SYSTEM.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*start)(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                           uint32_t njobs);

    /* Stores whether the stream captures.
     * Errors: ERR_ARG (a stream of another device), ERR_STATE (the capture was invalidated),
     * ERR_SYSTEM.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*is_capturing)(weft_lanes_queue_t *queue, void *const *stream,
                                  bool *capturing_p);

    /* Fills state->size bytes about a run; about the graph launch that executes, if any, for run 0.
     * Returns OK when the run has completed (run 0: nothing has failed so far), or IN_PROGRESS.
     * Errors: ERR_MISMATCH, ERR_PROTO (an invalid zero-copy descriptor), ERR_ABORTED (after
     * abort(), and for runs that follow a failed run of the handle), ERR_SYSTEM (the device
     * failed). Blocking: no. Thread: [progress]. */
    weft_status_t (*poll)(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state);

    /* Tells all runs of the handle to stop. poll() returns ERR_ABORTED within 100 ms of the begin
     * of each. The handle may be started again after the last of them has ended. Blocking: no.
     * Thread: [progress]. */
    void (*abort)(weft_lanes_handle_t *handle);

    /* Stops the runs that execute and frees the handle. NULL is allowed.
     * Blocking: at most 100 ms. Thread: [progress]. */
    void (*release)(weft_lanes_handle_t *handle);

    /* Host waits. At a host wait a stream stops until the host releases it. The host does there the
     * work that the device cannot do. At most one host wait of a queue is reached at a time. */

    /* Enqueues a host wait with this number into the stream. *captured_p: the stream captures, so
     * the wait comes with every launch of the graph. Errors: as start(). Blocking: no. Thread:
     * [progress]. */
    weft_status_t (*host_wait_enqueue)(weft_lanes_queue_t *queue, void *const *stream,
                                       uint64_t number, bool *captured_p);

    /* Returns whether a stream stands at a host wait, and stores the number of the wait.
     * Blocking: no. Thread: [progress]. */
    bool (*host_wait_reached)(weft_lanes_queue_t *queue, uint64_t *number_p);

    /* Releases the host wait that was reached.
     * Blocking: no. Thread: [progress]. */
    void (*host_wait_release)(weft_lanes_queue_t *queue);

    /* Releases all host waits of the queue, present and future.
     * Blocking: no. Thread: [any]. */
    void (*host_wait_cancel)(weft_lanes_queue_t *queue);

    /* Optional: names the windows that the zero-copy descriptors of an endpoint may use, an array
     * of WEFT_LANES_WINDOWS entries by number. For a sending endpoint these are the windows of this
     * rank that the peer has open, else the windows of the peer that this rank has open. Captured
     * runs see them from the next launch on. Without this function the device sends no descriptors.
     * No run that uses the endpoint may execute. Errors: ERR_RESOURCE, ERR_SYSTEM. Blocking:
     * briefly. Thread: [progress]. */
    weft_status_t (*endpoint_windows)(weft_lanes_endpoint_t *endpoint,
                                      const weft_lanes_window_t *windows);

    /* Optional: tells how many ranks of the job use the device of this instance, this one included,
     * in whatever processes. Lanes of all of them have to be resident at once. Called at most once,
     * before the first prepare(); afterwards props() may tell another number of channels. Errors:
     * ERR_UNSUPPORTED (not even one block of each rank fits). Blocking: no. Thread: [control]. */
    weft_status_t (*share_device)(weft_kernel_t *kernel, uint32_t ranks);
} weft_kernel_lanes_t;

#ifdef __cplusplus
}
#endif
#endif
