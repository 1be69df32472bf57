/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stage: health, and a listener that stands for all others. */
#include "tests/support/health_stage.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/boot/control_frames.h"
#include "core/boot/failure_detector.h"
#include "core/boot/reconnect.h"
#include "core/boot/wire.h"
#include "tests/support/unit.h"

static void ignore_death(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    (void)arg, (void)comm_id, (void)error;
}

static void ignore_leaver(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    (void)arg, (void)comm_id, (void)rank, (void)leave;
}

void stage_begin(stage_t *s, uint32_t rank)
{
    uint16_t port = 0;
    memset(s, 0, sizeof *s);
    assert_int_equal(weft_os_listen(4, &s->listener, &port), WEFT_OK);
    s->boot.rank = rank;
    s->boot.nranks = STAGE_RANKS;
    s->boot.comm_id = STAGE_FAMILY;
    s->boot.peers = s->peers;
    s->boot.requests = s->requests;
    for (uint32_t r = 0; r < STAGE_RANKS; r++) {
        s->requests[r].rank = r;
        s->requests[r].addrs[0] =
            (weft_os_addr_t){.family = 4, .bytes = {127, 0, 0, 1}, .port = port};
    }
    s->health.boot = &s->boot;
    s->health.callbacks.died = ignore_death;
    s->health.callbacks.left = ignore_leaver;
    weft_health_own(&s->health);
    weft_detector_init(&s->health);
    assert_int_equal(weft_membership_init(&s->health.membership, rank, STAGE_RANKS), WEFT_OK);
    assert_int_equal(weft_event_log_init(&s->health.log, STAGE_RANKS), WEFT_OK);
    assert_int_equal(weft_neighbours_init(&s->health.neighbours, &s->boot), WEFT_OK);
    s->health.membership.states[3] = rank == 3 ? WEFT_MEMBER_LIVE : WEFT_MEMBER_LEFT;
    s->health.membership.leavers = rank != 3;
}

void stage_end(stage_t *s)
{
    weft_reconnect_end(&s->health);
    weft_neighbours_fini(&s->health.neighbours);
    weft_event_log_fini(&s->health.log);
    weft_membership_fini(&s->health.membership);
    weft_os_close(s->listener);
    for (uint32_t r = 0; r < STAGE_RANKS; r++) {
        weft_os_close(s->ends[r] != 0 ? s->ends[r] : -1);
    }
}

weft_neighbour_t *stage_meet(stage_t *s, uint32_t peer)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(weft_neighbours_add(&s->health.neighbours, ends[0], peer), WEFT_OK);
    s->ends[peer] = ends[1];
    return weft_neighbours_find(&s->health.neighbours, peer);
}

void stage_look_later(stage_t *s, double seconds)
{
    weft_detector_step(&s->health, weft_os_deadline(seconds));
}

uint64_t stage_ago(double seconds)
{
    return weft_os_clock_ns() - (uint64_t)(seconds * (double)WEFT_NS_PER_S);
}

void stage_break_off(stage_t *s, uint32_t peer, uint64_t asked)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(weft_neighbours_add(&s->health.neighbours, ends[0], peer), WEFT_OK);
    weft_neighbours_find(&s->health.neighbours, peer)->asked = asked;
    weft_detector_stream_ended(&s->health, weft_neighbours_find(&s->health.neighbours, peer),
                               ETIMEDOUT);
    weft_os_close(ends[1]);
}

void stage_say(stage_t *s, uint32_t peer, uint32_t type)
{
    uint8_t bytes[WEFT_WIRE_HEADER + WEFT_WIRE_SIGNATURE] = {0};
    weft_signature_t nothing = {.sequence = 0};
    weft_frame_t frame = {.type = type,
                          .bytes = type == WEFT_FRAME_ASK ? WEFT_WIRE_SIGNATURE : 0,
                          .from = peer,
                          .sequence = 3,
                          .comm_id = STAGE_FAMILY};
    weft_frame_encode(&frame, bytes);
    weft_signature_encode(&nothing, bytes + WEFT_WIRE_HEADER);
    size_t length = WEFT_WIRE_HEADER + frame.bytes;
    assert_int_equal(send(s->ends[peer], bytes, length, 0), length);
    weft_control_frames_read(&s->health, weft_neighbours_find(&s->health.neighbours, peer));
}

/* How many frames of that type came to `peer` since it was asked last. */
uint32_t stage_heard_by(stage_t *s, uint32_t peer, uint32_t type)
{
    static uint8_t bytes[1 << 16];
    weft_frame_t frame;
    const char *why;
    uint32_t count = 0;
    weft_neighbours_flush(&s->health.neighbours);
    ssize_t got = recv(s->ends[peer], bytes, sizeof bytes, 0);
    for (ssize_t at = 0; at < got; at += WEFT_WIRE_HEADER + (ssize_t)frame.bytes) {
        assert_int_equal(weft_frame_decode(bytes + at, STAGE_RANKS, STAGE_FAMILY, &frame, &why),
                         WEFT_OK);
        count += frame.type == type;
    }
    return count;
}
