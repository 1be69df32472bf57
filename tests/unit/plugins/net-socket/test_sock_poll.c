/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket's progress where several connections of a device fail at once: their
 * other ends lie in this process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ends.h"
#include "sock_op.h"
#include "sock_poll.h"
#include "tests/support/denied.h"
#include "tests/support/unit.h"

enum { CONNS = 2, RECVS = 3 };

typedef struct fixture {
    instance_t instance;
    weft_net_device_t device;
    weft_net_conn_t *conns[CONNS];
    int there[CONNS];
    uint8_t buffer[RECVS];
} fixture_t;

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    instance_begin(&f->instance);
    device_begin(&f->instance, &f->device);
    for (uint32_t i = 0; i < CONNS; i++) {
        f->conns[i] = end_create(&f->device, 1);
        end_join(f->conns[i], &f->there[i]);
        strcpy(f->conns[i]->info.peer, i == 0 ? "10.0.0.1:7" : "10.0.0.2:7");
        for (uint32_t k = 0; k < RECVS; k++) {
            end_post(f->conns[i], WEFT_NET_RECV, &f->buffer[k], 1);
        }
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
    device_end(&f->device);
    instance_end(&f->instance);
    free(f);
    return 0;
}

/* Whoever gets a completion reads the reason of its failure at once. */
static void each_failure_has_the_reason_of_its_connection(void **state)
{
    fixture_t *f = *state;
    uint32_t got = 0;
    close(f->there[0]);
    close(f->there[1]);
    for (uint32_t polls = 0; polls < 100 && got < CONNS * RECVS; polls++) {
        weft_net_completion_t completions[CONNS * RECVS];
        uint32_t count = 0;
        assert_int_equal(sock_poll(&f->device, completions, CONNS * RECVS, &count), WEFT_OK);
        for (uint32_t i = 0; i < count; i++, got++) {
            assert_int_equal(completions[i].status, WEFT_ERR_PEER_DEAD);
            assert_non_null(strstr(f->instance.fake.error, completions[i].conn->info.peer));
        }
    }
    assert_int_equal(got, CONNS * RECVS);
}

/* A message of one byte. */
static void write_message(int fd, uint32_t number)
{
    const sock_header_t wire = {.message = number, .length = 1, .total = 1};
    assert_int_equal(write(fd, &wire, sizeof wire), sizeof wire);
    assert_int_equal(write(fd, "a", 1), 1);
}

/* Each poll finds a message of the first connection, which is looked at last, and gives it out
 * first. */
static void a_busy_connection_does_not_hide_one_that_failed(void **state)
{
    fixture_t *f = *state;
    uint32_t failed = 0, written = 0;
    close(f->there[1]);
    write_message(f->there[0], written++);
    for (uint32_t polls = 0; polls < 100 && failed < RECVS; polls++) {
        weft_net_completion_t completions[CONNS * RECVS];
        uint32_t count = 0;
        assert_int_equal(sock_poll(&f->device, completions, CONNS * RECVS, &count), WEFT_OK);
        for (uint32_t i = 0; i < count; i++) {
            if (completions[i].conn == f->conns[1]) {
                assert_non_null(strstr(f->instance.fake.error, "10.0.0.2:7"));
                failed++;
                continue;
            }
            end_post(f->conns[0], WEFT_NET_RECV, f->buffer, 1);
            write_message(f->there[0], written++);
        }
    }
    assert_int_equal(failed, RECVS);
    close(f->there[0]);
}

/* One peer writes what is no header, the other one closes. */
static void different_failures_are_not_mixed_up(void **state)
{
    fixture_t *f = *state;
    uint32_t got = 0;
    uint8_t junk[sizeof(sock_header_t)];
    memset(junk, 0xff, sizeof junk);
    assert_int_equal(write(f->there[1], junk, sizeof junk), sizeof junk);
    close(f->there[0]);
    for (uint32_t polls = 0; polls < 100 && got < CONNS * RECVS; polls++) {
        weft_net_completion_t completions[CONNS * RECVS];
        uint32_t count = 0;
        assert_int_equal(sock_poll(&f->device, completions, CONNS * RECVS, &count), WEFT_OK);
        for (uint32_t i = 0; i < count; i++, got++) {
            bool first = completions[i].conn == f->conns[0];
            assert_int_equal(completions[i].status, first ? WEFT_ERR_PEER_DEAD : WEFT_ERR_PROTO);
            assert_non_null(strstr(f->instance.fake.error, completions[i].conn->info.peer));
        }
    }
    assert_int_equal(got, CONNS * RECVS);
    assert_int_equal(sock_conn_check(f->conns[1]), WEFT_ERR_PROTO);
    assert_non_null(strstr(f->instance.fake.error, "chunk from peer 10.0.0.2:7"));
    close(f->there[1]);
}

/* Whoever asks later hears why, not only that. */
static void a_connection_that_was_lost_keeps_its_reason(void **state)
{
    fixture_t *f = *state;
    sock_conn_fail(f->conns[0], sock_conn_lost(f->conns[0], ETIMEDOUT));
    sock_conn_fail(f->conns[1], sock_conn_lost(f->conns[1], ECONNRESET));
    assert_int_equal(sock_conn_check(f->conns[0]), WEFT_ERR_LINK);
    assert_non_null(strstr(f->instance.fake.error, "10.0.0.1:7; if its rank lives, a firewall"));
    assert_int_equal(sock_conn_check(f->conns[1]), WEFT_ERR_LINK);
    assert_non_null(strstr(f->instance.fake.error, "connection to peer 10.0.0.2:7"));
    assert_null(strstr(f->instance.fake.error, "ended before"));
    close(f->there[0]);
    close(f->there[1]);
}

/* The last test of this program: what the system refuses once, it refuses until the end. */
static void nobody_sleeps_where_the_system_watches_nothing(void **state)
{
    fixture_t *f = *state;
    int fd = -1;
    if (!denied_call(SYS_epoll_ctl, ENOSPC)) {
        close(f->there[0]);
        close(f->there[1]);
        skip();
    }
    assert_int_equal(sock_wait_fd(&f->device, &fd), WEFT_ERR_RESOURCE);
    assert_non_null(strstr(f->instance.fake.error, "fs.epoll.max_user_watches"));
    close(f->there[0]);
    close(f->there[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(different_failures_are_not_mixed_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_connection_does_not_hide_one_that_failed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_failure_has_the_reason_of_its_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_was_lost_keeps_its_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_sleeps_where_the_system_watches_nothing, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
