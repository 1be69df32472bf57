/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control tree as a function of who is live: parents are lower ranks, and every frame
 * arrives. */
#include <string.h>

#include "core/boot/membership.h"
#include "tests/support/unit.h"

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
    weft_membership_suspect(&m, 4, weft_os_clock_ns());
    weft_membership_update(&m, &neighbours);
    assert_int_equal(m.suspects, 1);
    assert_int_equal(m.awaited, 2); /* ranks 9 and 10, the children of 4 */
    assert_true(m.since[3] == 0 && m.since[4] != 0 && m.since[9] != 0);
    weft_membership_restart_clocks(&m, 7);
    assert_true(m.since[3] == 0 && m.since[4] == 7 && m.since[9] == 7);
    weft_membership_fini(&m);
}

/* Who is awaited, by the definition, for every rank and every order of leaving that is tried. */
static void who_is_awaited_follows_from_the_tree_at_every_step(void **unused)
{
    (void)unused;
    for (uint32_t seed = 1; seed < 400; seed++) {
        weft_membership_t m;
        weft_neighbour_t list[1] = {{.fd = 3, .rank = seed % RANKS}};
        weft_neighbours_t neighbours = {.list = list, .count = 1};
        uint32_t random = seed * 2654435761u;
        make(&m, seed % 7);
        for (uint32_t step = 0; step < 2 * RANKS; step++) {
            uint32_t awaited = 0;
            random = random * 1664525u + 1013904223u;
            uint32_t rank = (random >> 8) % RANKS;
            if (rank == m.rank) {
                continue;
            }
            if (m.states[rank] == WEFT_MEMBER_LIVE && (random >> 24) % 3 == 0) {
                weft_membership_suspect(&m, rank, 1);
            } else if (m.states[rank] == WEFT_MEMBER_SUSPECT && (random >> 24) % 2 == 0) {
                m.states[rank] = WEFT_MEMBER_LIVE;
            } else {
                m.states[rank] = WEFT_MEMBER_LEFT;
            }
            weft_membership_update(&m, &neighbours);
            for (uint32_t r = 0; r < RANKS; r++) {
                bool is_awaited = m.states[r] == WEFT_MEMBER_LIVE && r != m.rank &&
                                  r != list[0].rank && weft_membership_parent(&m, r) == m.rank;
                awaited += is_awaited;
                assert_int_equal(m.since[r] != 0, is_awaited || m.states[r] == WEFT_MEMBER_SUSPECT);
            }
            assert_int_equal(m.awaited, awaited);
        }
        weft_membership_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_full_tree_is_binary),
        cmocka_unit_test(a_gap_is_closed_by_the_nearest_live_ancestor_or_the_lowest_rank),
        cmocka_unit_test(every_view_makes_one_tree),
        cmocka_unit_test(who_is_awaited_follows_from_the_tree_at_every_step),
        cmocka_unit_test(the_children_of_a_gap_are_awaited_until_they_connect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
