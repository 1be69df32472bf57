/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor of the SDK and both sides of the handshake, over loopback, with a clock of the
 * test's: strangers get nothing, cost a bounded amount, and keep nobody out. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <weft/sdk/acceptor.h>

#include "tests/support/fake_host.h"

#define SECOND UINT64_C(1000000000)

static _Atomic uint64_t now_ns;

static uint64_t test_clock(const weft_host_t *host)
{
    (void)host;
    return now_ns;
}

typedef struct fixture {
    fake_host_t fake;
    weft_acceptor_t acceptor;
    struct sockaddr_in address;
} fixture_t;

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t bytes = sizeof f->address;
    f->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)&f->address, bytes), 0);
    assert_int_equal(listen(fd, 1024), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&f->address, &bytes), 0);
    now_ns = 1000 * SECOND;
    fake_host_init(&f->fake, "acceptor");
    f->fake.host.clock_ns = test_clock;
    weft_acceptor_init(&f->acceptor, &f->fake.host, -1);
    weft_acceptor_add(&f->acceptor, fd);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    weft_acceptor_fini(&f->acceptor);
    assert_int_equal(f->fake.allocs, 0);
    fake_host_fini(&f->fake);
    free(f);
    return 0;
}

static int dial(const fixture_t *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&f->address, sizeof f->address), 0);
    return fd;
}

/* Whether the acceptor has closed this connection; what it sent before is counted. */
static bool is_closed(int fd, size_t *heard)
{
    char bytes[256];
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0) {
            return got == 0 || errno == ECONNRESET;
        }
        *heard += (size_t)got;
    }
}

/* Polls the acceptor until it has nothing to do; nobody may pass. */
static void nobody_passes(fixture_t *f)
{
    for (int i = 0; i < 32; i++) {
        int fd;
        uint8_t label[WEFT_AUTH_LABEL];
        assert_int_equal(weft_acceptor_poll(&f->acceptor, &fd, label), WEFT_AGAIN);
    }
}

/* Runs a whole handshake with the key of `host`; the acceptor's end, or −1. The connector must have
 * heard that it is in. */
static int pass(fixture_t *f, const weft_host_t *host, int fd, const char *name)
{
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0}, seen[WEFT_AUTH_LABEL] = {0};
    int accepted = -1;
    snprintf((char *)label, sizeof label, "%s", name);
    assert_int_equal(weft_handshake_begin(host, &handshake, label), WEFT_OK);
    weft_status_t status = WEFT_IN_PROGRESS;
    for (int i = 0; i < 2000 && (accepted < 0 || status != WEFT_OK); i++) {
        status = weft_handshake_connect(host, &handshake, fd);
        if (status != WEFT_OK && status != WEFT_IN_PROGRESS) {
            assert_true(accepted < 0);
            return -1;
        }
        if (accepted < 0 && weft_acceptor_poll(&f->acceptor, &accepted, seen) != WEFT_OK) {
            accepted = -1;
            poll(NULL, 0, 1);
        }
    }
    if (accepted >= 0) {
        assert_int_equal(status, WEFT_OK);
        assert_memory_equal(seen, label, sizeof label);
    }
    return accepted;
}

static void a_peer_that_holds_the_secret_passes_with_its_label(void **state)
{
    fixture_t *f = *state;
    int fd = dial(f);
    int accepted = pass(f, &f->fake.host, fd, "rank 3");
    assert_true(accepted >= 0);
    assert_int_equal(f->acceptor.pending, 0);
    assert_int_equal(send(accepted, "x", 1, 0), 1);
    size_t heard = 0;
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000);
    assert_false(is_closed(fd, &heard));
    assert_int_equal(heard, 1);
    close(accepted);
    close(fd);
}

static void another_secret_is_closed_in_silence(void **state)
{
    fixture_t *f = *state;
    fake_host_t other;
    size_t heard = 0;
    fake_host_init(&other, "other");
    other.key[0] ^= 1;
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    int fd = dial(f);
    weft_handshake_begin(&other.host, &handshake, label);
    /* Bytes that are no hello at all. */
    memset(handshake.message, 'W', sizeof handshake.message);
    assert_int_equal(send(fd, handshake.message, sizeof handshake.message, 0), WEFT_AUTH_HELLO);
    poll(NULL, 0, 20);
    nobody_passes(f);
    assert_true(is_closed(fd, &heard));
    assert_int_equal(heard, 0);
    close(fd);
    fd = dial(f);
    assert_int_equal(pass(f, &other.host, fd, "intruder"), -1);
    close(fd);
    fake_host_fini(&other);
}

