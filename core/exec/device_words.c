/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's looks at words on its device. */
#include "core/exec/device_words.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"

#define SHORT_NS (UINT64_C(20) * 1000)
#define LONG_NS WEFT_NS_PER_MS

static bool words_are_due(const weft_device_words_t *words)
{
    return !words->lost && weft_os_clock_ns() >= words->look_at;
}

static void words_note(weft_device_words_t *words, bool found)
{
    uint64_t longer = words->pause_ns < LONG_NS / 2 ? 2 * words->pause_ns : LONG_NS;
    words->pause_ns = found || words->pause_ns == 0 ? SHORT_NS : longer;
    words->look_at = weft_os_clock_ns() + words->pause_ns;
}

/* A device that fails is lost, which whatever else the rank does with it tells. Said once. */
static bool words_read(weft_device_words_t *words, void *to, const void *from, uint64_t bytes)
{
    const weft_sharing_t *s = &words->location->sharing;
    if (s->share->read(s->kernel, to, from, bytes) == WEFT_OK) {
        return true;
    }
    words->lost = true;
    weft_log(WEFT_LOG_ERROR, "port", "cannot look for messages of rank %u: %s",
             words->location->peer, weft_error_record()->text);
    return false;
}

void weft_device_words_open(weft_device_words_t *words, const weft_payload_location_t *location)
{
    *words = (weft_device_words_t){.location = location,
                                   .headers = weft_payload_location_headers(location),
                                   .released = weft_payload_location_released(location)};
}

void weft_device_words_close(weft_device_words_t *words)
{
    weft_os_free(words->unpacked);
    words->unpacked = NULL;
}

/* Units of `unit` words, the last of which is their flag. */
static bool words_are_flagged(const uint64_t *at, uint64_t units, uint32_t unit, uint64_t flag)
{
    bool all = true;
    for (uint64_t u = 0; u < units; u++) {
        all = all && at[u * unit + unit - 1] == flag;
    }
    return all;
}

/* Reads units that are all there, or returns false. Twice: nothing says in which order one read
 * reads its bytes, so that the data may be older than the flag beside it. */
static bool words_read_units(weft_device_words_t *words, uint64_t *to, const uint8_t *there,
                             uint64_t units, uint32_t unit, uint64_t flag)
{
    const uint64_t bytes = units * unit * sizeof *to;
    return words_read(words, to, there, bytes) && words_are_flagged(to, units, unit, flag) &&
           words_read(words, to, there, bytes) && words_are_flagged(to, units, unit, flag);
}

/* Makes memory for a payload, and behind it for its units. */
static bool words_make_room(weft_device_words_t *words, const weft_lanes_flagged_t *lines,
                            const weft_lanes_flagged_t *flagged)
{
    uint64_t room = lines->room > flagged->room ? lines->room : flagged->room;
    uint64_t units = lines->stride > flagged->stride ? lines->stride : flagged->stride;
    if (words->unpacked == NULL) {
        words->unpacked = weft_os_alloc(room + units, 0);
        words->room = room;
    }
    if (words->unpacked == NULL) {
        words->lost = true;
        weft_log(WEFT_LOG_ERROR, "port", "no memory for messages of rank %u",
                 words->location->peer);
    }
    return words->unpacked != NULL;
}

/* Unpacks the payload of the message whose header is here. A form that is none, or too long, leaves
 * it in its slot: a peer that lies can only spoil what it sends. */
static bool words_unpack(weft_device_words_t *words, uint64_t form, uint64_t next, uint32_t slot)
{
    const weft_lanes_flagged_t flagged = weft_payload_location_words(words->location);
    const weft_lanes_flagged_t lines = weft_payload_location_lines(words->location);
    const uint64_t how = form & ((1u << WEFT_FIFO_FORM_BITS) - 1),
                   bytes = form >> WEFT_FIFO_FORM_BITS;
    const weft_lanes_flagged_t *from = how == WEFT_FIFO_FORM_WORDS ? &flagged : &lines;
    const uint32_t unit = how == WEFT_FIFO_FORM_WORDS ? 2 : 16;
    const uint64_t data = (unit - 1) * sizeof(uint64_t), units = (bytes + data - 1) / data;
    words->holds = 0;
    if ((how != WEFT_FIFO_FORM_WORDS && how != WEFT_FIFO_FORM_LINES) || bytes > from->room) {
        return true;
    }
    if (!words_make_room(words, &lines, &flagged)) {
        return false;
    }
    uint64_t *at = (uint64_t *)(void *)(words->unpacked + words->room);
    if (!words_read_units(words, at, from->memory + slot * from->stride, units, unit, next + 1)) {
        return false;
    }
    for (uint64_t u = 0; u < units; u++) {
        uint64_t left = bytes - u * data;
        memcpy(words->unpacked + u * data, at + u * unit, left < data ? left : data);
    }
    words->holds = bytes;
    return true;
}

/* Reads header and payload of a message if all of it is here. */
static bool words_read_message(weft_device_words_t *words, uint64_t next, uint32_t slot)
{
    weft_slot_header_t *header = &words->header;
    weft_flagged_header_t flagged = {.word[0].flag = 0};
    uint64_t data[WEFT_FIFO_FLAGGED_HEADER_WORDS];
    const uint8_t *there = words->headers + slot * (uint64_t)sizeof flagged;
    bool found = words_read_units(words, &flagged.word[0].data, there,
                                  WEFT_FIFO_FLAGGED_HEADER_WORDS, 2, next + 1);
    for (uint32_t i = 0; i < WEFT_FIFO_FLAGGED_HEADER_WORDS; i++) {
        data[i] = flagged.word[i].data;
    }
    found = found && words_unpack(words, data[WEFT_FIFO_FLAGGED_HEADER_FORM], next, slot);
    memcpy(header->payload, data, sizeof header->payload);
    memcpy(&header->signature, &data[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE], sizeof header->signature);
    atomic_store_explicit(&header->sequence, next + 1, memory_order_relaxed);
    words->copied = found ? next + 1 : 0;
    return found;
}

bool weft_device_words_receive(weft_device_words_t *words, uint64_t next, uint32_t slot)
{
    if (!words_are_due(words)) {
        return false;
    }
    bool found = words_read_message(words, next, slot);
    words_note(words, found);
    return found;
}

uint64_t weft_device_words_released(weft_device_words_t *words, uint64_t released)
{
    uint64_t there = 0;
    if (words_are_due(words)) {
        bool found =
            words_read(words, &there, words->released, sizeof there) && there > words->seen;
        words->seen = found ? there : words->seen;
        words_note(words, found);
    }
    return words->seen > released ? words->seen : released;
}
