/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the health thread: always read, never wait to write; frames checked field by field. */
#include "core/boot/neighbour.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/folder.h"

/* Unsent bytes beyond which frames that will be repeated anyway are dropped. */
#define OUT_SOFT ((size_t)16 * 1024)

weft_watch_t *weft_watch_find(weft_health_t *health, uint32_t rank)
{
    for (uint32_t i = 0; i < health->count; i++) {
        if (health->watches[i].fd >= 0 && health->watches[i].rank == rank) {
            return &health->watches[i];
        }
    }
    return NULL;
}

/* Children of a killed rank that hold copies of its descriptors keep its connections open, so where
 * the process itself can be seen it is watched too. Ranks may be threads of our own process. */
static int watch_process(const weft_boot_t *boot, uint32_t rank)
{
    const weft_join_request_t *peer = &boot->requests[rank], *me = &boot->requests[boot->rank];
    bool visible = memcmp(peer->host_id, me->host_id, sizeof me->host_id) == 0 &&
                   peer->space == me->space && peer->space != 0 && peer->pid != me->pid;
    return visible ? weft_os_process_watch(peer->pid, peer->started) : -1;
}

weft_status_t weft_watch_add(weft_health_t *health, int fd, uint32_t rank)
{
    if (health->count == health->room) {
        uint32_t room = health->room == 0 ? 8 : health->room * 2;
        weft_watch_t *watches = weft_os_alloc(room * sizeof *watches, 0);
        struct pollfd *entries =
            weft_os_alloc((2 * room + WEFT_DOOR_ENTRIES + 2) * sizeof *entries, 0);
        if (watches == NULL || entries == NULL) {
            weft_os_free(watches);
            weft_os_free(entries);
            weft_os_close(fd);
            return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for control connections");
        }
        if (health->count > 0) {
            memcpy(watches, health->watches, health->count * sizeof *watches);
        }
        weft_os_free(health->watches);
        weft_os_free(health->entries);
        health->watches = watches;
        health->entries = entries;
        health->room = room;
    }
    health->watches[health->count++] = (weft_watch_t){.fd = fd,
                                                      .process = watch_process(health->boot, rank),
                                                      .rank = rank,
                                                      .heard = weft_os_clock_ns()};
    return WEFT_OK;
}

void weft_watch_close(weft_watch_t *watch)
{
    if (watch->fd >= 0) {
        /* A forked child may hold a copy of the descriptor; the peer shall see the end all the same. */
        weft_os_shutdown(watch->fd);
    }
    weft_os_close(watch->fd);
    weft_os_close(watch->process);
    weft_os_free(watch->out);
    watch->fd = -1;
    watch->process = -1;
    watch->out = NULL;
}

void weft_watch_flush(weft_watch_t *watch)
{
    while (watch->out_at < watch->out_end) {
        int error;
        ssize_t done = weft_os_send(watch->fd, watch->out + watch->out_at,
                                    watch->out_end - watch->out_at, &error);
        if (done == WEFT_OS_NONE) {
            return;
        }
        if (done == WEFT_OS_BROKEN) {
            /* Reading finds out why; what we had to say reaches nobody. */
            watch->ended_sending = true;
            break;
        }
        watch->out_at += (size_t)done;
    }
    watch->out_at = 0;
    watch->out_end = 0;
}

static bool make_room(weft_watch_t *watch, size_t bytes)
{
    if (watch->out_end + bytes <= watch->out_room) {
        return true;
    }
    size_t held = watch->out_end - watch->out_at;
    size_t room = 2 * (held + bytes) > 4096 ? 2 * (held + bytes) : 4096;
    uint8_t *out = weft_os_alloc(room, 0);
    if (out == NULL) {
        return false;
    }
    if (held > 0) {
        memcpy(out, watch->out + watch->out_at, held);
    }
    weft_os_free(watch->out);
    watch->out = out;
    watch->out_at = 0;
    watch->out_end = held;
    watch->out_room = room;
    return true;
}