static void a_silent_peer_is_closed_after_its_patience(void **state)
{
    fixture_t *f = *state;
    size_t heard = 0;
    int silent = dial(f), half = dial(f);
    assert_int_equal(send(half, "W", 1, 0), 1);
    poll(NULL, 0, 20);
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 2);
    assert_int_equal(weft_acceptor_deadline_ns(&f->acceptor), now_ns + WEFT_ACCEPTOR_PATIENCE_NS);
    now_ns += WEFT_ACCEPTOR_PATIENCE_NS - 1;
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 2);
    now_ns += 1;
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 0);
    assert_true(weft_acceptor_deadline_ns(&f->acceptor) == UINT64_MAX);
    assert_true(is_closed(silent, &heard) && is_closed(half, &heard));
    assert_int_equal(heard, 0);
    close(silent);
    close(half);
}

static void a_flood_is_bounded_and_a_good_peer_still_passes(void **state)
{
    fixture_t *f = *state;
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

enum { STEP_ACK = 3 }; /* the connector has sent its proof */

/* Goes as far as the proof; the acceptor has answered the hello and not seen the proof. */
static int dial_to_proof(fixture_t *f, weft_handshake_t *handshake, const char *name)
{
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    int fd = dial(f), accepted = -1;
    snprintf((char *)label, sizeof label, "%s", name);
    weft_handshake_begin(&f->fake.host, handshake, label);
    for (int i = 0; i < 2000 && handshake->step != STEP_ACK; i++) {
        assert_int_equal(weft_handshake_connect(&f->fake.host, handshake, fd), WEFT_IN_PROGRESS);
        if (handshake->step == 1) {
            weft_acceptor_poll(&f->acceptor, &accepted, label);
        }
        poll(NULL, 0, 1);
    }
    assert_int_equal(handshake->step, STEP_ACK);
    assert_int_equal(accepted, -1);
    return fd;
}

/* The proof of the good peer is on its way when the flood arrives. */
static void a_peer_that_was_greeted_keeps_its_place_in_a_flood(void **state)
{
    fixture_t *f = *state;
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

static void send_hello(fixture_t *f, int fd, uint8_t hello[WEFT_AUTH_HELLO])
{
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    weft_handshake_begin(&f->fake.host, &handshake, label);
    memcpy(hello, handshake.message, WEFT_AUTH_HELLO);
    assert_int_equal(send(fd, hello, WEFT_AUTH_HELLO, 0), WEFT_AUTH_HELLO);
}

/* A connector whose proof is there as soon as the acceptor has sent its reply, as on a busy machine. */
static struct {
    const weft_auth_service_t *real;
    weft_auth_service_t service;
    weft_auth_state_t state;
    int fd;
} hasty;

static const void *hasty_service(const weft_host_t *host, const char *name)
{
    (void)host;
    (void)name;
    return &hasty.service;
}

static weft_status_t hasty_reply(const weft_host_t *host, weft_auth_state_t *state,
                                 const uint8_t hello[WEFT_AUTH_HELLO],
                                 uint8_t reply[WEFT_AUTH_REPLY])
{
    uint8_t proof[WEFT_AUTH_PROOF];
    weft_status_t status = hasty.real->server_reply(host, state, hello, reply);
    assert_int_equal(hasty.real->client_finish(host, &hasty.state, reply, proof), WEFT_OK);
    assert_int_equal(send(hasty.fd, proof, sizeof proof, 0), sizeof proof);
    return status;
}

/* The filter takes some hellos for others that it has seen. Whoever has proved itself was told so, and
 * sent none that was recorded: it passes all the same. */
static void a_hello_that_is_taken_for_another_does_not_drop_a_peer_that_has_passed(void **state)
{
    fixture_t *f = *state;
    uint8_t hello[WEFT_AUTH_HELLO], label[WEFT_AUTH_LABEL] = "hasty";
    int accepted = -1;
    hasty.real = f->fake.host.get_service(&f->fake.host, WEFT_SERVICE_AUTH);
    hasty.service = *hasty.real;
    hasty.service.server_reply = hasty_reply;
    hasty.fd = dial(f);
    assert_int_equal(hasty.real->client_begin(&f->fake.host, &hasty.state, label, hello), WEFT_OK);
    f->fake.host.get_service = hasty_service;
    memset(f->acceptor.seen.newer, 0xff, sizeof f->acceptor.seen.newer);
    assert_int_equal(send(hasty.fd, hello, sizeof hello, 0), sizeof hello);
    poll(NULL, 0, 20);
    for (int i = 0; i < 1000 && accepted < 0; i++) {
        (void)weft_acceptor_poll(&f->acceptor, &accepted, label);
        poll(NULL, 0, 1);
    }
    assert_true(accepted >= 0);
    assert_string_equal((const char *)label, "hasty");
    close(accepted);
    close(hasty.fd);
}

static void the_owner_may_have_fewer_places(void **state)
{
    fixture_t *f = *state;
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

static void when_all_were_greeted_the_rest_waits_in_the_backlog(void **state)
{
    fixture_t *f = *state;
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
    fixture_t *f = *state;
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
    fixture_t *f = *state;
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

/* The connector has sent its proof, and the acceptor goes away: it must not believe itself in. */
static void a_connector_without_acknowledgement_is_not_in(void **state)
{
    fixture_t *f = *state;
    weft_handshake_t handshake;
    int fd = dial_to_proof(f, &handshake, "unheard");
    weft_acceptor_fini(&f->acceptor);
    weft_status_t status = WEFT_IN_PROGRESS;
    for (int i = 0; i < 2000 && status == WEFT_IN_PROGRESS; i++) {
        status = weft_handshake_connect(&f->fake.host, &handshake, fd);
        poll(NULL, 0, 1);
    }
    assert_int_equal(status, WEFT_ERR_LINK);
    close(fd);
}

static void a_wrong_acknowledgement_is_refused(void **state)
{
    fixture_t *f = *state;
    weft_handshake_t handshake;
    char text[256];
    int fds[2], fd = dial_to_proof(f, &handshake, "misled");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(send(fds[0], "x", 1, 0), 1);
    assert_int_equal(weft_handshake_connect(&f->fake.host, &handshake, fds[1]), WEFT_ERR_PROTO);
    fake_host_take_error(&f->fake, text, sizeof text);
    assert_non_null(strstr(text, "0x78"));
    close(fds[0]);
    close(fds[1]);
    close(fd);
}

static uint32_t count_lines(fixture_t *f)
{
    uint32_t lines = 0;
    for (const char *at = f->fake.log; (at = strstr(at, "did not authenticate")) != NULL; at++) {
        lines++;
    }
    return lines;
}

static void rubbish(fixture_t *f, uint32_t count)
{
    uint8_t bytes[WEFT_AUTH_HELLO] = "GET / HTTP/1.1";
    for (uint32_t i = 0; i < count; i++) {
        int fd = dial(f);
        assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
        poll(NULL, 0, 1);
        nobody_passes(f);
        close(fd);
    }
}

static void who_ends_before_the_first_byte_is_no_stranger(void **state)
{
    fixture_t *f = *state;
    for (int i = 0; i < 3; i++) {
        close(dial(f));
        poll(NULL, 0, 1);
        nobody_passes(f);
    }
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 0);
    assert_non_null(strstr(f->fake.log, "closed 2 connections that ended before they said a word"));
}

static void who_ends_after_some_bytes_is_a_stranger(void **state)
{
    fixture_t *f = *state;
    int fd = dial(f);
    assert_int_equal(send(fd, "GET", 3, 0), 3);
    close(fd);
    poll(NULL, 0, 1);
    nobody_passes(f);
    assert_int_equal(count_lines(f), 1);
}

static void who_is_late_after_a_good_hello_is_no_stranger(void **state)
{
    fixture_t *f = *state;
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = "stopped";
    int fd = dial(f);
    weft_handshake_begin(&f->fake.host, &handshake, label);
    assert_int_equal(weft_handshake_connect(&f->fake.host, &handshake, fd), WEFT_IN_PROGRESS);
    poll(NULL, 0, 1);
    nobody_passes(f);
    now_ns += WEFT_ACCEPTOR_PATIENCE_NS;
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 0);
    assert_int_equal(count_lines(f), 0);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that said a good hello and no more"));
    close(fd);
}

static void who_makes_room_is_no_stranger(void **state)
{
    fixture_t *f = *state;
    int fds[3];
    f->acceptor.places = 1;
    for (int i = 0; i < 3; i++) {
        fds[i] = dial(f);
        poll(NULL, 0, 1);
        nobody_passes(f);
    }
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that made room for others"));
    assert_int_equal(count_lines(f), 1); /* the last one, which said nothing in its time */
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
    }
}

static void the_log_gets_one_line_per_interval(void **state)
{
    fixture_t *f = *state;
    rubbish(f, 10);
    assert_int_equal(count_lines(f), 1);
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 2);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that did not"));
    assert_non_null(strstr(f->fake.log, "closed 9 connections that did not"));
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 2);
}

