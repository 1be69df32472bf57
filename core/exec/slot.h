/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layout of FIFOs and messages. A FIFO lies in memory that two ranks share, or a rank and its
 * device. It has one producer and one consumer.
 *
 * Message n has header n mod headers, and slot n mod slots if it needs one. Every word has one
 * writer. `sequence` of a header is n + 1 once message n is complete: it is stored with release,
 * loaded with acquire, and never reset. `released` counts the messages that the consumer has
 * released. Nothing here is read-modify-written.
 *
 * A payload of up to 32 bytes travels in the flag's own cache line: one line transfer per message.
 * Between two hosts a payload of up to 288 bytes begins there and goes on in the lines behind it,
 * which the processor fetches ahead.
 *
 * Shared words are hostile input: indices come from private counters only, never from here. */
#ifndef WEFT_EXEC_SLOT_H
#define WEFT_EXEC_SLOT_H

#include <stdatomic.h>
#include <stddef.h>

#include <weft/plugin/draft/lanes.h>
#include <weft/plugin/draft/ipc.h>

#include "core/base/signature.h"

#define WEFT_LINE 64u
#define WEFT_SLOT_INLINE WEFT_FIFO_INLINE

typedef struct weft_slot_header {
    _Atomic uint64_t sequence;
    weft_signature_t signature;
    uint8_t payload[WEFT_SLOT_INLINE];
} weft_slot_header_t;

_Static_assert(sizeof(weft_slot_header_t) == WEFT_LINE, "one cache line");

/* Where no device uses the slots, lines for the rest of a payload lie behind each header. Two FIFOs
 * of four headers fill a page. */
#define WEFT_SLOT_NEAR_STRIDE (5 * WEFT_LINE)
#define WEFT_SLOT_NEAR (WEFT_SLOT_NEAR_STRIDE - WEFT_LINE + WEFT_SLOT_INLINE)

/* What both ends of a FIFO must agree on. */
typedef struct weft_fifo_shape {
    uint32_t slots; /* for payloads of every size; a power of two */
    /* A power of two, at least `slots`. Payloads of up to `small_bytes` need no slot, so as many of
     * them may be under way. */
    uint32_t headers;
    uint64_t slot_bytes;
    uint64_t small_bytes; /* 0: there is no area for small payloads, and a header for each slot */
} weft_fifo_shape_t;

/* As the sender's device stores them, whole: data, then a flag that says of which slice it is. */
typedef struct weft_flagged_word {
    uint64_t data, flag;
} weft_flagged_word_t;

_Static_assert(sizeof(weft_flagged_word_t) == WEFT_FIFO_FLAGGED_WORD_BYTES, "ABI");

typedef struct weft_flagged_header {
    weft_flagged_word_t word[WEFT_FIFO_FLAGGED_HEADER_WORDS];
} weft_flagged_header_t;

_Static_assert(sizeof(weft_flagged_header_t) == WEFT_FIFO_FLAGGED_HEADER_BYTES, "ABI");

/* Here the ends agree where the payloads lie, before the first message: see payload_location.h.
 * Place and token are the receiver's, whose device the payloads may lie in; `credits` is the token
 * of the sender's memory. They are written once, before the word of that end says so. */
typedef struct weft_fifo_handshake {
    _Atomic uint32_t receiver; /* weft_receiver_word_t */
    uint32_t pad0;
    uint8_t place[WEFT_IPC_LOCATION_BYTES]; /* of the receiver's device */
    uint8_t token[WEFT_IPC_HANDLE_BYTES];   /* of the payloads' memory */
    _Atomic uint32_t sender;                /* weft_sender_word_t */
    uint32_t pad1;
    uint8_t credits[WEFT_IPC_HANDLE_BYTES];
} weft_fifo_handshake_t;

_Static_assert(sizeof(weft_fifo_handshake_t) == 5 * WEFT_LINE,
               "whole lines, the sender's of its own");

