/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dissemination: frames of what happened, to one neighbour or to all, and the callbacks of our
 * side. */
#include "core/boot/dissemination.h"

#include "core/boot/health_state.h"
#include "core/boot/tree_repair.h"

/* The neighbours that a frame goes to: `only`, or all but `except`. */
typedef struct audience {
    weft_neighbour_t *only;
    const weft_neighbour_t *except;
} audience_t;

static void dissemination_disseminate_frame(weft_health_t *health, audience_t to,
                                            const weft_frame_t *frame, const uint8_t *payload)
{
    if (to.only != NULL) {
        weft_neighbour_send(&health->neighbours, to.only, frame, payload);
    } else {
        weft_neighbours_flood(&health->neighbours, to.except, frame, payload);
    }
}

static const weft_missing_t *dissemination_list(const weft_logged_failure_t *failure)
{
    return failure->missing.count > 0 ? &failure->missing : NULL;
}

/* A FAIL or MISSING frame of a communicator. */
static void dissemination_disseminate_failure(weft_health_t *health, audience_t to,
                                              uint64_t comm_id, const weft_error_t *error,
                                              const weft_missing_t *missing)
{
    uint8_t payload[WEFT_WIRE_ABSENCE];
    weft_frame_t frame = {.type = missing != NULL ? WEFT_FRAME_MISSING : WEFT_FRAME_FAIL,
                          .bytes = missing != NULL ? WEFT_WIRE_ABSENCE : WEFT_WIRE_ERROR,
                          .from = health->boot->rank,
                          .number = comm_id};
    weft_error_encode(error, payload);
    if (missing != NULL) {
        weft_missing_encode(missing, payload + WEFT_WIRE_ERROR);
    }
    dissemination_disseminate_frame(health, to, &frame, payload);
}

static void dissemination_disseminate_death(weft_health_t *health, audience_t to,
                                            const weft_error_t *error)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    weft_frame_t frame = {
        .type = WEFT_FRAME_DEATH, .bytes = sizeof payload, .from = health->boot->rank};
    weft_error_encode(error, payload);
    dissemination_disseminate_frame(health, to, &frame, payload);
}

static void dissemination_disseminate_left(weft_health_t *health, audience_t to,
                                           const weft_logged_event_t *event)
{
    uint8_t payload[WEFT_WIRE_LEAVE];
    weft_frame_t frame = {.type = WEFT_FRAME_LEAVE_COMM,
                          .bytes = sizeof payload,
                          .from = event->rank,
                          .number = event->comm_id};
    weft_leave_t leave = weft_logged_leave(event);
    weft_leave_encode(&leave, payload);
    dissemination_disseminate_frame(health, to, &frame, payload);
}

/* Our side may end its process when it hears of a failure. The others shall have heard of that
 * first, and take this end for what it is. */
static void dissemination_flush(weft_health_t *health)
{
    weft_neighbours_flush(&health->neighbours);
}

void weft_disseminate_failure(weft_health_t *health, const weft_neighbour_t *from, uint64_t comm_id,
                              const weft_error_t *error, const weft_missing_t *missing)
{
    weft_health_assert_owner(health);
    if (weft_event_log_find(&health->log, WEFT_FRAME_FAIL, comm_id, 0) != NULL) {
        return;
    }
    weft_event_log_add_failure(&health->log, comm_id, error, missing);
    dissemination_disseminate_failure(health, (audience_t){.except = from}, comm_id, error,
                                      missing);
    if (from != NULL) {
        dissemination_flush(health);
        health->callbacks.failed(health->arg, comm_id, error, missing);
    }
}

