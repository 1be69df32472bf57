/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreeing where payloads lie: one state machine for each end. */
#include "core/exec/payload_location.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

void weft_payload_location_init(weft_payload_location_t *location, const weft_sharing_t *sharing,
                                weft_fifo_handshake_t *handshake, uint32_t peer, bool sends,
                                uint64_t bytes)
{
    *location = (weft_payload_location_t){
        .sharing = *sharing, .handshake = handshake, .peer = peer, .sends = sends, .bytes = bytes};
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
    const weft_sharing_t *s = &location->sharing;
    uint8_t token[WEFT_IPC_HANDLE_BYTES] = {0};
    if (s->share->export_alloc(s->kernel, location->bytes, &location->memory, token) != WEFT_OK) {
        location->memory = NULL;
        location_log_host(location, WEFT_LOG_INFO);
        return location_say(location, WEFT_RECEIVER_HOST, true);
    }
    memcpy(location->handshake->token, token, sizeof token);
    return location_say(location, WEFT_RECEIVER_MEMORY, false);
}

/* The sender did not open the memory, so nobody has it. */
static weft_status_t location_take_back(weft_payload_location_t *location)
{
    location->sharing.share->export_free(location->sharing.kernel, location->memory);
    location->memory = NULL;
    location->settled = true;
    return WEFT_OK;
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
    return location_say(location, WEFT_SENDER_WANTS, false);
}

static weft_status_t location_say_has(weft_payload_location_t *location)
{
    const weft_sharing_t *s = &location->sharing;
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
    memcpy(token, location->handshake->token, sizeof token);
    if (s->share->import(s->kernel, token, location->bytes, &location->memory) != WEFT_OK) {
        location->memory = NULL;
        location_log_host(location, WEFT_LOG_INFO);
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    return location_say(location, WEFT_SENDER_HAS, true);
}

static weft_status_t location_step_sender(weft_payload_location_t *location)
{
    if (location->sharing.share == NULL) {
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    uint32_t heard = location_hear(location);
    if (heard == WEFT_RECEIVER_HOST) {
        return location_say(location, WEFT_SENDER_HOST, true);
    }
    if (location->said == WEFT_SENDER_SILENT) {
        return heard == WEFT_RECEIVER_SILENT  ? WEFT_IN_PROGRESS
               : heard == WEFT_RECEIVER_PLACE ? location_say_wants(location)
                                              : location_wrong(location, heard);
    }
    return heard == WEFT_RECEIVER_PLACE    ? WEFT_IN_PROGRESS /* WANTS */
           : heard == WEFT_RECEIVER_MEMORY ? location_say_has(location)
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

bool weft_payload_location_left(const weft_payload_location_t *location)
{
    uint32_t heard = location_hear(location);
    return heard == WEFT_SENDER_HOST || heard == WEFT_SENDER_CLOSED;
}

void weft_payload_location_close(weft_payload_location_t *location)
{
    const weft_sharing_t *s = &location->sharing;
    if (location->memory == NULL) {
        return;
    }
    if (location->sends) {
        s->share->unimport(s->kernel, location->memory);
        (void)location_say(location, WEFT_SENDER_CLOSED, true);
    } else {
        s->share->export_free(s->kernel, location->memory);
    }
    location->memory = NULL;
}
