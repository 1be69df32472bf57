/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket where the peer's system does not answer: connections whose other ends
 * lie in this process, with what TCP would say of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"
#include "silent_tcp.h"
#include "sock_poll.h"
#include "tests/support/unit.h"

enum { CONNS = 2, STREAMS = 2, S = 1000000000 };

typedef struct fixture {
    instance_t instance;
    weft_net_device_t device;
    weft_net_conn_t *conns[CONNS];
    int there[CONNS * STREAMS];
    uint8_t buffer[64];
} fixture_t;

static uint64_t now_ns;

const struct tcp_info said_of_silent = {.tcpi_retransmits = 7};
const struct tcp_info said_of_others = {.tcpi_retransmits = 0};

static uint64_t clock_of_the_test(const weft_host_t *host)
{
    (void)host;
    return now_ns;
}

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    now_ns = S;
    silent_fds = 0;
    instance_begin(&f->instance);
    f->instance.fake.host.clock_ns = clock_of_the_test;
    device_begin(&f->instance, &f->device);
    for (uint32_t i = 0; i < CONNS; i++) {
        f->conns[i] = end_create(&f->device, STREAMS);
        end_join(f->conns[i], &f->there[i * STREAMS]);
        strcpy(f->conns[i]->info.peer, i == 0 ? "10.0.0.1:7" : "10.0.0.2:7");
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    for (uint32_t i = 0; i < CONNS; i++) {
        sock_conn_close(f->conns[i]);
    }
    for (uint32_t i = 0; i < CONNS * STREAMS; i++) {
        close(f->there[i]);
    }
    device_end(&f->device);
    instance_end(&f->instance);
    free(f);
    return 0;
}

/* Waits for a message over the connection. */
static void receive(fixture_t *f, uint32_t i)
{
    end_post(f->conns[i], WEFT_NET_RECV, f->buffer, sizeof f->buffer);
}

/* The first stream of the connection is silent, or is not. */
static void set_silent(fixture_t *f, uint32_t i, bool silent)
{
    const uint32_t bit = 1u << f->conns[i]->streams[0].fd;
    silent_fds = silent ? silent_fds | bit : silent_fds & ~bit;
}

static void poll_for(fixture_t *f, uint32_t seconds)
{
    weft_net_completion_t completion;
    for (uint32_t i = 0; i < seconds * 10; i++) {
        uint32_t count = 0;
        now_ns += S / 10;
        assert_int_equal(sock_poll(&f->device, &completion, 1, &count), WEFT_OK);
        assert_int_equal(count, 0);
    }
}

static uint32_t warnings(const fixture_t *f)
{
    uint32_t count = 0;
    for (const char *at = f->instance.fake.log; (at = strstr(at, "answered none of")) != NULL;
         at++) {
        count++;
    }
    return count;
}

static void a_peer_that_answers_nothing_is_told_once(void **state)
{
    fixture_t *f = *state;
    receive(f, 0);
    set_silent(f, 0, true);
    poll_for(f, 9);
    assert_int_equal(warnings(f), 0);
    poll_for(f, 30);
    assert_int_equal(warnings(f), 1);
    assert_non_null(strstr(f->instance.fake.log, "peer 10.0.0.1:7 (1 of 1 connections)"));
    assert_non_null(strstr(f->instance.fake.log, "for 10 s, which TCP sent 7 times again"));
    assert_non_null(strstr(f->instance.fake.log, "firewall"));
    assert_non_null(strstr(f->instance.fake.log, "MTU"));
    assert_int_equal(sock_conn_check(f->conns[0]), WEFT_OK); /* TCP goes on trying */
    set_silent(f, 0, false);
    poll_for(f, 3);
    set_silent(f, 0, true);
    poll_for(f, 20);
    assert_int_equal(warnings(f), 2);
}

/* What was sent is with the system, and the rank waits for another one. */
static void a_connection_with_nothing_open_is_told_too(void **state)
{
    fixture_t *f = *state;
    receive(f, 0);
    set_silent(f, 1, true);
    poll_for(f, 20);
    assert_int_equal(warnings(f), 1);
    assert_non_null(strstr(f->instance.fake.log, "peer 10.0.0.2:7 (1 of 1 connections)"));
}

static void a_silence_of_all_is_one_line(void **state)
{
    fixture_t *f = *state;
    receive(f, 0);
    set_silent(f, 0, true);
    set_silent(f, 1, true);
    poll_for(f, 20);
    assert_int_equal(warnings(f), 1);
    assert_non_null(strstr(f->instance.fake.log, "of 2 connections"));
}

static void peers_that_answer_are_not_told_however_long_it_takes(void **state)
{
    fixture_t *f = *state;
    receive(f, 0);
    for (uint32_t i = 0; i < 10; i++) {
        set_silent(f, 0, true);
        poll_for(f, 7);
        set_silent(f, 0, false);
        poll_for(f, 2);
    }
    assert_int_equal(warnings(f), 0);
}

static void one_of_several_devices_ends_the_connection(void **state)
{
    fixture_t *f = *state;
    weft_net_completion_t completion;
    uint32_t count = 0;
    f->device.apart = true;
    receive(f, 0);
    set_silent(f, 0, true);
    poll_for(f, 10);
    now_ns += S;
    assert_int_equal(sock_poll(&f->device, &completion, 1, &count), WEFT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(completion.status, WEFT_ERR_LINK);
    assert_int_equal(sock_conn_check(f->conns[0]), WEFT_ERR_LINK);
    assert_int_equal(warnings(f), 0);
}

/* An interface that is down hits all its connections. */
static void each_connection_that_ends_names_its_peer(void **state)
{
    fixture_t *f = *state;
    f->device.apart = true;
    for (uint32_t i = 0; i < CONNS; i++) {
        receive(f, i);
        set_silent(f, i, true);
    }
    poll_for(f, 10);
    now_ns += S;
    for (uint32_t i = 0; i < CONNS; i++) {
        weft_net_completion_t completion;
        uint32_t count = 0;
        assert_int_equal(sock_poll(&f->device, &completion, 1, &count), WEFT_OK);
        assert_int_equal(count, 1);
        assert_int_equal(completion.status, WEFT_ERR_LINK);
        assert_non_null(strstr(f->instance.fake.error, completion.conn->info.peer));
    }
    for (uint32_t i = 0; i < CONNS; i++) {
        assert_int_equal(sock_conn_check(f->conns[i]), WEFT_ERR_LINK);
        assert_non_null(strstr(f->instance.fake.error, f->conns[i]->info.peer));
        assert_non_null(strstr(f->instance.fake.error, "has not answered"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_peer_that_answers_nothing_is_told_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_connection_with_nothing_open_is_told_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_silence_of_all_is_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(peers_that_answer_are_not_told_however_long_it_takes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_several_devices_ends_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_connection_that_ends_names_its_peer, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