void weft_disseminate_leave_comm(weft_health_t *health, const weft_neighbour_t *from,
                                 uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    weft_health_assert_owner(health);
    if (weft_event_log_find(&health->log, WEFT_FRAME_LEAVE_COMM, comm_id, rank) != NULL) {
        return;
    }
    weft_event_log_add_leave(&health->log, comm_id, rank, leave);
    dissemination_disseminate_left(
        health, (audience_t){.except = from},
        weft_event_log_find(&health->log, WEFT_FRAME_LEAVE_COMM, comm_id, rank));
    if (rank != health->boot->rank) {
        health->callbacks.left(health->arg, comm_id, rank, leave);
    }
}

void weft_disseminate_own_death(weft_health_t *health)
{
    weft_health_assert_owner(health);
    const weft_logged_death_t *death = weft_event_log_death(&health->log, health->boot->rank);
    for (uint32_t i = 0; death != NULL && i < health->neighbours.count; i++) {
        audience_t to = {.only = &health->neighbours.list[i]};
        dissemination_disseminate_death(health, to, &death->error);
    }
}

void weft_disseminate_leave_family(weft_health_t *health, const weft_neighbour_t *from,
                                   uint32_t rank)
{
    weft_health_assert_owner(health);
    uint8_t *state = &health->membership.states[rank];
    weft_frame_t frame = {.type = WEFT_FRAME_LEAVE_FAMILY, .from = rank};
    health->membership.leavers = true;
    weft_control_listener_expect_leavers(&health->boot->listener);
    if (*state == WEFT_MEMBER_DEAD && rank == health->boot->rank) {
        /* What was declared dead does not leave in order. */
        weft_disseminate_own_death(health);
    }
    if (*state == WEFT_MEMBER_LEFT || *state == WEFT_MEMBER_DEAD) {
        return; /* of a death all hear, and it counts: see weft_disseminate_death() */
    }
    *state = WEFT_MEMBER_LEFT;
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        if (&health->neighbours.list[i] != from) {
            weft_neighbour_send(&health->neighbours, &health->neighbours.list[i], &frame, NULL);
        }
    }
    if (rank != health->boot->rank) {
        health->callbacks.left(health->arg, 0, rank, &(weft_leave_t){.sequence = 0});
        weft_tree_repair(health);
    }
}

/* A death counts for a rank that has left, too. Whoever declared it dead could not hear that it
 * left, and has failed the communicators of that rank for good: all others have to, or they would
 * wait there for one that has given up. So all come to the same, in whatever order they hear of
 * both. */
void weft_disseminate_death(weft_health_t *health, const weft_neighbour_t *from,
                            const weft_error_t *error)
{
    weft_health_assert_owner(health);
    uint32_t rank = (uint32_t)error->peer;
    uint8_t *state = &health->membership.states[rank];
    if (*state == WEFT_MEMBER_DEAD) {
        return;
    }
    *state = WEFT_MEMBER_DEAD;
    if (rank == health->boot->rank) {
        health->neighbours.muted = true;
        health->detection_ended = true;
    }
    dissemination_disseminate_death(health, (audience_t){.except = from}, error);
    weft_event_log_add_death(&health->log, error);
    dissemination_flush(health);
    health->callbacks.died(health->arg, 0, error);
    weft_tree_repair(health);
    if (error->status == WEFT_ERR_PEER_UNRESPONSIVE) {
        weft_tree_repair_below_silent(health);
    }
}

static void dissemination_disseminate_step(weft_health_t *health, audience_t to,
                                           const weft_event_step_t *step)
{
    const weft_logged_event_t *event = step->event;
    if (step->death != NULL) {
        dissemination_disseminate_death(health, to, &step->death->error);
    } else if (event->type == WEFT_FRAME_LEAVE_COMM) {
        dissemination_disseminate_left(health, to, event);
    } else if (event->failure != NULL) {
        dissemination_disseminate_failure(health, to, event->comm_id, &event->failure->error,
                                          dissemination_list(event->failure));
    }
}

