/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/net_props.h"
#include "tests/support/unit.h"

static weft_net_props_t told;
static weft_status_t answer;

static weft_status_t device_props(weft_net_t *net, uint32_t device, weft_net_props_t *props)
{
    (void)net;
    (void)device;
    told.size = props->size;
    *props = told;
    return answer;
}

static const weft_net_ops_t ops = {.size = sizeof ops, .device_props = device_props};
static const weft_plugin_t plugin = {.name = "net-x", .ops = &ops};
static const weft_loaded_t loaded = {.plugin = &plugin, .path = "/there/net-x.so"};

static int good(void **state)
{
    (void)state;
    told = (weft_net_props_t){.name = "x0",
                              .memory_kinds = WEFT_MEMORY_HOST,
                              .latency_ns = 1000,
                              .bandwidth = 1000000000,
                              .max_outstanding = 16,
                              .max_message = 1 << 20,
                              .slot_bytes = 65536,
                              .slots = 4};
    answer = WEFT_OK;
    return 0;
}

static weft_status_t read_props(void)
{
    weft_net_props_t props;
    return weft_net_props_read(&loaded, NULL, 3, &props);
}

static void refused(const char *part)
{
    assert_int_equal(read_props(), WEFT_ERR_PLUGIN);
    const char *text = weft_error_record()->text;
    if (strstr(text, part) == NULL || strstr(text, "net-x: device_props of device 3") == NULL) {
        fail_msg("no \"%s\" in: %s", part, text);
    }
}

static void good_properties_pass(void **state)
{
    (void)state;
    assert_int_equal(read_props(), WEFT_OK);
}

static void numbers_out_of_range_are_named(void **state)
{
    (void)state;
    told.slot_bytes = UINT64_MAX;
    refused("found slot_bytes 18446744073709551615, expected 1 to 1073741824 (/there/net-x.so)");
    (void)good(NULL);
    told.slots = 1;
    refused("found slots 1, expected 2 to 4096");
    (void)good(NULL);
    told.max_outstanding = 0;
    refused("found max_outstanding 0, expected 1 to");
    (void)good(NULL);
    told.bandwidth = 0;
    refused("found bandwidth 0");
    (void)good(NULL);
    told.latency_ns = 0;
    refused("found latency_ns 0");
    (void)good(NULL);
    told.max_message = 100;
    refused("found max_message 100, expected 1048576 to");
    (void)good(NULL);
    told.memory_kinds = 0;
    refused("WEFT_MEMORY_HOST in memory_kinds 0, expected 1 to 1");
}

/* A plugin of an older ABI leaves those of a host 0. */
static void a_host_has_figures_of_its_own(void **state)
{
    (void)state;
    told.overhead_ns = 300;
    assert_int_equal(weft_net_props_bandwidth(&told, true), 1000000000);
    assert_int_equal(weft_net_props_overhead(&told, true), 300);
    told.local_bandwidth = 7000000000;
    told.local_overhead_ns = 900;
    assert_int_equal(read_props(), WEFT_OK);
    assert_int_equal(weft_net_props_bandwidth(&told, true), 7000000000);
    assert_int_equal(weft_net_props_overhead(&told, true), 900);
    assert_int_equal(weft_net_props_bandwidth(&told, false), 1000000000);
    assert_int_equal(weft_net_props_overhead(&told, false), 300);
    told.local_bandwidth = UINT64_MAX;
    refused("found local_bandwidth 18446744073709551615, expected 0 to");
    (void)good(NULL);
    told.local_overhead_ns = UINT64_MAX;
    refused("found local_overhead_ns 18446744073709551615, expected 0 to");
}

static void text_without_an_end_is_named(void **state)
{
    (void)state;
    memset(told.name, 'n', sizeof told.name);
    refused("no end of name, expected a zero byte in its 64");
    (void)good(NULL);
    memset(told.pci, 'p', sizeof told.pci);
    refused("no end of pci, expected a zero byte in its 32");
}

static void a_failure_is_passed_on(void **state)
{
    (void)state;
    answer = WEFT_ERR_SYSTEM;
    weft_error_clear(weft_error_record());
    assert_int_equal(read_props(), WEFT_ERR_SYSTEM);
    assert_string_equal(weft_error_record()->text,
                        "net-x: device_props failed with ERR_SYSTEM and gave no reason");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(good_properties_pass, good),
        cmocka_unit_test_setup(numbers_out_of_range_are_named, good),
        cmocka_unit_test_setup(a_host_has_figures_of_its_own, good),
        cmocka_unit_test_setup(text_without_an_end_is_named, good),
        cmocka_unit_test_setup(a_failure_is_passed_on, good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
