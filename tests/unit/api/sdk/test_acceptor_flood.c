/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor of the SDK in a flood of strangers: they cost a bounded amount, and keep nobody
 * out. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor_fixture.h"
#include "tests/support/unit.h"

static void a_flood_is_bounded_and_a_good_peer_still_passes(void **state)
{
    acceptor_fixture_t *f = *state;
    enum { FLOOD = WEFT_ACCEPTOR_PENDING + 30 };
    int flood[FLOOD], closed = 0;
    size_t heard = 0;
    for (int i = 0; i < FLOOD; i++) {
        flood[i] = dial(f);
        now_ns++;
        nobody_passes(f);
        assert_true(f->acceptor.pending <= WEFT_ACCEPTOR_PENDING);
    }
    poll(NULL, 0, 20);
    for (int i = 0; i < FLOOD; i++) {
        closed += is_closed(flood[i], &heard);
    }
    assert_int_equal(closed, FLOOD - (int)WEFT_ACCEPTOR_PENDING);
    assert_int_equal(heard, 0);
    int fd = dial(f);
    int accepted = pass(f, &f->fake.host, fd, "late");
    assert_true(accepted >= 0);
    close(accepted);
    close(fd);
    for (int i = 0; i < FLOOD; i++) {
        close(flood[i]);
    }
}

/* The proof of the good peer is on its way when the flood arrives. */
static void a_peer_that_was_greeted_keeps_its_place_in_a_flood(void **state)
{
    acceptor_fixture_t *f = *state;
    weft_handshake_t handshake;
    uint8_t seen[WEFT_AUTH_LABEL] = {0};
    int flood[4 * WEFT_ACCEPTOR_PENDING], accepted = -1;
    int fd = dial_to_proof(f, &handshake, "early");
    for (uint32_t i = 0; i < 4 * WEFT_ACCEPTOR_PENDING; i++) {
        flood[i] = dial(f);
    }
    poll(NULL, 0, 20);
    weft_status_t status = WEFT_AGAIN;
    for (int i = 0; i < 32 && status != WEFT_OK; i++) {
        now_ns++;
        status = weft_acceptor_poll(&f->acceptor, &accepted, seen);
    }
    assert_int_equal(status, WEFT_OK);
    assert_string_equal((const char *)seen, "early");
    close(accepted);
    close(fd);
    for (uint32_t i = 0; i < 4 * WEFT_ACCEPTOR_PENDING; i++) {
        close(flood[i]);
    }
}

static void the_owner_may_have_fewer_places(void **state)
{
    acceptor_fixture_t *f = *state;
    int fds[5];
    f->acceptor.places = 3;
    for (uint32_t i = 0; i < 5; i++) {
        fds[i] = dial(f);
        nobody_passes(f);
        assert_true(f->acceptor.pending <= 3);
    }
    assert_int_equal(f->acceptor.pending, 3);
    for (uint32_t i = 0; i < 5; i++) {
        close(fds[i]);
    }
}

static void send_hello(acceptor_fixture_t *f, int fd, uint8_t hello[WEFT_AUTH_HELLO])
{
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    weft_handshake_begin(&f->fake.host, &handshake, label);
    memcpy(hello, handshake.message, WEFT_AUTH_HELLO);
    assert_int_equal(send(fd, hello, WEFT_AUTH_HELLO, 0), WEFT_AUTH_HELLO);
}

static void when_all_were_greeted_the_rest_waits_in_the_backlog(void **state)
{
    acceptor_fixture_t *f = *state;
    enum { MORE = 5 };
    int fds[WEFT_ACCEPTOR_PENDING + MORE], wait;
    uint8_t hello[WEFT_AUTH_HELLO];
    size_t heard = 0;
    assert_int_equal(weft_acceptor_wait_fd(&f->acceptor, &wait), WEFT_OK);
    struct pollfd entry = {.fd = wait, .events = POLLIN};
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING + MORE; i++) {
        fds[i] = dial(f);
        send_hello(f, fds[i], hello);
        poll(NULL, 0, 1);
        nobody_passes(f);
    }
    assert_int_equal(f->acceptor.pending, WEFT_ACCEPTOR_PENDING);
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING + MORE; i++) {
        heard = 0;
        assert_false(is_closed(fds[i], &heard));
        assert_int_equal(heard, i < WEFT_ACCEPTOR_PENDING ? WEFT_AUTH_REPLY : 0);
    }
    /* Nothing to do, and no reason to wake up, until one of them leaves. */
    assert_int_equal(poll(&entry, 1, 0), 0);
    close(fds[7]);
    assert_int_equal(poll(&entry, 1, 1000), 1);
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, WEFT_ACCEPTOR_PENDING);
    now_ns += WEFT_ACCEPTOR_PATIENCE_NS;
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, MORE - 1);
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING + MORE; i++) {
        if (i != 7) {
            close(fds[i]);
        }
    }
}

static void a_recorded_hello_takes_one_place_once(void **state)
{
    acceptor_fixture_t *f = *state;
    enum { REPLAYS = 200 };
    int fds[REPLAYS];
    uint8_t hello[WEFT_AUTH_HELLO];
    size_t heard = 0;
    fds[0] = dial(f);
    send_hello(f, fds[0], hello);
    poll(NULL, 0, 5);
    nobody_passes(f);
    for (uint32_t i = 1; i < REPLAYS; i++) {
        fds[i] = dial(f);
        assert_int_equal(send(fds[i], hello, sizeof hello, 0), sizeof hello);
        poll(NULL, 0, 1);
        nobody_passes(f);
        assert_int_equal(f->acceptor.pending, 1);
        assert_true(is_closed(fds[i], &heard));
    }
    assert_false(is_closed(fds[0], &heard));
    /* Also when the first one is gone. */
    now_ns += WEFT_ACCEPTOR_PATIENCE_NS;
    nobody_passes(f);
    close(fds[1]);
    fds[1] = dial(f);
    assert_int_equal(send(fds[1], hello, sizeof hello, 0), sizeof hello);
    poll(NULL, 0, 5);
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 0);
    for (uint32_t i = 0; i < REPLAYS; i++) {
        close(fds[i]);
    }
}

/* The hello of a distant peer takes as long as two tables of newer connections. Were the oldest one
 * dropped, it would never get in. */
static void no_rhythm_of_strangers_keeps_a_distant_peer_out(void **state)
{
    acceptor_fixture_t *f = *state;
    enum { TIMES = 200, FLOOD = 2 * WEFT_ACCEPTOR_PENDING };
    int flood[FLOOD], passed = 0;
    for (int i = 0; i < TIMES && passed == 0; i++) {
        int fd = dial(f);
        nobody_passes(f);
        for (int k = 0; k < FLOOD; k++) {
            flood[k] = dial(f);
            nobody_passes(f);
        }
        int accepted = pass(f, &f->fake.host, fd, "distant");
        passed += accepted >= 0;
        for (int k = 0; k < FLOOD; k++) {
            close(flood[k]);
        }
        close(accepted);
        close(fd);
    }
    assert_int_equal(passed, 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, acceptor_setup, acceptor_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_flood_is_bounded_and_a_good_peer_still_passes),
        CASE(a_peer_that_was_greeted_keeps_its_place_in_a_flood),
        CASE(the_owner_may_have_fewer_places),
        CASE(when_all_were_greeted_the_rest_waits_in_the_backlog),
        CASE(a_recorded_hello_takes_one_place_once),
        CASE(no_rhythm_of_strangers_keeps_a_distant_peer_out),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
