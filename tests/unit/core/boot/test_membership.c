/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control tree as a function of who is live: parents are lower ranks, and every frame
 * arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/boot/membership.h"

#define RANKS 11u

static void make(weft_membership_t *m, uint32_t rank)
{
    assert_int_equal(weft_membership_init(m, rank, RANKS), WEFT_OK);
}

static void the_full_tree_is_binary(void **unused)
{
    (void)unused;
    weft_membership_t m;
    make(&m, 0);
    for (uint32_t r = 1; r < RANKS; r++) {
        assert_int_equal(weft_membership_parent(&m, r), (r - 1) / 2);
    }
    assert_int_equal(weft_membership_parent(&m, 0), 0);
    weft_membership_fini(&m);
}

static void a_gap_is_closed_by_the_nearest_live_ancestor_or_the_lowest_rank(void **unused)
{
    (void)unused;
    weft_membership_t m;
    make(&m, 10);
    m.states[4] = WEFT_MEMBER_DEAD;
    assert_int_equal(weft_membership_parent(&m, 10), 1);
    m.states[1] = WEFT_MEMBER_LEFT;
    assert_int_equal(weft_membership_parent(&m, 10), 0);
    m.states[0] = WEFT_MEMBER_SUSPECT;
    assert_int_equal(weft_membership_parent(&m, 10), 2);
    assert_int_equal(weft_membership_parent(&m, 2), 2);
    weft_membership_fini(&m);
}

/* Whatever the states, the live ranks are one tree in which a frame reaches every rank. */
static void every_view_makes_one_tree(void **unused)
{
    (void)unused;
    for (uint32_t mask = 1; mask < 1u << RANKS; mask++) {
        weft_membership_t m;
        uint32_t roots = 0;
        make(&m, 0);
        for (uint32_t r = 0; r < RANKS; r++) {
            m.states[r] = (mask >> r & 1) != 0 ? WEFT_MEMBER_LIVE : WEFT_MEMBER_DEAD;
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            uint32_t parent = weft_membership_parent(&m, r);
            if (m.states[r] != WEFT_MEMBER_LIVE) {
                continue;
            }
            assert_true(parent <= r && m.states[parent] == WEFT_MEMBER_LIVE);
            roots += parent == r;
            /* A frame from r to the highest live rank. */
            uint32_t target = 31 - (uint32_t)__builtin_clz(mask), at = r;
            for (uint32_t hops = 0; at != target; hops++) {
                assert_true(hops < RANKS);
                m.rank = at;
                at = weft_membership_next_hop(&m, target);
            }
        }
        assert_int_equal(roots, 1);
        weft_membership_fini(&m);
    }
}

static void the_children_of_a_gap_are_awaited_until_they_connect(void **unused)
{
    (void)unused;
    weft_membership_t m;
    weft_neighbour_t list[4] = {{.fd = 3, .rank = 1}, {.fd = 3, .rank = 2}};
    weft_neighbours_t neighbours = {.list = list, .count = 2};
    make(&m, 0);
    weft_membership_update(&m, &neighbours);
    assert_int_equal(m.awaited, 0);
    m.states[1] = WEFT_MEMBER_LEFT;
    weft_membership_update(&m, &neighbours);
    assert_int_equal(m.awaited, 2); /* ranks 3 and 4 */
    assert_true(m.since[3] != 0 && m.since[4] != 0 && m.since[5] == 0);
    list[0].rank = 3;
    m.states[4] = WEFT_MEMBER_SUSPECT;
    weft_membership_update(&m, &neighbours);
    assert_int_equal(m.suspects, 1);
    assert_int_equal(m.awaited, 2); /* ranks 9 and 10, the children of 4 */
    assert_true(m.since[3] == 0 && m.since[4] != 0 && m.since[9] != 0);
    weft_membership_restart_clocks(&m, 7);
    assert_true(m.since[3] == 0 && m.since[4] == 7 && m.since[9] == 7);
    weft_membership_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_full_tree_is_binary),
        cmocka_unit_test(a_gap_is_closed_by_the_nearest_live_ancestor_or_the_lowest_rank),
        cmocka_unit_test(every_view_makes_one_tree),
        cmocka_unit_test(the_children_of_a_gap_are_awaited_until_they_connect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
