/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses and the choice of interfaces. */
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tests/support/accepted.h"
#include "tests/support/unit.h"

static void filters_take_prefixes_whole_names_and_exclusions_in_order(void **unused)
{
    (void)unused;
    static const struct {
        const char *filter, *name;
        uint32_t rank;
    } cases[] = {
        {NULL, "eth0", 1},        {"", "eth0", 1},           {"eth", "eth0", 1},
        {"eth1", "eth0", 0},      {"=eth", "eth0", 0},       {"=eth0", "eth0", 1},
        {"=eth", "eth", 1},       {"ib,eth", "eth0", 2},     {"ib,=eth", "ib0", 1},
        {"^eth", "eth0", 0},      {"^eth", "ib0", 1},        {"^=eth", "eth0", 1},
        {"^=eth0", "eth0", 0},    {"^docker,lo", "lo", 0},   {"^docker,lo", "eth0", 1},
        {"=ib0,eth0", "eth0", 2}, {"=ib0,eth0", "eth01", 0}, {",", "eth0", 1},
        {"^lo, eth0", "eth0", 0}, {"^lo eth0", "eth0", 0},   {"^lo, ^eth0", "eth0", 0},
        {"^lo, eth0", "ib0", 1},  {"ib0, eth0", "eth0", 2},  {"ib0, =eth", "eth", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (weft_os_interface_rank(cases[i].filter, cases[i].name) != cases[i].rank) {
            fail_msg("%s %s", cases[i].filter, cases[i].name);
        }
    }
}

static void loopback_comes_last_unless_it_is_asked_for(void **unused)
{
    (void)unused;
    weft_os_addr_t all[16], lo[4];
    uint32_t count = weft_os_addrs("", NULL, all, 16);
    assert_true(count >= 1);
    assert_true(weft_os_addrs("=lo", NULL, lo, 4) >= 1);
    assert_int_equal(lo[0].family, 4);
    assert_int_equal(lo[0].bytes[0], 127);
    for (uint32_t i = 0; i + 1 < count; i++) {
        bool loopback = all[i].family == 4 && all[i].bytes[0] == 127;
        bool next = all[i + 1].family == 4 && all[i + 1].bytes[0] == 127;
        bool next6 = all[i + 1].family == 6 && all[i + 1].bytes[15] == 1;
        assert_true(!loopback || next || next6);
    }
    /* The best of many is the same when there is room for one only. */
    weft_os_addr_t one;
    assert_int_equal(weft_os_addrs("", NULL, &one, 1), 1);
    assert_memory_equal(&one, &all[0], sizeof one);
    assert_int_equal(weft_os_addrs("=nothere", NULL, all, 16), 0);
    const char *text = weft_error_record()->text;
    assert_non_null(strstr(text, "fits boot.interface = =nothere; this host has "));
    const char *name = strstr(strstr(text, "has "), " lo");
    assert_non_null(name);
    assert_null(strstr(name + 1, " lo")); /* once, with two addresses */
}

static bool same_address(const weft_os_addr_t *one, const weft_os_addr_t *two)
{
    return one->family == two->family && memcmp(one->bytes, two->bytes, sizeof one->bytes) == 0;
}

static void an_address_by_which_others_come_is_the_first(void **unused)
{
    (void)unused;
    weft_os_addr_t all[16], one;
    weft_os_addr_t near[3] = {{.family = 4, .port = 9, .bytes = {192, 0, 2, 7}}}; /* not ours */
    uint32_t count = weft_os_addrs("", NULL, all, 16);
    for (uint32_t i = 0; i < count; i++) {
        near[1] = all[i];
        assert_int_equal(weft_os_addrs("", near, &one, 1), 1);
        assert_true(same_address(&one, weft_os_addr_is_loopback(&all[i]) ? &all[0] : &all[i]));
    }
    /* The filter holds. */
    near[1] = all[0];
    assert_int_equal(weft_os_addrs("=lo", near, &one, 1), 1);
    assert_true(weft_os_addr_is_loopback(&one));
}

static void loopback_is_told_by_the_address(void **unused)
{
    (void)unused;
    assert_true(weft_os_addr_is_loopback(&(weft_os_addr_t){.family = 4, .bytes = {127, 9, 0, 1}}));
    assert_true(weft_os_addr_is_loopback(&(weft_os_addr_t){.family = 6, .bytes = {[15] = 1}}));
    assert_false(weft_os_addr_is_loopback(&(weft_os_addr_t){.family = 4, .bytes = {128, 0, 0, 1}}));
    assert_false(weft_os_addr_is_loopback(&(weft_os_addr_t){.family = 6, .bytes = {1, [15] = 1}}));
    assert_false(weft_os_addr_is_loopback(&(weft_os_addr_t){.family = 0}));
}

static void addresses_are_written_as_far_as_they_fit(void **unused)
{
    (void)unused;
    char text[24];
    const weft_os_addr_t addrs[] = {{.family = 4, .port = 1, .bytes = {10, 0, 0, 1}},
                                    {.family = 6, .port = 2, .bytes = {[15] = 1}},
                                    {.family = 4, .port = 3, .bytes = {10, 0, 0, 2}}};
    weft_os_addrs_text(addrs, 0, text, sizeof text);
    assert_string_equal(text, "");
    weft_os_addrs_text(addrs, 3, text, sizeof text);
    assert_string_equal(text, "10.0.0.1:1, [::1]:2");
}

static void addresses_survive_their_bytes(void **unused)
{
    (void)unused;
    weft_os_addr_t in = {.family = 6, .port = 65535, .bytes = {0xfd, 0, 1}}, out;
    uint8_t bytes[WEFT_OS_ADDR_BYTES];
    char text[WEFT_OS_ADDR_TEXT];
    weft_os_addr_encode(&in, bytes);
    assert_int_equal(weft_os_addr_decode(bytes, &out), WEFT_OK);
    assert_memory_equal(&in, &out, sizeof in);
    weft_os_addr_text(&in, text);
    assert_string_equal(text, "[fd00:100::]:65535");
    weft_os_addr_text(&(weft_os_addr_t){.family = 4, .port = 1, .bytes = {10, 0, 0, 1}}, text);
    assert_string_equal(text, "10.0.0.1:1");
    bytes[0] = 3;
    assert_int_equal(weft_os_addr_decode(bytes, &out), WEFT_ERR_PROTO);
}

static void streams_over_both_families_carry_bytes_and_their_end(void **unused)
{
    (void)unused;
    weft_os_addr_t addrs[4];
    uint32_t count = weft_os_addrs("=lo", NULL, addrs, 4);
    int listener;
    uint16_t port = 0;
    assert_int_equal(weft_os_listen(8, &listener, &port), WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        int out, in, error;
        char byte = 0;
        addrs[i].port = port;
        assert_int_equal(weft_os_connect(&addrs[i], &out), WEFT_OK);
        struct pollfd entry = {.fd = listener, .events = POLLIN};
        assert_int_equal(weft_os_poll(&entry, 1, weft_os_deadline(5)), 1);
        in = accepted(listener);
        assert_true(in >= 0);
        assert_int_equal(weft_os_recv(in, &byte, 1, &error), WEFT_OS_NONE);
        assert_int_equal(weft_os_send(out, "x", 1, &error), 1);
        weft_os_shutdown(out);
        entry.fd = in;
        assert_int_equal(weft_os_poll(&entry, 1, weft_os_deadline(5)), 1);
        assert_int_equal(weft_os_peek(in, &byte, 1, &error), 1);
        assert_int_equal(weft_os_recv(in, &byte, 1, &error), 1);
        assert_int_equal(byte, 'x');
        assert_int_equal(weft_os_poll(&entry, 1, weft_os_deadline(5)), 1);
        assert_int_equal(weft_os_recv(in, &byte, 1, &error), 0);
        weft_os_close(in);
        weft_os_close(out);
    }
    assert_int_equal(accepted(listener), -1);
    weft_os_close(listener);
}

static void a_wake_ends_a_poll_until_it_is_cleared(void **unused)
{
    (void)unused;
    int fd;
    assert_int_equal(weft_os_wake_open(&fd), WEFT_OK);
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    assert_int_equal(weft_os_poll(&entry, 1, 0), 0);
    weft_os_wake(fd);
    weft_os_wake(fd);
    assert_int_equal(weft_os_poll(&entry, 1, WEFT_NEVER), 1);
    weft_os_wake_clear(fd);
    assert_int_equal(weft_os_poll(&entry, 1, 0), 0);
    weft_os_close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_take_prefixes_whole_names_and_exclusions_in_order),
        cmocka_unit_test(loopback_comes_last_unless_it_is_asked_for),
        cmocka_unit_test(an_address_by_which_others_come_is_the_first),
        cmocka_unit_test(loopback_is_told_by_the_address),
        cmocka_unit_test(addresses_are_written_as_far_as_they_fit),
        cmocka_unit_test(addresses_survive_their_bytes),
        cmocka_unit_test(streams_over_both_families_carry_bytes_and_their_end),
        cmocka_unit_test(a_wake_ends_a_poll_until_it_is_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
