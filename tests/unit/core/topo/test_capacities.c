/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of a machine with a bit of everything: which wires traffic takes, and what they carry. */
#include <string.h>

#include "core/topo/capacities.h"
#include "core/topo/machine_text.h"
#include "tests/support/unit.h"

/* Two packages; a switch with GPU 0, GPU 1 and NIC 0 at the first, GPU 2 at the second. */
static const char text[] = "weft-machine 1\n"
                           "machine socket=20GB/s\n"
                           "package 0\npackage 1\n"
                           "node 0 package=0 cores=1 bandwidth=100GB/s\n"
                           "node 1 package=1 cores=1 bandwidth=100GB/s\n"
                           "branch 0 node=0 bandwidth=16GB/s name=root0\n"
                           "branch 1 parent=0 bandwidth=15GB/s name=switch\n"
                           "branch 2 node=1 name=root1\n"
                           "gpu 0 branch=1 pci=14GB/s\ngpu 1 branch=1 pci=13GB/s\n"
                           "gpu 2 branch=2 pci=12GB/s\n"
                           "nic 0 branch=1 pci=11GB/s speed=100Gb/s rail=4\n"
                           "link 0 1 bandwidth=25GB/s\nlink 1 0 bandwidth=25GB/s\n";
static weft_machine_t machine;
static weft_capacities_t capacities;

static int open_all(void **state)
{
    (void)state;
    assert_int_equal(weft_machine_parse("f", text, &machine), WEFT_OK);
    return weft_capacities_init(&capacities, &machine) == WEFT_OK ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    weft_capacities_fini(&capacities);
    weft_machine_fini(&machine);
    return 0;
}

/* The names of all edges of the route, and the least that they carry. */
static void check_route(uint32_t from, uint32_t to, weft_algo_path_class_t path, uint32_t least,
                        const char *names)
{
    const weft_route_t *route = weft_capacities_route(&capacities, from, to);
    char all[1024] = "", name[96];
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < route->nedges; i++) {
        uint32_t bandwidth = capacities.bandwidths[route->edges[i]];
        weft_capacities_edge_name(&capacities, route->edges[i], name, sizeof name);
        strcat(strcat(all, i > 0 ? "; " : ""), name);
        found = bandwidth < found ? bandwidth : found;
    }
    assert_string_equal(all, names);
    assert_int_equal(found, least);
    assert_int_equal(route->path, path);
}

static void routes_take_links_else_the_tree_and_the_sockets(void **state)
{
    (void)state;
    assert_int_equal(capacities.kind, WEFT_PARTICIPANTS_GPUS);
    assert_int_equal(capacities.nparticipants, 3);
    assert_int_equal(capacities.nnics, 1);
    assert_int_equal(capacities.rails[0], 4);
    assert_int_equal(capacities.assumed, 1); /* of branch 2 */
    /* Links of one pair add up. */
    check_route(0, 1, WEFT_ALGO_PATH_NV, 50000, "the link from GPU0 to GPU1");
    check_route(1, 0, WEFT_ALGO_PATH_NV, 50000, "the link from GPU1 to GPU0");
    check_route(0, 3, WEFT_ALGO_PATH_PIX, 11000,
                "PCIe from GPU0; PCIe to NIC0; the port of NIC0, sending");
    check_route(3, 1, WEFT_ALGO_PATH_PIX, 11000,
                "the port of NIC0, receiving; PCIe from NIC0; PCIe to GPU1");
    check_route(0, 2, WEFT_ALGO_PATH_SYS, 12000,
                "PCIe from GPU0; PCIe up from switch (branch 1); PCIe up from root0 (branch 0); "
                "the way out of package 0; the way into package 1; "
                "PCIe down to root1 (branch 2); PCIe to GPU2");
}

static void without_gpus_numa_nodes_take_part(void **state)
{
    (void)state;
    weft_machine_t m;
    weft_capacities_t c;
    assert_int_equal(weft_machine_parse("f",
                                        "weft-machine 1\nmachine socket=20GB/s\n"
                                        "package 0\npackage 1\n"
                                        "node 0 package=0 cores=4 bandwidth=100GB/s\n"
                                        "node 1 package=1 cores=4\n"
                                        "node 2 package=1 memory=1GiB\n"
                                        "nic 0 node=0 speed=100Gb/s pci=16GB/s\n",
                                        &m),
                     WEFT_OK);
    assert_int_equal(weft_capacities_init(&c, &m), WEFT_OK);
    assert_int_equal(c.kind, WEFT_PARTICIPANTS_NODES);
    assert_int_equal(c.nparticipants, 2); /* memory without cores is none */
    const weft_route_t *route = weft_capacities_route(&c, 0, 1);
    assert_int_equal(route->nedges, 4);
    assert_int_equal(c.bandwidths[route->edges[0]], 50000); /* half of the memory's, to read */
    assert_int_equal(c.bandwidths[route->edges[1]], 20000);
    assert_int_equal(c.bandwidths[route->edges[3]], WEFT_ASSUMED_MEMORY / 2);
    weft_capacities_fini(&c);
    weft_machine_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_take_links_else_the_tree_and_the_sockets),
        cmocka_unit_test(without_gpus_numa_nodes_take_part),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
