/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer that is faulty, or of another version: between the two ends stands a relay that changes,
 * cuts, holds or repeats what they say over TCP, word by word. Whatever comes of it, the error
 * names the peer, nothing is left behind, and the next connection works. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <poll.h>

#include <weft/sdk/endpoint.h>

#include "tests/support/relay.h"
#include "tests/support/unit.h"
#include "traffic.h"

/* Bytes of the handshake, which has tests of its own: hello and proof, reply and
 * acknowledgement. */
enum { SHOOK_FIRST = WEFT_AUTH_HELLO + WEFT_AUTH_PROOF, SHOOK_SECOND = WEFT_AUTH_REPLY + 1 };
enum { ADDRESS_HEAD = 24, WORD = 4 }; /* see ib_hello.c */

static const uint64_t shook[2] = {SHOOK_FIRST, SHOOK_SECOND};

static const char *const one_rail[] = {"qps=2", "split_bytes=4K", "timeout=8", "retry=1", NULL};
static const char *const two_rails[] = {"rails=2", "split_bytes=4K", "timeout=8", "retry=1", NULL};

/* Two instances that have met once, and a third party between them. */
static struct {
    traffic_t traffic;
    relay_t relay;
    weft_endpoint_list_t list; /* the acceptor's address on the loopback */
    bool loses_a_rail;
    uint64_t live[2]; /* allocations, without a connection */
    fake_live_t objects;
    weft_net_conn_t *ends[2];
    weft_status_t mine, theirs;
    char error[512]; /* of the connector */
} bed;

/* The relay has the acceptor's address, but for the port. */
static void address_set(uint16_t port)
{
    weft_net_address_t tcp, *address = &bed.traffic.sides[1].address;
    weft_endpoint_set_port(&bed.list.entries[0].point, port);
    weft_endpoint_list_encode(&bed.list, &tcp);
    memcpy(address->data + ADDRESS_HEAD, tcp.data, tcp.bytes);
    address->bytes = ADDRESS_HEAD + tcp.bytes;
}

static void address_find(void)
{
    const weft_net_address_t *address = &bed.traffic.sides[1].address;
    weft_net_address_t tcp = {.bytes = address->bytes - ADDRESS_HEAD};
    uint32_t i = 0;
    memcpy(tcp.data, address->data + ADDRESS_HEAD, tcp.bytes);
    assert_int_equal(weft_endpoint_list_decode(&tcp, &bed.list), WEFT_OK);
    while (!bed.list.entries[i].loopback || bed.list.entries[i].point.any.sa_family != AF_INET) {
        i++;
        assert_true(i < bed.list.count);
    }
    bed.list.entries[0] = bed.list.entries[i];
    bed.list.count = 1;
}

/* Life of a connection ------------------------------------------------------------------------- */

static void forget(void)
{
    traffic_t *traffic = &bed.traffic;
    memset(traffic->sends, 0, sizeof traffic->sends);
    memset(traffic->recvs, 0, sizeof traffic->recvs);
    traffic->posted = traffic->done = traffic->failed = 0;
    for (int i = 0; i < 2; i++) {
        traffic_side_t *side = &traffic->sides[i];
        side->refused = WEFT_OK;
        side->cause[0] = side->fake.error[0] = side->fake.log[0] = '\0';
    }
    bed.mine = WEFT_IN_PROGRESS;
    bed.theirs = WEFT_AGAIN;
    bed.error[0] = '\0';
}

static void ends_poll(void)
{
    const weft_net_ops_t *ops = bed.traffic.ops;
    traffic_side_t *sides = bed.traffic.sides;
    if (bed.mine == WEFT_IN_PROGRESS) {
        bed.mine = ops->connect_poll(bed.ends[0]);
        snprintf(bed.error, sizeof bed.error, "%s", bed.mine < 0 ? sides[0].fake.error : "");
    }
    if (bed.mine < 0) { /* as the core does */
        ops->conn_close(bed.ends[0]);
        bed.ends[0] = NULL;
    }
    if (bed.theirs == WEFT_AGAIN) {
        weft_net_conn_t *conn = NULL;
        bed.theirs = ops->accept(sides[1].listener, &conn);
        bed.ends[1] = bed.theirs == WEFT_OK ? conn : NULL;
    }
}

static bool acceptor_gave_up(void)
{
    const char *log = bed.traffic.sides[1].fake.log;
    return strstr(log, "did not come about") != NULL || strstr(log, "closed 1 conn") != NULL;
}

