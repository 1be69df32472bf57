/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of interfaces, with netlink and without it. */
#include <string.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <weft/sdk/interface_list.h>

#include "tests/support/unit.h"

static int refused; /* errno of getifaddrs() */

int __real_getifaddrs(struct ifaddrs **list_p);
int __wrap_getifaddrs(struct ifaddrs **list_p);

int __wrap_getifaddrs(struct ifaddrs **list_p)
{
    errno = refused;
    return refused != 0 ? -1 : __real_getifaddrs(list_p);
}

/* Whether an entry of IPv4 says the same of the same address. */
static bool same(const struct ifaddrs *one, const struct ifaddrs *two)
{
    const unsigned kept = IFF_UP | IFF_LOOPBACK | IFF_POINTOPOINT | IFF_BROADCAST;
    const struct sockaddr_in *address[2] = {
        (const struct sockaddr_in *)(const void *)one->ifa_addr,
        (const struct sockaddr_in *)(const void *)two->ifa_addr};
    const struct sockaddr_in *mask[2] = {
        (const struct sockaddr_in *)(const void *)one->ifa_netmask,
        (const struct sockaddr_in *)(const void *)two->ifa_netmask};
    return two->ifa_addr->sa_family == AF_INET &&
           address[0]->sin_addr.s_addr == address[1]->sin_addr.s_addr &&
           mask[0]->sin_addr.s_addr == mask[1]->sin_addr.s_addr &&
           strcmp(one->ifa_name, two->ifa_name) == 0 &&
           (one->ifa_flags & kept) == (two->ifa_flags & kept);
}

/* Counts the IPv4 addresses of interfaces that are up, each of which `other` has, too. */
static int count_in(const struct ifaddrs *list, const struct ifaddrs *other)
{
    int count = 0;
    for (; list != NULL; list = list->ifa_next) {
        if (list->ifa_addr == NULL || list->ifa_addr->sa_family != AF_INET ||
            (list->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        const struct ifaddrs *at = other;
        while (at != NULL && (at->ifa_addr == NULL || !same(list, at))) {
            at = at->ifa_next;
        }
        assert_non_null(at);
        count++;
    }
    return count;
}

static void without_netlink_it_has_the_same_ipv4_addresses(void **state)
{
    weft_interface_list_t whole, short_list;
    (void)state;
    refused = 0;
    assert_true(weft_interface_list_get(&whole));
    assert_false(whole.ipv4_only);
    refused = EAFNOSUPPORT;
    assert_true(weft_interface_list_get(&short_list));
    assert_true(short_list.ipv4_only);
    int count = count_in(whole.first, short_list.first);
    assert_true(count > 0); /* the loopback at least */
    assert_int_equal(count_in(short_list.first, whole.first), count);
    weft_interface_list_free(&whole);
    weft_interface_list_free(&short_list);
    assert_null(short_list.first);
    weft_interface_list_free(&short_list); /* twice is no harm */
}

static void a_shortage_is_an_error(void **state)
{
    static const int shortages[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
    weft_interface_list_t list;
    (void)state;
    for (size_t i = 0; i < sizeof shortages / sizeof shortages[0]; i++) {
        refused = shortages[i];
        assert_false(weft_interface_list_get(&list));
        assert_int_equal(errno, shortages[i]);
        assert_null(list.first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_netlink_it_has_the_same_ipv4_addresses),
        cmocka_unit_test(a_shortage_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
