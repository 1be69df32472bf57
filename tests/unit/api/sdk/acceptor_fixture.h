/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An acceptor of the SDK that listens on loopback, with a clock of the test's, and those who
 * connect to it. */
#ifndef WEFT_TESTS_UNIT_API_SDK_ACCEPTOR_FIXTURE_H
#define WEFT_TESTS_UNIT_API_SDK_ACCEPTOR_FIXTURE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sdk/acceptor.h>

#include "tests/support/fake_host.h"

typedef struct acceptor_fixture {
    fake_host_t fake;
    weft_acceptor_t acceptor;
    struct sockaddr_in address;
} acceptor_fixture_t;

extern _Atomic uint64_t now_ns; /* what the acceptor's clock says */

/* Of one test, for cmocka: *state is an acceptor_fixture_t. */
int acceptor_setup(void **state);
int acceptor_teardown(void **state);
/* A connection to the acceptor. The caller closes it. */
int dial(const acceptor_fixture_t *f);
/* Whether the acceptor has closed this connection; what it sent before is counted. */
bool is_closed(int fd, size_t *heard);
/* Polls the acceptor until it has nothing to do; nobody may pass. */
void nobody_passes(acceptor_fixture_t *f);
/* Runs a whole handshake with the key of `host`; the acceptor's end, or −1. The connector must have
 * heard that it is in. */
int pass(acceptor_fixture_t *f, const weft_host_t *host, int fd, const char *name);
/* Goes as far as the proof; the acceptor has answered the hello and not seen the proof. */
int dial_to_proof(acceptor_fixture_t *f, weft_handshake_t *handshake, const char *name);

#endif
