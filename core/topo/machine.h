/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One machine: packages, NUMA nodes, PCI bridges, GPUs, NICs, and the links between GPUs. It is
 * filled once, by a topo plugin, from a description, or from /sys, and only read afterwards. Things
 * name each other by their index in the arrays. Bandwidths are bytes per second in one direction;
 * 0: not known. */
#ifndef WEFT_TOPO_MACHINE_H
#define WEFT_TOPO_MACHINE_H

#include <stdint.h>

#include <weft/types.h>

#define WEFT_MACHINE_NONE UINT32_MAX

/* The most that a description may have; a larger one is refused by name. */
#define WEFT_MACHINE_PACKAGES_MAX 64u
#define WEFT_MACHINE_NODES_MAX 256u
#define WEFT_MACHINE_CORES_MAX 8192u
#define WEFT_MACHINE_BRANCHES_MAX 1024u
#define WEFT_MACHINE_DEVICES_MAX 256u
#define WEFT_MACHINE_LINKS_MAX 4096u
#define WEFT_MACHINE_CACHES_MAX 6u

typedef enum weft_device_kind { WEFT_DEVICE_GPU, WEFT_DEVICE_NIC } weft_device_kind_t;

typedef struct weft_machine_package {
    uint32_t index; /* as the system counts */
    char model[128];
} weft_machine_package_t;

/* All caches of one level, kind and size that belong to a NUMA node. */
typedef struct weft_machine_cache {
    char name[8]; /* "L3", "L1d" */
    uint64_t bytes;
    uint32_t count;
} weft_machine_cache_t;

/* A NUMA node with the cores that are nearest to it. */
typedef struct weft_machine_node {
    uint32_t index;   /* as the system counts */
    uint32_t package; /* WEFT_MACHINE_NONE: in none, or in several */
    uint64_t memory;  /* bytes */
    uint32_t cores, pus;
    uint32_t usable;  /* PUs on which this process may run */
    char list[256];   /* of PUs, "0-7,16-23" */
    double bandwidth; /* of its memory */
    weft_machine_cache_t caches[WEFT_MACHINE_CACHES_MAX];
    uint32_t ncaches;
} weft_machine_node_t;

/* A core, with its PUs (hardware threads); how many of them this process may use. */
typedef struct weft_machine_core {
    uint32_t node;
    uint32_t pus, usable;
} weft_machine_core_t;

/* Where ways in the PCI tree part: a host bridge, or a bridge with several ways to devices of
 * interest below. A bridge with one way is part of that way: the next branch or device counts it.
 * A branch stands behind its parent. */
typedef struct weft_machine_branch {
    uint32_t parent;  /* branch; WEFT_MACHINE_NONE for host bridges */
    uint32_t node;    /* WEFT_MACHINE_NONE: not known */
    uint32_t bridges; /* between it and the parent */
    double bandwidth; /* to the parent; of a host bridge: to its node */
    char name[32];    /* "host bridge 0000:00", "bridge 0000:15:00.0" */
} weft_machine_branch_t;

/* A GPU or a NIC. GPUs come first, each kind in PCI order; what has no address comes last. A NIC is
 * one port. */
typedef struct weft_machine_device {
    weft_device_kind_t kind;
    uint32_t number;  /* of its kind: GPU0, NIC0 */
    uint32_t branch;  /* WEFT_MACHINE_NONE: none is known */
    uint32_t node;    /* WEFT_MACHINE_NONE: not known */
    uint32_t rail;    /* of a NIC: ports of one rail reach each other; else WEFT_MACHINE_NONE */
    uint32_t bridges; /* between it and its branch */
    double pci;       /* bandwidth of the way to its branch: of its PCI link, or less */
    double speed;     /* of a NIC: of its port */
    char address[32]; /* in PCI, "0000:15:00.0" */
    char model[128];
    char system[128]; /* what the system calls it: "mlx5_0 ib0" */
} weft_machine_device_t;

/* A connection past PCIe, both directions: NVLink or xGMI between two GPUs, or from a GPU to the
 * switch that all GPUs with such a link share. */
typedef struct weft_machine_link {
    uint32_t from; /* device */
    uint32_t to;   /* device; WEFT_MACHINE_NONE: the switch */
    double bandwidth;
} weft_machine_link_t;

typedef struct weft_machine {
    char name[128];   /* of the host, or of the file */
    char source[128]; /* "hwloc", "/sys", "file x.xml": who filled it */
    double socket;    /* bandwidth between two NUMA nodes of different packages */
    weft_machine_package_t *packages;
    weft_machine_node_t *nodes;
    weft_machine_core_t *cores; /* node by node; none where only nodes are known */
    weft_machine_branch_t *branches;
    weft_machine_device_t *devices;
    weft_machine_link_t *links;
    uint32_t npackages, nnodes, ncores, nbranches, ndevices, ngpus, nlinks;
} weft_machine_t;

/* A machine without anything. `fini` frees the arrays; they come from weft_os_alloc(). */
void weft_machine_init(weft_machine_t *machine);
void weft_machine_fini(weft_machine_t *machine);

/* Append a copy; its index is the count before. Any order of devices will do until
 * weft_machine_finish(). ERR_ARG names the limit of this page that the machine has reached,
 * ERR_RESOURCE. */
weft_status_t weft_machine_add_package(weft_machine_t *machine,
                                       const weft_machine_package_t *package);
weft_status_t weft_machine_add_node(weft_machine_t *machine, const weft_machine_node_t *node);
weft_status_t weft_machine_add_core(weft_machine_t *machine, const weft_machine_core_t *core);
weft_status_t weft_machine_add_branch(weft_machine_t *machine, const weft_machine_branch_t *branch);
weft_status_t weft_machine_add_device(weft_machine_t *machine, const weft_machine_device_t *device);
weft_status_t weft_machine_add_link(weft_machine_t *machine, const weft_machine_link_t *link);

/* Puts devices in their order, numbers them, lets links name them as they stand now, and checks
 * the machine. */
weft_status_t weft_machine_finish(weft_machine_t *machine);

/* Says whether what this page promises holds: counts, indices, no cycle of branches, the order and
 * numbers of devices, texts that end, bandwidths that are numbers. ERR_ARG names the thing and the
 * field. Who fills a machine by hand calls it; readers then trust all indices. */
weft_status_t weft_machine_check(const weft_machine_t *machine);

#endif
