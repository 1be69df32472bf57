/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the connector waits for an answer. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/connector.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { FULL = 4 };

typedef struct fixture {
    struct sockaddr_in address;
    int listening, fds[FULL];
    weft_connector_t connector;
} fixture_t;

/* A listener that drops who asks, as its queue is full: as little comes back as from a far network
 * before its answer is here. */
static int set_up(void **state)
{
    static fixture_t f;
    socklen_t bytes = sizeof f.address;
    f.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    f.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(f.listening, (struct sockaddr *)&f.address, bytes), 0);
    assert_int_equal(listen(f.listening, 0), 0);
    assert_int_equal(getsockname(f.listening, (struct sockaddr *)&f.address, &bytes), 0);
    for (uint32_t i = 0; i < FULL; i++) {
        f.fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(f.fds[i], (struct sockaddr *)&f.address, bytes);
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    weft_connector_end(&f->connector);
    for (uint32_t i = 0; i < FULL; i++) {
        close(f->fds[i]);
    }
    close(f->listening);
    return 0;
}

/* The time that the attempt under way has in all. Steps until it is begun. */
static uint64_t attempt_ns(weft_connector_t *connector, uint32_t number)
{
    uint64_t before = 0;
    while (connector->attempts < number) {
        struct pollfd entry;
        uint64_t until = WEFT_NEVER;
        weft_connector_prepare(connector, &entry, &until);
        assert_true(weft_os_poll(&entry, 1, connector->attempts == 0 ? 0 : until) >= 0);
        before = weft_os_clock_ns();
        assert_int_equal(weft_connector_step(connector), WEFT_IN_PROGRESS);
    }
    return connector->stage_until - before;
}

/* Where an answer takes longer than a quarter of a second, no attempt of that length can end
 * well. */
static void one_of_the_first_attempts_waits_for_a_far_network(void **state)
{
    fixture_t *f = *state;
    const uint8_t key[32] = {0}, label[WEFT_AUTH_LABEL] = {0};
    const weft_os_addr_t address = {
        .family = 4, .port = ntohs(f->address.sin_port), .bytes = {127, 0, 0, 1}};
    weft_connector_begin(&f->connector, key, label, &address, 1, WEFT_NEVER);
    uint64_t longest = 0;
    for (uint32_t number = 1; number <= 4; number++) {
        uint64_t ns = attempt_ns(&f->connector, number);
        longest = ns > longest ? ns : longest;
    }
    assert_true(longest >= WEFT_NS_PER_S);
}

/* A program that never looks at its port, or a proxy with nobody behind it: the connection comes
 * from the system, so it is no firewall. */
static void who_connects_and_hears_nothing_says_so(void **state)
{
    fixture_t *f = *state;
    const uint8_t key[32] = {0}, label[WEFT_AUTH_LABEL] = {0};
    const weft_os_addr_t address = {
        .family = 4, .port = ntohs(f->address.sin_port), .bytes = {127, 0, 0, 1}};
    assert_int_equal(listen(f->listening, 64), 0);
    weft_connector_begin(&f->connector, key, label, &address, 1, weft_os_deadline(0.5));
    assert_int_equal(weft_connector_run(&f->connector), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "takes connections, but nobody answers"));
    assert_null(strstr(weft_error_record()->text, "firewall"));
}

static void *close_all(void *arg)
{
    const fixture_t *f = arg;
    for (int fd; (fd = accept(f->listening, NULL, NULL)) >= 0;) {
        close(fd);
    }
    return NULL;
}

/* The port of another job: its root closes what does not have its id. */
static void who_is_closed_until_the_deadline_says_so(void **state)
{
    fixture_t *f = *state;
    pthread_t thread;
    const uint8_t key[32] = {0}, label[WEFT_AUTH_LABEL] = {0};
    const weft_os_addr_t address = {
        .family = 4, .port = ntohs(f->address.sin_port), .bytes = {127, 0, 0, 1}};
    assert_int_equal(listen(f->listening, 64), 0);
    assert_int_equal(pthread_create(&thread, NULL, close_all, f), 0);
    weft_connector_begin(&f->connector, key, label, &address, 1, weft_os_deadline(0.5));
    weft_status_t status = weft_connector_run(&f->connector);
    shutdown(f->listening, SHUT_RDWR);
    pthread_join(thread, NULL);
    assert_int_equal(status, WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "closes handshakes"));
}

static void *close_one(void *arg)
{
    const int *listening = arg;
    close(accept(*listening, NULL, NULL));
    close(*listening);
    return NULL;
}

/* One of two addresses closed a single connection; after that it refuses, and from the other one
 * nothing comes. */
static void a_handshake_that_was_closed_once_is_not_the_reason(void **state)
{
    fixture_t *f = *state;
    pthread_t thread;
    const uint8_t key[32] = {0}, label[WEFT_AUTH_LABEL] = {0};
    struct sockaddr_in closing = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof closing;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&closing, bytes), 0);
    assert_int_equal(listen(listening, 8), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&closing, &bytes), 0);
    const weft_os_addr_t addresses[] = {
        {.family = 4, .port = ntohs(closing.sin_port), .bytes = {127, 0, 0, 1}},
        {.family = 4, .port = ntohs(f->address.sin_port), .bytes = {127, 0, 0, 1}},
    };
    assert_int_equal(pthread_create(&thread, NULL, close_one, &listening), 0);
    weft_connector_begin(&f->connector, key, label, addresses, 2, weft_os_deadline(1));
    weft_status_t status = weft_connector_run(&f->connector);
    pthread_join(thread, NULL);
    assert_int_equal(status, WEFT_ERR_TIMEOUT);
    assert_true(f->connector.closed > 0);
    assert_null(strstr(weft_error_record()->text, "closes handshakes"));
}

/* What a root or a rank says of another may be wrong. */
static void who_has_no_address_cannot_be_reached(void **state)
{
    fixture_t *f = *state;
    const uint8_t key[32] = {0}, label[WEFT_AUTH_LABEL] = {0};
    const weft_os_addr_t none = {.family = 0};
    weft_connector_begin(&f->connector, key, label, &none, 0, WEFT_NEVER);
    assert_int_equal(weft_connector_step(&f->connector), WEFT_ERR_LINK);
    assert_non_null(strstr(weft_error_record()->text, "no address"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_has_no_address_cannot_be_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_connects_and_hears_nothing_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_closed_until_the_deadline_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_handshake_that_was_closed_once_is_not_the_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_of_the_first_attempts_waits_for_a_far_network, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