/* Begins a connection through the relay, and goes on until both ends know what comes of it. */
static void meet(const relay_change_t *change)
{
    const weft_net_conn_params_t params = {.size = sizeof params};
    traffic_t *traffic = &bed.traffic;
    bool waits = change->act == RELAY_HOLD || change->act == RELAY_SKIP;
    double end = traffic_now() + 30;
    forget();
    relay_open(&bed.relay, ntohs(bed.list.entries[0].point.v4.sin_port), change);
    uint16_t port = bed.relay.to;
    address_set(bed.relay.port);
    assert_int_equal(traffic->ops->connect_begin(traffic->sides[0].device,
                                                 &traffic->sides[1].address, &params, &bed.ends[0]),
                     WEFT_OK);
    address_set(port);
    for (int i = 0;
         bed.mine == WEFT_IN_PROGRESS || (bed.theirs == WEFT_AGAIN && !acceptor_gave_up()); i++) {
        ends_poll();
        poll(NULL, 0, i > 5 ? 1 : 0);
        traffic_later_by_ns += waits && bed.relay.done && i % 50 == 49 ? UINT64_C(31000000000) : 0;
        if (traffic_now() > end) {
            fail_msg("act %d at %llu of end %d: %d \"%s\", %d, \"%s\"", change->act,
                     (unsigned long long)change->at, change->from, bed.mine, bed.error, bed.theirs,
                     traffic->sides[1].fake.log);
        }
    }
}

static void exchange(void)
{
    traffic_t *traffic = &bed.traffic;
    for (int i = 0; i < 2; i++) {
        traffic->sides[i].conn = bed.ends[i];
        traffic->sides[i].fake.error[0] = '\0';
    }
    if (bed.loses_a_rail) {
        fake_port_state(0, 1, IBV_PORT_DOWN);
    }
    traffic_post(traffic);
    if (!traffic_wait(traffic, 30)) {
        fail_msg("%u of %u done", traffic->done, traffic->posted);
    }
    traffic_verify(traffic);
}

static void part(void)
{
    traffic_t *traffic = &bed.traffic;
    fake_live_t objects;
    for (int i = 0; i < 2; i++) {
        traffic->ops->conn_close(bed.ends[i]);
        bed.ends[i] = traffic->sides[i].conn = NULL;
    }
    relay_close(&bed.relay);
    if (bed.loses_a_rail) {
        fake_port_state(0, 1, IBV_PORT_ACTIVE);
        traffic_poll(traffic, 600);
    }
    fake_living(&objects);
    assert_memory_equal(&objects, &bed.objects, sizeof objects);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&traffic->sides[i].fake.live), bed.live[i]);
    }
}

static void begin(const char *const *settings, bool iwarp)
{
    static const relay_change_t none = {.act = RELAY_PASS};
    static const fake_cm_t nothing;
    bed.loses_a_rail = settings == two_rails;
    fake_setup(bed.loses_a_rail ? 2 : 1);
    fake_cm(&nothing);
    if (iwarp) {
        fake_device(0)->transport = IBV_TRANSPORT_IWARP;
        fake_device(0)->ports[0].attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    }
    assert_int_equal(traffic_begin(&bed.traffic, settings), WEFT_OK);
    address_find();
    for (int i = 0; i < 2; i++) {
        traffic_side_t *side = &bed.traffic.sides[i];
        side->fake.host.clock_ns = traffic_later;
        bed.ends[i] = side->conn;
    }
    exchange(); /* the caches of registrations have their size now */
    for (int i = 0; i < 2; i++) {
        bed.traffic.ops->conn_close(bed.ends[i]);
        bed.ends[i] = bed.traffic.sides[i].conn = NULL;
        bed.live[i] = atomic_load(&bed.traffic.sides[i].fake.live);
    }
    fake_port_state(0, 1, IBV_PORT_ACTIVE);
    traffic_poll(&bed.traffic, 600);
    fake_living(&bed.objects);
    meet(&none);
    exchange();
    part();
}

/* What comes of a change ----------------------------------------------------------------------- */

/* An end that fails says who the other one is. */
static void check_told(const relay_change_t *change)
{
    const traffic_side_t *sides = bed.traffic.sides;
    bool told = bed.mine >= 0 || strstr(bed.error, "127.0.0.1:") != NULL;
    for (int i = 0; i < 2 && bed.traffic.failed > 0; i++) {
        told = told && (sides[i].cause[0] == '\0' || strstr(sides[i].cause, "127.0.0.1:") != NULL);
    }
    told =
        told && (bed.traffic.failed == 0 || sides[0].cause[0] != '\0' || sides[1].cause[0] != '\0');
    if (!told) {
        fail_msg("act %d at %llu of end %d: \"%s\", \"%s\", \"%s\"", change->act,
                 (unsigned long long)change->at, change->from, bed.error, sides[0].cause,
                 sides[1].cause);
    }
}

static void live(const relay_change_t *change)
{
    meet(change);
    if (bed.mine == WEFT_OK && bed.theirs == WEFT_OK) {
        exchange();
    }
    check_told(change);
    part();
}

/* Changes each word of what both ends say, from these bytes on, or one of so many. */
static void each_word(relay_act_t act, uint32_t of, const uint64_t first[2], const uint64_t end[2])
{
    for (int from = 0; from < 2; from++) {
        uint8_t mask = 0x01;
        for (uint64_t at = first[from]; at + WORD <= end[from]; at += of * WORD, mask ^= 0xfe) {
            live(
                &(relay_change_t){.act = act, .from = from, .at = at, .bytes = WORD, .mask = mask});
        }
    }
}

