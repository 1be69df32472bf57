/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails of NICs as a site gives them. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topo/rails.h"
#include "tests/support/unit.h"

static weft_machine_device_t devices[] = {
    {.kind = WEFT_DEVICE_GPU, .rail = WEFT_MACHINE_NONE, .system = "nvml0"},
    {.kind = WEFT_DEVICE_NIC, .address = "0000:15:00.0", .system = "mlx5_0 ib0"},
    {.kind = WEFT_DEVICE_NIC, .address = "0000:16:00.0", .system = "mlx4_0:2"},
    {.kind = WEFT_DEVICE_NIC, .address = "0000:17:00.0"},
};
static weft_machine_t machine = {.devices = devices, .ndevices = 4, .ngpus = 1};

static int forget(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        devices[i].rail = WEFT_MACHINE_NONE;
    }
    return 0;
}

static void nics_are_named_by_the_system_or_by_address(void **state)
{
    (void)state;
    assert_int_equal(weft_machine_set_rails(&machine, "", "x"), WEFT_OK);
    assert_int_equal(devices[1].rail, WEFT_MACHINE_NONE);
    assert_int_equal(weft_machine_set_rails(&machine, " ib0:3, mlx4_0:2:0\t0000:17:00.0:63", "x"),
                     WEFT_OK);
    assert_int_equal(devices[1].rail, 3);
    assert_int_equal(devices[2].rail, 0);
    assert_int_equal(devices[3].rail, 63);
}

static void refused(const char *text, const char *words)
{
    assert_int_equal(weft_machine_set_rails(&machine, text, "weft.ini:4"), WEFT_ERR_CONFIG);
    if (strstr(weft_error_record()->text, words) == NULL ||
        strstr(weft_error_record()->text, "weft.ini:4: [core] rails: ") == NULL) {
        fail_msg("\"%s\" is not in: %s", words, weft_error_record()->text);
    }
}

static void what_is_no_rail_is_refused_with_what_there_is(void **state)
{
    (void)state;
    refused("ib1:0", "this host has no NIC ib1; it has mlx5_0, mlx4_0:2, 0000:17:00.0");
    refused("nvml0:0", "no NIC nvml0");
    refused("ib:0", "no NIC ib;");
    refused("ib0", "\"ib0\" is not NIC:NUMBER");
    refused("ib0:", "\"ib0:\" is not");
    refused(":1", "\":1\" is not");
    refused("ib0:64", "numbers below 64");
    refused("ib0:-1", "is not NIC:NUMBER");
    refused("ib0:99999999999", "is not NIC:NUMBER");
    machine.ndevices = 1;
    refused("ib0:0", "it has none");
    machine.ndevices = 4;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nics_are_named_by_the_system_or_by_address, forget),
        cmocka_unit_test_setup(what_is_no_rail_is_refused_with_what_there_is, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
