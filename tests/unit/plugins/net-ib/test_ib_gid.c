/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the choice of a GID. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ib_gid.h"
#include "tests/support/unit.h"

static struct ibv_gid_entry entry(uint32_t index, uint32_t type, const char *address)
{
    struct ibv_gid_entry made = {.gid_index = index, .port_num = 1, .gid_type = type};
    assert_int_equal(inet_pton(AF_INET6, address, made.gid.raw), 1);
    return made;
}

enum { IB = IBV_GID_TYPE_IB, V1 = IBV_GID_TYPE_ROCE_V1, V2 = IBV_GID_TYPE_ROCE_V2, COUNT = 9 };

/* The table of a RoCE port with one IPv4 and one IPv6 address, and an empty entry. */
static uint32_t roce_table(struct ibv_gid_entry table[COUNT])
{
    table[0] = entry(0, V1, "fe80::a:1");
    table[1] = entry(1, V2, "fe80::a:1");
    table[2] = entry(2, V1, "::ffff:10.0.0.1");
    table[3] = entry(3, V2, "::ffff:10.0.0.1");
    table[4] = entry(4, V1, "fd00::1");
    table[5] = entry(5, V2, "fd00::1");
    table[6] = entry(6, V2, "::");
    table[7] = entry(7, V2, "::ffff:10.9.9.9");
    table[7].port_num = 2;
    table[8] = entry(8, V2, "::ffff:10.0.0.2");
    return COUNT;
}

static int64_t chosen(const ib_gid_wish_t *wish, uint32_t port)
{
    struct ibv_gid_entry table[COUNT];
    uint32_t count = roce_table(table);
    const struct ibv_gid_entry *best = ib_gid_choose(table, count, port, wish);
    return best == NULL ? -1 : (int64_t)best->gid_index;
}

static void version_2_routable_ipv4_first_entry_wins(void **state)
{
    (void)state;
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1}, 1), 3);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1}, 2), 7);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1}, 3), -1);
}

static void options_narrow_the_choice(void **state)
{
    (void)state;
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1, .version = 1}, 1), 2);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1, .family = 2}, 1), 5);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1, .family = 2, .version = 1}, 1), 4);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 1}, 1), 1);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 1, .version = 1}, 1), 1);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 6}, 1), -1);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 7}, 1), -1);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 99}, 1), -1);
}

static int64_t chosen_within(const char *networks, const ib_gid_t *peer)
{
    weft_interface_filter_t filter;
    weft_choice_word_t word;
    weft_interface_filter_parse(networks, &filter);
    assert_true(ib_gid_networks_valid(&filter, &word));
    return chosen(&(ib_gid_wish_t){.index = -1, .networks = &filter, .peer = peer}, 1);
}

static void networks_narrow_the_choice(void **state)
{
    ib_gid_t peer = {.type = V2};
    (void)state;
    assert_int_equal(chosen_within("", NULL), 3);
    assert_int_equal(chosen_within("fd00::/8", NULL), 5);
    assert_int_equal(chosen_within("10.0.0.2/32", NULL), 8);
    assert_int_equal(chosen_within("^10.0.0.1/32", NULL), 8);
    assert_int_equal(chosen_within("^10.0.0.0/24", NULL), 5);
    assert_int_equal(chosen_within("10.0.0.0/30, ^10.0.0.0/31", NULL), 8);
    assert_int_equal(chosen_within("192.168.0.0/16", NULL), -1);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.1", peer.gid.raw), 1);
    assert_int_equal(chosen_within("", &peer), 3);
    assert_int_equal(chosen_within("10.0.0.2/32", &peer), 8);
    weft_interface_filter_t none;
    weft_interface_filter_parse("192.168.0.0/16", &none);
    assert_int_equal(chosen(&(ib_gid_wish_t){.index = 1, .networks = &none}, 1), 1);
}

static void what_is_no_network_is_found(void **state)
{
    static const char *const wrong[] = {"eth0",         "10.0.0.0",    "10.0.0/8", "10.0.0.0/33",
                                        "10.0.0.0/0",   "fd00::/129",  "/8",       "10.0.0.0/8x",
                                        "fd00::1%lo/8", "10.0.0.0/-1", "10.0.0.0/"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_interface_filter_t filter;
        weft_choice_word_t word;
        char text[64];
        snprintf(text, sizeof text, "fd00::/8, ^%s", wrong[i]);
        weft_interface_filter_parse(text, &filter);
        assert_false(ib_gid_networks_valid(&filter, &word));
        assert_memory_equal(word.text, wrong[i], word.length);
    }
}

static void peer_decides_version_and_family(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *address;
        int64_t index;
    } cases[] = {{V2, "::ffff:10.0.0.9", 3}, {V1, "::ffff:10.0.0.9", 2}, {V2, "fd00::9", 5},
                 {V1, "fd00::9", 4},         {V2, "fe80::9", 1},         {V1, "fe80::9", 0},
                 {IB, "fe80::9", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ibv_gid_entry there = entry(0, cases[i].type, cases[i].address);
        ib_gid_t peer = {.gid = there.gid, .type = there.gid_type};
        assert_int_equal(chosen(&(ib_gid_wish_t){.index = -1, .peer = &peer}, 1), cases[i].index);
    }
}