void weft_watch_send(weft_health_t *health, weft_watch_t *watch, const weft_frame_t *frame,
                     const uint8_t *payload)
{
    bool repeated = frame->type == WEFT_FRAME_BEAT || frame->type == WEFT_FRAME_ASK ||
                    frame->type == WEFT_FRAME_ANSWER;
    if (watch->fd < 0 || watch->ended_sending ||
        (repeated && watch->out_end - watch->out_at > OUT_SOFT) ||
        !make_room(watch, WEFT_WIRE_HEADER + frame->bytes)) {
        return;
    }
    weft_frame_t sent = *frame;
    sent.comm_id = health->boot->comm_id;
    weft_frame_encode(&sent, watch->out + watch->out_end);
    if (frame->bytes > 0) {
        memcpy(watch->out + watch->out_end + WEFT_WIRE_HEADER, payload, frame->bytes);
    }
    watch->out_end += WEFT_WIRE_HEADER + frame->bytes;
    weft_watch_flush(watch);
}

void weft_watch_flood(weft_health_t *health, const weft_watch_t *except, const weft_frame_t *frame,
                      const uint8_t *payload)
{
    for (uint32_t i = 0; i < health->count && !health->condemned; i++) {
        if (&health->watches[i] != except) {
            weft_watch_send(health, &health->watches[i], frame, payload);
        }
    }
}

void weft_watch_condemn(weft_health_t *health, const weft_watch_t *except,
                        const weft_error_t *error)
{
    uint32_t rank = (uint32_t)error->peer;
    uint8_t payload[WEFT_WIRE_ERROR];
    weft_frame_t frame = {
        .type = WEFT_FRAME_VERDICT, .bytes = sizeof payload, .from = health->boot->rank};
    if (health->kin[rank] == WEFT_KIN_DEAD || health->kin[rank] == WEFT_KIN_LEFT) {
        return;
    }
    health->kin[rank] = WEFT_KIN_DEAD;
    health->condemned = health->condemned || rank == health->boot->rank;
    health->over = health->over || health->condemned;
    weft_error_encode(error, payload);
    weft_watch_flood(health, except, &frame, payload);
    (void)weft_notes_verdict(health, error);
    health->events.died(health->arg, 0, error);
    weft_kin_rearrange(health);
}

void weft_watch_blame(weft_health_t *health, uint32_t rank)
{
    weft_boot_set_culprit(health->boot, rank);
    weft_error_t error = *weft_error_record();
    weft_watch_condemn(health, NULL, &error);
}

weft_status_t weft_watch_route(weft_health_t *health, const weft_frame_t *frame,
                               const uint8_t *payload, const char **why)
{
    uint32_t target = frame->sequence;
    weft_answer_t answer;
    bool asks = frame->type == WEFT_FRAME_ASK;
    weft_status_t status = asks ? weft_signature_decode(payload, &answer.signature, why)
                                : weft_answer_decode(payload, &answer, why);
    if (status != WEFT_OK) {
        return status;
    }
    if (target != health->boot->rank) {
        weft_watch_t *watch = weft_watch_find(health, weft_kin_hop(health, target));
        if (watch != NULL) {
            weft_watch_send(health, watch, frame, payload);
        }
    } else if (asks) {
        health->events.asked(health->arg, frame->number, frame->from, &answer.signature);
    } else {
        health->events.answered(health->arg, frame->number, frame->from, &answer);
    }
    return WEFT_OK;
}

/* Communicator 0: the join of a rank failed, which we had behind us. */
static weft_status_t fail_frame(weft_health_t *health, weft_watch_t *watch,
                                const weft_frame_t *frame, const uint8_t *payload, const char **why)
{
    weft_error_t error;
    weft_status_t status = weft_error_decode(payload, health->boot->nranks, &error, why);
    if (status == WEFT_OK) {
        error.comm_id = frame->number != 0 ? frame->number : health->boot->comm_id;
        health->over = health->over || frame->number == 0;
        weft_notes_failed(health, watch, error.comm_id, &error, true);
    }
    return status;
}

static weft_status_t verdict_frame(weft_health_t *health, weft_watch_t *watch,
                                   const uint8_t *payload, const char **why)
{
    weft_error_t error;
    weft_status_t status = weft_error_decode(payload, health->boot->nranks, &error, why);
    if (status == WEFT_OK && error.peer < 0) {
        *why = "culprit";
        status = WEFT_ERR_PROTO;
    }
    if (status == WEFT_OK) {
        error.comm_id = health->boot->comm_id;
        weft_watch_condemn(health, watch, &error);
    }
    return status;
}

