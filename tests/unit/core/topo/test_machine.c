/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a machine, its order, and what its check refuses. */
#include <stdio.h>
#include <string.h>

#include <math.h>

#include "core/base/error.h"
#include "core/topo/machine.h"
#include "tests/support/unit.h"

static weft_machine_t machine;

static void add_device(weft_device_kind_t kind, uint32_t branch, const char *address)
{
    weft_machine_device_t device = {.kind = kind, .branch = branch, .rail = WEFT_MACHINE_NONE};
    snprintf(device.address, sizeof device.address, "%s", address);
    assert_int_equal(weft_machine_add_device(&machine, &device), WEFT_OK);
}

static void add_link(uint32_t from, uint32_t to)
{
    const weft_machine_link_t link = {.from = from, .to = to, .bandwidth = 1e9};
    assert_int_equal(weft_machine_add_link(&machine, &link), WEFT_OK);
}

/* One package with one node of two cores, a host bridge with a switch, two GPUs and two NICs, told
 * in no order. */
static int make(void **state)
{
    (void)state;
    weft_machine_init(&machine);
    weft_machine_add_package(&machine, &(weft_machine_package_t){.model = "a CPU"});
    weft_machine_add_node(&machine, &(weft_machine_node_t){.cores = 2, .pus = 4, .usable = 4});
    weft_machine_add_core(&machine, &(weft_machine_core_t){.pus = 2, .usable = 2});
    weft_machine_add_core(&machine, &(weft_machine_core_t){.pus = 2, .usable = 2});
    weft_machine_add_branch(&machine, &(weft_machine_branch_t){.parent = WEFT_MACHINE_NONE});
    weft_machine_add_branch(&machine, &(weft_machine_branch_t){.parent = 0});
    add_device(WEFT_DEVICE_NIC, WEFT_MACHINE_NONE, "");
    add_device(WEFT_DEVICE_GPU, 1, "0000:41:00.0");
    add_device(WEFT_DEVICE_NIC, 1, "0000:05:00.0");
    add_device(WEFT_DEVICE_GPU, 0, "0000:03:00.0");
    add_link(1, 3);
    add_link(3, WEFT_MACHINE_NONE);
    assert_int_equal(weft_machine_finish(&machine), WEFT_OK);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    weft_machine_fini(&machine);
    assert_null(machine.devices);
    return 0;
}

static void devices_stand_in_order_and_links_follow_them(void **state)
{
    (void)state;
    assert_int_equal(machine.ngpus, 2);
    assert_string_equal(machine.devices[0].address, "0000:03:00.0");
    assert_string_equal(machine.devices[1].address, "0000:41:00.0");
    assert_string_equal(machine.devices[2].address, "0000:05:00.0");
    assert_string_equal(machine.devices[3].address, "");
    assert_int_equal(machine.devices[3].number, 1);
    assert_int_equal(machine.links[0].from, 1);
    assert_int_equal(machine.links[0].to, 0);
    assert_int_equal(machine.links[1].from, 0);
    assert_int_equal(machine.links[1].to, WEFT_MACHINE_NONE);
}

static void refused(const char *words)
{
    assert_int_equal(weft_machine_check(&machine), WEFT_ERR_ARG);
    assert_says(weft_error_record()->text, words);
}

/* Each field is put right again before the next one is wrong. */
#define WRONG(field, value, words)                                                                 \
    do {                                                                                           \
        __typeof__(field) kept = field;                                                            \
        field = value;                                                                             \
        refused(words);                                                                            \
        field = kept;                                                                              \
        assert_int_equal(weft_machine_check(&machine), WEFT_OK);                                   \
    } while (0)

static void indices_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    WRONG(machine.nodes[0].package, 1, "NUMA node 0: its package");
    WRONG(machine.cores[1].node, 1, "core 1");
    WRONG(machine.branches[0].parent, 1, "branch 0: its parent");
    WRONG(machine.branches[1].parent, 1, "branch 1: its parent");
    WRONG(machine.branches[1].node, 7, "branch 1: its NUMA node");
    WRONG(machine.devices[2].branch, 2, "device 2: its branch");
    WRONG(machine.devices[3].node, 1, "device 3: its branch or NUMA node");
    WRONG(machine.devices[1].kind, WEFT_DEVICE_NIC, "device 1: its kind");
    WRONG(machine.devices[0].rail, 0, "device 0: a GPU has no rail");
    WRONG(machine.links[0].to, 1, "link 0");
    WRONG(machine.links[0].to, 2, "link 0");
    WRONG(machine.links[1].from, WEFT_MACHINE_NONE, "link 1");
    WRONG(machine.ngpus, 5, "5 GPUs, but 4 devices");
}

static void values_that_cannot_be_are_refused(void **state)
{
    (void)state;
    WRONG(machine.nodes[0].usable, 5, "NUMA node 0: more");
    WRONG(machine.nodes[0].ncaches, WEFT_MACHINE_CACHES_MAX + 1, "NUMA node 0: more");
    WRONG(machine.nodes[0].bandwidth, -1, "NUMA node 0");
    WRONG(machine.branches[1].bandwidth, NAN, "branch 1");
    WRONG(machine.devices[3].speed, INFINITY, "device 3: its bandwidths");
    WRONG(machine.links[1].bandwidth, -1, "link 1: its bandwidth");
    WRONG(machine.socket, NAN, "socket");
    WRONG(machine.ndevices, WEFT_MACHINE_DEVICES_MAX + 1, "257 devices, at most 256");
    memset(machine.devices[1].model, 'x', sizeof machine.devices[1].model);
    refused("device 1: a text does not end");
}

static void too_many_are_refused_by_name(void **state)
{
    (void)state;
    const weft_machine_core_t core = {.pus = 1};
    while (machine.ncores < WEFT_MACHINE_CORES_MAX) {
        assert_int_equal(weft_machine_add_core(&machine, &core), WEFT_OK);
    }
    assert_int_equal(weft_machine_add_core(&machine, &core), WEFT_ERR_ARG);
    assert_string_equal(weft_error_record()->text, "the machine has more than 8192 cores");
    assert_int_equal(machine.ncores, WEFT_MACHINE_CORES_MAX);
    assert_int_equal(machine.cores[1].pus, 2);
    assert_int_equal(machine.cores[8191].pus, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make, drop)
    const struct CMUnitTest tests[] = {
        CASE(devices_stand_in_order_and_links_follow_them),
        CASE(indices_that_lead_nowhere_are_refused),
        CASE(values_that_cannot_be_are_refused),
        CASE(too_many_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