static void infiniband_takes_its_first_entry(void **state)
{
    (void)state;
    const struct ibv_gid_entry table[] = {entry(0, IB, "fe80::2:c903:1"),
                                          entry(1, IB, "fe80::2:c903:2")};
    ib_gid_t peer = {.gid = entry(0, IB, "fec0::7").gid, .type = IB};
    ib_gid_wish_t wish = {.index = -1, .version = 2, .family = 1, .peer = &peer};
    assert_ptr_equal(ib_gid_choose(table, 2, 1, &wish), &table[0]);
}

static void index_is_auto_or_a_number(void **state)
{
    (void)state;
    int64_t index = 7;
    assert_true(ib_gid_index_parse("auto", &index));
    assert_int_equal(index, -1);
    assert_true(ib_gid_index_parse("3", &index));
    assert_int_equal(index, 3);
    static const char *const bad[] = {"", "-1", "x", "3x", "Auto", "256", "65536", " 3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(ib_gid_index_parse(bad[i], &index));
    }
}

static void iwarp_reaches_iwarp_of_the_same_family(void **state)
{
    struct ibv_gid_entry table[] = {entry(0, IB_GID_TYPE_IWARP, "fd00::1"),
                                    entry(1, IB_GID_TYPE_IWARP, "::ffff:10.0.0.1")};
    ib_gid_t peer = {.type = IB_GID_TYPE_IWARP, .gid = table[0].gid};
    ib_gid_wish_t wish = {.index = -1, .version = 2};
    (void)state;
    assert_int_equal(ib_gid_choose(table, 2, 1, &wish)->gid_index, 1);
    wish.peer = &peer;
    assert_int_equal(ib_gid_choose(table, 2, 1, &wish)->gid_index, 0);
    peer.type = IBV_GID_TYPE_ROCE_V2;
    assert_null(ib_gid_choose(table, 2, 1, &wish));
    assert_string_equal(ib_gid_type_text(IB_GID_TYPE_IWARP), "iWARP");
}

static int64_t chosen_of(const struct ibv_gid_entry *table, uint32_t count, uint32_t type,
                         const char *peer_address)
{
    ib_gid_t peer = {.gid = entry(0, type, peer_address).gid, .type = type};
    const struct ibv_gid_entry *best =
        ib_gid_choose(table, count, 1, &(ib_gid_wish_t){.index = -1, .peer = &peer});
    return best == NULL ? -1 : (int64_t)best->gid_index;
}

/* A port with networks on it (VLANs) has a GID for each, in the order in which they came up; and
 * maybe a second address in one network, which may move to another host. */
static void the_network_of_the_peer_wins(void **state)
{
    (void)state;
    const struct ibv_gid_entry table[] = {
        entry(2, V2, "fe80::a:1"),       entry(3, V2, "::ffff:10.0.0.1"),
        entry(5, V2, "::ffff:10.7.0.1"), entry(7, V2, "::ffff:10.7.0.9"),
        entry(9, V2, "fd00:1::1"),       entry(11, V2, "fd00:7::1"),
        entry(12, V2, "fe80::7:9"),      entry(13, V2, "fd00:7::8"),
    };
    const uint32_t count = sizeof table / sizeof table[0];
    assert_int_equal(chosen_of(table, count, V2, "::ffff:10.0.0.7"), 3);
    assert_int_equal(chosen_of(table, count, V2, "::ffff:10.7.0.8"), 5);
    assert_int_equal(chosen_of(table, count, V2, "::ffff:10.7.3.8"), 5);
    assert_int_equal(chosen_of(table, count, V2, "::ffff:192.168.0.8"), 3);
    assert_int_equal(chosen_of(table, count, V2, "fd00:1::9"), 9);
    assert_int_equal(chosen_of(table, count, V2, "fd00:7::9"), 11);
    assert_int_equal(chosen_of(table, count, V2, "fe80::7:8"), 2);
    const struct ibv_gid_entry ib[] = {entry(0, IB, "fec0::1"), entry(1, IB, "fe80::7:1")};
    assert_int_equal(chosen_of(ib, 2, IB, "fec0::2"), 0);
}

/* An index is one byte where a queue pair is told of it. */
static void what_no_queue_pair_can_name_is_not_chosen(void **state)
{
    (void)state;
    const struct ibv_gid_entry table[] = {entry(259, V2, "::ffff:10.0.0.1"),
                                          entry(3, V2, "fd00::1")};
    const ib_gid_wish_t any = {.index = -1}, exact = {.index = 259};
    assert_ptr_equal(ib_gid_choose(table, 2, 1, &any), &table[1]);
    assert_null(ib_gid_choose(table, 2, 1, &exact));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_routable_ipv4_first_entry_wins),
        cmocka_unit_test(options_narrow_the_choice),
        cmocka_unit_test(networks_narrow_the_choice),
        cmocka_unit_test(what_is_no_network_is_found),
        cmocka_unit_test(peer_decides_version_and_family),
        cmocka_unit_test(infiniband_takes_its_first_entry),
        cmocka_unit_test(the_network_of_the_peer_wins),
        cmocka_unit_test(what_no_queue_pair_can_name_is_not_chosen),
        cmocka_unit_test(index_is_auto_or_a_number),
        cmocka_unit_test(iwarp_reaches_iwarp_of_the_same_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
