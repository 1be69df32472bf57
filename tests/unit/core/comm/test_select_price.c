/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The price of a call between devices: it knows how long the slices of the program are, and by
 * which protocols they may travel. */
#include <math.h>
#include <stdlib.h>

#include "core/comm/select_price.h"
#include "tests/support/unit.h"

/* A plan of one hop in k chunks, between devices with LL up to 1024 bytes and LL128 up to 4096. */
static weft_priced_t priced(uint32_t k)
{
    weft_priced_t p = {
        .cost = {.fill = {.hops = {1}, .messages = {1}, .edges = {1}},
                 .steady = {.messages = {1}, .edges = {1}},
                 .packed = 1},
        .model = {.level = {{.alpha = 3e-6, .beta = 4e-11, .overhead = 2e-6}},
                  .protocol = {[WEFT_KERNEL_PROTOCOL_SIMPLE] = {.least = 33, .most = UINT64_MAX},
                               [WEFT_KERNEL_PROTOCOL_LL] = {.edge = {1e-6, 8e-11, 8e-7, 0},
                                                            .most = 1024},
                               [WEFT_KERNEL_PROTOCOL_LL128] = {.edge = {2e-6, 5e-11, 1e-6, 0},
                                                               .least = 33,
                                                               .most = 4096}}},
        .crowd = {.ranks = 1, .cores = 1},
        .slice_most = UINT64_MAX,
        .slices_most = 64,
        .k = k};
    return p;
}

/* The bytes of the longest slice that a run has, by a walk over all of them. */
static uint64_t walk(const weft_segmentation_t *g, uint64_t elem)
{
    uint64_t longest = 0;
    for (uint64_t t = 0; t < g->passes; t++) {
        for (uint32_t i = 0; i < g->k; i++) {
            uint64_t chunk = weft_segmentation_chunk(g, g->count, t, i);
            for (uint32_t s = 0; s < g->slices; s++) {
                uint64_t n = weft_segmentation_slice(g, chunk, s) * elem;
                longest = n > longest ? n : longest;
            }
        }
    }
    return longest;
}

static void the_price_knows_the_longest_slice(void **state)
{
    static const weft_dtype_t dtypes[] = {WEFT_UINT8, WEFT_FP16, WEFT_FP32, WEFT_FP64};
    uint32_t seed = 12345;
    (void)state;
    for (uint32_t i = 0; i < 4000; i++) {
        seed = seed * 1664525u + 1013904223u;
        const weft_priced_t p = priced(1 + (seed >> 8) % 5);
        const weft_dtype_t dtype = dtypes[(seed >> 12) % 4];
        const uint64_t elem = weft_dtype_size(dtype), count = (seed >> 14) % 20000;
        const uint32_t slices = 1 + (seed >> 5) % 7;
        const weft_tuner_call_t call = {
            .coll = WEFT_ALL_REDUCE, .dtype = dtype, .count = count, .bytes = count * elem};
        const weft_tuner_candidate_t candidate = {.core = &p, .channels = (seed >> 3) % 4};
        const uint64_t slice_bytes = 64 * (1 + (seed >> 16) % 128);
        const weft_price_parts_t parts = {.coll = call.coll,
                                          .dtype = dtype,
                                          .count = count,
                                          .k = p.k,
                                          .slices = slices,
                                          .slice_bytes = slice_bytes,
                                          .channels =
                                              candidate.channels > 0 ? candidate.channels : 1};
        weft_segmentation_t cut;
        weft_price_segment(&p.cost, &parts, &cut);
        assert_int_equal(weft_price_longest(&call, &candidate, slices, slice_bytes),
                         walk(&cut, elem));
    }
}

/* 2100 bytes in 3 chunks of 700, which end at whole lines: 704. And 1025 bytes in two slices: the
 * first has 576. */
static void slices_end_at_whole_lines(void **state)
{
    const weft_priced_t three = priced(3), one = priced(1);
    const weft_tuner_call_t call = {.dtype = WEFT_UINT8, .count = 2100, .bytes = 2100},
                            other = {.dtype = WEFT_UINT8, .count = 1025, .bytes = 1025};
    const weft_tuner_candidate_t a = {.core = &three, .channels = 1},
                                 b = {.core = &one, .channels = 1};
    (void)state;
    assert_int_equal(weft_price_longest(&call, &a, 1, 4096), 704);
    assert_int_equal(weft_price_longest(&other, &b, 2, 4096), 576);
}

/* A limit within a line: what is rounded beyond it does not travel by that protocol. */
static void a_slice_that_is_rounded_beyond_a_protocol_takes_another(void **state)
{
    weft_priced_t p = priced(3);
    const weft_tuner_call_t call = {.dtype = WEFT_UINT8, .count = 2100, .bytes = 2100};
    const weft_tuner_candidate_t candidate = {.core = &p, .channels = 1};
    (void)state;
    assert_int_equal(weft_price_protocol(&call, &candidate, 1, 4096), WEFT_KERNEL_PROTOCOL_LL);
    p.model.protocol[WEFT_KERNEL_PROTOCOL_LL].most = 702;
    assert_int_equal(weft_price_protocol(&call, &candidate, 1, 4096), WEFT_KERNEL_PROTOCOL_LL128);
}

/* Two passes of 1.5 slices each spread over both: no slice is as long as it may be. */
static void passes_share_what_is_left(void **state)
{
    const weft_priced_t p = priced(1);
    const weft_tuner_call_t call = {.dtype = WEFT_UINT8, .count = 1536, .bytes = 1536};
    const weft_tuner_candidate_t candidate = {.core = &p, .channels = 1};
    (void)state;
    assert_int_equal(weft_price_longest(&call, &candidate, 1, 1280), 768);
    assert_int_equal(weft_price_protocol(&call, &candidate, 1, 1280), WEFT_KERNEL_PROTOCOL_LL);
}

/* Of a block of one element and of none. */
static void slices_that_no_choice_may_have_cost_infinity(void **state)
{
    static const struct {
        uint32_t slices;
        uint64_t slice_bytes;
    } never[] = {{0, 4096}, {1, 0}, {0, 0}, {1, 1}, {1, 63}, {65, 4096}, {UINT32_MAX, 4096}};
    static const weft_dtype_t dtypes[] = {WEFT_UINT8, WEFT_FP64};
    weft_priced_t p = priced(1);
    p.cost.packed = 4;
    (void)state;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        for (size_t j = 0; j < 4; j++) {
            const weft_tuner_call_t call = {.coll = WEFT_ALL_REDUCE,
                                            .dtype = dtypes[j % 2],
                                            .count = j / 2,
                                            .bytes = j / 2 * weft_dtype_size(dtypes[j % 2])};
            const weft_tuner_candidate_t candidate = {.core = &p, .channels = 1};
            assert_true(
                isinf(weft_price_call(&call, &candidate, never[i].slices, never[i].slice_bytes)));
            assert_true(isfinite(weft_price_call(&call, &candidate, 1, 64)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_price_knows_the_longest_slice),
        cmocka_unit_test(slices_end_at_whole_lines),
        cmocka_unit_test(a_slice_that_is_rounded_beyond_a_protocol_takes_another),
        cmocka_unit_test(passes_share_what_is_left),
        cmocka_unit_test(slices_that_no_choice_may_have_cost_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
