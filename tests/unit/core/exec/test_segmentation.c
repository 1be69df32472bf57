/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting a message: every element is in exactly one slice, slices fit their slots. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/segmentation.h"
#include "tests/support/unit.h"

/* Walks all slices and counts how often each element is covered. */
static void check_cover(const weft_segmentation_t *g, size_t elem, uint64_t slot_bytes)
{
    uint8_t *covered = calloc(g->count + 1, 1);
    assert_non_null(covered);
    for (uint64_t t = 0; t < g->passes; t++) {
        for (uint32_t i = 0; i < g->k; i++) {
            uint64_t chunk = weft_segmentation_chunk(g, g->count, t, i);
            for (uint32_t s = 0; s < g->slices; s++) {
                uint64_t n = weft_segmentation_slice(g, chunk, s);
                uint64_t at = t * g->pass + i * g->chunk + s * g->slice;
                assert_true(n * elem <= slot_bytes);
                for (uint64_t e = 0; e < n; e++) {
                    assert_true(at + e < g->count);
                    covered[at + e]++;
                }
            }
        }
    }
    for (uint64_t e = 0; e < g->count; e++) {
        assert_int_equal(covered[e], 1);
    }
    free(covered);
}

static void every_element_is_in_one_slice(void **state)
{
    static const uint64_t counts[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 4096, 4097, 100003};
    static const size_t elems[] = {1, 2, 4, 8};
    static const uint32_t ks[] = {1, 2, 3, 7, 16};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t e = 0; e < 4; e++) {
            for (size_t k = 0; k < 5; k++) {
                for (uint32_t slices = 1; slices < 8; slices++) {
                    weft_segmentation_t g;
                    weft_segmentation_params_t cut = {ks[k], slices, 4096, 1 + slices % 3};
                    weft_segmentation_set(&g, counts[c], elems[e], &cut);
                    check_cover(&g, elems[e], 4096);
                }
            }
        }
    }
}

static void an_empty_message_still_has_one_pass(void **state)
{
    weft_segmentation_t g;
    (void)state;
    weft_segmentation_params_t cut = {.k = 4, .slices = 3, .slice_bytes = 64, .channels = 5};
    weft_segmentation_set(&g, 0, 4, &cut);
    assert_int_equal(g.passes, 1);
    assert_int_equal(weft_segmentation_chunk(&g, g.count, 0, 0), 0);
}

static void a_large_message_is_spread_evenly(void **state)
{
    weft_segmentation_t g;
    (void)state;
    weft_segmentation_params_t cut = {.k = 4, .slices = 3, .slice_bytes = 65536, .channels = 1};
    weft_segmentation_set(&g, (UINT64_C(1) << 40) + 7, 8, &cut);
    uint64_t last = g.count - (g.passes - 1) * g.pass;
    assert_true(last > 0 && last <= g.pass);
    assert_true(g.slice * 8 <= 65536);
    assert_true(g.pass * 8 <= 4 * 3 * 65536);
}

static void channels_get_equal_shares(void **state)
{
    weft_segmentation_params_t cut = {.k = 2, .slices = 2, .slice_bytes = 65536, .channels = 8};
    weft_segmentation_t g;
    (void)state;
    weft_segmentation_set(&g, UINT64_C(1) << 20, 4,
                          &cut); /* 8 passes of two chunks of two slices fit */
    assert_int_equal(g.passes, 16);
    weft_segmentation_set(&g, 100000, 4, &cut);
    assert_int_equal(g.passes, 8);
    assert_true(g.pass >= 100000 / 8 && g.pass < 100000 / 7);
    weft_segmentation_set(&g, 40, 4, &cut); /* whole lines: fewer passes than channels */
    assert_in_range(g.passes, 1, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_in_one_slice),
        cmocka_unit_test(an_empty_message_still_has_one_pass),
        cmocka_unit_test(a_large_message_is_spread_evenly),
        cmocka_unit_test(channels_get_equal_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
