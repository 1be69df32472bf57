/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prices, figures and the topology on the command line. */
#include <string.h>

#include "core/plan/classes.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"
#include "tools/plan_price.h"
#include "tools/plan_source.h"

static void times_and_rates_have_units(void **state)
{
    (void)state;
    double value = 0;
    assert_true(price_parse_seconds("x", "1.5us", &value));
    assert_float_equal(value, 1.5e-6, 1e-15);
    assert_true(price_parse_seconds("x", "300ns", &value));
    assert_float_equal(value, 3e-7, 1e-15);
    assert_true(price_parse_seconds("x", "2e-6", &value));
    assert_false(price_parse_seconds("x", "2 parsecs", &value));
    assert_false(price_parse_seconds("x", "-1us", &value));
    assert_true(price_parse_rate("x", "12.5GB/s", &value));
    assert_float_equal(value, 8e-11, 1e-20);
    assert_true(price_parse_rate("x", "8e-11", &value));
    assert_false(price_parse_rate("x", "0GB/s", &value));
    assert_false(price_parse_rate("x", "fast", &value));
}

static void hosts_are_a_number_or_a_list(void **state)
{
    (void)state;
    plan_hosts_t hosts;
    uint32_t host[11];
    assert_int_equal(plan_hosts_read(&hosts, "4,4,3"), TOOL_OK);
    assert_int_equal(plan_hosts_spread(&hosts, 11, host), 3);
    assert_int_equal(host[3], 0);
    assert_int_equal(host[4], 1);
    assert_int_equal(host[10], 2);
    assert_int_equal(plan_hosts_read(&hosts, "2"), TOOL_OK);
    assert_int_equal(plan_hosts_spread(&hosts, 11, host), 2);
    assert_int_equal(host[5], 0);
    assert_int_equal(host[6], 1);
    assert_int_equal(plan_hosts_read(&hosts, ""), TOOL_USAGE);
    assert_int_equal(plan_hosts_read(&hosts, "4,x"), TOOL_USAGE);
    assert_int_equal(plan_hosts_read(&hosts, "0"), TOOL_USAGE);
}

/* Every link of a ring carries 2(n−1) chunks of 1/n, and the price follows from it. A rank reads or
 * writes 2 + 3(n−2) + 4 + 3(n−2) + 2 of them. */
static void ring_costs_what_the_formula_says(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    price_model_t model = {.edge = {.alpha = 1e-6, .beta = 1e-9},
                           .slot_bytes = UINT64_C(64) << 20,
                           .path = {.path = WEFT_KERNEL_PATH_COUNT}};
    for (uint32_t n = 3; n <= 9; n++) {
        weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, n, 0);
        price_facts_t facts;
        weft_cost_t cost;
        assert_int_equal(price_facts(plans, n, &facts), WEFT_OK);
        assert_int_equal(facts.links, n);
        assert_int_equal(facts.chunks_most, 2 * (n - 1));
        assert_int_equal(facts.chunks, (uint64_t)n * 2 * (n - 1));
        assert_int_equal(facts.touched, (uint64_t)n * (6 * n - 4));
        assert_int_equal(facts.to, (facts.from + 1) % n);
        assert_int_equal(weft_plan_cost(plans, n, NULL, 4, &cost), WEFT_OK);
        uint64_t size = (uint64_t)n << 20;
        price_plan_t plan = {
            .cost = &cost, .coll = WEFT_ALL_REDUCE, .nranks = n, .nhosts = 1, .k = n, .slots = 4};
        price_time_t t = price_time(&plan, &model, size);
        double expected = 2.0 * (n - 1) * (1e-6 + (1 << 20) * 1e-9);
        assert_true(t.seconds <= expected * 1.0001);
        assert_true(t.seconds > expected * 0.9);
        plan_fixture_free(plans, n);
    }
    plan_fixture_close(&fixture);
}

static void sizes_are_those_of_the_larger_buffer(void **state)
{
    (void)state;
    assert_int_equal(price_block(WEFT_ALL_REDUCE, 8, 800), 800);
    assert_int_equal(price_block(WEFT_ALL_GATHER, 8, 800), 100);
    assert_int_equal(price_block(WEFT_SCATTER, 8, 801), 101);
    assert_float_equal(price_bus_factor(WEFT_ALL_REDUCE, 4), 1.5, 1e-9);
    assert_float_equal(price_bus_factor(WEFT_ALL_TO_ALL, 4), 0.75, 1e-9);
    assert_float_equal(price_bus_factor(WEFT_BROADCAST, 4), 1, 1e-9);
}

static void sweeps_end_at_the_largest_size(void **state)
{
    (void)state;
    price_request_t request = PRICE_REQUEST_DEFAULT;
    uint64_t size = 0, count = 0, last = 0;
    request.first = 1;
    request.last = 1000;
    request.factor = 10;
    for (; price_next_size(&request, &size); count++) {
        last = size;
    }
    assert_int_equal(count, 4);
    assert_int_equal(last, 1000);
    request.factor = 1.01;
    size = 0;
    for (count = 0; price_next_size(&request, &size); count++) {
        assert_true(count < 2000);
    }
    assert_true(count > 100);
}

static void bytes_have_units_beyond_64_bits(void **state)
{
    (void)state;
    char text[24];
    assert_string_equal(price_size_text(8, text), "8 B");
    assert_string_equal(price_size_text(UINT64_C(1) << 52, text), "4 PiB");
    assert_string_equal(price_bytes_text(0x1p49 * 2 * 65535, text), "64 EiB");
    assert_string_equal(price_bytes_text(0x1p80, text), "1.049e+06 EiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_rates_have_units),
        cmocka_unit_test(hosts_are_a_number_or_a_list),
        cmocka_unit_test(ring_costs_what_the_formula_says),
        cmocka_unit_test(sizes_are_those_of_the_larger_buffer),
        cmocka_unit_test(sweeps_end_at_the_largest_size),
        cmocka_unit_test(bytes_have_units_beyond_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
