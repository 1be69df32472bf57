/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the payloads of a mapped FIFO lie: in the shared memory behind its headers, or in memory
 * of the receiver's device, if the kernels of both ranks can share that (extension
 * draft.weft.kernel.ipc/0). Then devices have words of their own (device_words.h): headers behind
 * the payloads, and `released` in memory of the sender's device. The two ends agree in the FIFO's
 * handshake before the first message:
 *
 *   receiver                            sender
 *   PLACE: here is my device        →
 *                                   ←   WANTS: my device can write there; a token for its memory
 *   MEMORY: that is open; a token   →
 *                                   ←   HAS: that is open
 *
 * Each end may say HOST in place of any of these. The payloads then stay in the shared memory.
 * CLOSED follows when an end has closed what it had open: the other may free it. An end whose
 * kernel does not share says HOST at once and waits for nothing. Each end has one word, which only
 * grows. Whatever it says leaves only some answers to the other; all others are ERR_PROTO. Nothing
 * here blocks. Whoever waits for the port finds out that the other end is gone. */
#ifndef WEFT_EXEC_PAYLOAD_LOCATION_H
#define WEFT_EXEC_PAYLOAD_LOCATION_H

#include <stdbool.h>

#include "core/exec/slot.h"

typedef enum weft_receiver_word {
    WEFT_RECEIVER_SILENT = 0,
    WEFT_RECEIVER_PLACE = 1,
    WEFT_RECEIVER_MEMORY = 2,
    WEFT_RECEIVER_HOST = 3,
    WEFT_RECEIVER_CLOSED = 4 /* it had the sender's memory open, and has closed it */
} weft_receiver_word_t;

typedef enum weft_sender_word {
    WEFT_SENDER_SILENT = 0,
    WEFT_SENDER_WANTS = 1,
    WEFT_SENDER_HAS = 2,
    WEFT_SENDER_HOST = 3,
    WEFT_SENDER_CLOSED = 4 /* it had the memory open, and has closed it */
} weft_sender_word_t;

/* The kernel of this rank, as far as it shares memory. */
typedef struct weft_sharing {
    const weft_kernel_ipc_t *share; /* NULL: it does not */
    weft_kernel_t *kernel;
} weft_sharing_t;

/* One end. */
typedef struct weft_payload_location {
    weft_sharing_t sharing;
    weft_fifo_handshake_t *handshake;
    uint64_t bytes; /* of the payloads */
    uint32_t slots;
    void *memory;  /* of the payloads and headers: exported or imported, or NULL */
    void *credits; /* of the word for what is released: imported or exported, or NULL */
    uint32_t peer; /* rank */
    uint32_t said; /* this end's word */
    bool sends;
    bool settled; /* `memory` says where the payloads are */
} weft_payload_location_t;

void weft_payload_location_init(weft_payload_location_t *location, const weft_sharing_t *sharing,
                                weft_fifo_handshake_t *handshake, uint32_t peer, bool sends,
                                uint32_t slots, uint64_t slot_bytes);

/* Goes as far as the other end's word allows. OK: settled; IN_PROGRESS; ERR_PROTO, with the peer.
 * A reason to keep the payloads on the host, such as a device without memory, is no failure but a
 * line in the log. */
weft_status_t weft_payload_location_step(weft_payload_location_t *location);

/* The words of devices, if they are settled there; else NULL. */
uint8_t *weft_payload_location_headers(const weft_payload_location_t *location);
uint64_t *weft_payload_location_released(const weft_payload_location_t *location);

/* The memory for payloads in flagged words and lines, if it is settled there; else none. */
weft_lanes_flagged_t weft_payload_location_words(const weft_payload_location_t *location);
weft_lanes_flagged_t weft_payload_location_lines(const weft_payload_location_t *location);

/* Closes what this end has open, and tells the other end. Frees what this end exported if the other
 * end has closed it, and returns whether that is so. */
bool weft_payload_location_leave(weft_payload_location_t *location);

/* Returns whether the other end can no longer write to what this end exported, if it did. */
bool weft_payload_location_left(const weft_payload_location_t *location);

/* The same, whether or not the other end has closed it. */
void weft_payload_location_close(weft_payload_location_t *location);

#endif
