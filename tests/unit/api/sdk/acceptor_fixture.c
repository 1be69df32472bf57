/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor of the tests. */
#include "acceptor_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

enum { STEP_ACK = 3 }; /* the connector has sent its proof */

_Atomic uint64_t now_ns;

static uint64_t test_clock(const weft_host_t *host)
{
    (void)host;
    return now_ns;
}

int acceptor_setup(void **state)
{
    acceptor_fixture_t *f = calloc(1, sizeof *f);
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

int acceptor_teardown(void **state)
{
    acceptor_fixture_t *f = *state;
    weft_acceptor_fini(&f->acceptor);
    assert_int_equal(f->fake.allocs, 0);
    fake_host_fini(&f->fake);
    free(f);
    return 0;
}

int dial(const acceptor_fixture_t *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&f->address, sizeof f->address), 0);
    return fd;
}

bool is_closed(int fd, size_t *heard)
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

void nobody_passes(acceptor_fixture_t *f)
{
    for (int i = 0; i < 32; i++) {
        int fd;
        uint8_t label[WEFT_AUTH_LABEL];
        assert_int_equal(weft_acceptor_poll(&f->acceptor, &fd, label), WEFT_AGAIN);
    }
}

int pass(acceptor_fixture_t *f, const weft_host_t *host, int fd, const char *name)
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

int dial_to_proof(acceptor_fixture_t *f, weft_handshake_t *handshake, const char *name)
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