void weft_disseminate_all_to(weft_health_t *health, weft_neighbour_t *neighbour)
{
    weft_health_assert_owner(health);
    audience_t to = {.only = neighbour};
    weft_event_step_t step;
    for (weft_event_cursor_t at = weft_event_log_walk(&health->log);
         weft_event_log_next(&at, &step);) {
        dissemination_disseminate_step(health, to, &step);
    }
    for (uint32_t i = 0; i < health->boot->nranks; i++) {
        if (health->membership.states[i] == WEFT_MEMBER_LEFT && i != neighbour->rank) {
            weft_frame_t frame = {.type = WEFT_FRAME_LEAVE_FAMILY, .from = i};
            weft_neighbour_send(&health->neighbours, neighbour, &frame, NULL);
        }
    }
}

/* Tells our side one step, if it concerns comm_id. */
static void dissemination_replay_step(const weft_health_t *health, uint64_t comm_id,
                                      const weft_event_step_t *step)
{
    const weft_health_callbacks_t *tell = &health->callbacks;
    const weft_logged_event_t *event = step->event;
    if (step->death != NULL) {
        tell->died(health->arg, comm_id, &step->death->error);
    } else if (event->comm_id != comm_id) {
        return;
    } else if (event->type == WEFT_FRAME_FAIL && event->failure != NULL) {
        tell->failed(health->arg, comm_id, &event->failure->error,
                     dissemination_list(event->failure));
    } else if (event->type == WEFT_FRAME_LEAVE_COMM && event->rank != health->boot->rank) {
        weft_leave_t leave = weft_logged_leave(event);
        tell->left(health->arg, comm_id, event->rank, &leave);
    }
}

void weft_disseminate_replay(weft_health_t *health, uint64_t comm_id)
{
    weft_health_assert_owner(health);
    const weft_event_log_t *log = &health->log;
    const weft_health_callbacks_t *tell = &health->callbacks;
    uint32_t me = health->boot->rank;
    weft_event_step_t step;
    for (weft_event_cursor_t at = weft_event_log_walk(log); weft_event_log_next(&at, &step);) {
        dissemination_replay_step(health, comm_id, &step);
    }
    for (uint32_t rank = 0; rank < health->boot->nranks; rank++) {
        if (health->membership.states[rank] == WEFT_MEMBER_LEFT && rank != me &&
            weft_event_log_find(log, WEFT_FRAME_LEAVE_COMM, comm_id, rank) == NULL) {
            tell->left(health->arg, comm_id, rank, &(weft_leave_t){.sequence = 0});
        }
    }
}

static void dissemination_pass_on(weft_health_t *health, const weft_frame_t *frame,
                                  const uint8_t *payload)
{
    uint32_t next = weft_membership_next_hop(&health->membership, frame->sequence);
    weft_neighbour_t *neighbour = weft_neighbours_find(&health->neighbours, next);
    if (neighbour != NULL) {
        weft_neighbour_send(&health->neighbours, neighbour, frame, payload);
    }
}

weft_status_t weft_disseminate_route(weft_health_t *health, const weft_frame_t *frame,
                                     const uint8_t *payload, const char **why)
{
    weft_health_assert_owner(health);
    const weft_health_callbacks_t *tell = &health->callbacks;
    bool asks = frame->type == WEFT_FRAME_ASK, says = frame->type == WEFT_FRAME_WORD;
    weft_answer_t answer;
    weft_word_t word;
    weft_status_t status = asks   ? weft_signature_decode(payload, &answer.signature, why)
                           : says ? weft_word_decode(payload, health->boot->nranks, &word, why)
                                  : weft_answer_decode(payload, &answer, why);
    if (status != WEFT_OK) {
        return status;
    }
    if (frame->sequence != health->boot->rank) {
        dissemination_pass_on(health, frame, payload);
    } else if (asks) {
        tell->asked(health->arg, frame->number, frame->from, &answer.signature);
    } else if (says) {
        tell->told(health->arg, frame->number, frame->from, &word);
    } else {
        tell->answered(health->arg, frame->number, frame->from, &answer);
    }
    return WEFT_OK;
}
