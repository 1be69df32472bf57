/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links that wait: on which descriptors they sleep, and what ends the sleep. The transports are
 * those of this file: one of mapped memory and one of messages, each with a pipe for what may
 * come. */
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/link_state.h"
#include "core/exec/traffic.h"
#include "tests/support/unit.h"

#define SHORT WEFT_NS_PER_MS
#define LONG (20 * WEFT_NS_PER_S)

struct weft_net_device {
    int pipe[2];
    weft_status_t answer;
    uint32_t asked;
};

enum { MAPPED, MESSAGES, TRANSPORTS };
static struct weft_net_device devices[TRANSPORTS];
static weft_transport_t transports[TRANSPORTS];
static weft_links_t links;
static uint32_t locked, taken_in;

uint32_t weft_transports_count(const weft_transports_t *all)
{
    (void)all;
    return TRANSPORTS;
}

const weft_transport_t *weft_transports_get(const weft_transports_t *all, uint32_t i)
{
    (void)all;
    return &transports[i];
}

uint32_t weft_transports_index(const weft_transports_t *all, uint32_t peer)
{
    (void)all;
    return peer % TRANSPORTS;
}

uint32_t weft_transports_spread(const weft_transports_t *all, uint32_t peer, uint32_t number,
                                uint32_t tries, uint32_t *count_p)
{
    (void)number;
    (void)tries;
    *count_p = 1;
    return weft_transports_index(all, peer);
}

void weft_transports_avoid(weft_transports_t *all, uint32_t index, const char *why)
{
    (void)all;
    (void)index;
    (void)why;
}

void weft_transports_lock(weft_transports_t *all)
{
    (void)all;
    locked++;
}

void weft_transports_unlock(weft_transports_t *all)
{
    (void)all;
    locked--;
}

weft_status_t weft_transports_take_in(weft_transports_t *all, bool first)
{
    (void)all;
    (void)first;
    taken_in++;
    return weft_fail(WEFT_ERR_RESOURCE, 0, "nobody has to hear of this");
}

static weft_status_t fake_wait_fd(weft_net_device_t *device, int *fd_p)
{
    device->asked++;
    *fd_p = device->pipe[0];
    return device->answer;
}

static const weft_net_ops_t waiting = {.size = sizeof waiting, .wait_fd = fake_wait_fd};
static const weft_net_ops_t mute = {.size = sizeof mute};
static const weft_net_map_t map = {.size = sizeof map};

static int open_links(void **state)
{
    (void)state;
    links = (weft_links_t){.messages = 0};
    taken_in = 0;
    for (uint32_t i = 0; i < TRANSPORTS; i++) {
        devices[i] = (struct weft_net_device){.answer = WEFT_OK};
        transports[i] = (weft_transport_t){.ops = &waiting, .adapter = &devices[i]};
        links.adapter[i] = &devices[i];
        if (pipe(devices[i].pipe) != 0) {
            return -1;
        }
    }
    transports[MAPPED].map = &map;
    return 0;
}

static int close_links(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TRANSPORTS; i++) {
        close(devices[i].pipe[0]);
        close(devices[i].pipe[1]);
    }
    return locked == 0 ? 0 : -1;
}

static void make_readable(uint32_t transport)
{
    assert_int_equal(write(devices[transport].pipe[1], "x", 1), 1);
}

/* Sleeps as long as the time allows unless something ends it, in which case the test is quick. */
static void expect_woken(void)
{
    uint64_t begun = weft_os_clock_ns();
    assert_true(weft_links_sleep(&links, LONG));
    assert_in_range(weft_os_clock_ns() - begun, 0, LONG / 2);
}

static void nothing_to_wait_for_is_no_sleep(void **state)
{
    (void)state;
    assert_false(weft_links_sleep(&links, LONG));
    assert_int_equal(devices[MAPPED].asked + devices[MESSAGES].asked, 0);
}

static void messages_are_waited_for_and_mapped_memory_is_not(void **state)
{
    (void)state;
    links.messages = 1;
    make_readable(MAPPED);
    uint64_t begun = weft_os_clock_ns();
    assert_true(weft_links_sleep(&links, SHORT));
    assert_true(weft_os_clock_ns() - begun >= SHORT);
    assert_int_equal(devices[MAPPED].asked, 0);
    make_readable(MESSAGES);
    expect_woken();
}

static void while_links_are_made_all_listeners_count(void **state)
{
    (void)state;
    links.making = true;
    make_readable(MAPPED);
    expect_woken();
    assert_int_equal(devices[MAPPED].asked, 1);
    assert_int_equal(devices[MESSAGES].asked, 1); /* once, although it listens and carries */
}

