/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of weft perf: any order of adding gives the expected bits, and a wrong element is
 * found. */
#include <math.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tools/perf_data.h"
#include "tools/perf_float.h"
#include "tools/perf_layout.h"
#include "tools/perf_user.h"

enum { COUNT = 257, MOST_RANKS = 33 };

static uint8_t inputs[MOST_RANKS][COUNT * 8];
static uint8_t result[COUNT * 8];

static const weft_dtype_t floats[] = {WEFT_FP16, WEFT_FP32,     WEFT_FP64,
                                      WEFT_BF16, WEFT_FP8_E4M3, WEFT_FP8_E5M2};

static const perf_range_t whole = {0, COUNT};

static perf_layout_t layout;

/* Layout of `coll` for rank 0, until the next call. */
static perf_data_t data_for(weft_coll_t coll, weft_dtype_t dtype, weft_op_t op, uint32_t nranks)
{
    perf_shape_t shape = {.coll = coll, .nranks = nranks, .count = COUNT};
    perf_layout_free(&layout);
    assert_int_equal(perf_layout_make(&layout, &shape), WEFT_OK);
    return (perf_data_t){
        .test = {.coll = coll, .dtype = dtype, .op = op, .count = COUNT, .layout = &layout},
        .nranks = nranks,
        .seed = 3};
}

static perf_data_t data_of(weft_dtype_t dtype, weft_op_t op, uint32_t nranks)
{
    return data_for(WEFT_ALL_REDUCE, dtype, op, nranks);
}

static double value_at(weft_dtype_t dtype, const uint8_t *buffer, uint64_t i)
{
    uint64_t bits = 0;
    size_t bytes = weft_dtype_size(dtype);
    memcpy(&bits, buffer + i * bytes, bytes);
    return perf_float_decode(dtype, bits);
}

/* Combines in the order first, first+1, … and rounds to the type after every step. */
static void combine_from(const perf_data_t *data, uint32_t first)
{
    weft_dtype_t dtype = data->test.dtype;
    size_t bytes = weft_dtype_size(dtype);
    for (uint64_t i = 0; i < COUNT; i++) {
        double all = value_at(dtype, inputs[first], i);
        for (uint32_t k = 1; k < data->nranks; k++) {
            double one = value_at(dtype, inputs[(first + k) % data->nranks], i);
            all = data->test.op == WEFT_PROD  ? all * one
                  : data->test.op == WEFT_MIN ? fmin(all, one)
                                              : all + one;
            all = perf_float_decode(dtype, perf_float_encode(dtype, all));
        }
        uint64_t bits = perf_float_encode(dtype, all);
        memcpy(result + i * bytes, &bits, bytes);
    }
}

static void fill_all(perf_data_t *data)
{
    for (uint32_t r = 0; r < data->nranks; r++) {
        data->rank = r;
        perf_data_fill_send(data, whole, inputs[r]);
        assert_int_equal(perf_data_check_send(data, whole, inputs[r]), 0);
    }
    data->rank = 0;
}

static void any_order_gives_the_expected_bits(void **state)
{
    static const weft_op_t ops[] = {WEFT_SUM, WEFT_PROD, WEFT_MIN};
    static const uint32_t sizes[] = {1, 2, 3, 8, MOST_RANKS};
    (void)state;
    for (size_t d = 0; d < sizeof floats / sizeof floats[0]; d++) {
        for (size_t k = 0; k < 15; k++) {
            perf_data_t data = data_of(floats[d], ops[k % 3], sizes[k / 3]);
            fill_all(&data);
            for (uint32_t first = 0; first < data.nranks; first += 5) {
                combine_from(&data, first);
                assert_int_equal(perf_data_check_recv(&data, whole, result), 0);
            }
        }
    }
}

static void every_rank_matters(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof floats / sizeof floats[0]; d++) {
        perf_data_t data = data_of(floats[d], WEFT_SUM, 5);
        size_t bytes = COUNT * weft_dtype_size(floats[d]);
        for (uint32_t lost = 0; lost < 5; lost++) {
            fill_all(&data);
            memset(inputs[lost], 0, bytes);
            combine_from(&data, 0);
            assert_true(perf_data_check_recv(&data, whole, result) > COUNT / 4);
        }
    }
}

