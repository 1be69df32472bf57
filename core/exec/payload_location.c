/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreeing where payloads lie: one state machine for each end. */
#include "core/exec/payload_location.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

#define CREDITS_AT WEFT_IPC_TRIED_BYTES
#define CREDITS_BYTES (CREDITS_AT + WEFT_LINE)

void weft_payload_location_init(weft_payload_location_t *location, const weft_sharing_t *sharing,
                                weft_fifo_handshake_t *handshake, uint32_t peer, bool sends,
                                uint32_t slots, uint64_t slot_bytes)
{
    *location = (weft_payload_location_t){.sharing = *sharing,
                                          .handshake = handshake,
                                          .peer = peer,
                                          .sends = sends,
                                          .slots = slots,
                                          .bytes = slots * slot_bytes};
}

/* Headers lie behind the payloads, and behind what import() may try. */
static uint64_t location_headers_at(const weft_payload_location_t *location)
{
    return (location->bytes + WEFT_IPC_TRIED_BYTES - 1) / WEFT_IPC_TRIED_BYTES *
           WEFT_IPC_TRIED_BYTES;
}

/* The memory for payloads of up to `most` bytes in units that hold `data` bytes in each 128. */
static weft_lanes_flagged_t location_flagged(const weft_payload_location_t *location, uint64_t most,
                                             uint64_t data)
{
    uint64_t slot_bytes = location->bytes / location->slots;
    uint64_t room = ((slot_bytes < most ? slot_bytes : most) + 7) / 8 * 8;
    return (weft_lanes_flagged_t){.stride = (room + data - 1) / data * WEFT_FIFO_FLAGGED_LINE_BYTES,
                                  .room = room};
}

static weft_lanes_flagged_t location_words(const weft_payload_location_t *location)
{
    return location_flagged(location, WEFT_FIFO_WORDS_ROOM, 64);
}

static weft_lanes_flagged_t location_lines(const weft_payload_location_t *location)
{
    return location_flagged(location, WEFT_FIFO_LINES_ROOM, 120);
}

/* Behind the headers. */
static uint64_t location_words_at(const weft_payload_location_t *location)
{
    return location_headers_at(location) + location->slots * sizeof(weft_flagged_header_t);
}

static uint64_t location_lines_at(const weft_payload_location_t *location)
{
    return location_words_at(location) + location->slots * location_words(location).stride;
}

static uint64_t location_memory_bytes(const weft_payload_location_t *location)
{
    return location_lines_at(location) + location->slots * location_lines(location).stride;
}

static bool location_is_there(const weft_payload_location_t *location)
{
    return location->settled && location->memory != NULL;
}

weft_lanes_flagged_t weft_payload_location_words(const weft_payload_location_t *location)
{
    weft_lanes_flagged_t words = {.memory = NULL};
    if (location_is_there(location)) {
        words = location_words(location);
        words.memory = (uint8_t *)location->memory + location_words_at(location);
    }
    return words;
}

weft_lanes_flagged_t weft_payload_location_lines(const weft_payload_location_t *location)
{
    weft_lanes_flagged_t lines = {.memory = NULL};
    if (location_is_there(location)) {
        lines = location_lines(location);
        lines.memory = (uint8_t *)location->memory + location_lines_at(location);
    }
    return lines;
}

uint8_t *weft_payload_location_headers(const weft_payload_location_t *location)
{
    return location_is_there(location) ? (uint8_t *)location->memory + location_headers_at(location)
                                       : NULL;
}

uint64_t *weft_payload_location_released(const weft_payload_location_t *location)
{
    return location_is_there(location)
               ? (uint64_t *)(void *)((uint8_t *)location->credits + CREDITS_AT)
               : NULL;
}

/* Stores with release: the peer that sees the word sees what was written before. */
static weft_status_t location_say(weft_payload_location_t *location, uint32_t word, bool settled)
{
    location->said = word;
    location->settled = settled;
    atomic_store_explicit(location->sends ? &location->handshake->sender
                                          : &location->handshake->receiver,
                          word, memory_order_release);
    return settled ? WEFT_OK : WEFT_IN_PROGRESS;
}

static uint32_t location_hear(const weft_payload_location_t *location)
{
    return atomic_load_explicit(location->sends ? &location->handshake->receiver
                                                : &location->handshake->sender,
                                memory_order_acquire);
}