static void the_wait_descriptor_is_readable_when_there_is_work(void **state)
{
    fixture_t *f = *state;
    int wait;
    assert_int_equal(weft_acceptor_wait_fd(&f->acceptor, &wait), WEFT_OK);
    struct pollfd entry = {.fd = wait, .events = POLLIN};
    assert_int_equal(poll(&entry, 1, 0), 0);
    int fd = dial(f);
    assert_int_equal(poll(&entry, 1, 1000), 1);
    nobody_passes(f);
    assert_int_equal(poll(&entry, 1, 0), 0);
    assert_int_equal(send(fd, "W", 1, 0), 1);
    assert_int_equal(poll(&entry, 1, 1000), 1);
    nobody_passes(f);
    assert_int_equal(poll(&entry, 1, 0), 0);
    close(fd);
    assert_int_equal(poll(&entry, 1, 1000), 1);
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 0);
}

static void no_descriptors_left_is_an_error_that_names_the_limit(void **state)
{
    fixture_t *f = *state;
    struct rlimit limit, none;
    char text[256];
    uint8_t label[WEFT_AUTH_LABEL];
    int fd = dial(f), accepted = -1;
    poll(NULL, 0, 20);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    weft_status_t status = weft_acceptor_poll(&f->acceptor, &accepted, label);
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_int_equal(status, WEFT_ERR_RESOURCE);
    fake_host_take_error(&f->fake, text, sizeof text);
    assert_non_null(strstr(text, "ulimit -n"));
    accepted = pass(f, &f->fake.host, fd, "patient");
    assert_true(accepted >= 0);
    close(accepted);
    close(fd);
}

