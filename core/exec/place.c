/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreeing on the place of payloads: one state machine for each end. */
#include "core/exec/place.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

void weft_place_init(weft_place_t *place, const weft_sharing_t *sharing, weft_fifo_card_t *card,
                     uint32_t peer, bool sends, uint64_t bytes)
{
    *place = (weft_place_t){
        .sharing = *sharing, .card = card, .peer = peer, .sends = sends, .bytes = bytes};
}

/* What was written before is there when the peer sees the word. */
static weft_status_t say(weft_place_t *place, uint32_t word, bool settled)
{
    place->said = word;
    place->settled = settled;
    atomic_store_explicit(place->sends ? &place->card->sender : &place->card->receiver, word,
                          memory_order_release);
    return settled ? WEFT_OK : WEFT_IN_PROGRESS;
}

static uint32_t hear(const weft_place_t *place)
{
    return atomic_load_explicit(place->sends ? &place->card->receiver : &place->card->sender,
                                memory_order_acquire);
}

static weft_status_t wrong(const weft_place_t *place, uint32_t heard)
{
    weft_status_t status = weft_fail(WEFT_ERR_PROTO, 0,
                                     "rank %u says %" PRIu32
                                     " about the place of slots, which is no answer to %" PRIu32,
                                     place->peer, heard, place->said);
    weft_error_record()->peer = (int32_t)place->peer;
    return status;
}

/* The kernel could not, and said why. */
static void note_host(const weft_place_t *place, weft_log_level_t level)
{
    weft_log(level, "place", "the slots %s rank %u stay on the host: %s",
             place->sends ? "to" : "from", place->peer, weft_error_record()->text);
}

/* The receiver --------------------------------------------------------------------------------------- */

static weft_status_t say_place(weft_place_t *place)
{
    const weft_sharing_t *s = &place->sharing;
    if (s->share == NULL) {
        return say(place, WEFT_RECEIVER_HOST, true);
    }
    uint8_t bytes[WEFT_SHARE_PLACE] = {0};
    s->share->place(s->kernel, bytes);
    memcpy(place->card->place, bytes, sizeof bytes);
    return say(place, WEFT_RECEIVER_PLACE, false);
}

static weft_status_t say_memory(weft_place_t *place)
{
    const weft_sharing_t *s = &place->sharing;
    uint8_t token[WEFT_SHARE_TOKEN] = {0};
    if (s->share->export_memory(s->kernel, place->bytes, &place->memory, token) != WEFT_OK) {
        place->memory = NULL;
        note_host(place, WEFT_LOG_INFO);
        return say(place, WEFT_RECEIVER_HOST, true);
    }
    memcpy(place->card->token, token, sizeof token);
    return say(place, WEFT_RECEIVER_MEMORY, false);
}

/* The sender did not open it, so nobody has it. */
static weft_status_t take_back(weft_place_t *place)
{
    place->sharing.share->unexport(place->sharing.kernel, place->memory);
    place->memory = NULL;
    place->settled = true;
    return WEFT_OK;
}

static weft_status_t step_receiver(weft_place_t *place)
{
    uint32_t heard = hear(place);
    switch (place->said) {
    case WEFT_RECEIVER_SILENT:
        return say_place(place);
    case WEFT_RECEIVER_PLACE:
        return heard == WEFT_SENDER_SILENT  ? WEFT_IN_PROGRESS
               : heard == WEFT_SENDER_WANTS ? say_memory(place)
               : heard == WEFT_SENDER_HOST  ? say(place, WEFT_RECEIVER_HOST, true)
                                            : wrong(place, heard);
    default: /* MEMORY */
        place->settled = heard == WEFT_SENDER_HAS || heard == WEFT_SENDER_CLOSED;
        return place->settled               ? WEFT_OK
               : heard == WEFT_SENDER_WANTS ? WEFT_IN_PROGRESS
               : heard == WEFT_SENDER_HOST  ? take_back(place)
                                            : wrong(place, heard);
    }
}

/* The sender ----------------------------------------------------------------------------------------- */

static weft_status_t say_wants(weft_place_t *place)
{
    const weft_sharing_t *s = &place->sharing;
    uint8_t bytes[WEFT_SHARE_PLACE]; /* a copy: the peer can write shared memory at any time */
    memcpy(bytes, place->card->place, sizeof bytes);
    if (s->share->reaches(s->kernel, bytes) != WEFT_OK) {
        note_host(place, WEFT_LOG_DEBUG);
        return say(place, WEFT_SENDER_HOST, true);
    }
    return say(place, WEFT_SENDER_WANTS, false);
}

static weft_status_t say_has(weft_place_t *place)
{
    const weft_sharing_t *s = &place->sharing;
    uint8_t token[WEFT_SHARE_TOKEN];
    memcpy(token, place->card->token, sizeof token);
    if (s->share->import(s->kernel, token, place->bytes, &place->memory) != WEFT_OK) {
        place->memory = NULL;
        note_host(place, WEFT_LOG_INFO);
        return say(place, WEFT_SENDER_HOST, true);
    }
    return say(place, WEFT_SENDER_HAS, true);
}

static weft_status_t step_sender(weft_place_t *place)
{
    if (place->sharing.share == NULL) {
        return say(place, WEFT_SENDER_HOST, true);
    }
    uint32_t heard = hear(place);
    if (heard == WEFT_RECEIVER_HOST) {
        return say(place, WEFT_SENDER_HOST, true);
    }
    if (place->said == WEFT_SENDER_SILENT) {
        return heard == WEFT_RECEIVER_SILENT  ? WEFT_IN_PROGRESS
               : heard == WEFT_RECEIVER_PLACE ? say_wants(place)
                                              : wrong(place, heard);
    }
    return heard == WEFT_RECEIVER_PLACE    ? WEFT_IN_PROGRESS /* WANTS */
           : heard == WEFT_RECEIVER_MEMORY ? say_has(place)
                                           : wrong(place, heard);
}

/* Both ----------------------------------------------------------------------------------------------- */

weft_status_t weft_place_step(weft_place_t *place)
{
    uint32_t before;
    weft_status_t status = place->settled ? WEFT_OK : WEFT_IN_PROGRESS;
    do {
        before = place->said;
        if (status == WEFT_IN_PROGRESS) {
            status = place->sends ? step_sender(place) : step_receiver(place);
        }
    } while (status == WEFT_IN_PROGRESS && place->said != before);
    return status;
}

bool weft_place_left(const weft_place_t *place)
{
    uint32_t heard = hear(place);
    return heard == WEFT_SENDER_HOST || heard == WEFT_SENDER_CLOSED;
}

void weft_place_close(weft_place_t *place)
{
    const weft_sharing_t *s = &place->sharing;
    if (place->memory == NULL) {
        return;
    }
    if (place->sends) {
        s->share->unimport(s->kernel, place->memory);
        (void)say(place, WEFT_SENDER_CLOSED, true);
    } else {
        s->share->unexport(s->kernel, place->memory);
    }
    place->memory = NULL;
}
