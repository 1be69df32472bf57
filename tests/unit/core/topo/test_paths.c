/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes and bandwidths of paths, on a machine of two packages:
 *   host bridge 0 (node 0): switch 1 (GPU0, NIC0, and GPU1 behind one more switch), NIC1
 *   host bridge 2 (node 0): GPU2
 *   host bridge 3 (node 1): GPU3, NIC2 of 100 Mbyte/s
 *   NIC3: nobody knows where. */
#include <string.h>

#include "core/topo/paths.h"
#include "tests/support/unit.h"

#define NONE WEFT_MACHINE_NONE
#define NIC(n) (4 + (n))

static weft_machine_branch_t branches[] = {
    {.parent = NONE, .node = 0},
    {.parent = 0, .node = 0, .bridges = 1, .bandwidth = 20e9},
    {.parent = NONE, .node = 0, .bandwidth = 40e9},
    {.parent = NONE, .node = 1},
};
static weft_machine_device_t devices[] = {
    {.number = 0, .branch = 1, .node = 0, .rail = NONE, .bridges = 1, .pci = 30e9},
    {.number = 1, .branch = 1, .node = 0, .rail = NONE, .bridges = 3, .pci = 30e9},
    {.number = 2, .branch = 2, .node = 0, .rail = NONE, .pci = 50e9},
    {.number = 3, .branch = 3, .node = 1, .rail = NONE},
    {.kind = WEFT_DEVICE_NIC, .number = 0, .branch = 1, .node = 0, .bridges = 1, .pci = 25e9},
    {.kind = WEFT_DEVICE_NIC, .number = 1, .branch = 0, .node = 0, .pci = 8e9, .speed = 1e9},
    {.kind = WEFT_DEVICE_NIC, .number = 2, .branch = 3, .node = 1, .pci = 1e8},
    {.kind = WEFT_DEVICE_NIC, .number = 3, .branch = NONE, .node = NONE},
};
static weft_machine_node_t nodes[] = {{.package = 0}, {.package = 1}};
static weft_machine_package_t packages[2];
static weft_machine_t machine = {
    .socket = 16e9,
    .packages = packages,
    .nodes = nodes,
    .branches = branches,
    .devices = devices,
    .npackages = 2,
    .nnodes = 2,
    .nbranches = 4,
    .ndevices = 8,
    .ngpus = 4,
};

static void same(uint32_t from, uint32_t to, weft_algo_path_class_t class, double bandwidth)
{
    weft_path_t there = weft_path_between(&machine, from, to);
    weft_path_t back = weft_path_between(&machine, to, from);
    assert_int_equal(there.class, class);
    assert_int_equal(back.class, class);
    assert_true(there.bandwidth == bandwidth);
    assert_true(back.bandwidth == bandwidth);
}

static void pci_paths_have_the_least_bandwidth_on_the_way(void **state)
{
    (void)state;
    assert_int_equal(weft_machine_check(&machine), WEFT_OK);
    same(0, 0, WEFT_ALGO_PATH_SELF, 0);
    same(0, NIC(0), WEFT_ALGO_PATH_PIX, 25e9);
    same(0, 1, WEFT_ALGO_PATH_PXB, 30e9);
    same(1, NIC(0), WEFT_ALGO_PATH_PXB, 25e9);
    same(0, NIC(1), WEFT_ALGO_PATH_PHB, 8e9); /* its port is not on the way */
    same(0, 2, WEFT_ALGO_PATH_NODE, 20e9);
    same(2, 3, WEFT_ALGO_PATH_SYS, 16e9);
    same(2, NIC(2), WEFT_ALGO_PATH_SYS, 1e8);
    same(3, NIC(2), WEFT_ALGO_PATH_PHB, 1e8);
    same(2, NIC(3), WEFT_ALGO_PATH_UNKNOWN, 40e9);
}

static void nodes_of_one_package_are_not_behind_the_socket(void **state)
{
    (void)state;
    nodes[1].package = 0;
    same(2, 3, WEFT_ALGO_PATH_SYS, 40e9);
    nodes[1].package = 1;
}

static void links_win_and_add_up(void **state)
{
    (void)state;
    weft_machine_link_t links[] = {
        {0, 1, 25e9},     {1, 0, 25e9},     {2, NONE, 150e9},
        {2, NONE, 150e9}, {3, NONE, 200e9}, {0, NONE, 0},
    };
    machine.links = links;
    machine.nlinks = sizeof links / sizeof links[0];
    same(0, 1, WEFT_ALGO_PATH_NV, 50e9);
    same(2, 3, WEFT_ALGO_PATH_NV, 200e9);
    same(0, 3, WEFT_ALGO_PATH_NV, 200e9); /* nobody knows how wide the links of GPU0 are */
    same(1, 3, WEFT_ALGO_PATH_SYS, 16e9);
    machine.links = NULL;
    machine.nlinks = 0;
}

static void a_device_has_a_way_to_each_node(void **state)
{
    (void)state;
    weft_path_t near = weft_path_to_node(&machine, 0, 0), far = weft_path_to_node(&machine, 2, 1);
    weft_path_t lost = weft_path_to_node(&machine, NIC(3), 0);
    assert_int_equal(near.class, WEFT_ALGO_PATH_PHB);
    assert_true(near.bandwidth == 20e9);
    assert_int_equal(far.class, WEFT_ALGO_PATH_SYS);
    assert_true(far.bandwidth == 16e9);
    assert_int_equal(lost.class, WEFT_ALGO_PATH_UNKNOWN);
    assert_true(lost.bandwidth == 0);
}

static void all_nearest_nics_of_a_gpu_are_told(void **state)
{
    (void)state;
    assert_int_equal(weft_path_nearest(&machine, 0), WEFT_ALGO_PATH_PIX);
    assert_true(weft_path_is_nearest(&machine, 0, NIC(0)));
    assert_false(weft_path_is_nearest(&machine, 0, NIC(1)));
    assert_int_equal(weft_path_nearest(&machine, 2), WEFT_ALGO_PATH_NODE);
    assert_true(weft_path_is_nearest(&machine, 2, NIC(0)));
    assert_true(weft_path_is_nearest(&machine, 2, NIC(1)));
    assert_false(weft_path_is_nearest(&machine, 2, NIC(3)));
}

static void names_are_those_of_nvidia_smi(void **state)
{
    (void)state;
    assert_string_equal(weft_path_name(WEFT_ALGO_PATH_PXB), "PXB");
    for (int class = WEFT_ALGO_PATH_SELF; class <= WEFT_ALGO_PATH_UNKNOWN; class ++) {
        assert_non_null(weft_path_name((weft_algo_path_class_t) class));
        assert_non_null(weft_path_help((weft_algo_path_class_t) class));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pci_paths_have_the_least_bandwidth_on_the_way),
        cmocka_unit_test(nodes_of_one_package_are_not_behind_the_socket),
        cmocka_unit_test(links_win_and_add_up),
        cmocka_unit_test(a_device_has_a_way_to_each_node),
        cmocka_unit_test(all_nearest_nics_of_a_gpu_are_told),
        cmocka_unit_test(names_are_those_of_nvidia_smi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
