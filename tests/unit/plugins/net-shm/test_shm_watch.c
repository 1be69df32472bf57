/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of a device: who is due, one look for all, the listener, and what is removed. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm_watch.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static uint64_t now_ns;

static uint64_t still_clock(const weft_host_t *host)
{
    (void)host;
    return now_ns;
}

typedef struct fixture {
    fake_host_t fake;
    weft_net_device_t device;
    shm_watched_t watched[2];
    int near[2], far[2];
} fixture_t;

static void only_sockets_with_news_are_due_and_one_look_serves_all(void **state)
{
    fixture_t *f = *state;
    for (int i = 0; i < 2; i++) {
        assert_true(shm_watch_is_due(&f->watched[i])); /* at first */
        shm_watch_wait(&f->watched[i]);
    }
    uint64_t looks = f->device.looks;
    assert_int_equal(write(f->far[1], "x", 1), 1);
    assert_false(shm_watch_is_due(&f->watched[0]));
    assert_true(shm_watch_is_due(&f->watched[1]));
    assert_int_equal(f->device.looks, looks + 1);
    assert_false(f->device.knocked);
}

static void without_news_it_is_due_after_a_time(void **state)
{
    fixture_t *f = *state;
    shm_watch_wait(&f->watched[0]);
    assert_false(shm_watch_is_due(&f->watched[0]));
    now_ns += UINT64_C(1000000000);
    assert_true(shm_watch_is_due(&f->watched[0]));
}

static void a_peer_that_vanishes_is_news(void **state)
{
    fixture_t *f = *state;
    shm_watch_wait(&f->watched[0]);
    close(f->far[0]);
    f->far[0] = -1;
    assert_true(shm_watch_is_due(&f->watched[0]));
}

static void what_is_removed_is_not_looked_at(void **state)
{
    fixture_t *f = *state;
    shm_watch_wait(&f->watched[0]);
    shm_watch_remove(f->near[0], &f->watched[0]);
    assert_int_equal(write(f->far[0], "x", 1), 1);
    shm_watch_look(&f->device);
    assert_false(f->watched[0].readable);
    assert_true(shm_watch_is_due(&f->watched[0])); /* its owner tries each time */
}

static void whoever_waits_is_told_that_the_listener_has_something(void **state)
{
    fixture_t *f = *state;
    int fd = -1;
    assert_int_equal(shm_wait_fd(&f->device, &fd), WEFT_OK);
    assert_int_equal(fd, f->device.watch);
    f->device.knocked = true;
    assert_int_equal(shm_wait_fd(&f->device, &fd), WEFT_AGAIN);
}

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    fake_host_init(&f->fake, "net-shm");
    f->fake.host.clock_ns = still_clock;
    f->device.host = &f->fake.host;
    assert_int_equal(shm_watch_open(&f->device), WEFT_OK);
    for (int i = 0; i < 2; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        f->near[i] = pair[0];
        f->far[i] = pair[1];
        shm_watch_add(&f->device, f->near[i], &f->watched[i]);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    for (int i = 0; i < 2; i++) {
        shm_watch_remove(f->near[i], &f->watched[i]);
        close(f->near[i]);
        close(f->far[i]);
    }
    shm_watch_close(&f->device);
    fake_host_fini(&f->fake);
    free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_sockets_with_news_are_due_and_one_look_serves_all,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(without_news_it_is_due_after_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_vanishes_is_news, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_removed_is_not_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(whoever_waits_is_told_that_the_listener_has_something,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
