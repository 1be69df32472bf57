/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft topo` on machines of hwloc's XML: places, devices, paths, and how plugins are joined. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/discover.h"
#include "core/topo/paths.h"
#include "tests/support/unit.h"
#include "tools/session.h"
#include "tools/topo/draw.h"
#include "tools/topo/print.h"
#include "tools/topo/topo.h"
#include "tools/topo/uses.h"
#include "tools/topo/words.h"
#include "tools/values.h"

#define FOLDER WEFT_SOURCE_DIR "/tests/tools/topo/"
#define GPU(n) (n)
#define NIC(n) (8 + (n))

static topo_t topo;

static int open_machine(const char *file)
{
    char text[600];
    tool_settings_t settings = {0};
    tool_session_t session;
    snprintf(text, sizeof text, "topo-hwloc.xml=%s", file);
    assert_true(tool_settings_take(&settings, TOOL_OPT_SET, "core.plugin_dir=" WEFT_PLUGIN_DIR));
    assert_true(tool_settings_take(&settings, TOOL_OPT_SET, "core.topo=topo-hwloc"));
    assert_true(tool_settings_take(&settings, TOOL_OPT_SET, text));
    assert_int_equal(tool_session_open(&session, &settings), WEFT_OK);
    topo = (topo_t){0};
    assert_int_equal(
        weft_discover(session.registry, session.config, &session.settings, &topo.machine), WEFT_OK);
    tool_session_close(&session);
    return 0;
}

static int open_two_sockets(void **state)
{
    (void)state;
    return open_machine(FOLDER "two_sockets.xml");
}

static int open_one_package(void **state)
{
    (void)state;
    return open_machine(FOLDER "one_package.xml");
}

static int close_machine(void **state)
{
    (void)state;
    topo_close(&topo);
    return 0;
}

static void places_and_cores_are_counted(void **state)
{
    (void)state;
    assert_string_equal(topo.machine.name, "two-sockets");
    assert_int_equal(topo.machine.npackages, 2);
    assert_int_equal(topo.machine.nnodes, 2);
    assert_int_equal(topo.machine.ncores, 16);
    const weft_machine_node_t *place = &topo.machine.nodes[1];
    assert_int_equal(place->index, 1);
    assert_int_equal(place->package, 1);
    assert_int_equal(place->memory, 1082331758592);
    assert_int_equal(place->cores, 8);
    assert_int_equal(place->pus, 16);
    assert_int_equal(place->usable, 12); /* the XML allows no more */
    assert_string_equal(place->list, "16-31");
    assert_int_equal(place->ncaches, 2);
    assert_string_equal(place->caches[0].name, "L3");
    assert_int_equal(place->caches[1].count, 8);
    assert_int_equal(place->caches[1].bytes, 2 << 20);
}

static void gpus_come_first_and_have_places_and_branches(void **state)
{
    (void)state;
    assert_int_equal(topo.machine.ngpus, 8); /* not the ASPEED VGA */
    assert_int_equal(topo.machine.ndevices, 17);
    const weft_machine_device_t *gpu = &topo.machine.devices[GPU(5)],
                                *nic = &topo.machine.devices[NIC(2)];
    assert_string_equal(gpu->address, "0000:86:00.0");
    assert_int_equal(gpu->node, 1);
    assert_string_equal(topo.machine.branches[gpu->branch].name, "bridge 0000:83:00.0");
    assert_true(gpu->pci > 62e9 && gpu->pci < 64e9);
    assert_string_equal(nic->system, "eno1");
    assert_string_equal(nic->model, "I350 Gigabit Network Connection");
    /* The bridge that leads to it alone is no branch. */
    assert_string_equal(topo.machine.branches[nic->branch].name, "host bridge 0000:00");
    assert_int_equal(topo.machine.branches[nic->branch].parent, WEFT_MACHINE_NONE);
}

static void paths_are_those_of_nvidia_smi(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to;
        weft_algo_path_class_t path;
    } cases[] = {
        {GPU(0), GPU(0), WEFT_ALGO_PATH_SELF}, {GPU(0), GPU(7), WEFT_ALGO_PATH_NV},
        {GPU(0), NIC(1), WEFT_ALGO_PATH_PIX},  {NIC(0), NIC(1), WEFT_ALGO_PATH_PIX},
        {GPU(4), NIC(7), WEFT_ALGO_PATH_PXB},  {NIC(5), NIC(8), WEFT_ALGO_PATH_PXB},
        {GPU(0), NIC(2), WEFT_ALGO_PATH_PHB},  {GPU(1), NIC(3), WEFT_ALGO_PATH_NODE},
        {NIC(0), NIC(5), WEFT_ALGO_PATH_SYS},  {GPU(7), NIC(4), WEFT_ALGO_PATH_SYS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(topo_path(&topo, cases[i].from, cases[i].to), cases[i].path);
        assert_int_equal(topo_path(&topo, cases[i].to, cases[i].from), cases[i].path);
    }
}

static void the_nearest_nics_of_a_gpu_are_all_told(void **state)
{
    (void)state;
    assert_int_equal(weft_path_nearest(&topo.machine, GPU(6)), WEFT_ALGO_PATH_PIX);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(weft_path_is_nearest(&topo.machine, GPU(6), NIC(i)), i == 7 || i == 8);
    }
}

static uint32_t join(const topo_use_t *use)
{
    assert_int_equal(topo_use_add(&topo, use), WEFT_OK);
    return topo.uses[topo.nuses - 1].device;
}

static uint32_t join_net(const char *name, const char *pci)
{
    topo_use_t use = {.plugin = "net-x"};
    snprintf(use.net.name, sizeof use.net.name, "%s", name);
    snprintf(use.net.pci, sizeof use.net.pci, "%s", pci);
    return join(&use);
}

static uint32_t join_kernel(uint32_t index, const char *pci)
{
    topo_use_t use = {.plugin = "kernel-x", .index = index, .gpu = true};
    snprintf(use.kernel.pci, sizeof use.kernel.pci, "%s", pci);
    return join(&use);
}

static void devices_of_plugins_are_found_by_address_and_name(void **state)
{
    (void)state;
    assert_int_equal(join_kernel(0, "0000:43:00.0"), GPU(2));
    assert_int_equal(join_kernel(1, "0000:45:00.0"), WEFT_MACHINE_NONE); /* a NIC */
    assert_int_equal(join_kernel(2, ""), WEFT_MACHINE_NONE);
    assert_int_equal(join_net("anything", "0000:45:00.0"), NIC(3));
    assert_int_equal(join_net("mlx5_4:1", ""), NIC(5));
    assert_int_equal(join_net("ib4", ""), NIC(5));
    assert_int_equal(join_net("eno1", ""), NIC(2));
    assert_int_equal(join_net("mlx5", ""), WEFT_MACHINE_NONE);
    assert_int_equal(join_net("nvml0", ""), WEFT_MACHINE_NONE);
    assert_int_equal(join_net("", ""), WEFT_MACHINE_NONE);
}

static void reach(const char *plugin, uint32_t from, uint32_t to, weft_algo_path_class_t class)
{
    assert_int_equal(topo_use_reach(&topo, plugin, from, to), WEFT_OK);
    assert_int_equal(topo_path(&topo, GPU(2), GPU(6)), class);
}

static void a_path_past_pcie_counts_where_both_ends_are_here(void **state)
{
    (void)state;
    topo.machine.nlinks = 0;
    join_kernel(0, "0000:43:00.0");
    reach("kernel-x", 0, 1, WEFT_ALGO_PATH_SYS);
    join_kernel(1, "0000:92:00.0");
    reach("kernel-y", 0, 1, WEFT_ALGO_PATH_SYS);
    reach("kernel-x", 0, 1, WEFT_ALGO_PATH_NV);
    reach("kernel-x", 1, 0, WEFT_ALGO_PATH_NV);
    assert_int_equal(topo.machine.nlinks, 1);
}

static void what_is_not_known_is_not_made_up(void **state)
{
    (void)state;
    assert_int_equal(topo.machine.npackages, 0);
    assert_int_equal(topo.machine.nnodes, 2);
    assert_int_equal(topo.machine.nodes[0].cores, 2); /* PUs, as there are no cores */
    assert_int_equal(topo.machine.nodes[1].cores, 0); /* the same, counted once */
    assert_int_equal(topo.machine.nodes[1].memory, 1 << 30);
    assert_int_equal(topo.machine.devices[0].node, WEFT_MACHINE_NONE);
    assert_string_equal(topo.machine.devices[0].model, "10de:2330");
    assert_int_equal(topo_path(&topo, 0, 1), WEFT_ALGO_PATH_UNKNOWN);
    assert_int_equal(weft_path_nearest(&topo.machine, 0), WEFT_ALGO_PATH_UNKNOWN);
    assert_false(weft_path_is_nearest(&topo.machine, 0, 1));
}

static void outputs_show_what_has_no_known_place(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    assert_non_null(out);
    topo_print(&topo, out);
    topo_draw(&topo, out);
    fclose(out);
    assert_non_null(strstr(text, "at a place that the system does not tell\n  host bridge 0000:00\n"
                                 "    GPU0 0000:03:00.0 10de:2330\n  host bridge 0001:00\n"));
    assert_non_null(strstr(text, ">place not known<"));
    assert_non_null(strstr(text, "GPU0 to NIC0: the system does not tell"));
    free(text);
}

int main(void)
{
#define WITH(open, test) cmocka_unit_test_setup_teardown(test, open, close_machine)
    const struct CMUnitTest tests[] = {
        WITH(open_two_sockets, places_and_cores_are_counted),
        WITH(open_two_sockets, gpus_come_first_and_have_places_and_branches),
        WITH(open_two_sockets, paths_are_those_of_nvidia_smi),
        WITH(open_two_sockets, the_nearest_nics_of_a_gpu_are_all_told),
        WITH(open_two_sockets, devices_of_plugins_are_found_by_address_and_name),
        WITH(open_two_sockets, a_path_past_pcie_counts_where_both_ends_are_here),
        WITH(open_one_package, what_is_not_known_is_not_made_up),
        WITH(open_one_package, outputs_show_what_has_no_known_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
