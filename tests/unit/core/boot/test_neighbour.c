/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the health thread: how they end. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "core/boot/neighbour.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tests/support/accepted.h"
#include "tests/support/unit.h"

static bool no_memory;
void *__real_weft_os_alloc(size_t bytes, size_t alignment);
void *__wrap_weft_os_alloc(size_t bytes, size_t alignment);

void *__wrap_weft_os_alloc(size_t bytes, size_t alignment)
{
    return no_memory ? NULL : __real_weft_os_alloc(bytes, alignment);
}

typedef struct pair {
    weft_boot_t boot;
    weft_join_request_t requests[2];
    weft_neighbours_t neighbours;
    weft_neighbour_t *neighbour;
    int there; /* the other end */
} pair_t;

static int accept_soon(int listener)
{
    struct pollfd entry = {.fd = listener, .events = POLLIN};
    assert_true(weft_os_poll(&entry, 1, weft_os_deadline(5)) > 0);
    int fd = accepted(listener);
    assert_true(fd >= 0);
    return fd;
}

static void pair_begin(pair_t *p)
{
    int listener = -1, here = -1;
    uint16_t port = 0;
    memset(p, 0, sizeof *p);
    p->boot.nranks = 2;
    p->boot.requests = p->requests;
    assert_int_equal(weft_os_listen(4, &listener, &port), WEFT_OK);
    weft_os_addr_t at = {.family = 4, .bytes = {127, 0, 0, 1}, .port = port};
    assert_int_equal(weft_os_connect(&at, &here), WEFT_OK);
    p->there = accept_soon(listener);
    weft_os_close(listener);
    assert_int_equal(weft_neighbours_init(&p->neighbours, &p->boot), WEFT_OK);
    assert_int_equal(weft_neighbours_add(&p->neighbours, here, 1), WEFT_OK);
    p->neighbour = weft_neighbours_find(&p->neighbours, 1);
}

/* By then what the other end did has arrived. */
static void await_news(const pair_t *p)
{
    struct pollfd entry = {.fd = p->neighbour->fd, .events = POLLIN};
    assert_true(weft_os_poll(&entry, 1, weft_os_deadline(5)) > 0);
}

static void send_beat(const pair_t *p)
{
    const weft_frame_t beat = {.type = WEFT_FRAME_BEAT};
    weft_neighbour_send(&p->neighbours, p->neighbour, &beat, NULL);
    weft_neighbour_flush(p->neighbour);
}

static void reset(pair_t *p)
{
    const struct linger none = {.l_onoff = 1};
    assert_int_equal(setsockopt(p->there, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
    weft_os_close(p->there);
    await_news(p);
}

static int cause_of_the_end(const pair_t *p)
{
    int cause = -1;
    assert_int_equal(weft_neighbour_receive(p->neighbour, &cause), WEFT_ERR_LINK);
    return cause;
}

static void a_reset_is_no_end(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    reset(&p);
    assert_int_equal(cause_of_the_end(&p), ECONNRESET);
    weft_neighbours_fini(&p.neighbours);
}

/* The kernel says once that a connection was reset, here to the send. */
static void a_reset_that_a_send_meets_first_is_no_end(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    reset(&p);
    send_beat(&p);
    assert_int_equal(cause_of_the_end(&p), ECONNRESET);
    weft_neighbours_fini(&p.neighbours);
}

static void an_end_in_order_has_no_cause(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    weft_os_close(p.there);
    await_news(&p);
    assert_int_equal(cause_of_the_end(&p), 0);
    weft_neighbours_fini(&p.neighbours);
}

/* A rank that joins says on a new connection what it lacks. */
static void nothing_ends_before_what_a_new_connection_begins_with_was_served(void **unused)
{
    (void)unused;
    pair_t p;
    uint8_t header[WEFT_WIRE_HEADER];
    const uint8_t *payload;
    const char *why;
    int cause;
    weft_frame_t frame = {.type = WEFT_FRAME_AGAIN, .from = 1};
    pair_begin(&p);
    p.neighbour->fresh = true;
    weft_neighbour_end_sending(p.neighbour);
    assert_false(p.neighbour->ended_sending);
    weft_frame_encode(&frame, header);
    for (int part = 0; part < 2; part++) {
        assert_int_equal(send(p.there, header + part, part == 0 ? 1 : sizeof header - 1, 0),
                         part == 0 ? 1 : sizeof header - 1);
        await_news(&p);
        assert_int_equal(weft_neighbour_receive(p.neighbour, &cause), WEFT_OK);
        weft_neighbour_end_sending(p.neighbour);
        assert_false(p.neighbour->ended_sending);
    }
    assert_int_equal(weft_neighbour_next_frame(&p.neighbours, p.neighbour, &frame, &payload, &why),
                     WEFT_OK);
    weft_neighbour_end_sending(p.neighbour);
    assert_true(p.neighbour->ended_sending);
    weft_neighbours_fini(&p.neighbours);
    weft_os_close(p.there);
}

static void a_frame_that_finds_no_memory_leaves_no_header_behind(void **unused)
{
    static const uint8_t payload[100000];
    uint8_t made[WEFT_WIRE_HEADER], got[WEFT_WIRE_HEADER];
    const weft_frame_t gather = {.type = WEFT_FRAME_GATHER, .bytes = sizeof payload};
    weft_frame_t frame;
    const char *why = "";
    pair_t p;
    (void)unused;
    pair_begin(&p);
    weft_frame_encode(&gather, made);
    no_memory = true;
    weft_neighbour_send_made(p.neighbour, made, payload, sizeof payload);
    no_memory = false;
    send_beat(&p);
    assert_int_equal(recv(p.there, got, sizeof got, MSG_WAITALL), sizeof got);
    assert_int_equal(weft_frame_decode(got, 2, p.boot.comm_id, &frame, &why), WEFT_OK);
    assert_int_equal(frame.type, WEFT_FRAME_BEAT);
    weft_neighbour_send_made(p.neighbour, made, payload, sizeof payload);
    weft_neighbour_flush(p.neighbour);
    assert_int_equal(recv(p.there, got, sizeof got, MSG_WAITALL), sizeof got);
    assert_memory_equal(got, made, sizeof made);
    weft_os_close(p.there);
    weft_neighbours_fini(&p.neighbours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_is_no_end),
        cmocka_unit_test(a_reset_that_a_send_meets_first_is_no_end),
        cmocka_unit_test(an_end_in_order_has_no_cause),
        cmocka_unit_test(a_frame_that_finds_no_memory_leaves_no_header_behind),
        cmocka_unit_test(nothing_ends_before_what_a_new_connection_begins_with_was_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
