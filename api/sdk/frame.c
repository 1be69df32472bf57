/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The header of a message in a byte stream. */
#include <weft/sdk/frame.h>

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint8_t mark[4] = {'w', 'f', 'r', '1'};

void weft_frame_write(uint8_t wire[WEFT_FRAME_BYTES], uint32_t number, uint64_t bytes)
{
    uint32_t wire_number = htole32(number);
    uint64_t wire_bytes = htole64(bytes);
    memcpy(wire, mark, sizeof mark);
    memcpy(wire + 4, &wire_number, sizeof wire_number);
    memcpy(wire + 8, &wire_bytes, sizeof wire_bytes);
}

bool weft_frame_read(const uint8_t wire[WEFT_FRAME_BYTES], uint32_t number, uint64_t room,
                     uint64_t *bytes_p, char why[WEFT_FRAME_TEXT])
{
    uint32_t found;
    uint64_t bytes;
    memcpy(&found, wire + 4, sizeof found);
    memcpy(&bytes, wire + 8, sizeof bytes);
    found = le32toh(found);
    bytes = le64toh(bytes);
    if (memcmp(wire, mark, sizeof mark) != 0) {
        snprintf(why, WEFT_FRAME_TEXT,
                 "found bytes %02x %02x %02x %02x, expected the header of message %" PRIu32,
                 wire[0], wire[1], wire[2], wire[3], number);
        return false;
    }
    if (found != number) {
        snprintf(why, WEFT_FRAME_TEXT, "found message %" PRIu32 ", expected message %" PRIu32,
                 found, number);
        return false;
    }
    if (bytes > room) {
        snprintf(why, WEFT_FRAME_TEXT,
                 "message %" PRIu32 " has %" PRIu64 " bytes, its receive has room for %" PRIu64,
                 number, bytes, room);
        return false;
    }
    *bytes_p = bytes;
    return true;
}