static weft_status_t serve(weft_health_t *health, weft_watch_t *watch, const weft_frame_t *frame,
                           const uint8_t *payload, const char **why)
{
    switch (frame->type) {
    case WEFT_FRAME_BEAT:
        return WEFT_OK;
    case WEFT_FRAME_GOODBYE:
        if (frame->from == health->boot->rank) {
            if (health->kin[frame->from] == WEFT_KIN_LEFT) {
                return WEFT_OK; /* our own goodbye, passed on to a new connection of ours */
            }
            *why = "rank";
            return WEFT_ERR_PROTO;
        }
        weft_kin_leave(health, frame->from, watch);
        return WEFT_OK;
    case WEFT_FRAME_FAIL:
        return fail_frame(health, watch, frame, payload, why);
    case WEFT_FRAME_VERDICT:
        return verdict_frame(health, watch, payload, why);
    case WEFT_FRAME_LEFT:
        weft_notes_left(health, watch, frame->number, frame->from, weft_get_u64(payload));
        return WEFT_OK;
    case WEFT_FRAME_ASK:
    case WEFT_FRAME_ANSWER:
        return weft_watch_route(health, frame, payload, why);
    default:
        *why = "type";
        return WEFT_ERR_PROTO;
    }
}

/* Serves the whole frames in the buffer. False: the peer sends rubbish and was closed. */
static bool parse(weft_health_t *health, weft_watch_t *watch)
{
    uint32_t at = 0;
    while (watch->in_bytes - at >= WEFT_WIRE_HEADER) {
        weft_frame_t frame;
        const char *why;
        weft_status_t status = weft_frame_decode(watch->in + at, health->boot->nranks,
                                                 health->boot->comm_id, &frame, &why);
        if (status == WEFT_OK && frame.bytes > WEFT_WIRE_ERROR) {
            why = "length";
            status = WEFT_ERR_PROTO;
        }
        if (status == WEFT_OK && watch->in_bytes - at < WEFT_WIRE_HEADER + frame.bytes) {
            break;
        }
        if (status == WEFT_OK) {
            status = serve(health, watch, &frame, watch->in + at + WEFT_WIRE_HEADER, &why);
        }
        if (status != WEFT_OK) {
            char who[128];
            weft_boot_rank_text(health->boot, watch->rank, who, sizeof who);
            weft_fail(WEFT_ERR_PROTO, 0, "%s sent a control frame with a bad %s", who, why);
            weft_watch_blame(health, watch->rank);
            weft_watch_close(watch);
            return false;
        }
        at += WEFT_WIRE_HEADER + frame.bytes;
    }
    memmove(watch->in, watch->in + at, watch->in_bytes - at);
    watch->in_bytes -= at;
    return true;
}

/* The stream ended, or its process did. After a goodbye or a verdict, or while we leave ourselves, that
 * is as it should be. */
static void ended(weft_health_t *health, weft_watch_t *watch, int error)
{
    char who[128];
    uint8_t kin = health->kin[watch->rank];
    bool orderly = kin == WEFT_KIN_LEFT || kin == WEFT_KIN_DEAD || health->over || health->leaving;
    bool fresh = watch->fresh;
    weft_watch_close(watch);
    if (fresh && !orderly) {
        /* A rank that leaves closes what waits at its listener: its goodbye comes another way. */
        weft_kin_gone(health, watch->rank);
        return;
    }
    if (!orderly) {
        weft_boot_rank_text(health->boot, watch->rank, who, sizeof who);
        weft_fail(WEFT_ERR_PEER_DEAD, error, "%s died", who);
        weft_watch_blame(health, watch->rank);
    }
}

void weft_watch_read(weft_health_t *health, weft_watch_t *watch)
{
    while (watch->fd >= 0) {
        int error = 0;
        ssize_t got = weft_os_recv(watch->fd, watch->in + watch->in_bytes,
                                   sizeof watch->in - watch->in_bytes, &error);
        if (got == WEFT_OS_NONE) {
            return;
        }
        if (got <= 0) {
            ended(health, watch, error);
            return;
        }
        watch->heard = weft_os_clock_ns();
        watch->fresh = false;
        watch->in_bytes += (uint32_t)got;
        if (!parse(health, watch)) {
            return;
        }
    }
}

void weft_watch_process_ended(weft_health_t *health, weft_watch_t *watch)
{
    /* A goodbye may be its last words. */
    weft_watch_read(health, watch);
    if (watch->fd >= 0) {
        ended(health, watch, 0);
    }
}
