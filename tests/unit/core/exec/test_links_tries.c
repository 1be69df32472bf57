/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A link whose connections fail: how often it is tried, and that it stays lost then. The transport
 * is the one of this file. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/link_state.h"
#include "core/exec/links.h"
#include "core/exec/port.h"
#include "core/exec/traffic.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { TRIES = 4 };

struct weft_net_device {
    uint32_t begun, closed;
    weft_status_t answer;
};

struct weft_net_conn {
    struct weft_net_device *device;
};

static struct weft_net_device device, second;
static weft_transport_t transport, another;
static uint32_t begins_at, devices = 1;

uint32_t weft_transports_count(const weft_transports_t *all)
{
    (void)all;
    return devices;
}

const weft_transport_t *weft_transports_get(const weft_transports_t *all, uint32_t i)
{
    (void)all;
    return i == 0 ? &transport : &another;
}

uint32_t weft_transports_index(const weft_transports_t *all, uint32_t peer)
{
    (void)all;
    (void)peer;
    return 0;
}

uint32_t weft_transports_number(const weft_transports_t *all, uint32_t peer, uint32_t channel)
{
    (void)all;
    (void)peer;
    return channel;
}

uint32_t weft_transports_spread(const weft_transports_t *all, uint32_t peer, uint32_t number,
                                uint32_t tries, uint32_t *count_p)
{
    (void)all;
    (void)peer;
    (void)number;
    if (count_p != NULL) {
        *count_p = devices;
    }
    return tries == 0 ? begins_at : tries % devices;
}

void weft_transports_avoid(weft_transports_t *all, uint32_t index, const char *why)
{
    (void)all;
    (void)index;
    (void)why;
}

void weft_transports_address(const weft_transports_t *all, uint32_t peer, uint32_t i,
                             weft_net_address_t *address)
{
    (void)all;
    (void)peer;
    (void)i;
    memset(address, 0, sizeof *address);
}

void weft_transports_add_user(weft_transports_t *all, weft_transports_user_t *user)
{
    (void)all;
    (void)user;
}

void weft_transports_remove_user(weft_transports_t *all, weft_transports_user_t *user)
{
    (void)all;
    (void)user;
}

weft_status_t weft_transports_take_in(weft_transports_t *all, bool first)
{
    (void)all;
    (void)first;
    return WEFT_OK;
}

weft_status_t weft_transports_accept(weft_transports_t *all, const weft_transports_user_t *user,
                                     uint32_t *index_p, weft_net_conn_t **conn_p,
                                     weft_conn_label_t *label)
{
    (void)all;
    (void)user;
    (void)index_p;
    (void)conn_p;
    (void)label;
    return WEFT_AGAIN;
}

void weft_transports_retain(weft_transports_t *all, uint32_t index, weft_net_conn_t *conn,
                            const weft_payload_location_t *send,
                            const weft_payload_location_t *receive)
{
    (void)all;
    (void)index;
    (void)conn;
    (void)send;
    (void)receive;
}

void weft_transports_lock(weft_transports_t *all)
{
    (void)all;
}

void weft_transports_unlock(weft_transports_t *all)
{
    (void)all;
}

static weft_status_t fake_begin(weft_net_device_t *d, const weft_net_address_t *address,
                                const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    (void)address;
    (void)params;
    *conn_p = malloc(sizeof **conn_p);
    assert_non_null(*conn_p);
    (*conn_p)->device = d;
    d->begun++;
    return WEFT_OK;
}

static weft_status_t fake_poll(weft_net_conn_t *conn)
{
    return weft_fail(conn->device->answer, 0, "no way");
}

static void fake_close(weft_net_conn_t *conn)
{
    conn->device->closed++;
    free(conn);
}

static const weft_net_ops_t ops = {.size = sizeof ops,
                                   .connect_begin = fake_begin,
                                   .connect_poll = fake_poll,
                                   .conn_close = fake_close};
