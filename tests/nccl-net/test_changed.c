/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers of net-nccl that are faulty, or of another version: a relay changes what the ends say on
 * the control stream, word by word, the library's handles too. It ends that connection only, and is
 * told. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weft/plugin/net.h>
#include <weft/sdk/endpoint.h>

#include "tests/support/fake_host.h"
#include "tests/support/relay.h"
#include "tests/support/unit.h"

/* Bytes of the handshake, and of the name behind an address. */
enum { SHOOK_FIRST = WEFT_AUTH_HELLO + WEFT_AUTH_PROOF, SHOOK_SECOND = WEFT_AUTH_REPLY + 1 };
enum { NAME = 32, MAGIC = 8, WORD = 4 };

static struct {
    fake_host_t fake;
    void *config;
    const weft_net_ops_t *ops;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_listener_t *listener;
    weft_net_address_t address;
    relay_t relay;
    weft_net_conn_t *ends[2];
    weft_status_t mine, theirs;
    char error[512];
} bed;

static uint64_t later_by_ns;

static uint64_t later(const weft_host_t *host)
{
    struct timespec now;
    (void)host;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + later_by_ns;
}

static int set_up(void **state)
{
    static const char *const settings[] = {"library=" LIBRARY, "interfaces=lo", NULL};
    char why[300];
    (void)state;
    memset(&bed, 0, sizeof bed);
    fake_host_init(&bed.fake, "net-nccl");
    bed.fake.host.clock_ns = later;
    const weft_plugin_t *plugin = fake_plugin_open(PLUGIN, WEFT_KIND_NET, why, sizeof why);
    assert_non_null(plugin);
    bed.ops = plugin->ops;
    bed.config = fake_config_create(plugin, settings, why, sizeof why);
    assert_non_null(bed.config);
    assert_int_equal(bed.ops->create(&bed.fake.host, bed.config, &bed.net), WEFT_OK);
    assert_int_equal(bed.ops->device_open(bed.net, 0, &bed.device), WEFT_OK);
    assert_int_equal(bed.ops->listen(bed.device, &bed.address, &bed.listener), WEFT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    bed.ops->listener_close(bed.listener);
    bed.ops->device_close(bed.device);
    bed.ops->destroy(bed.net);
    fake_config_destroy(bed.config);
    assert_int_equal(atomic_load(&bed.fake.live), 0);
    fake_host_fini(&bed.fake);
    return 0;
}

/* The address, with the relay's port. */
static void relay_begin(const relay_change_t *change, weft_net_address_t *address)
{
    weft_net_address_t points = {.bytes = bed.address.bytes - NAME};
    weft_endpoint_list_t list;
    uint32_t i = 0;
    memcpy(points.data, bed.address.data, points.bytes);
    assert_int_equal(weft_endpoint_list_decode(&points, &list), WEFT_OK);
    while (list.entries[i].point.any.sa_family != AF_INET) {
        i++;
        assert_true(i < list.count);
    }
    list.entries[0] = list.entries[i];
    list.count = 1;
    relay_open(&bed.relay, ntohs(list.entries[0].point.v4.sin_port), change);
    weft_endpoint_set_port(&list.entries[0].point, bed.relay.port);
    weft_endpoint_list_encode(&list, address);
    memcpy(address->data + address->bytes, bed.address.data + points.bytes, NAME);
    address->bytes += NAME;
}

static void ends_poll(void)
{
    if (bed.mine == WEFT_IN_PROGRESS) {
        bed.fake.error[0] = '\0';
        bed.mine = bed.ops->connect_poll(bed.ends[0]);
        snprintf(bed.error, sizeof bed.error, "%s", bed.mine < 0 ? bed.fake.error : "");
    }
    if (bed.mine < 0) { /* as the core does */
        bed.ops->conn_close(bed.ends[0]);
        bed.ends[0] = NULL;
    }
    if (bed.theirs == WEFT_AGAIN) {
        weft_net_conn_t *conn = NULL;
        bed.theirs = bed.ops->accept(bed.listener, &conn);
        bed.ends[1] = bed.theirs == WEFT_OK ? conn : NULL;
    }
}

static bool acceptor_told(void)
{
    return strstr(bed.fake.log, "did not come about") != NULL ||
           strstr(bed.fake.log, "is given up") != NULL ||
           strstr(bed.fake.log, "closed 1 connection") != NULL;
}

/* Begins a connection and goes on until both ends know what comes of it. The listener goes on. */
static void meet(const relay_change_t *change)
{
    const weft_net_conn_params_t params = {.size = sizeof params};
    weft_net_address_t address;
    time_t end = time(NULL) + 30;
    relay_begin(change, &address);
    bed.mine = WEFT_IN_PROGRESS;
    bed.theirs = WEFT_AGAIN;
    bed.fake.log[0] = '\0';
    assert_int_equal(bed.ops->connect_begin(bed.device, &address, &params, &bed.ends[0]), WEFT_OK);
    for (int i = 0; bed.mine == WEFT_IN_PROGRESS || (bed.theirs == WEFT_AGAIN && !acceptor_told());
         i++) {
        ends_poll();
        poll(NULL, 0, i > 5 ? 1 : 0);
        later_by_ns += bed.relay.done && i % 100 == 99 ? UINT64_C(11000000000) : 0;
        if (time(NULL) > end) {
            fail_msg("byte %d of end %d: %d and %d", (int)change->at, change->from, bed.mine,
                     bed.theirs);
        }
    }
    if (bed.theirs < 0 || (bed.mine < 0 && strstr(bed.error, "127.0.0.1:") == NULL)) {
        fail_msg("byte %d of end %d: %d \"%s\" and %d \"%s\"", (int)change->at, change->from,
                 bed.mine, bed.error, bed.theirs, bed.fake.error);
    }
}

static void part(void)
{
    for (int i = 0; i < 2; i++) {
        bed.ops->conn_close(bed.ends[i]);
        bed.ends[i] = NULL;
    }
    relay_close(&bed.relay);
}

static void any_word_may_be_wrong(void **state)
{
    static const relay_change_t none = {.act = RELAY_PASS};
    static const uint64_t shook[2] = {SHOOK_FIRST, SHOOK_SECOND};
    uint64_t ends[2];
    (void)state;
    meet(&none);
    ends[0] = bed.relay.links[0].passed[0];
    ends[1] = bed.relay.links[0].passed[1];
    part();
    for (int from = 0; from < 2; from++) {
        for (uint64_t at = shook[from]; at < ends[from]; at += WORD) {
            meet(&(relay_change_t){
                .act = RELAY_FLIP, .from = from, .at = at, .bytes = WORD, .mask = 1});
            part();
        }
    }
    meet(&none);
    assert_int_equal(bed.mine, WEFT_OK);
    assert_int_equal(bed.theirs, WEFT_OK);
    part();
}

/* The library cannot connect with the handle. */
static void a_wrong_handle_is_told_and_ends_one_connection(void **state)
{
    (void)state;
    meet(&(relay_change_t){
        .act = RELAY_FLIP, .at = SHOOK_FIRST + MAGIC + NAME, .bytes = WORD, .mask = 0xff});
    assert_non_null(strstr(bed.fake.log, "connection from peer 127.0.0.1:"));
    assert_non_null(strstr(bed.fake.log, "connect on device 0 failed"));
    part();
    meet(&(relay_change_t){.act = RELAY_FLIP,
                           .from = 1,
                           .at = SHOOK_SECOND + MAGIC + NAME,
                           .bytes = WORD,
                           .mask = 0xff});
    assert_true(bed.mine < 0);
    assert_non_null(strstr(bed.error, "connect on device 0 failed"));
    assert_non_null(strstr(bed.error, "(peer 127.0.0.1:"));
    part();
}

/* Whoever is taken for dead would be left out of the job. */
static void a_wrong_last_message_does_not_look_like_a_death(void **state)
{
    static const relay_change_t none = {.act = RELAY_PASS};
    (void)state;
    meet(&none);
    uint64_t at = bed.relay.links[0].passed[0];
    part();
    meet(&(relay_change_t){.act = RELAY_FLIP, .at = at, .bytes = WORD, .mask = 1});
    assert_int_equal(bed.theirs, WEFT_OK);
    bed.ops->conn_close(bed.ends[0]);
    bed.ends[0] = NULL;
    weft_status_t status = WEFT_OK;
    time_t end = time(NULL) + 30;
    while (status == WEFT_OK && time(NULL) < end) {
        status = bed.ops->conn_check(bed.ends[1]);
    }
    assert_int_equal(status, WEFT_ERR_PROTO);
    assert_non_null(strstr(bed.fake.error, "sent a wrong last message"));
    part();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_word_may_be_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_handle_is_told_and_ends_one_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_last_message_does_not_look_like_a_death, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
