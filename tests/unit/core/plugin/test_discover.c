/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the builder takes from a topo plugin, and what it refuses. */
#include <stdio.h>
#include <string.h>

#include <math.h>

#include "core/base/error.h"
#include "core/plugin/discover.h"
#include "tests/support/unit.h"

#define NONE WEFT_TOPO_NONE

static weft_machine_t machine;
static const weft_topo_builder_t *to;

/* A plugin whose machine is what the case adds. */
static weft_status_t (*adds)(void);

static weft_status_t sample_discover(weft_topo_t *topo, const weft_topo_builder_t *builder)
{
    (void)topo;
    to = builder;
    weft_status_t status = builder->set_machine(builder, "a\thost", "a.xml", -1);
    return status == WEFT_OK ? adds() : status;
}

static const weft_topo_ops_t ops = {.size = sizeof ops, .discover = sample_discover};

static weft_status_t discover(weft_status_t (*with)(void))
{
    adds = with;
    return weft_discover_by(&ops, NULL, "sample", &machine);
}

static weft_status_t add_device(uint32_t kind, uint32_t branch, const char *address, double speed)
{
    const weft_topo_device_t device = {.size = sizeof device,
                                       .address = address,
                                       .speed = speed,
                                       .kind = kind,
                                       .branch = branch,
                                       .node = NONE};
    return to->add_device(to, &device, NULL);
}

/* Whole machines ------------------------------------------------------------------------------- */

static weft_status_t add_all(void)
{
    static const weft_topo_cache_t caches[8] = {{.name = "L3 of which nobody knows", .count = 1}};
    const weft_topo_package_t package = {.size = sizeof package, .index = 7};
    const weft_topo_node_t node = {.size = sizeof node, .caches = caches, .ncaches = 8};
    const weft_topo_core_t core = {.size = sizeof core, .pus = 2, .usable = 1};
    const weft_topo_branch_t branch = {
        .size = sizeof branch, .name = "host bridge 0000:00", .parent = NONE, .bandwidth = NAN};
    const weft_topo_link_t link = {.size = sizeof link, .from = 1, .to = NONE, .bandwidth = 2e9};
    uint32_t index = 99;
    assert_int_equal(to->add_package(to, &package, &index), WEFT_OK);
    assert_int_equal(index, 0);
    assert_int_equal(to->add_node(to, &node, NULL), WEFT_OK);
    assert_int_equal(to->add_core(to, &core), WEFT_OK);
    assert_int_equal(to->add_core(to, &core), WEFT_OK);
    assert_int_equal(to->add_branch(to, &branch, &index), WEFT_OK);
    assert_int_equal(add_device(WEFT_TOPO_NIC, 0, "0000:01:00.0", 1e9), WEFT_OK);
    assert_int_equal(add_device(WEFT_TOPO_GPU, NONE, "0000:02:00.0", -INFINITY), WEFT_OK);
    return to->add_link(to, &link);
}

static void a_description_becomes_a_machine(void **state)
{
    (void)state;
    assert_int_equal(discover(add_all), WEFT_OK);
    assert_string_equal(machine.name, "a host");
    assert_true(machine.socket == 0);
    assert_string_equal(machine.packages[0].model, "");
    assert_int_equal(machine.nodes[0].cores, 2);
    assert_int_equal(machine.nodes[0].pus, 4);
    assert_int_equal(machine.nodes[0].usable, 2);
    assert_int_equal(machine.nodes[0].ncaches, WEFT_MACHINE_CACHES_MAX);
    assert_string_equal(machine.nodes[0].caches[0].name, "L3 of w");
    assert_true(machine.branches[0].bandwidth == 0);
    assert_int_equal(machine.ngpus, 1);
    assert_string_equal(machine.devices[0].address, "0000:02:00.0");
    assert_true(machine.devices[0].speed == 0);
    assert_int_equal(machine.links[0].from, 0);
    weft_machine_fini(&machine);
}

/* Faults --------------------------------------------------------------------------------------- */

static weft_status_t add_lost_device(void)
{
    return add_device(WEFT_TOPO_NIC, 5, "", 0);
}

static weft_status_t add_link_to_nic(void)
{
    const weft_topo_link_t link = {.size = sizeof link, .from = 0, .to = 1};
    assert_int_equal(add_device(WEFT_TOPO_GPU, NONE, "a", 0), WEFT_OK);
    assert_int_equal(add_device(WEFT_TOPO_NIC, NONE, "b", 0), WEFT_OK);
    return to->add_link(to, &link);
}

static void what_cannot_be_is_refused_in_the_name_of_the_plugin(void **state)
{
    (void)state;
    assert_int_equal(discover(add_lost_device), WEFT_ERR_PLUGIN);
    assert_string_equal(
        weft_error_record()->text,
        "plugin sample describes what cannot be: a.xml: machine: device 0: its branch "
        "or NUMA node is none");
    assert_int_equal(discover(add_link_to_nic), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "link 0"));
    assert_null(machine.devices);
}

static weft_status_t add_core_without_node(void)
{
    const weft_topo_core_t core = {.size = sizeof core, .pus = 1};
    return to->add_core(to, &core);
}

static weft_status_t add_unknown_kind(void)
{
    return add_device(7, NONE, "", 0);
}

static weft_status_t add_short_struct(void)
{
    const weft_topo_link_t link = {.size = 8};
    return to->add_link(to, &link);
}

static weft_status_t add_too_many(void)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < 1000 && status == WEFT_OK; i++) {
        status = add_device(WEFT_TOPO_NIC, NONE, "", 0);
    }
    return status;
}

static void each_thing_is_checked_as_it_comes(void **state)
{
    (void)state;
    const struct {
        weft_status_t (*add)(void);
        const char *text;
    } cases[] = {
        {add_core_without_node, "a.xml: core 0: NUMA node 0 and 1 PUs"},
        {add_unknown_kind, "a.xml: device 0: no kind 7"},
        {add_short_struct, "a.xml: a link of 8 bytes, at least 24 expected"},
        {add_too_many, "a.xml: the machine has more than 256 GPUs and NICs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(discover(cases[i].add), WEFT_ERR_ARG);
        assert_string_equal(weft_error_record()->text, cases[i].text);
        assert_int_equal(machine.ndevices, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_becomes_a_machine),
        cmocka_unit_test(what_cannot_be_is_refused_in_the_name_of_the_plugin),
        cmocka_unit_test(each_thing_is_checked_as_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