/* Where the consumer takes messages in: the slices of one chunk, from message `first` − 1 on, go to
 * `offset` of its arena and behind (landing.h). By the consumer; readers look at `first`, which
 * grows from offer to offer, before and after. */
typedef struct weft_fifo_landing {
    _Atomic uint64_t first;         /* 0: nowhere */
    _Atomic uint64_t offset, bytes; /* of the chunk */
    _Atomic uint64_t slice;         /* bytes of all slices but the last */
    _Atomic uint64_t where, token;  /* the arena: weft_arena_offer_t */
    uint8_t pad[WEFT_LINE - 48];
} weft_fifo_landing_t;

/* Control words of one FIFO. Two lines apart: x86 prefetches pairs of lines. */
typedef struct weft_fifo_control {
    _Atomic uint64_t released; /* by the consumer */
    _Atomic uint64_t arena;    /* by the consumer: its answer to an offer (zero_copy.h) */
    _Atomic uint64_t report;   /* by the consumer: how long it copied a message (store_trials.h) */
    uint8_t pad0[WEFT_LINE - 24];
    weft_fifo_landing_t landing;
    _Atomic uint32_t consumer_sleeps; /* futex word: 1 while the consumer may sleep */
    uint8_t pad1[2 * WEFT_LINE - 4];
    _Atomic uint32_t producer_sleeps;
    _Atomic uint32_t withdrawn; /* by the producer: 1 when its memory must not be read any more */
    _Atomic uint32_t writes; /* by the producer: its process while it writes to a landing, or 0 */
    uint8_t pad2[2 * WEFT_LINE - 12];
    weft_fifo_handshake_t handshake;
} weft_fifo_control_t;

/* Devices that run plans know the layout by these numbers. */
_Static_assert(offsetof(weft_slot_header_t, sequence) == WEFT_FIFO_HEADER_SEQUENCE, "ABI");
_Static_assert(offsetof(weft_slot_header_t, signature) == WEFT_FIFO_HEADER_SIGNATURE, "ABI");
_Static_assert(offsetof(weft_slot_header_t, payload) == WEFT_FIFO_HEADER_PAYLOAD, "ABI");
_Static_assert(WEFT_FIFO_HEADER_PAYLOAD == WEFT_FIFO_ZERO_COPY_WINDOW, "ABI");
_Static_assert(offsetof(weft_fifo_control_t, released) == WEFT_FIFO_RELEASED, "ABI");
_Static_assert(offsetof(weft_fifo_control_t, consumer_sleeps) == WEFT_FIFO_CONSUMER_SLEEPS, "ABI");
_Static_assert(offsetof(weft_fifo_control_t, producer_sleeps) == WEFT_FIFO_PRODUCER_SLEEPS, "ABI");
_Static_assert(sizeof(weft_fifo_control_t) == WEFT_FIFO_HEADERS, "ABI");

/* Stands in front of every message of a transport. The payload follows at the next cache line. */
typedef struct weft_message_header {
    weft_signature_t signature;
    uint64_t bytes; /* of the payload */
    uint8_t pad[WEFT_LINE - 32];
} weft_message_header_t;

_Static_assert(sizeof(weft_message_header_t) == WEFT_LINE, "keeps payloads aligned");

static inline weft_message_header_t *weft_message_header(uint8_t *payload)
{
    return (weft_message_header_t *)(void *)payload - 1;
}

/* Returns the bytes of a FIFO: control, headers, payloads. */
static inline uint64_t weft_fifo_bytes(uint32_t slots, uint64_t slot_bytes)
{
    return sizeof(weft_fifo_control_t) +
           (uint64_t)slots * (sizeof(weft_slot_header_t) + slot_bytes);
}

/* Returns the bytes of control words and slot headers of a FIFO whose headers are `stride` bytes
 * apart. */
static inline uint64_t weft_fifo_head_bytes(uint32_t slots, uint64_t stride)
{
    return sizeof(weft_fifo_control_t) + slots * stride;
}

#endif