static weft_status_t location_wrong(const weft_payload_location_t *location, uint32_t heard)
{
    weft_status_t status = weft_fail(WEFT_ERR_PROTO, 0,
                                     "rank %u says %" PRIu32
                                     " about the location of slots, which is no answer to %" PRIu32,
                                     location->peer, heard, location->said);
    weft_error_record()->peer = (int32_t)location->peer;
    return status;
}

/* The kernel could not share the memory; the error record says why. */
static void location_log_host(const weft_payload_location_t *location, weft_log_level_t level)
{
    weft_log(level, "location", "the slots %s rank %u stay on the host: %s",
             location->sends ? "to" : "from", location->peer, weft_error_record()->text);
}

/* Memory of this end --------------------------------------------------------------------------- */

/* Allocates memory for the peer, whose words from `words_at` on are zero, and writes its token. */
static weft_status_t location_export(const weft_payload_location_t *location, uint64_t bytes,
                                     uint64_t words_at, void **memory_p,
                                     uint8_t token[WEFT_IPC_HANDLE_BYTES])
{
    const weft_sharing_t *s = &location->sharing;
    uint8_t mine[WEFT_IPC_HANDLE_BYTES] = {0};
    weft_status_t status =
        s->share->export_alloc(s->kernel, bytes, bytes - words_at, memory_p, mine);
    if (status != WEFT_OK) {
        *memory_p = NULL;
        return status;
    }
    memcpy(token, mine, sizeof mine);
    return WEFT_OK;
}

/* Opens the memory of the peer. */
static weft_status_t location_import(const weft_payload_location_t *location, const uint8_t *token,
                                     uint64_t bytes, void **memory_p)
{
    const weft_sharing_t *s = &location->sharing;
    uint8_t
        theirs[WEFT_IPC_HANDLE_BYTES]; /* a copy: the peer can write shared memory at any time */
    memcpy(theirs, token, sizeof theirs);
    weft_status_t status = s->share->import(s->kernel, theirs, bytes, memory_p);
    if (status != WEFT_OK) {
        *memory_p = NULL;
    }
    return status;
}

/* What this end allocated, and what the peer did. */
static void **location_mine(weft_payload_location_t *location)
{
    return location->sends ? &location->credits : &location->memory;
}

static void **location_theirs(weft_payload_location_t *location)
{
    return location->sends ? &location->memory : &location->credits;
}

static void location_free(weft_payload_location_t *location)
{
    void **memory = location_mine(location);
    if (*memory != NULL) {
        location->sharing.share->export_free(location->sharing.kernel, *memory);
        *memory = NULL;
    }
}

/* Returns whether there was anything to close. */
static bool location_unimport(weft_payload_location_t *location)
{
    void **memory = location_theirs(location);
    if (*memory == NULL) {
        return false;
    }
    location->sharing.share->unimport(location->sharing.kernel, *memory);
    *memory = NULL;
    return true;
}

/* The receiver --------------------------------------------------------------------------------- */

static weft_status_t location_say_place(weft_payload_location_t *location)
{
    const weft_sharing_t *s = &location->sharing;
    if (s->share == NULL) {
        return location_say(location, WEFT_RECEIVER_HOST, true);
    }
    uint8_t bytes[WEFT_IPC_LOCATION_BYTES] = {0};
    s->share->location(s->kernel, bytes);
    memcpy(location->handshake->place, bytes, sizeof bytes);
    return location_say(location, WEFT_RECEIVER_PLACE, false);
}

static weft_status_t location_say_memory(weft_payload_location_t *location)
{
    weft_fifo_handshake_t *handshake = location->handshake;
    weft_status_t status =
        location_import(location, handshake->credits, CREDITS_BYTES, &location->credits);
    if (status == WEFT_OK) {
        status =
            location_export(location, location_memory_bytes(location),
                            location_headers_at(location), &location->memory, handshake->token);
    }
    if (status == WEFT_OK) {
        return location_say(location, WEFT_RECEIVER_MEMORY, false);
    }
    location_log_host(location, WEFT_LOG_INFO);
    (void)location_unimport(location);
    return location_say(location, WEFT_RECEIVER_HOST, true);
}

/* The sender did not open the memory, so nobody has it. */
static weft_status_t location_take_back(weft_payload_location_t *location)
{
    location_free(location);
    (void)location_unimport(location);
    return location_say(location, WEFT_RECEIVER_CLOSED, true);
}

