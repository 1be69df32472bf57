/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor of the SDK and both sides of the handshake, one peer at a time: who holds the secret
 * passes, and nobody else. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "acceptor_fixture.h"
#include "tests/support/unit.h"

static void a_peer_that_holds_the_secret_passes_with_its_label(void **state)
{
    acceptor_fixture_t *f = *state;
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
    acceptor_fixture_t *f = *state;
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
    acceptor_fixture_t *f = *state;
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

/* A connector whose proof is there as soon as the acceptor has sent its reply, as on a busy
 * machine. */
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

/* The filter takes some hellos for others that it has seen. Whoever has proved itself was told so,
 * and sent none that was recorded: it passes all the same. */
static void a_hello_that_is_taken_for_another_does_not_drop_a_peer_that_has_passed(void **state)
{
    acceptor_fixture_t *f = *state;
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

/* The connector has sent its proof, and the acceptor goes away: it must not believe itself in. */
static void a_connector_without_acknowledgement_is_not_in(void **state)
{
    acceptor_fixture_t *f = *state;
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
    acceptor_fixture_t *f = *state;
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

static bool no_watches;

/* In place of the one of libc: what fs.epoll.max_user_watches does to all programs of a user. */
int epoll_ctl(int watch, int verb, int fd, struct epoll_event *event)
{
    if (no_watches && verb == EPOLL_CTL_ADD) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, watch, verb, fd, event);
}

static void sockets_that_cannot_be_watched_are_looked_at(void **state)
{
    acceptor_fixture_t *f = *state;
    int wait;
    no_watches = true;
    assert_int_equal(weft_acceptor_wait_fd(&f->acceptor, &wait), WEFT_OK);
    assert_non_null(strstr(f->fake.log, "fs.epoll.max_user_watches"));
    const uint64_t due = weft_acceptor_deadline_ns(&f->acceptor);
    assert_int_equal(due, now_ns + 10000000);
    int fd = dial(f);
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 1);
    no_watches = false;
    now_ns = due;
    nobody_passes(f);
    struct pollfd entry = {.fd = wait, .events = POLLIN};
    assert_int_equal(send(fd, "W", 1, 0), 1);
    assert_int_equal(poll(&entry, 1, 1000), 1);
    assert_true(weft_acceptor_deadline_ns(&f->acceptor) > due + UINT64_C(1000000000));
    close(fd);
}

static void the_wait_descriptor_is_readable_when_there_is_work(void **state)
{
    acceptor_fixture_t *f = *state;
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
    acceptor_fixture_t *f = *state;
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
    acceptor_fixture_t *f = *state;
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    f->fake.no_auth = true;
    assert_int_equal(weft_handshake_begin(&f->fake.host, &handshake, label), WEFT_ERR_STATE);
    f->fake.no_auth = false;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, acceptor_setup, acceptor_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_peer_that_holds_the_secret_passes_with_its_label),
        CASE(another_secret_is_closed_in_silence),
        CASE(a_silent_peer_is_closed_after_its_patience),
        CASE(a_hello_that_is_taken_for_another_does_not_drop_a_peer_that_has_passed),
        CASE(a_connector_without_acknowledgement_is_not_in),
        CASE(a_wrong_acknowledgement_is_refused),
        CASE(sockets_that_cannot_be_watched_are_looked_at),
        CASE(the_wait_descriptor_is_readable_when_there_is_work),
        CASE(no_descriptors_left_is_an_error_that_names_the_limit),
        CASE(a_host_without_authentication_is_an_error),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
