/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of end points: options, wire form, order of preference. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sdk/net_interface.h>
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static bool admits(const char *text, const char *name)
{
    weft_interface_filter_t filter;
    weft_interface_filter_parse(text, &filter);
    return weft_interface_filter_admits(&filter, name, NULL);
}

static void filter_knows_prefix_exact_and_exclusion(void **state)
{
    (void)state;
    assert_true(admits("", "eth0"));
    assert_true(admits("eth", "eth0"));
    assert_true(admits("ib,eth", "eth1"));
    assert_false(admits("eth0", "eth"));
    assert_false(admits("eth", "ib0"));
    assert_true(admits("=eth0", "eth0"));
    assert_false(admits("=eth0", "eth01"));
    assert_true(admits("=ib0,eth0", "eth0"));
    assert_false(admits("^docker,lo", "lo"));
    assert_false(admits("^docker,lo", "docker0"));
    assert_true(admits("^docker,lo", "eth0"));
    assert_false(admits("^=eth1", "eth1"));
    assert_true(admits("^=eth1", "eth10"));
    assert_true(admits("eth0,,ib", "ib3"));
    assert_false(admits("eth0,,ib", "x"));
}

static bool admits_address(const char *text, const char *name, const char *address)
{
    weft_interface_filter_t filter;
    weft_endpoint_t point = {.v4 = {.sin_family = AF_INET}};
    if (inet_pton(AF_INET, address, &point.v4.sin_addr) != 1) {
        point.v6.sin6_family = AF_INET6;
        assert_int_equal(inet_pton(AF_INET6, address, &point.v6.sin6_addr), 1);
    }
    weft_interface_filter_parse(text, &filter);
    return weft_interface_filter_admits(&filter, name, &point);
}

static void filter_takes_words_one_by_one(void **state)
{
    (void)state;
    assert_true(admits("eth,^eth1", "eth0"));
    assert_false(admits("eth,^eth1", "eth1"));
    assert_false(admits("eth,^eth1", "ib0"));
    assert_true(admits("eth,=ib0", "ib0"));
    assert_false(admits("eth,=ib0", "ib01"));
    assert_true(admits("eth,^=eth1", "eth10"));
    assert_false(admits("eth,^=eth1", "eth1"));
    assert_false(admits("^docker,^lo", "lo"));
    assert_true(admits("^docker,^lo", "eth0"));
}

static void filter_takes_blanks_for_commas(void **state)
{
    (void)state;
    assert_false(admits("^lo, eth0", "eth0"));
    assert_false(admits("^ lo\teth0 ", "eth0"));
    assert_false(admits(" ^lo, ^ eth0", "eth0"));
    assert_true(admits("^lo, eth0", "ib0"));
    assert_true(admits("= ib0, eth0", "eth0"));
    assert_false(admits("ib, = eth0", "eth01"));
    assert_true(admits(" , ", "eth0"));
}

static void filter_knows_networks(void **state)
{
    (void)state;
    assert_true(admits_address("10.0.0.0/8", "x", "10.200.0.1"));
    assert_false(admits_address("10.0.0.0/8", "x", "11.0.0.1"));
    assert_true(admits_address("192.168.4.0/23", "x", "192.168.5.9"));
    assert_false(admits_address("192.168.4.0/23", "x", "192.168.6.9"));
    assert_true(admits_address("fd00:1::/32", "x", "fd00:1:2::3"));
    assert_false(admits_address("fd00:1::/32", "x", "fd00:2::3"));
    assert_false(admits_address("10.0.0.0/8", "x", "fd00::1"));
    assert_true(admits_address("eth,10.0.0.0/8", "eth0", "192.168.0.1"));
    assert_false(admits_address("eth,^10.0.0.0/8", "eth0", "10.0.0.1"));
    assert_true(admits_address("^10.0.0.0/8", "eth0", "192.168.0.1"));
    static const char *const bad[] = {"10.0.0.0/", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/8x",
                                      "10.0.0/8",  "/8",         "10.0.0.0/-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(admits_address(bad[i], "eth0", "10.0.0.1"));
    }
}

static void every_port_of_a_range_is_tried_once(void **state)
{
    const weft_port_range_t any = {0, 0}, range = {65530, 65535};
    uint32_t seen = 0;
    (void)state;
    assert_int_equal(weft_port_range_span(&any), 1);
    assert_int_equal(weft_port_range_at(&any, UINT32_MAX, 0), 0);
    assert_int_equal(weft_port_range_span(&range), 6);
    for (uint32_t i = 0; i < 6; i++) {
        const uint16_t port = weft_port_range_at(&range, UINT32_MAX, i);
        assert_in_range(port, range.first, range.last);
        seen |= 1u << (port - range.first);
    }
    assert_int_equal(seen, 63);
}

