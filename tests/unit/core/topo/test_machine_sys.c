/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines from made-up trees of /sys and /proc. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/topo/machine_sys.h"
#include "core/topo/paths.h"
#include "tests/support/unit.h"

#define GENERATION_4 (16 * 2e9 * 128 / 130)
#define GENERATION_5 (16 * 4e9 * 128 / 130)

static char folder[64];
static weft_machine_t machine;
static weft_cpu_list_t usable;

/* Makes the folders on the way to a file. */
static const char *reach(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(reach(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_link(const char *name, const char *to)
{
    char target[600];
    snprintf(target, sizeof target, "%s/%s", folder, to);
    assert_int_equal(symlink(target, reach(name)), 0);
}

static void put_in(const char *in, const char *name, const char *text)
{
    char path[500];
    snprintf(path, sizeof path, "%s/%s", in, name);
    put(path, text);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/weft-machine-XXXXXX");
    weft_cpu_list_parse("0-1,4", &usable);
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    weft_machine_fini(&machine);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT: the name is our own */
}

static void read_tree(void)
{
    assert_int_equal(weft_machine_read_sys_tree(&machine, folder, &usable), WEFT_OK);
    assert_int_equal(weft_machine_check(&machine), WEFT_OK);
    assert_string_equal(weft_error_record()->text, "");
}

/* CPUs ----------------------------------------------------------------------------------------- */

static void put_cpu(unsigned cpu, unsigned package, const char *siblings)
{
    char in[100], text[16];
    snprintf(in, sizeof in, "sys/devices/system/cpu/cpu%u", cpu);
    snprintf(text, sizeof text, "%u\n", package);
    put_in(in, "topology/physical_package_id", text);
    put_in(in, "topology/thread_siblings_list", siblings);
    put_in(in, "cache/index0/level", "1\n");
    put_in(in, "cache/index0/type", "Data\n");
    put_in(in, "cache/index0/size", "32K\n");
    put_in(in, "cache/index0/shared_cpu_list", siblings);
    put_in(in, "cache/index1/level", "3\n");
    put_in(in, "cache/index1/type", "Unified\n");
    put_in(in, "cache/index1/size", "8M\n");
    put_in(in, "cache/index1/shared_cpu_list", package == 0 ? "0-3\n" : "4-5\n");
}

/* Two packages: four CPUs in two cores, and two in one. */
static void put_cpus(void)
{
    put("sys/devices/system/node/online", "0-1\n");
    put("sys/devices/system/node/node0/cpulist", "0-3\n");
    put("sys/devices/system/node/node1/cpulist", "4-5\n");
    put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       1024 kB\n");
    put("sys/devices/system/node/node1/meminfo",
        "Node 1 HugePages:  3\nNode 1 MemTotal:  2048 kB\n");
    put("sys/devices/system/node/node1/access0/initiators/read_bandwidth", "12000\n");
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\n\nmodel name\t: other\n");
    put_cpu(0, 0, "0,2\n");
    put_cpu(1, 0, "1,3\n");
    put_cpu(2, 0, "0,2\n");
    put_cpu(3, 0, "1,3\n");
    put_cpu(4, 7, "4-5\n");
    put_cpu(5, 7, "4-5\n");
}

static void nodes_cores_and_caches_are_counted(void **state)
{
    (void)state;
    put_cpus();
    read_tree();
    assert_int_equal(machine.npackages, 2);
    assert_int_equal(machine.packages[1].index, 7);
    assert_string_equal(machine.packages[0].model, "A CPU @ 2 GHz");
    assert_int_equal(machine.nnodes, 2);
    assert_int_equal(machine.ncores, 3);
    const weft_machine_node_t *node = &machine.nodes[0];
    assert_int_equal(node->package, 0);
    assert_int_equal(node->memory, 1 << 20);
    assert_int_equal(node->cores, 2);
    assert_int_equal(node->pus, 4);
    assert_int_equal(node->usable, 2);
    assert_string_equal(node->list, "0-3");
    assert_int_equal(node->ncaches, 2);
    assert_string_equal(node->caches[0].name, "L3");
    assert_int_equal(node->caches[0].bytes, 8 << 20);
    assert_int_equal(node->caches[0].count, 1);
    assert_string_equal(node->caches[1].name, "L1d");
    assert_int_equal(node->caches[1].count, 2);
    assert_int_equal(machine.nodes[1].memory, 2 << 20);
    assert_int_equal(machine.nodes[1].package, 1);
    assert_int_equal(machine.nodes[1].usable, 1);
    assert_true(machine.nodes[1].bandwidth == 12e9);
    assert_int_equal(machine.cores[2].node, 1);
    assert_int_equal(machine.cores[2].usable, 1);
}

static void a_system_that_tells_nothing_has_one_node_of_what_is_usable(void **state)
{
    (void)state;
    read_tree();
    assert_string_equal(machine.source, "/sys");
    assert_int_equal(machine.npackages, 0);
    assert_int_equal(machine.nnodes, 1);
    assert_string_equal(machine.nodes[0].list, "0-1,4");
    assert_int_equal(machine.nodes[0].usable, 3);
    assert_int_equal(machine.nodes[0].memory, 0);
    assert_int_equal(machine.nodes[0].package, WEFT_MACHINE_NONE);
    assert_int_equal(machine.ndevices, 0);
}

static void nonsense_is_not_known(void **state)
{
    (void)state;
    put("sys/devices/system/node/online", "0-x\n");
    put("sys/devices/system/cpu/online", "many\n");
    put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
    put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "5-6\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/level", "77\n");
    put("sys/class/net/eth0", "a file\n");
    put("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n"); /* no link: no way to it */
    read_tree();
    assert_int_equal(machine.npackages, 0);
    assert_int_equal(machine.nodes[0].cores, 3);
    assert_int_equal(machine.nodes[0].ncaches, 0);
    assert_int_equal(machine.ndevices, 0);
}

/* PCI ------------------------------------------------------------------------------------------ */

#define BUS "sys/devices/pci0000:14/"
#define SWITCH BUS "0000:14:01.0/0000:15:00.0/"
#define FAR "sys/devices/pci0000:c0/0000:c0:01.0/"

static void put_port(const char *in, const char *speed, const char *width)
{
    put_in(in, "class", "0x060400\n");
    put_in(in, "max_link_speed", speed);
    put_in(in, "current_link_width", width);
}

static void put_function(const char *in, const char *class, const char *vendor, const char *node)
{
    char name[64];
    put_in(in, "class", class);
    put_in(in, "vendor", vendor);
    put_in(in, "device", "0x2330\n");
    put_in(in, "numa_node", node);
    put_in(in, "max_link_speed", "32.0 GT/s PCIe\n");
    put_in(in, "current_link_width", "16\n");
    snprintf(name, sizeof name, "sys/bus/pci/devices/%s", strrchr(in, '/') + 1);
    put_link(name, in);
}

/* A switch of generation 4 with a GPU and a NIC of two ports; beside it a NIC whose function tells
 * no node, and a controller with VGA. Far away a GPU. */
static void put_pci(void)
{
    put_port(BUS "0000:14:01.0", "16.0 GT/s PCIe\n", "16\n");
    put_port(SWITCH, "16.0 GT/s PCIe\n", "16\n");
    put_port(SWITCH "0000:16:00.0", "32.0 GT/s PCIe\n", "16\n");
    put_port(SWITCH "0000:16:01.0", "Unknown\n", "255\n");
    put_function(SWITCH "0000:16:00.0/0000:17:00.0", "0x030200\n", "0x10de\n", "1\n");
    put_function(SWITCH "0000:16:01.0/0000:18:00.0", "0x020700\n", "0x15b3\n", "1\n");
    put_function(BUS "0000:14:02.0", "0x020000\n", "0x8086\n", "-1\n");
    put_function(BUS "0000:14:03.0", "0x030000\n", "0x1a03\n", "1\n");
    put_function(BUS "0000:14:04.0", "0x020000\n", "0x8086\n", "1\n"); /* without an interface */
    put_port(FAR, "2.5 GT/s PCIe\n", "8\n");
    put_function(FAR "0000:c1:00.0", "0x120000\n", "0x1002\n", "0\n");
    put("proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 5\n");
}

static void put_interface(const char *in, const char *name, const char *port, const char *speed)
{
    char path[300], link[64];
    snprintf(path, sizeof path, "%s/net/%s", in, name);
    snprintf(link, sizeof link, "sys/class/net/%s", name);
    put_in(path, "dev_port", port);
    put_in(path, "speed", speed);
    put_link(link, path);
}

static void put_ports(void)
{
    const char *const hca = SWITCH "0000:16:01.0/0000:18:00.0";
    put_in(hca, "infiniband/mlx4_0/ports/1/rate", "40 Gb/sec (4X QDR)\n");
    put_in(hca, "infiniband/mlx4_0/ports/2/rate", "10 Gb/sec (1X QDR)\n");
    put_link("sys/class/infiniband/mlx4_0", SWITCH "0000:16:01.0/0000:18:00.0/infiniband/mlx4_0");
    put_interface(hca, "ib0", "0\n", "40000\n");
    put_interface(hca, "ib1", "1\n", "10000\n");
    put_interface(BUS "0000:14:02.0/virtio3", "ens2", "0\n", "-1\n");
}

static bool is_near(double a, double b)
{
    return a > 0.999 * b && a < 1.001 * b;
}

static void devices_hang_where_their_ways_part(void **state)
{
    (void)state;
    put_cpus();
    put_pci();
    put_ports();
    read_tree();
    assert_int_equal(machine.ngpus, 2);
    assert_int_equal(machine.ndevices, 5);
    assert_int_equal(machine.nbranches, 3);
    assert_string_equal(machine.branches[0].name, "host bridge 0000:14");
    assert_string_equal(machine.branches[1].name, "bridge 0000:15:00.0");
    assert_string_equal(machine.branches[2].name, "host bridge 0000:c0");
    assert_int_equal(machine.branches[0].node, 1);
    assert_int_equal(machine.branches[1].bridges, 1);
    assert_true(is_near(machine.branches[1].bandwidth, GENERATION_4));
    const weft_machine_device_t *gpu = &machine.devices[0], *nic = &machine.devices[3];
    assert_string_equal(gpu->address, "0000:17:00.0");
    assert_string_equal(gpu->model, "NVIDIA H100");
    assert_int_equal(gpu->branch, 1);
    assert_int_equal(gpu->bridges, 1);
    assert_int_equal(gpu->node, 1);
    assert_true(is_near(gpu->pci, GENERATION_5));
    assert_string_equal(machine.devices[1].model, "1002:2330");
    assert_true(is_near(machine.devices[1].pci, 8 * 2.5e9 / 8 * 0.8));
    assert_string_equal(nic->system, "mlx4_0:1 ib0");
    assert_true(nic->speed == 5e9);
    assert_string_equal(machine.devices[4].system, "mlx4_0:2 ib1");
    assert_true(machine.devices[4].speed == 1.25e9);
    /* Its host bridge knows where it is by another device. */
    assert_string_equal(machine.devices[2].system, "ens2");
    assert_int_equal(machine.devices[2].node, 1);
    assert_true(machine.devices[2].speed == 0);
}

static void paths_of_the_tree_are_those_of_nvidia_smi(void **state)
{
    (void)state;
    put_cpus();
    put_pci();
    put_ports();
    read_tree();
    assert_int_equal(weft_path_between(&machine, 0, 3).class, WEFT_ALGO_PATH_PIX);
    assert_int_equal(weft_path_between(&machine, 0, 2).class, WEFT_ALGO_PATH_PHB);
    assert_true(is_near(weft_path_between(&machine, 0, 2).bandwidth, GENERATION_4));
    assert_int_equal(weft_path_between(&machine, 0, 1).class, WEFT_ALGO_PATH_SYS);
}

static void put_virtual(const char *name, const char *index, const char *link, const char *extra)
{
    char in[100], to[100];
    snprintf(in, sizeof in, "sys/devices/virtual/net/%s", name);
    snprintf(to, sizeof to, "sys/class/net/%s", name);
    put_in(in, "ifindex", index);
    put_in(in, "iflink", link);
    put_in(in, "speed", "10000\n");
    if (extra != NULL) {
        put_in(in, extra, "");
    }
    put_link(to, in);
}

static void only_hardware_and_ways_out_of_a_container_are_nics(void **state)
{
    (void)state;
    put_virtual("lo", "1\n", "1\n", NULL);
    put_virtual("eth0", "2\n", "17\n", NULL);
    put_virtual("veth9", "3\n", "18\n", "master");
    put_virtual("vlan1", "4\n", "5\n", "lower_eth0");
    put("sys/devices/LNXSYSTM:00/VMBUS:01/0123/net/net7/device", "");
    put("sys/devices/LNXSYSTM:00/VMBUS:01/0123/net/net7/speed", "50000\n");
    put_link("sys/class/net/net7", "sys/devices/LNXSYSTM:00/VMBUS:01/0123/net/net7");
    read_tree();
    assert_int_equal(machine.ndevices, 2);
    assert_string_equal(machine.devices[0].system, "eth0");
    assert_true(machine.devices[0].speed == 0);
    assert_string_equal(machine.devices[1].system, "net7");
    assert_true(machine.devices[1].speed == 6.25e9);
    assert_int_equal(machine.devices[1].node, 0);
}

static void more_nics_than_fit_are_left_out(void **state)
{
    (void)state;
    char name[32];
    for (unsigned i = 0; i < WEFT_MACHINE_DEVICES_MAX + 3; i++) {
        snprintf(name, sizeof name, "eth%u", i);
        put_virtual(name, "1\n", "7\n", NULL);
    }
    read_tree();
    assert_int_equal(machine.ndevices, WEFT_MACHINE_DEVICES_MAX);
}

static void this_machine_can_be_read(void **state)
{
    (void)state;
    assert_int_equal(weft_machine_read_sys(&machine), WEFT_OK);
    assert_true(machine.nnodes >= 1);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < machine.nnodes; i++) {
        sum += machine.nodes[i].usable;
    }
    assert_true(sum >= 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(nodes_cores_and_caches_are_counted),
        CASE(a_system_that_tells_nothing_has_one_node_of_what_is_usable),
        CASE(nonsense_is_not_known),
        CASE(devices_hang_where_their_ways_part),
        CASE(paths_of_the_tree_are_those_of_nvidia_smi),
        CASE(only_hardware_and_ways_out_of_a_container_are_nics),
        CASE(more_nics_than_fit_are_left_out),
        CASE(this_machine_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
