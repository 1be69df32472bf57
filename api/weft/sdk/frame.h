/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: messages over a byte stream. Each message is a header of WEFT_FRAME_BYTES bytes and its
 * payload. The header begins with a mark and carries the number of the message, so bytes that are
 * none of ours, and a stream that has lost or doubled some, are found at the next header.
 *
 * Nothing here allocates, blocks, locks or sets an error. Thread: [any]. */
#ifndef WEFT_SDK_FRAME_H
#define WEFT_SDK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_FRAME_BYTES 16u /* of a header: mark, number and length, little-endian */
#define WEFT_FRAME_TEXT 128u /* bytes of the longest reason, with its zero byte */

/* Writes the header of message `number`, which has `bytes` bytes. Numbers wrap. */
void weft_frame_write(uint8_t wire[WEFT_FRAME_BYTES], uint32_t number, uint64_t bytes);

/* Reads a header that should be of message `number`, of at most `room` bytes, and stores the bytes
 * of the message. Returns false if it is something else, and writes into `why` what was found and
 * what was expected. */
bool weft_frame_read(const uint8_t wire[WEFT_FRAME_BYTES], uint32_t number, uint64_t room,
                     uint64_t *bytes_p, char why[WEFT_FRAME_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