static void sweep(const char *const *settings, bool iwarp, const uint64_t *first)
{
    static const relay_change_t none = {.act = RELAY_PASS};
    begin(settings, iwarp);
    const uint64_t end[2] = {bed.relay.links[0].passed[0], bed.relay.links[0].passed[1]};
    each_word(RELAY_FLIP, 1, first, end);
    each_word(RELAY_CUT, 8, first, end);
    meet(&none);
    exchange();
    assert_int_equal(bed.traffic.failed, 0);
    part();
    traffic_end(&bed.traffic);
}

static void any_word_of_the_set_up_may_be_wrong(void **state)
{
    (void)state;
    sweep(one_rail, false, shook);
    sweep(one_rail, true, shook);
}

static void any_word_of_a_failover_may_be_wrong(void **state)
{
    (void)state;
    begin(two_rails, false);
    const uint64_t whole[2] = {bed.relay.links[0].passed[0], bed.relay.links[0].passed[1]};
    bed.loses_a_rail = false;
    live(&(relay_change_t){.act = RELAY_PASS});
    const uint64_t first[2] = {bed.relay.links[0].passed[0], bed.relay.links[0].passed[1]};
    assert_true(whole[0] > first[0] && whole[1] > first[1]);
    traffic_end(&bed.traffic);
    sweep(two_rails, false, first);
}

static void a_peer_that_stops_in_the_middle_is_not_waited_for_without_end(void **state)
{
    (void)state;
    begin(one_rail, false);
    live(&(relay_change_t){.act = RELAY_HOLD, .at = SHOOK_FIRST + 100});
    assert_non_null(
        strstr(bed.traffic.sides[1].fake.log, "a step of the peer took longer than 30 s"));
    assert_non_null(strstr(bed.error, "it closed the connection; look at its log"));
    live(&(relay_change_t){.act = RELAY_SKIP, .at = SHOOK_FIRST + 100, .bytes = 4});
    assert_non_null(
        strstr(bed.traffic.sides[1].fake.log, "a step of the peer took longer than 30 s"));
    live(&(relay_change_t){.act = RELAY_CUT, .at = SHOOK_FIRST + 100});
    assert_non_null(strstr(bed.traffic.sides[1].fake.log, "the peer closed it"));
    live(&(relay_change_t){.act = RELAY_CUT, .from = 1, .at = SHOOK_SECOND + 100});
    assert_non_null(strstr(bed.error, "it closed the connection; look at its log"));
    live(&(relay_change_t){.act = RELAY_REPEAT, .at = SHOOK_FIRST, .bytes = 8});
    traffic_end(&bed.traffic);
}

/* The last word of each end. */
static relay_change_t last_word(int from)
{
    return (relay_change_t){.act = RELAY_FLIP,
                            .from = from,
                            .at = bed.relay.links[0].passed[from] - WORD,
                            .bytes = WORD,
                            .mask = 1};
}

static void a_wrong_confirmation_is_told(void **state)
{
    (void)state;
    begin(one_rail, false);
    relay_change_t change = last_word(0);
    live(&change);
    assert_non_null(strstr(bed.traffic.sides[1].fake.log, "confirms with another word (0x6a60"));
    traffic_end(&bed.traffic);
    begin(one_rail, true);
    change = last_word(1);
    live(&change);
    assert_int_equal(bed.mine, WEFT_ERR_PROTO);
    assert_non_null(strstr(bed.error, "confirms with another word (0x6e66"));
    traffic_end(&bed.traffic);
}

/* It lives: whoever takes it for dead accuses a rank that only speaks another version. */
static void a_wrong_control_message_does_not_look_like_a_death(void **state)
{
    (void)state;
    begin(two_rails, false);
    bed.loses_a_rail = false;
    live(&(relay_change_t){.act = RELAY_PASS});
    const relay_change_t change = {.act = RELAY_FLIP,
                                   .at = bed.relay.links[0].passed[0],
                                   .bytes = 2 * WORD, /* magic and kind */
                                   .mask = 1};
    bed.loses_a_rail = true;
    meet(&change);
    assert_int_equal(bed.mine, WEFT_OK);
    assert_int_equal(bed.theirs, WEFT_OK);
    fake_port_state(0, 1, IBV_PORT_DOWN);
    weft_status_t status = WEFT_OK;
    double end = traffic_now() + 30;
    while (status == WEFT_OK && traffic_now() < end) {
        (void)bed.traffic.ops->conn_check(bed.ends[0]);
        status = bed.traffic.ops->conn_check(bed.ends[1]);
    }
    const char *error = bed.traffic.sides[1].fake.error;
    assert_int_equal(status, WEFT_ERR_PROTO);
    assert_non_null(strstr(error, "sent a wrong control message"));
    assert_non_null(strstr(error, "check that all ranks run the same version"));
    part();
    traffic_end(&bed.traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_word_of_the_set_up_may_be_wrong),
        cmocka_unit_test(any_word_of_a_failover_may_be_wrong),
        cmocka_unit_test(a_peer_that_stops_in_the_middle_is_not_waited_for_without_end),
        cmocka_unit_test(a_wrong_confirmation_is_told),
        cmocka_unit_test(a_wrong_control_message_does_not_look_like_a_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
