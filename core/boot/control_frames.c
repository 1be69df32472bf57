/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of neighbours: checking and serving. */
#include "core/boot/control_frames.h"

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/tree_record.h"

/* Communicator 0: the join of a neighbour failed, while we had it behind us. All have heard why;
 * now they hear that it is gone, so that nobody waits for it, and the tree closes the gap. */
static void control_frame_gave_up(weft_health_t *health, uint32_t rank)
{
    char who[128];
    weft_boot_rank_text(health->boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_DEAD, 0, "%s gave up while the ranks joined", who);
    weft_detector_declare_dead(health, rank);
}

static weft_status_t control_frame_failure(weft_health_t *health, weft_neighbour_t *neighbour,
                                           const weft_frame_t *frame, const uint8_t *payload,
                                           const char **why)
{
    weft_error_t error;
    weft_missing_t missing;
    bool lists = frame->type == WEFT_FRAME_MISSING;
    uint32_t nranks = health->boot->nranks;
    weft_status_t status = weft_error_decode(payload, nranks, &error, why);
    if (status == WEFT_OK && lists) {
        status = weft_missing_decode(payload + WEFT_WIRE_ERROR, nranks, &missing, why);
    }
    if (status == WEFT_OK) {
        error.comm_id = frame->number != 0 ? frame->number : health->boot->comm_id;
        weft_disseminate_failure(health, neighbour, error.comm_id, &error, lists ? &missing : NULL);
    }
    if (status == WEFT_OK && frame->number == 0) {
        control_frame_gave_up(health, neighbour->rank);
    }
    return status;
}

static weft_status_t control_frame_death(weft_health_t *health, weft_neighbour_t *neighbour,
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
        weft_disseminate_death(health, neighbour, &error);
    }
    return status;
}

/* Others believe that this rank has left, and go on without it. The neighbour may only have passed
 * that on, and is well: it is this rank that has to end. */
static void control_frame_is_left_out(weft_health_t *health, const weft_neighbour_t *neighbour)
{
    char who[128], by[128];
    weft_boot_rank_text(health->boot, health->boot->rank, who, sizeof who);
    weft_boot_rank_text(health->boot, neighbour->rank, by, sizeof by);
    weft_fail(WEFT_ERR_PROTO, 0, "%s has not left, but %s has heard that it has", who, by);
    weft_detector_declare_dead(health, health->boot->rank);
    weft_disseminate_own_death(health);
}

static weft_status_t control_frame_leave_family(weft_health_t *health, weft_neighbour_t *neighbour,
                                                const weft_frame_t *frame)
{
    uint32_t me = health->boot->rank;
    if (frame->from != me) {
        weft_disseminate_leave_family(health, neighbour, frame->from);
        return WEFT_OK;
    }
    if (health->membership.states[me] != WEFT_MEMBER_LIVE) {
        return WEFT_OK; /* that we leave, passed on to a new connection of ours */
    }
    control_frame_is_left_out(health, neighbour);
    return WEFT_OK;
}

/* Communicator 0 would be the family, for callbacks. */
static weft_status_t control_frame_leave_comm(weft_health_t *health, weft_neighbour_t *neighbour,
                                              const weft_frame_t *frame, const uint8_t *payload,
                                              const char **why)
{
    if (frame->number == 0) {
        *why = "communicator";
        return WEFT_ERR_PROTO;
    }
    weft_leave_t leave;
    weft_status_t status = weft_leave_decode(payload, &leave, why);
    if (status == WEFT_OK && frame->from != health->boot->rank) { /* who leaves says so itself */
        weft_disseminate_leave_comm(health, neighbour, frame->number, frame->from, &leave);
    }
    return status;
}

/* A child is still in the join, and its connection was made again: it hears what it has not taken
 * of the exchanges, and then all that it passed over before that. */
