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

/* In two reads: nothing says in which order one of them reads its bytes. */
static bool words_read_header(weft_device_words_t *words, uint64_t next, uint32_t slot)
{
    weft_slot_header_t *header = &words->header;
    const uint8_t *there = words->headers + slot * (uint64_t)sizeof *header;
    uint64_t sequence = 0, line[sizeof *header / sizeof(uint64_t)];
    const uint8_t *bytes = (const uint8_t *)line;
    if (!words_read(words, &sequence, there, sizeof sequence) || sequence != next + 1 ||
        !words_read(words, line, there, sizeof line)) {
        return false;
    }
    memcpy(&header->signature, bytes + offsetof(weft_slot_header_t, signature),
           sizeof header->signature);
    memcpy(header->payload, bytes + offsetof(weft_slot_header_t, payload), sizeof header->payload);
    atomic_store_explicit(&header->sequence, sequence, memory_order_relaxed);
    words->copied = sequence;
    return true;
}

bool weft_device_words_receive(weft_device_words_t *words, uint64_t next, uint32_t slot)
{
    if (!words_are_due(words)) {
        return false;
    }
    bool found = words_read_header(words, next, slot);
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
