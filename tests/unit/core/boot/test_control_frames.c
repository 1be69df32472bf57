/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a neighbour says after it was declared dead: one that was silent may live on the other side
 * of a cut, and take those for dead who live here. And what it says of a rank that left, which
 * others have declared dead. */
#include <string.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/control_frames.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/reconnect.h"
#include "core/boot/wire.h"
#include "tests/support/unit.h"

enum { RANKS = 4, ME = 0, SPEAKER = 2, OTHER = 1 };

#define FAMILY UINT64_C(7)
#define COMM UINT64_C(8)

/* The health of one rank, without a thread. */
typedef struct stage {
    weft_boot_t boot;
    weft_boot_peer_t peers[RANKS];
    weft_join_request_t requests[RANKS];
    weft_health_t health;
    int speaker; /* the other end of the connection to SPEAKER */
    uint32_t died[RANKS], left[RANKS], failures;
} stage_t;

static void note_death(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    stage_t *s = arg;
    (void)comm_id;
    s->died[error->peer]++;
}

static void note_failure(void *arg, uint64_t comm_id, const weft_error_t *error,
                         const weft_missing_t *missing)
{
    stage_t *s = arg;
    (void)comm_id, (void)error, (void)missing;
    s->failures++;
}

static void note_left(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    stage_t *s = arg;
    (void)comm_id, (void)leave;
    s->left[rank]++;
}

