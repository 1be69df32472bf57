/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket: which interfaces of two hosts meet. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "sock_path.h"
#include "tests/support/unit.h"

/* Indices that no interface of this machine has, so that nothing is known of its speed. */
#define FIRST 1000000u

static void add(weft_endpoint_list_t *list, const char *text, uint8_t prefix, uint32_t interface,
                bool loopback)
{
    weft_endpoint_entry_t *entry = &list->entries[list->count++];
    *entry = (weft_endpoint_entry_t){
        .prefix = prefix, .interface = FIRST + interface, .loopback = loopback};
    if (inet_pton(AF_INET, text, &entry->point.v4.sin_addr) == 1) {
        entry->point.v4.sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &entry->point.v6.sin6_addr), 1);
        entry->point.v6.sin6_family = AF_INET6;
    }
}

static void expect(const sock_path_t *path, const char *from, const char *to)
{
    char text[WEFT_ENDPOINT_TEXT];
    weft_endpoint_text(&path->from, text);
    assert_string_equal(text, from);
    weft_endpoint_text(&path->to, text);
    assert_string_equal(text, to);
}

static void addresses_of_one_network_meet(void **state)
{
    (void)state;
    sock_path_t paths[SOCK_RAILS_MAX];
    weft_endpoint_list_t here = {.count = 0}, there = {.count = 0};
    add(&here, "10.0.0.1", 24, 1, false);
    add(&here, "10.0.1.1", 24, 2, false);
    add(&here, "127.0.0.1", 8, 9, true);
    add(&there, "10.0.1.2", 0, 0, false);
    add(&there, "10.0.0.2", 0, 0, false);
    add(&there, "192.168.0.2", 0, 0, false);
    assert_int_equal(sock_paths_find(&here, &there, 0, paths), 2);
    expect(&paths[0], "10.0.0.1:0", "10.0.0.2:0");
    expect(&paths[1], "10.0.1.1:0", "10.0.1.2:0");
    assert_int_equal(sock_paths_find(&here, &there, 1, paths), 1);
}

static void an_interface_with_two_addresses_is_one_rail(void **state)
{
    (void)state;
    sock_path_t paths[SOCK_RAILS_MAX];
    weft_endpoint_list_t here = {.count = 0}, there = {.count = 0};
    add(&here, "10.0.0.1", 24, 1, false);
    add(&here, "fd00::1", 64, 1, false);
    add(&there, "10.0.0.2", 0, 0, false);
    add(&there, "fd00::2", 0, 0, false);
    assert_int_equal(sock_paths_find(&here, &there, 0, paths), 1);
    expect(&paths[0], "10.0.0.1:0", "10.0.0.2:0");
}

static void without_a_common_network_the_order_counts_if_asked_for(void **state)
{
    (void)state;
    sock_path_t paths[SOCK_RAILS_MAX];
    weft_endpoint_list_t here = {.count = 0}, there = {.count = 0};
    add(&here, "10.1.0.1", 31, 1, false);
    add(&here, "10.2.0.1", 31, 2, false);
    add(&there, "10.3.0.1", 0, 0, false);
    add(&there, "10.4.0.1", 0, 0, false);
    assert_int_equal(sock_paths_find(&here, &there, 0, paths), 0);
    assert_int_equal(sock_paths_find(&here, &there, 2, paths), 2);
    expect(&paths[0], "10.1.0.1:0", "10.3.0.1:0");
    expect(&paths[1], "10.2.0.1:0", "10.4.0.1:0");
}

static void an_address_serves_one_rail(void **state)
{
    (void)state;
    sock_path_t paths[SOCK_RAILS_MAX];
    weft_endpoint_list_t here = {.count = 0}, there = {.count = 0};
    add(&here, "10.0.0.1", 8, 1, false);
    add(&here, "10.0.1.1", 8, 2, false);
    add(&there, "10.0.0.2", 0, 0, false);
    assert_int_equal(sock_paths_find(&here, &there, 0, paths), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_one_network_meet),
        cmocka_unit_test(an_interface_with_two_addresses_is_one_rail),
        cmocka_unit_test(without_a_common_network_the_order_counts_if_asked_for),
        cmocka_unit_test(an_address_serves_one_rail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