static const weft_plugin_t plugin = {.name = "net-fake"};
static const weft_loaded_t loaded = {.plugin = &plugin};

static weft_links_t *links_without_need(weft_status_t answer)
{
    static const uint32_t family[2] = {0, 1};
    const weft_links_setup_t setup = {.nranks = 2,
                                      .first = true,
                                      .family = family,
                                      .fifo = {.slots = 2, .headers = 2, .slot_bytes = 64}};
    device = (struct weft_net_device){.answer = answer};
    transport = (weft_transport_t){.ops = &ops, .loaded = &loaded, .adapter = &device};
    weft_links_t *links = NULL;
    assert_int_equal(weft_links_create(&setup, &links), WEFT_OK);
    return links;
}

static weft_links_t *links_of_two(weft_status_t answer)
{
    weft_links_t *links = links_without_need(answer);
    assert_null(weft_links_port(links, 1, 0, true));
    return links;
}

/* Returns what the links say at last; fails if they say nothing for too long. */
static weft_status_t progress_until_lost(weft_links_t *links)
{
    uint64_t until = weft_os_clock_ns() + 60 * WEFT_NS_PER_S;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && weft_os_clock_ns() < until) {
        status = weft_links_progress(links);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return status;
}

static void a_link_that_fails_at_each_try_is_lost_and_stays_so(void **state)
{
    (void)state;
    weft_links_t *links = links_of_two(WEFT_ERR_LINK);
    assert_int_equal(progress_until_lost(links), WEFT_ERR_LINK);
    assert_int_equal(weft_error_record()->peer, 1);
    assert_non_null(strstr(weft_error_record()->text, "no way"));
    assert_int_equal(device.begun, TRIES);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(weft_links_progress(links), WEFT_ERR_LINK);
        assert_null(weft_links_port(links, 1, 0, true));
    }
    assert_int_equal(device.begun, TRIES);
    weft_links_destroy(links);
    assert_int_equal(device.closed, TRIES);
}

/* It begins at the second, since the first has failed before. */
static void a_link_tries_every_device_before_it_is_lost(void **state)
{
    (void)state;
    devices = 2;
    begins_at = 1;
    another = (weft_transport_t){.ops = &ops, .loaded = &loaded, .adapter = &second};
    second = (struct weft_net_device){.answer = WEFT_ERR_LINK};
    weft_links_t *links = links_of_two(WEFT_ERR_LINK);
    assert_int_equal(progress_until_lost(links), WEFT_ERR_LINK);
    assert_int_equal(device.begun, TRIES);
    assert_int_equal(second.begun, TRIES);
    weft_links_destroy(links);
    assert_int_equal(device.closed, TRIES);
    assert_int_equal(second.closed, TRIES);
    devices = 1;
    begins_at = 0;
}

static void a_refusal_is_not_tried_again(void **state)
{
    (void)state;
    weft_links_t *links = links_of_two(WEFT_ERR_AUTH);
    assert_int_equal(progress_until_lost(links), WEFT_ERR_AUTH);
    assert_int_equal(weft_links_progress(links), WEFT_ERR_AUTH);
    assert_int_equal(device.begun, 1);
    weft_links_destroy(links);
    assert_int_equal(device.closed, 1);
}

/* It may heal until somebody needs it. */
static void a_try_that_fails_while_nobody_waits_does_not_count(void **state)
{
    (void)state;
    weft_links_t *links = links_of_two(WEFT_ERR_LINK);
    weft_fail(WEFT_ERR_ARG, 0, "said before");
    for (int i = 0; i < 3; i++) {
        weft_links_attend(links);
        assert_int_equal(device.begun, 1);
        assert_int_equal(device.closed, 1);
    }
    assert_string_equal(weft_error_record()->text, "said before");
    assert_int_equal(progress_until_lost(links), WEFT_ERR_LINK);
    assert_int_equal(device.begun, 1 + TRIES);
    weft_links_attend(links);
    assert_int_equal(device.begun, 1 + TRIES);
    weft_links_destroy(links);
}