static void stage_begin(stage_t *s)
{
    int ends[2];
    memset(s, 0, sizeof *s);
    s->boot.rank = ME;
    s->boot.nranks = RANKS;
    s->boot.comm_id = FAMILY;
    s->boot.peers = s->peers;
    s->boot.requests = s->requests;
    s->health.boot = &s->boot;
    s->health.callbacks =
        (weft_health_callbacks_t){.died = note_death, .failed = note_failure, .left = note_left};
    s->health.arg = s;
    weft_health_own(&s->health);
    weft_detector_init(&s->health);
    assert_int_equal(weft_membership_init(&s->health.membership, ME, RANKS), WEFT_OK);
    assert_int_equal(weft_event_log_init(&s->health.log, RANKS), WEFT_OK);
    assert_int_equal(weft_neighbours_init(&s->health.neighbours, &s->boot), WEFT_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(weft_neighbours_add(&s->health.neighbours, ends[0], SPEAKER), WEFT_OK);
    s->speaker = ends[1];
}

static void stage_end(stage_t *s)
{
    weft_reconnect_end(&s->health);
    weft_neighbours_fini(&s->health.neighbours);
    weft_event_log_fini(&s->health.log);
    weft_membership_fini(&s->health.membership);
    weft_os_close(s->speaker);
}

static void declare_dead(stage_t *s, weft_status_t status)
{
    weft_fail(status, 0, "by the test");
    weft_detector_declare_dead(&s->health, SPEAKER);
    assert_int_equal(s->health.membership.states[SPEAKER], WEFT_MEMBER_DEAD);
}

/* SPEAKER says that communicator `comm_id` failed, or, without one, that `rank` is dead. */
static void say(stage_t *s, uint64_t comm_id, uint32_t rank)
{
    uint8_t bytes[WEFT_WIRE_HEADER + WEFT_WIRE_ERROR];
    weft_error_t error = {.status = WEFT_ERR_PEER_UNRESPONSIVE, .peer = (int32_t)rank};
    weft_frame_t frame = {.type = comm_id != 0 ? WEFT_FRAME_FAIL : WEFT_FRAME_DEATH,
                          .bytes = WEFT_WIRE_ERROR,
                          .from = SPEAKER,
                          .number = comm_id,
                          .comm_id = FAMILY};
    weft_frame_encode(&frame, bytes);
    weft_error_encode(&error, bytes + WEFT_WIRE_HEADER);
    assert_int_equal(send(s->speaker, bytes, sizeof bytes, 0), sizeof bytes);
    weft_control_frames_read(&s->health, weft_neighbours_find(&s->health.neighbours, SPEAKER));
}

/* SPEAKER says that `rank` left in order. */
static void say_left(stage_t *s, uint32_t rank)
{
    uint8_t bytes[WEFT_WIRE_HEADER];
    weft_frame_t frame = {.type = WEFT_FRAME_LEAVE_FAMILY, .from = rank, .comm_id = FAMILY};
    weft_frame_encode(&frame, bytes);
    assert_int_equal(send(s->speaker, bytes, sizeof bytes, 0), sizeof bytes);
    weft_control_frames_read(&s->health, weft_neighbours_find(&s->health.neighbours, SPEAKER));
}

/* The frames of this type that SPEAKER has been sent. */
static uint32_t heard(stage_t *s, uint32_t type)
{
    uint8_t bytes[4096];
    uint32_t found = 0;
    weft_frame_t frame;
    const char *why;
    weft_neighbours_flush(&s->health.neighbours);
    ssize_t got = recv(s->speaker, bytes, sizeof bytes, MSG_DONTWAIT);
    for (ssize_t at = 0; at + WEFT_WIRE_HEADER <= got; at += WEFT_WIRE_HEADER + frame.bytes) {
        assert_int_equal(weft_frame_decode(bytes + at, RANKS, FAMILY, &frame, &why), WEFT_OK);
        found += frame.type == type;
    }
    return found;
}

static void who_was_silent_declares_nobody_dead(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    declare_dead(&s, WEFT_ERR_PEER_UNRESPONSIVE);
    say(&s, 0, ME);
    say(&s, 0, OTHER);
    say(&s, COMM, OTHER);
    assert_int_equal(s.health.membership.states[ME], WEFT_MEMBER_LIVE);
    assert_int_equal(s.health.membership.states[OTHER], WEFT_MEMBER_LIVE);
    assert_int_equal(s.died[ME] + s.died[OTHER] + s.failures, 0);
    assert_int_equal(s.died[SPEAKER], 1);
    assert_false(s.health.detection_ended);
    assert_non_null(weft_neighbours_find(&s.health.neighbours, SPEAKER)); /* it hears us */
    stage_end(&s);
}

/* What it found out before it died is true, and nobody else may know it. */
static void the_last_words_of_who_died_count(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    declare_dead(&s, WEFT_ERR_PEER_DEAD);
    say(&s, 0, OTHER);
    say(&s, COMM, OTHER);
    assert_int_equal(s.health.membership.states[OTHER], WEFT_MEMBER_DEAD);
    assert_int_equal(s.died[OTHER], 1);
    assert_int_equal(s.failures, 1);
    stage_end(&s);
}

static void who_lives_is_believed(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    say(&s, COMM, OTHER);
    say(&s, 0, ME);
    assert_int_equal(s.failures, 1);
    assert_int_equal(s.health.membership.states[ME], WEFT_MEMBER_DEAD);
    assert_true(s.health.detection_ended);
    stage_end(&s);
}

/* Who declared it dead had not heard that it left. Its communicators have failed there, so they
 * fail here. */
static void a_death_counts_after_a_leave(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    say_left(&s, OTHER);
    assert_int_equal(s.left[OTHER], 1);
    say(&s, 0, OTHER);
    assert_int_equal(s.died[OTHER], 1);
    assert_int_equal(s.health.membership.states[OTHER], WEFT_MEMBER_DEAD);
    say(&s, 0, OTHER);
    assert_int_equal(s.died[OTHER], 1);
    stage_end(&s);
}

/* The same state, whatever was heard first; who says that it left is told of the death by our first
 * word to it. */
static void a_leave_counts_no_more_after_a_death(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    weft_fail(WEFT_ERR_PEER_DEAD, 0, "by the test");
    weft_detector_declare_dead(&s.health, OTHER);
    say_left(&s, OTHER);
    assert_int_equal(s.left[OTHER], 0);
    assert_int_equal(s.health.membership.states[OTHER], WEFT_MEMBER_DEAD);
    assert_int_equal(heard(&s, WEFT_FRAME_DEATH), 1);
    weft_disseminate_all_to(&s.health, weft_neighbours_find(&s.health.neighbours, SPEAKER));
    assert_int_equal(heard(&s, WEFT_FRAME_DEATH), 1);
    assert_int_equal(heard(&s, WEFT_FRAME_LEAVE_FAMILY), 0);
    stage_end(&s);
}

/* A new connection of this rank is told that it leaves, by one that has not heard of the death. */
static void who_leaves_and_is_declared_dead_hears_of_both(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    weft_disseminate_leave_family(&s.health, NULL, ME);
    say(&s, 0, ME);
    assert_int_equal(s.died[ME], 1);
    say_left(&s, ME);
    assert_int_equal(s.died[SPEAKER], 0);
    assert_non_null(weft_neighbours_find(&s.health.neighbours, SPEAKER));
    stage_end(&s);
}

/* Somebody has said so, and SPEAKER passes it on: it is none of its doing. */
static void who_hears_that_it_left_blames_nobody_else(void **unused)
{
    (void)unused;
    stage_t s;
    stage_begin(&s);
    say_left(&s, ME);
    assert_int_equal(s.health.membership.states[SPEAKER], WEFT_MEMBER_LIVE);
    assert_non_null(weft_neighbours_find(&s.health.neighbours, SPEAKER));
    assert_int_equal(s.health.membership.states[ME], WEFT_MEMBER_DEAD);
    assert_int_equal(s.died[ME], 1);
    assert_int_equal(weft_event_log_death(&s.health.log, ME)->error.status, WEFT_ERR_PROTO);
    assert_int_equal(heard(&s, WEFT_FRAME_DEATH), 1);
    stage_end(&s);
}

/* What others say of it does not keep it from saying so itself. */
static void who_hears_that_it_left_a_communicator_leaves_it_later(void **unused)
{
    (void)unused;
    stage_t s;
    uint8_t bytes[WEFT_WIRE_HEADER + WEFT_WIRE_LEAVE];
    const weft_leave_t leave = {.sequence = 3};
    weft_frame_t frame = {.type = WEFT_FRAME_LEAVE_COMM,
                          .bytes = WEFT_WIRE_LEAVE,
                          .from = ME,
                          .number = COMM,
                          .comm_id = FAMILY};
    stage_begin(&s);
    weft_frame_encode(&frame, bytes);
    weft_leave_encode(&leave, bytes + WEFT_WIRE_HEADER);
    assert_int_equal(send(s.speaker, bytes, sizeof bytes, 0), sizeof bytes);
    weft_control_frames_read(&s.health, weft_neighbours_find(&s.health.neighbours, SPEAKER));
    assert_int_equal(heard(&s, WEFT_FRAME_LEAVE_COMM), 0);
    weft_disseminate_leave_comm(&s.health, NULL, COMM, ME, &leave);
    assert_int_equal(heard(&s, WEFT_FRAME_LEAVE_COMM), 1);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_hears_that_it_left_blames_nobody_else),
        cmocka_unit_test(who_hears_that_it_left_a_communicator_leaves_it_later),
        cmocka_unit_test(who_was_silent_declares_nobody_dead),
        cmocka_unit_test(the_last_words_of_who_died_count),
        cmocka_unit_test(who_lives_is_believed),
        cmocka_unit_test(a_death_counts_after_a_leave),
        cmocka_unit_test(a_leave_counts_no_more_after_a_death),
        cmocka_unit_test(who_leaves_and_is_declared_dead_hears_of_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