static void one_wrong_element_is_found(void **state)
{
    (void)state;
    perf_data_t data = data_of(WEFT_INT8, WEFT_SUM, 1);
    fill_all(&data);
    assert_int_equal(perf_data_check_recv(&data, whole, inputs[0]), 0);
    inputs[0][100] ^= 1;
    assert_int_equal(perf_data_check_recv(&data, whole, inputs[0]), 1);
    assert_int_equal(perf_data_check_send(&data, whole, inputs[0]), 1);
}

static void blocks_of_all_gather_are_told_apart(void **state)
{
    const perf_range_t both = {0, 2 * COUNT};
    (void)state;
    perf_data_t data = data_for(WEFT_ALL_GATHER, WEFT_UINT8, WEFT_SUM, 2);
    fill_all(&data);
    memcpy(result, inputs[0], COUNT);
    memcpy(result + COUNT, inputs[1], COUNT);
    assert_int_equal(perf_data_check_recv(&data, both, result), 0);
    memcpy(result, inputs[1], COUNT);
    assert_true(perf_data_check_recv(&data, both, result) > COUNT / 2);
}

/* Every cut of the two blocks into two pieces, with one wrong element in each block. */
static void pieces_hold_and_find_what_the_whole_does(void **state)
{
    (void)state;
    perf_data_t data = data_for(WEFT_ALL_GATHER, WEFT_FP32, WEFT_SUM, 2);
    fill_all(&data);
    memcpy(result, inputs[0], COUNT * 4);
    memcpy(result + COUNT * 4, inputs[1], COUNT * 4);
    result[4 * 10] ^= 1;
    result[4 * (COUNT + 200)] ^= 1;
    for (uint64_t cut = 0; cut <= 2 * COUNT; cut++) {
        const perf_range_t head = {0, cut}, tail = {cut, 2 * COUNT - cut};
        const uint64_t in_head = perf_data_check_recv(&data, head, result);
        assert_int_equal(in_head, (cut > 10) + (cut > COUNT + 200));
        assert_int_equal(perf_data_check_recv(&data, tail, result + 4 * cut), 2 - in_head);
    }
    for (uint64_t cut = 0; cut <= COUNT; cut++) {
        const perf_range_t head = {0, cut}, tail = {cut, COUNT - cut};
        memset(result, 0, sizeof result);
        perf_data_fill_send(&data, head, result);
        perf_data_fill_send(&data, tail, result + 4 * cut);
        assert_memory_equal(result, inputs[0], 4 * COUNT);
        assert_int_equal(perf_data_check_send(&data, tail, inputs[0] + 4 * cut), 0);
    }
}

static void a_user_operator_gives_the_expected_bits_in_any_order(void **state)
{
    (void)state;
    for (int d = 0; d < WEFT_DTYPE_COUNT; d++) {
        perf_data_t data = data_of((weft_dtype_t)d, WEFT_OP_USER, 5);
        fill_all(&data);
        for (uint32_t first = 0; first < 5; first++) {
            memcpy(result, inputs[first], COUNT * weft_dtype_size((weft_dtype_t)d));
            for (uint32_t k = 1; k < 5; k++) {
                perf_user_combine(result, inputs[(first + k) % 5], COUNT, (weft_dtype_t)d, NULL);
            }
            assert_int_equal(perf_data_check_recv(&data, whole, result), 0);
        }
        assert_true(perf_data_check_recv(&data, whole, inputs[0]) > COUNT / 4);
    }
}

static void the_largest_magnitude_wins_and_of_two_the_positive(void **state)
{
    (void)state;
    assert_int_equal(perf_user_pick(WEFT_INT8, 0x80, 0x7f), 0x80); /* −128 beats 127 */
    assert_int_equal(perf_user_pick(WEFT_INT8, 0xfb, 0x05), 0x05); /* −5 and 5 */
    assert_int_equal(perf_user_pick(WEFT_INT8, 0x05, 0xfb), 0x05);
    assert_int_equal(perf_user_pick(WEFT_UINT8, 0xfb, 0x05), 0xfb);
    assert_int_equal(perf_user_pick(WEFT_FP16, 0xc000, 0x3c00), 0xc000); /* −2 beats 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_expected_bits),
        cmocka_unit_test(every_rank_matters),
        cmocka_unit_test(one_wrong_element_is_found),
        cmocka_unit_test(blocks_of_all_gather_are_told_apart),
        cmocka_unit_test(pieces_hold_and_find_what_the_whole_does),
        cmocka_unit_test(a_user_operator_gives_the_expected_bits_in_any_order),
        cmocka_unit_test(the_largest_magnitude_wins_and_of_two_the_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
