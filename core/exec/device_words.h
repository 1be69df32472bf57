/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of devices. Where the payloads of a mapped FIFO lie on a device, a device that sends
 * stores headers into memory of the receiver's device, and one that receives stores what it has
 * released into memory of the sender's. So each polls memory of its own. Hosts keep to the words in
 * shared memory. Either end may be run by its host or by its device, so both look at both: this
 * file is the host's side. The device's is plugins/kernel-cuda/device/device_port.h.
 *
 * The host reads words of its own device by the kernel's function. That takes microseconds, so it
 * looks less and less often while it finds nothing. What a device sent in flagged units it unpacks
 * into memory of its own. */
#ifndef WEFT_EXEC_DEVICE_WORDS_H
#define WEFT_EXEC_DEVICE_WORDS_H

#include "core/exec/payload_location.h"

typedef struct weft_device_words {
    const weft_payload_location_t *location;
    uint8_t *headers;   /* NULL: there are no such words */
    uint64_t *released; /* the same */
    uint64_t seen;      /* send: what `released` said last */
    uint64_t look_at;   /* when the host looks again */
    uint64_t pause_ns;  /* from the last look to the next */
    bool lost;          /* the device cannot be read: no more looks */
    /* Receive: the header of the message that was found last. A copy, as the words in shared
     * memory are the sender's. */
    weft_slot_header_t header;
    uint64_t copied;   /* 1 more than the number of that message; 0: none */
    uint8_t *unpacked; /* NULL, or where payloads in flagged units are unpacked; of this object */
    uint64_t room;     /* of it */
    uint64_t holds;    /* bytes of that message's payload that are there; 0: it is in its slot */
} weft_device_words_t;

/* Takes the words of a location that is settled, which outlives them. */
void weft_device_words_open(weft_device_words_t *words, const weft_payload_location_t *location);
void weft_device_words_close(weft_device_words_t *words);

/* Returns whether the peer's device has sent message `next`, in slot `slot`. Then its header is
 * words->header, and its payload may be in words->unpacked. */
bool weft_device_words_receive(weft_device_words_t *words, uint64_t next, uint32_t slot);

/* Returns whether the payload of message `next`, of that length, is in words->unpacked. */
static inline bool weft_device_words_hold(const weft_device_words_t *words, uint64_t next,
                                          uint64_t bytes)
{
    return words->copied == next + 1 && words->holds > 0 && bytes <= words->room;
}

/* Returns how many messages the peer has released, if its host says `released`. */
uint64_t weft_device_words_released(weft_device_words_t *words, uint64_t released);

#endif
