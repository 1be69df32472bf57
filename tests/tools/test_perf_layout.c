/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts of weft perf: what one rank sends is what the others expect, and no buffer is too
 * small. */
#include <stdlib.h>

#include "tests/support/unit.h"
#include "tools/perf_layout.h"
#include "tools/perf_pattern.h"

enum { MOST_RANKS = 17 };
static const uint64_t room = 1000;

static perf_layout_t layouts[MOST_RANKS];

static void make_all(weft_coll_t coll, perf_pattern_kind_t kind, uint32_t n, uint32_t root)
{
    for (uint32_t r = 0; r < n; r++) {
        perf_shape_t shape = {.coll = coll,
                              .root = root,
                              .rank = r,
                              .nranks = n,
                              .count = room / n,
                              .room = room,
                              .pattern = {kind, 7}};
        assert_int_equal(perf_layout_make(&layouts[r], &shape), WEFT_OK);
    }
}

static void free_all(uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        perf_layout_free(&layouts[r]);
    }
}

/* Every segment lies in the send buffer it names, segments fill the receive buffer without a
 * gap. */
static void check_all(uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const perf_layout_t *l = &layouts[r];
        uint64_t at = 0;
        assert_int_equal(l->most, layouts[0].most);
        assert_int_equal(l->largest, layouts[0].largest);
        assert_true(l->send_count <= l->most && l->recv_count <= l->most && l->most <= room);
        for (uint32_t s = 0; s < l->nsegments; s++) {
            const perf_segment_t *segment = &l->segments[s];
            uint32_t from = segment->from == PERF_REDUCED ? r : segment->from;
            assert_true(from < n);
            assert_int_equal(segment->at, at);
            assert_true(segment->count == 0 ||
                        segment->first + segment->count <= layouts[from].send_count);
            at += segment->count;
        }
        assert_int_equal(at, l->recv_count);
    }
}

static void every_layout_fits_together(void **state)
{
    (void)state;
    for (int coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (int kind = 0; kind < PERF_PATTERN_COUNT; kind++) {
            for (uint32_t n = 1; n <= MOST_RANKS; n += n < 4 ? 1 : 4) {
                make_all((weft_coll_t)coll, (perf_pattern_kind_t)kind, n, n - 1);
                check_all(n);
                free_all(n);
            }
        }
    }
}

static void two_ranks_agree_on_what_they_exchange(void **state)
{
    (void)state;
    for (int kind = 0; kind < PERF_PATTERN_COUNT; kind++) {
        uint32_t n = 9;
        make_all(WEFT_ALL_TO_ALL_V, (perf_pattern_kind_t)kind, n, 0);
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = 0; b < n; b++) {
                assert_int_equal(layouts[a].send_counts[b], layouts[b].recv_counts[a]);
                assert_int_equal(layouts[b].segments[a].first, layouts[a].send_displs[b]);
                assert_true(!layouts[a].has_in_place ||
                            layouts[a].send_counts[b] == layouts[a].recv_counts[b]);
            }
        }
        free_all(n);
    }
}

static uint32_t empty_blocks(weft_coll_t coll, perf_pattern_kind_t kind, uint32_t n)
{
    uint32_t empty = 0;
    make_all(coll, kind, n, 0);
    for (uint32_t r = 0; r < n; r++) {
        empty += layouts[0].recv_counts[r] == 0;
    }
    free_all(n);
    return empty;
}

static void patterns_are_what_their_names_say(void **state)
{
    (void)state;
    assert_int_equal(empty_blocks(WEFT_ALL_GATHER_V, PERF_EVEN, 16), 0);
    assert_int_equal(empty_blocks(WEFT_ALL_GATHER_V, PERF_ONE, 16), 15);
    assert_in_range(empty_blocks(WEFT_ALL_GATHER_V, PERF_SPARSE, 16), 6, 15);
    make_all(WEFT_ALL_GATHER_V, PERF_LINEAR, 16, 0);
    assert_true(layouts[0].recv_counts[15] >= 15 * layouts[0].recv_counts[0]);
    free_all(16);
    make_all(WEFT_ALL_TO_ALL_V, PERF_ZIPF, 16, 0);
    uint64_t least = UINT64_MAX;
    for (uint32_t r = 0; r < 16; r++) {
        least = layouts[3].send_counts[r] < least ? layouts[3].send_counts[r] : least;
        assert_int_equal(layouts[3].send_counts[r], layouts[5].send_counts[r]);
    }
    assert_true(layouts[3].largest >= 15 * least);
    free_all(16);
}

static void seeds_differ_and_repeat(void **state)
{
    const perf_pattern_t a = {PERF_RANDOM, 1};
    const perf_pattern_t b = {PERF_RANDOM, 2};
    uint64_t first[16], again[16], other[16];
    (void)state;
    perf_pattern_vector(&a, 16, first);
    perf_pattern_vector(&a, 16, again);
    perf_pattern_vector(&b, 16, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_fits_together),
        cmocka_unit_test(two_ranks_agree_on_what_they_exchange),
        cmocka_unit_test(patterns_are_what_their_names_say),
        cmocka_unit_test(seeds_differ_and_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