static void port_range_is_strict(void **state)
{
    (void)state;
    weft_port_range_t ports;
    assert_true(weft_port_range_parse("", &ports));
    assert_int_equal(ports.first, 0);
    assert_true(weft_port_range_parse("5000-5100", &ports));
    assert_int_equal(ports.first, 5000);
    assert_int_equal(ports.last, 5100);
    assert_true(weft_port_range_parse("65535", &ports));
    assert_int_equal(ports.last, 65535);
    static const char *const bad[] = {"0",     "65536", "5100-5000", "5000-", "-5000",     "a",
                                      "50 00", "5-6-7", "5000 ",     "+5",    "5000-70000"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(weft_port_range_parse(bad[i], &ports));
    }
}

static weft_endpoint_entry_t entry(const char *text, uint16_t port, bool loopback)
{
    weft_endpoint_entry_t e;
    memset(&e, 0, sizeof e);
    e.loopback = loopback;
    if (inet_pton(AF_INET, text, &e.point.v4.sin_addr) == 1) {
        e.point.v4.sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &e.point.v6.sin6_addr), 1);
        e.point.v6.sin6_family = AF_INET6;
    }
    weft_endpoint_set_port(&e.point, port);
    return e;
}

static weft_endpoint_list_t list_make(uint8_t system)
{
    weft_endpoint_list_t list = {.count = 3};
    memset(list.host, system, sizeof list.host);
    list.entries[0] = entry("10.0.0.7", 4711, false);
    list.entries[1] = entry("fd00::7", 4712, false);
    list.entries[2] = entry("127.0.0.1", 4713, true);
    return list;
}

static void expect_text(const weft_endpoint_list_t *list, uint32_t i, const char *expected)
{
    char text[WEFT_ENDPOINT_TEXT];
    weft_endpoint_text(&list->entries[i].point, text);
    assert_string_equal(text, expected);
}

static void wire_form_round_trips(void **state)
{
    (void)state;
    weft_net_address_t address;
    weft_endpoint_list_t list = list_make(3), back;
    weft_endpoint_list_encode(&list, &address);
    assert_int_equal(weft_endpoint_list_decode(&address, &back), WEFT_OK);
    assert_int_equal(back.count, 3);
    assert_memory_equal(back.host, list.host, sizeof list.host);
    expect_text(&back, 0, "10.0.0.7:4711");
    expect_text(&back, 1, "[fd00::7]:4712");
    expect_text(&back, 2, "127.0.0.1:4713");
    assert_true(back.entries[2].loopback);
    assert_false(back.entries[1].loopback);
}

/* Entries are 20 bytes, and the list before them 32. */
static void an_address_is_shortened_to_its_best_entries(void **state)
{
    enum { HEAD = 7, ONE = HEAD + 32 + 20 };
    (void)state;
    weft_endpoint_t routed;
    weft_endpoint_list_t list = list_make(3), back;
    bool has_route = weft_interface_default(AF_INET, &routed);
    if (has_route) {
        list.entries[1].point = routed;
        weft_endpoint_set_port(&list.entries[1].point, 4712);
    }
    weft_net_address_t tail, address = {.data = "a GID "};
    weft_endpoint_list_encode(&list, &tail);
    address.bytes = HEAD + tail.bytes;
    memcpy(address.data + HEAD, tail.data, tail.bytes);
    const weft_net_address_t whole = address;
    assert_false(weft_interface_shorten(&address, ONE - 1));
    assert_memory_equal(&address, &whole, sizeof whole);
    assert_true(weft_interface_shorten(&address, ONE + 39));
    assert_int_equal(address.bytes, ONE + 20);
    assert_memory_equal(address.data, "a GID ", HEAD);
    tail.bytes = address.bytes - HEAD;
    memcpy(tail.data, address.data + HEAD, tail.bytes);
    assert_int_equal(weft_endpoint_list_decode(&tail, &back), WEFT_OK);
    assert_int_equal(back.count, 2);
    assert_memory_equal(back.host, list.host, sizeof list.host);
    assert_int_equal(weft_endpoint_port(&back.entries[0].point), has_route ? 4712 : 4711);
    assert_int_equal(weft_endpoint_port(&back.entries[1].point), has_route ? 4711 : 4712);
    assert_true(weft_interface_shorten(&address, ONE));
    assert_int_equal(address.bytes, ONE);
    address = (weft_net_address_t){.bytes = 200};
    assert_false(weft_interface_shorten(&address, 112));
}