static void what_is_there_already_ends_the_sleep_before_it_begins(void **state)
{
    (void)state;
    links.messages = 1;
    devices[MESSAGES].answer = WEFT_AGAIN;
    expect_woken();
}

static void a_transport_that_cannot_tell_is_polled(void **state)
{
    (void)state;
    links.making = true;
    transports[MAPPED].ops = &mute;
    assert_false(weft_links_sleep(&links, LONG));
    transports[MAPPED].ops = &waiting;
    devices[MAPPED].answer = WEFT_ERR_SYSTEM;
    assert_false(weft_links_sleep(&links, LONG));
}

static void links_of_one_kind_are_not_mixed(void **state)
{
    (void)state;
    links.mapped = 1;
    assert_false(weft_links_are_mixed(&links));
    links.messages = 1;
    assert_true(weft_links_are_mixed(&links));
    links.mapped = 0;
    assert_false(weft_links_are_mixed(&links));
    links.messages = 0;
    links.making = true;
    assert_false(weft_links_are_mixed(&links));
    links.mapped = 1; /* a sleep until the next link can be made misses what comes over this one */
    assert_true(weft_links_are_mixed(&links));
}

/* A rank that needs no link makes one system call a millisecond for those who may need one. */
static void who_connects_is_looked_for_each_millisecond(void **state)
{
    (void)state;
    links.mapped = 1;
    weft_links_listen(NULL, 0);
    for (uint64_t now = 0; now < 2 * WEFT_NS_PER_MS; now += WEFT_NS_PER_MS / 10) {
        weft_links_listen(&links, now);
    }
    assert_int_equal(devices[MAPPED].asked, 2);
    assert_int_equal(taken_in, 0);
    assert_false(weft_links_are_mixed(&links));
}

static void who_connects_is_taken_in_and_its_next_word_looked_for_soon(void **state)
{
    char byte;
    (void)state;
    links.mapped = 1;
    weft_error_record()->status = WEFT_ERR_TIMEOUT;
    make_readable(MAPPED);
    weft_links_listen(&links, 0);
    assert_int_equal(taken_in, 1);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_TIMEOUT);
    assert_true(weft_links_are_mixed(&links)); /* so that sleeps are naps */
    assert_int_equal(read(devices[MAPPED].pipe[0], &byte, 1), 1);
    weft_links_listen(&links, WEFT_NS_PER_MS / 10);
    assert_int_equal(devices[MAPPED].asked, 2);
    assert_int_equal(taken_in, 1);
    assert_true(weft_links_are_mixed(&links)); /* the next word takes some time */
    weft_links_listen(&links, WEFT_NS_PER_MS);
    assert_false(weft_links_are_mixed(&links));
}

static void a_transport_of_the_first_communicator_is_left_to_it(void **state)
{
    (void)state;
    devices[MESSAGES].answer = WEFT_AGAIN;
    weft_links_listen(&links, 0);
    assert_int_equal(devices[MESSAGES].asked, 0);
    assert_int_equal(taken_in, 0);
    links.user.first = true;
    weft_links_listen(&links, WEFT_NS_PER_MS);
    assert_int_equal(taken_in, 1);
}

static void at_a_transport_that_cannot_tell_is_looked_for_those_who_connect(void **state)
{
    (void)state;
    transports[MAPPED].ops = &mute;
    weft_links_listen(&links, 0);
    assert_int_equal(taken_in, 1);
    assert_false(weft_links_are_mixed(&links));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_to_wait_for_is_no_sleep, open_links, close_links),
        cmocka_unit_test_setup_teardown(messages_are_waited_for_and_mapped_memory_is_not,
                                        open_links, close_links),
        cmocka_unit_test_setup_teardown(while_links_are_made_all_listeners_count, open_links,
                                        close_links),
        cmocka_unit_test_setup_teardown(what_is_there_already_ends_the_sleep_before_it_begins,
                                        open_links, close_links),
        cmocka_unit_test_setup_teardown(a_transport_that_cannot_tell_is_polled, open_links,
                                        close_links),
        cmocka_unit_test_setup_teardown(links_of_one_kind_are_not_mixed, open_links, close_links),
        cmocka_unit_test_setup_teardown(who_connects_is_looked_for_each_millisecond, open_links,
                                        close_links),
        cmocka_unit_test_setup_teardown(who_connects_is_taken_in_and_its_next_word_looked_for_soon,
                                        open_links, close_links),
        cmocka_unit_test_setup_teardown(a_transport_of_the_first_communicator_is_left_to_it,
                                        open_links, close_links),
        cmocka_unit_test_setup_teardown(
            at_a_transport_that_cannot_tell_is_looked_for_those_who_connect, open_links,
            close_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