static void control_frame_again(weft_health_t *health, weft_neighbour_t *neighbour,
                                const weft_frame_t *frame)
{
    const weft_boot_t *boot = health->boot;
    const weft_tree_link_t *link = boot->links;
    weft_frame_t again = {.type = WEFT_FRAME_AGAIN, .from = boot->rank, .sequence = boot->sequence};
    while (link < boot->links + WEFT_TREE_LINKS && link->rank != neighbour->rank) {
        link++;
    }
    if (link == boot->links + WEFT_TREE_LINKS || neighbour->rank < boot->rank ||
        frame->number == 1) {
        return; /* it has joined; or our parent is in the join, and has asked what it need not */
    }
    weft_neighbour_send(&health->neighbours, neighbour, &again, NULL);
    const weft_tree_record_t *record = boot->records;
    while ((record = weft_tree_record_for(boot, link, frame->sequence, record)) != NULL) {
        weft_neighbour_send_made(neighbour, record->header, record->payload, record->bytes);
        record = record->next;
    }
    weft_disseminate_all_to(health, neighbour);
}

/* Whether it counts what the neighbour says of deaths and failures. One that was declared dead
 * because it was silent may live on the other side of a cut, and take us for dead: when the network
 * is whole again, what it found out there must not end those that have gone on. What a rank said
 * before it died is true. */
static bool control_frame_is_believed(const weft_health_t *health,
                                      const weft_neighbour_t *neighbour)
{
    const weft_logged_death_t *death = weft_event_log_death(&health->log, neighbour->rank);
    return health->membership.states[neighbour->rank] != WEFT_MEMBER_DEAD || death == NULL ||
           death->error.status != WEFT_ERR_PEER_UNRESPONSIVE;
}

static weft_status_t control_frame_serve(weft_health_t *health, weft_neighbour_t *neighbour,
                                         const weft_frame_t *frame, const uint8_t *payload,
                                         const char **why)
{
    bool tells = frame->type == WEFT_FRAME_FAIL || frame->type == WEFT_FRAME_MISSING ||
                 frame->type == WEFT_FRAME_DEATH;
    if (tells && !control_frame_is_believed(health, neighbour)) {
        return WEFT_OK;
    }
    switch (frame->type) {
    case WEFT_FRAME_BEAT:
        return WEFT_OK;
    case WEFT_FRAME_AGAIN:
        control_frame_again(health, neighbour, frame);
        return WEFT_OK;
    case WEFT_FRAME_LEAVE_FAMILY:
        return control_frame_leave_family(health, neighbour, frame);
    case WEFT_FRAME_FAIL:
    case WEFT_FRAME_MISSING:
        return control_frame_failure(health, neighbour, frame, payload, why);
    case WEFT_FRAME_DEATH:
        return control_frame_death(health, neighbour, payload, why);
    case WEFT_FRAME_LEAVE_COMM:
        return control_frame_leave_comm(health, neighbour, frame, payload, why);
    case WEFT_FRAME_ASK:
        /* Whoever passes a question on shows that it lives: the next one may not. */
        weft_detector_beat(health, neighbour);
        return weft_disseminate_route(health, frame, payload, why);
    case WEFT_FRAME_ANSWER:
    case WEFT_FRAME_WORD:
        return weft_disseminate_route(health, frame, payload, why);
    default:
        *why = "type";
        return WEFT_ERR_PROTO;
    }
}

/* Serves the whole frames that were received. False: the peer sent a bad one and was closed. */
static bool control_frames_serve(weft_health_t *health, weft_neighbour_t *neighbour)
{
    weft_frame_t frame;
    const uint8_t *payload;
    const char *why;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK) {
        status = weft_neighbour_next_frame(&health->neighbours, neighbour, &frame, &payload, &why);
        if (status == WEFT_OK) {
            status = control_frame_serve(health, neighbour, &frame, payload, &why);
        }
    }
    if (status == WEFT_AGAIN) {
        return true;
    }
    char who[128];
    weft_boot_rank_text(health->boot, neighbour->rank, who, sizeof who);
    weft_fail(WEFT_ERR_PROTO, 0, "%s sent a control frame with a bad %s", who, why);
    weft_detector_declare_dead(health, neighbour->rank);
    weft_neighbour_close(neighbour);
    return false;
}

void weft_control_frames_read(weft_health_t *health, weft_neighbour_t *neighbour)
{
    weft_health_assert_owner(health);
    while (neighbour->fd >= 0) {
        int cause;
        weft_status_t status = weft_neighbour_receive(neighbour, &cause);
        if (status == WEFT_AGAIN) {
            return;
        }
        if (status != WEFT_OK) {
            weft_detector_stream_ended(health, neighbour, cause);
            return;
        }
        weft_detector_heard(health);
        if (!control_frames_serve(health, neighbour)) {
            return;
        }
    }
}