static void decoding_refuses_every_wrong_field(void **state)
{
    (void)state;
    static const struct {
        uint32_t at;
        uint8_t value;
    } faults[] = {{0, 'x'}, {4, 0}, {4, 9}, {4, 2}, {32, 5}, {33, 2}};
    weft_net_address_t good, bad;
    weft_endpoint_list_t list = list_make(3), back;
    weft_endpoint_list_encode(&list, &good);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bad = good;
        bad.data[faults[i].at] = faults[i].value;
        assert_int_equal(weft_endpoint_list_decode(&bad, &back), WEFT_ERR_PROTO);
    }
    bad = good;
    bad.data[34] = bad.data[35] = 0; /* port 0 */
    assert_int_equal(weft_endpoint_list_decode(&bad, &back), WEFT_ERR_PROTO);
    for (uint32_t bytes = 0; bytes < 300; bytes++) {
        bad = good;
        bad.bytes = bytes;
        assert_true((weft_endpoint_list_decode(&bad, &back) == WEFT_OK) == (bytes == good.bytes));
    }
}

static void loopback_comes_first_on_one_host_and_never_between_hosts(void **state)
{
    (void)state;
    weft_endpoint_list_t here = list_make(3), same = list_make(3), far = list_make(4);
    weft_endpoint_list_reach(&here, &same);
    assert_int_equal(same.count, 3);
    expect_text(&same, 0, "127.0.0.1:4713");
    expect_text(&same, 1, "10.0.0.7:4711");
    weft_endpoint_list_reach(&here, &far);
    assert_int_equal(far.count, 2);
    expect_text(&far, 0, "10.0.0.7:4711");
    weft_endpoint_list_t unknown = list_make(0), other = list_make(0);
    weft_endpoint_list_reach(&unknown, &other);
    assert_int_equal(other.count, 2);
}

static void family_that_is_not_here_is_left_out(void **state)
{
    (void)state;
    weft_endpoint_list_t here = {.count = 1}, there = list_make(4);
    here.entries[0] = entry("fd00::1", 1, false);
    weft_endpoint_list_reach(&here, &there);
    assert_int_equal(there.count, 1);
    expect_text(&there, 0, "[fd00::7]:4712");
}

static void local_list_follows_the_filter(void **state)
{
    (void)state;
    fake_host_t fake;
    fake_host_init(&fake, "test");
    weft_interface_filter_t filter;
    weft_endpoint_list_t list;
    weft_interface_filter_parse("=lo", &filter);
    assert_int_equal(weft_endpoint_list_local(&fake.host, &filter, 1, &list), WEFT_OK);
    assert_int_equal(list.count, 1);
    expect_text(&list, 0, "127.0.0.1:0");
    assert_true(list.entries[0].loopback);
    weft_interface_filter_parse("=no-such-interface", &filter);
    assert_int_equal(weft_endpoint_list_local(&fake.host, &filter, 0, &list), WEFT_ERR_CONFIG);
    assert_ptr_equal(strstr(fake.error, "no interface here fits \"no-such-interface\""),
                     fake.error);
    assert_non_null(strstr(fake.error, "lo 127.0.0.1"));
    filter.option = "[test] devices";
    assert_int_equal(weft_endpoint_list_local(&fake.host, &filter, 0, &list), WEFT_ERR_CONFIG);
    assert_ptr_equal(strstr(fake.error, "[test] devices: no interface here"), fake.error);
    weft_interface_filter_parse("^no-such-interface, lo", &filter);
    assert_int_equal(weft_endpoint_list_local(&fake.host, &filter, 0, &list), WEFT_OK);
    assert_non_null(
        strstr(fake.log, "no interface here fits \"no-such-interface\", left out by ^"));
    assert_null(strstr(fake.log, "fits \"lo\""));
    fake_host_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_knows_prefix_exact_and_exclusion),
        cmocka_unit_test(filter_takes_words_one_by_one),
        cmocka_unit_test(filter_takes_blanks_for_commas),
        cmocka_unit_test(filter_knows_networks),
        cmocka_unit_test(port_range_is_strict),
        cmocka_unit_test(every_port_of_a_range_is_tried_once),
        cmocka_unit_test(wire_form_round_trips),
        cmocka_unit_test(an_address_is_shortened_to_its_best_entries),
        cmocka_unit_test(decoding_refuses_every_wrong_field),
        cmocka_unit_test(loopback_comes_first_on_one_host_and_never_between_hosts),
        cmocka_unit_test(family_that_is_not_here_is_left_out),
        cmocka_unit_test(local_list_follows_the_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