/* Whoever waits may do so after the polls of a step. */
static void a_try_that_fails_while_somebody_waits_counts(void **state)
{
    const uint64_t until = weft_os_clock_ns() + 60 * WEFT_NS_PER_S;
    weft_status_t status = WEFT_OK;
    (void)state;
    weft_links_t *links = links_of_two(WEFT_ERR_LINK);
    while (status == WEFT_OK && weft_os_clock_ns() < until) {
        (void)weft_links_begin_step(links);
        weft_links_attend(links);
        status = weft_links_progress(links);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    assert_int_equal(status, WEFT_ERR_LINK);
    assert_int_equal(device.begun, 1 + TRIES); /* the first was not waited for yet */
    weft_links_destroy(links);
}

/* The peer wants it, and asks again. This rank needs it later. */
static void a_link_that_is_offered_fails_nobody_before_it_is_needed(void **state)
{
    (void)state;
    weft_links_t *links = links_without_need(WEFT_ERR_LINK);
    weft_fail(WEFT_ERR_ARG, 0, "said before");
    for (uint32_t i = 1; i <= 2 * TRIES; i++) {
        assert_true(weft_links_offer(links, 1, 0));
        assert_int_equal(device.begun, i);
        assert_false(weft_links_offer(links, 1, 0));
        assert_int_equal(device.closed, i);
        assert_int_equal(weft_links_progress(links), WEFT_OK);
    }
    assert_int_equal(device.begun, 2 * TRIES);
    assert_string_equal(weft_error_record()->text, "said before");
    assert_null(weft_links_port(links, 1, 0, true));
    assert_false(weft_links_offer(links, 1, 0));
    assert_int_equal(weft_links_progress(links), WEFT_OK);
    assert_int_equal(device.begun, 2 * TRIES + 1); /* this one counts */
    weft_links_destroy(links);
}

/* Who has left takes no more messages, and is not the one whose silence has a cause. */
static bool rank_1_has_left(const void *arg, uint32_t rank)
{
    (void)arg;
    return rank == 1;
}

static void messages_that_a_rank_misses_are_found_behind_those_to_one_that_left(void **state)
{
    (void)state;
    const weft_links_setup_t setup = {.nranks = 3, .leavers = {.has_left = rank_1_has_left}};
    weft_port_t port[3] = {
        {.kind = WEFT_PORT_MESSAGE, .sends = 1, .slots = 2, .peer = 1, .broken = WEFT_ERR_LINK},
        {.kind = WEFT_PORT_MESSAGE, .sends = 1, .slots = 2, .peer = 2, .broken = WEFT_OK},
        {.kind = WEFT_PORT_MESSAGE, .sends = 1, .slots = 2, .peer = 2, .broken = WEFT_ERR_LINK}};
    weft_poll_entry_t entry[3];
    weft_links_t *links = NULL;
    assert_int_equal(weft_links_create(&setup, &links), WEFT_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(weft_port_holds(&port[i]));
        entry[i] = (weft_poll_entry_t){.port = &port[i]};
        weft_poll_list_add(&links->busy, &entry[i]);
    }
    assert_ptr_equal(weft_links_lost(links), &port[2]);
    port[2].broken = WEFT_OK;
    assert_null(weft_links_lost(links));
    weft_links_destroy(links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_fails_at_each_try_is_lost_and_stays_so),
        cmocka_unit_test(a_link_tries_every_device_before_it_is_lost),
        cmocka_unit_test(a_refusal_is_not_tried_again),
        cmocka_unit_test(a_try_that_fails_while_nobody_waits_does_not_count),
        cmocka_unit_test(a_try_that_fails_while_somebody_waits_counts),
        cmocka_unit_test(a_link_that_is_offered_fails_nobody_before_it_is_needed),
        cmocka_unit_test(messages_that_a_rank_misses_are_found_behind_those_to_one_that_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
