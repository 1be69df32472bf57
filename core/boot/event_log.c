/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the health thread remembers: failures and goodbyes of communicators, and verdicts about ranks.
 * A communicator may fail, or be left, before the last rank has made it, and a new connection of the
 * tree joins parts that may know different things. Frames about what is known already go no further,
 * so a flood ends whatever the tree looks like. */
#include <string.h>

#include "core/base/error.h"
#include "core/boot/neighbour.h"

weft_status_t weft_notes_init(weft_health_t *health)
{
    health->notes_room = WEFT_NOTES + 4 * health->boot->nranks;
    health->notes = weft_os_alloc(health->notes_room * sizeof *health->notes, 0);
    return health->notes != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for the health channel");
}

/* The failure of comm_id, or the goodbye of rank `from` from it. */
static const weft_note_t *find(const weft_health_t *health, uint32_t type, uint64_t comm_id,
                               uint32_t from)
{
    for (uint32_t i = 0; i < health->notes_room; i++) {
        const weft_note_t *note = &health->notes[i];
        if (note->type == type && note->comm_id == comm_id &&
            (type == WEFT_FRAME_FAIL || note->from == from)) {
            return note;
        }
    }
    return NULL;
}

/* The oldest note makes room: what is lost with it is a reason, a deadline still ends the wait. */
static weft_note_t *add(weft_health_t *health, uint32_t type, uint64_t comm_id, uint32_t from)
{
    weft_note_t *note = &health->notes[health->noted++ % health->notes_room];
    weft_os_free(note->error);
    *note = (weft_note_t){.type = type, .comm_id = comm_id, .from = from};
    return note;
}

static void send_error(weft_health_t *health, weft_watch_t *only, const weft_watch_t *except,
                       weft_frame_t *frame, const weft_error_t *error)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    frame->bytes = sizeof payload;
    weft_error_encode(error, payload);
    if (only != NULL) {
        weft_watch_send(health, only, frame, payload);
    } else {
        weft_watch_flood(health, except, frame, payload);
    }
}

static void send_note(weft_health_t *health, weft_watch_t *only, const weft_watch_t *except,
                      const weft_note_t *note)
{
    uint8_t payload[WEFT_WIRE_COUNT];
    weft_frame_t frame = {
        .type = note->type, .bytes = sizeof payload, .from = note->from, .number = note->comm_id};
    if (note->type == WEFT_FRAME_FAIL) {
        if (note->error != NULL) {
            send_error(health, only, except, &frame, note->error);
        }
        return;
    }
    weft_put_u64(payload, note->sequence);
    if (only != NULL) {
        weft_watch_send(health, only, &frame, payload);
    } else {
        weft_watch_flood(health, except, &frame, payload);
    }
}

void weft_notes_failed(weft_health_t *health, const weft_watch_t *except, uint64_t comm_id,
                       const weft_error_t *error, bool deliver)
{
    if (find(health, WEFT_FRAME_FAIL, comm_id, 0) != NULL) {
        return;
    }
    weft_note_t *note = add(health, WEFT_FRAME_FAIL, comm_id, health->boot->rank);
    weft_frame_t frame = {.type = WEFT_FRAME_FAIL, .from = health->boot->rank, .number = comm_id};
    note->error = weft_os_alloc(sizeof *note->error, 0);
    if (note->error != NULL) {
        *note->error = *error;
    }
    send_error(health, NULL, except, &frame, error);
    if (deliver) {
        health->events.failed(health->arg, comm_id, error);
    }
}

void weft_notes_left(weft_health_t *health, const weft_watch_t *except, uint64_t comm_id,
                     uint32_t from, uint64_t sequence)
{
    if (find(health, WEFT_FRAME_LEFT, comm_id, from) != NULL) {
        return;
    }
    weft_note_t *note = add(health, WEFT_FRAME_LEFT, comm_id, from);
    note->sequence = sequence;
    send_note(health, NULL, except, note);
    if (from != health->boot->rank) {
        health->events.left(health->arg, comm_id, from, sequence);
    }
}

bool weft_notes_verdict(weft_health_t *health, const weft_error_t *error)
{
    weft_verdict_t *verdict = weft_os_alloc(sizeof *verdict, 0);
    if (verdict == NULL) {
        return false;
    }
    verdict->error = *error;
    verdict->next = health->verdicts;
    health->verdicts = verdict;
    return true;
}

void weft_notes_send(weft_health_t *health, weft_watch_t *watch)
{
    for (weft_verdict_t *verdict = health->verdicts; verdict != NULL; verdict = verdict->next) {
        weft_frame_t frame = {.type = WEFT_FRAME_VERDICT, .from = health->boot->rank};
        send_error(health, watch, NULL, &frame, &verdict->error);
    }
    for (uint32_t i = 0; i < health->notes_room; i++) {
        if (health->notes[i].type != 0) {
            send_note(health, watch, NULL, &health->notes[i]);
        }
    }
}

void weft_notes_replay(weft_health_t *health, uint64_t comm_id)
{
    for (weft_verdict_t *verdict = health->verdicts; verdict != NULL; verdict = verdict->next) {
        health->events.died(health->arg, comm_id, &verdict->error);
    }
    for (uint32_t i = 0; i < health->notes_room; i++) {
        const weft_note_t *note = &health->notes[i];
        if (note->type == WEFT_FRAME_FAIL && note->comm_id == comm_id && note->error != NULL) {
            health->events.failed(health->arg, comm_id, note->error);
        } else if (note->type == WEFT_FRAME_LEFT && note->comm_id == comm_id &&
                   note->from != health->boot->rank) {
            health->events.left(health->arg, comm_id, note->from, note->sequence);
        }
    }
    for (uint32_t rank = 0; rank < health->boot->nranks; rank++) {
        if (health->kin[rank] == WEFT_KIN_LEFT && rank != health->boot->rank &&
            find(health, WEFT_FRAME_LEFT, comm_id, rank) == NULL) {
            health->events.left(health->arg, comm_id, rank, 0);
        }
    }
}

void weft_notes_fini(weft_health_t *health)
{
    while (health->verdicts != NULL) {
        weft_verdict_t *verdict = health->verdicts;
        health->verdicts = verdict->next;
        weft_os_free(verdict);
    }
    for (uint32_t i = 0; health->notes != NULL && i < health->notes_room; i++) {
        weft_os_free(health->notes[i].error);
    }
    weft_os_free(health->notes);
}