static weft_status_t location_step_receiver(weft_payload_location_t *location)
{
    uint32_t heard = location_hear(location);
    switch (location->said) {
    case WEFT_RECEIVER_SILENT:
        return location_say_place(location);
    case WEFT_RECEIVER_PLACE:
        return heard == WEFT_SENDER_SILENT  ? WEFT_IN_PROGRESS
               : heard == WEFT_SENDER_WANTS ? location_say_memory(location)
               : heard == WEFT_SENDER_HOST  ? location_say(location, WEFT_RECEIVER_HOST, true)
                                            : location_wrong(location, heard);
    default: /* MEMORY */
        location->settled = heard == WEFT_SENDER_HAS || heard == WEFT_SENDER_CLOSED;
        return location->settled            ? WEFT_OK
               : heard == WEFT_SENDER_WANTS ? WEFT_IN_PROGRESS
               : heard == WEFT_SENDER_HOST  ? location_take_back(location)
                                            : location_wrong(location, heard);
    }
}

/* The sender ----------------------------------------------------------------------------------- */

static weft_status_t location_say_wants(weft_payload_location_t *location)
{
    const weft_sharing_t *s = &location->sharing;
    uint8_t
        bytes[WEFT_IPC_LOCATION_BYTES]; /* a copy: the peer can write shared memory at any time */
    memcpy(bytes, location->handshake->place, sizeof bytes);
    if (s->share->can_access(s->kernel, bytes) != WEFT_OK) {
        location_log_host(location, WEFT_LOG_DEBUG);
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    if (location_export(location, CREDITS_BYTES, CREDITS_AT, &location->credits,
                        location->handshake->credits) != WEFT_OK) {
        location_log_host(location, WEFT_LOG_INFO);
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    return location_say(location, WEFT_SENDER_WANTS, false);
}

/* The receiver may have the credits open until it has heard HOST. */
static weft_status_t location_say_has(weft_payload_location_t *location)
{
    if (location_import(location, location->handshake->token, location_memory_bytes(location),
                        &location->memory) != WEFT_OK) {
        location_log_host(location, WEFT_LOG_INFO);
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    return location_say(location, WEFT_SENDER_HAS, true);
}

/* The receiver has no memory, or has left: it has no credits open. */
static weft_status_t location_give_up(weft_payload_location_t *location)
{
    location_free(location);
    return location_say(location, WEFT_SENDER_HOST, true);
}

static weft_status_t location_step_sender(weft_payload_location_t *location)
{
    if (location->sharing.share == NULL) {
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    uint32_t heard = location_hear(location);
    if (heard == WEFT_RECEIVER_HOST) {
        return location_give_up(location);
    }
    if (location->said == WEFT_SENDER_SILENT) {
        return heard == WEFT_RECEIVER_SILENT  ? WEFT_IN_PROGRESS
               : heard == WEFT_RECEIVER_PLACE ? location_say_wants(location)
                                              : location_wrong(location, heard);
    }
    return heard == WEFT_RECEIVER_PLACE    ? WEFT_IN_PROGRESS /* WANTS */
           : heard == WEFT_RECEIVER_MEMORY ? location_say_has(location)
           : heard == WEFT_RECEIVER_CLOSED ? location_give_up(location)
                                           : location_wrong(location, heard);
}

/* Both ----------------------------------------------------------------------------------------- */

weft_status_t weft_payload_location_step(weft_payload_location_t *location)
{
    uint32_t before;
    weft_status_t status = location->settled ? WEFT_OK : WEFT_IN_PROGRESS;
    do {
        before = location->said;
        if (status == WEFT_IN_PROGRESS) {
            status =
                location->sends ? location_step_sender(location) : location_step_receiver(location);
        }
    } while (status == WEFT_IN_PROGRESS && location->said != before);
    return status;
}

_Static_assert((int)WEFT_RECEIVER_HOST == (int)WEFT_SENDER_HOST &&
                   (int)WEFT_RECEIVER_CLOSED == (int)WEFT_SENDER_CLOSED,
               "either end leaves with the same words");

bool weft_payload_location_left(const weft_payload_location_t *location)
{
    const void *mine = location->sends ? location->credits : location->memory;
    uint32_t heard = mine != NULL ? location_hear(location) : WEFT_SENDER_CLOSED;
    return heard == WEFT_SENDER_HOST || heard == WEFT_SENDER_CLOSED;
}

bool weft_payload_location_leave(weft_payload_location_t *location)
{
    if (location_unimport(location)) {
        (void)location_say(location, WEFT_SENDER_CLOSED, true);
    }
    bool left = weft_payload_location_left(location);
    if (left) {
        location_free(location);
    }
    return left;
}

void weft_payload_location_close(weft_payload_location_t *location)
{
    (void)weft_payload_location_leave(location);
    location_free(location);
}
