/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of hosts: order of first appearance, whatever the layout, and no time that grows with the
 * square of the ranks. */
#include <string.h>

#include "core/boot/host_numbers.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

/* Rank r runs on host number(r); ids differ in few bits. */
static weft_boot_peer_t *peers_of(uint32_t nranks, uint32_t (*number)(uint32_t rank))
{
    weft_boot_peer_t *peers = weft_os_alloc(nranks * sizeof *peers, 0);
    assert_non_null(peers);
    for (uint32_t r = 0; r < nranks; r++) {
        uint32_t id = number(r);
        memset(peers[r].host_id, 7, sizeof peers[r].host_id);
        memcpy(peers[r].host_id + 12, &id, sizeof id);
        peers[r].host = UINT32_MAX;
    }
    return peers;
}

static uint32_t backwards_in_threes(uint32_t rank)
{
    return 1000 - rank / 3;
}

static uint32_t round_robin(uint32_t rank)
{
    return rank % 5;
}

static uint32_t each_its_own(uint32_t rank)
{
    return rank;
}

static void expect_numbers(uint32_t nranks, uint32_t (*number)(uint32_t rank),
                           uint32_t (*want)(uint32_t rank), uint32_t hosts)
{
    uint32_t found = 0;
    weft_boot_peer_t *peers = peers_of(nranks, number);
    assert_int_equal(weft_boot_number_hosts(peers, nranks, &found), WEFT_OK);
    assert_int_equal(found, hosts);
    for (uint32_t r = 0; r < nranks; r++) {
        assert_int_equal(peers[r].host, want(r));
    }
    weft_os_free(peers);
}

static uint32_t by_threes(uint32_t rank)
{
    return rank / 3;
}

static void hosts_are_numbered_by_first_appearance(void **state)
{
    (void)state;
    expect_numbers(1, each_its_own, each_its_own, 1);
    expect_numbers(10, backwards_in_threes, by_threes, 4);
    expect_numbers(23, round_robin, round_robin, 5);
    expect_numbers(3, round_robin, each_its_own, 3);
    expect_numbers(100, each_its_own, each_its_own, 100);
}

/* The quadratic way takes 0.1 s for 16,384 and hours for this. */
static void a_million_hosts_take_no_time_to_speak_of(void **state)
{
    (void)state;
    uint64_t begun = weft_os_clock_ns();
    expect_numbers(1u << 20, each_its_own, each_its_own, 1u << 20);
    assert_in_range(weft_os_clock_ns() - begun, 0, 30 * WEFT_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_numbered_by_first_appearance),
        cmocka_unit_test(a_million_hosts_take_no_time_to_speak_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