static void a_host_without_authentication_is_an_error(void **state)
{
    fixture_t *f = *state;
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    f->fake.no_auth = true;
    assert_int_equal(weft_handshake_begin(&f->fake.host, &handshake, label), WEFT_ERR_STATE);
    f->fake.no_auth = false;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_peer_that_holds_the_secret_passes_with_its_label),
        CASE(another_secret_is_closed_in_silence),
        CASE(a_silent_peer_is_closed_after_its_patience),
        CASE(a_flood_is_bounded_and_a_good_peer_still_passes),
        CASE(a_peer_that_was_greeted_keeps_its_place_in_a_flood),
        CASE(a_hello_that_is_taken_for_another_does_not_drop_a_peer_that_has_passed),
        CASE(the_owner_may_have_fewer_places),
        CASE(when_all_were_greeted_the_rest_waits_in_the_backlog),
        CASE(a_recorded_hello_takes_one_place_once),
        CASE(no_rhythm_of_strangers_keeps_a_distant_peer_out),
        CASE(a_connector_without_acknowledgement_is_not_in),
        CASE(a_wrong_acknowledgement_is_refused),
        CASE(who_ends_before_the_first_byte_is_no_stranger),
        CASE(who_ends_after_some_bytes_is_a_stranger),
        CASE(who_is_late_after_a_good_hello_is_no_stranger),
        CASE(who_makes_room_is_no_stranger),
        CASE(the_log_gets_one_line_per_interval),
        CASE(the_wait_descriptor_is_readable_when_there_is_work),
        CASE(no_descriptors_left_is_an_error_that_names_the_limit),
        CASE(a_host_without_authentication_is_an_error),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
