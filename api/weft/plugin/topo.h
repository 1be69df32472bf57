/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of topo plugins. A topo plugin describes one machine: its NUMA nodes, the PCI tree with GPUs
 * and NICs, and the links between GPUs. It knows the machine from a library, or from a file. It
 * hands the description to a builder of the core, thing by thing. Without such a plugin the core
 * goes on with what the kernel tells in /sys. The machines of the ranks of a job may differ, and so
 * may their topo plugins: all options of a topo plugin are WEFT_OPTION_LOCAL.
 *
 * Bandwidths are bytes per second in one direction; 0: not known. Texts are UTF-8 without control
 * characters; the core copies them and cuts what is too long. */
#ifndef WEFT_PLUGIN_TOPO_H
#define WEFT_PLUGIN_TOPO_H

#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_topo weft_topo_t; /* plugin instance */
typedef struct weft_topo_builder weft_topo_builder_t;

#define WEFT_TOPO_NONE UINT32_MAX /* no such thing, or not known */

/* The most that a machine may have. The builder refuses more with ERR_ARG. */
#define WEFT_TOPO_PACKAGES_MAX 64
#define WEFT_TOPO_NODES_MAX 256
#define WEFT_TOPO_CORES_MAX 8192
#define WEFT_TOPO_BRANCHES_MAX 1024
#define WEFT_TOPO_DEVICES_MAX 256
#define WEFT_TOPO_LINKS_MAX 4096
#define WEFT_TOPO_CACHES_MAX 6 /* of a NUMA node; the core leaves out more */

typedef struct weft_topo_package {
    size_t size;
    const char *model; /* of the processor; "": not known */
    uint32_t index;    /* as the system counts */
    uint32_t reserved; /* 0 */
} weft_topo_package_t;

/* All caches of one level, kind and size that belong to a NUMA node. Not extended. */
typedef struct weft_topo_cache {
    const char *name; /* "L3", "L1d"; at most 7 characters */
    uint64_t bytes;   /* of one */
    uint32_t count;   /* how many */
    uint32_t reserved;
} weft_topo_cache_t;

/* A NUMA node with the cores that are nearest to it. Cores that are near to two nodes belong to
 * one of them. The core counts cores and PUs by what add_core() gets. */
typedef struct weft_topo_node {
    size_t size;
    const char *list;                /* its PUs as the system counts, "0-7,16-23"; "": none */
    const weft_topo_cache_t *caches; /* the largest first; may be NULL if there are none */
    uint64_t memory;                 /* bytes */
    double bandwidth;                /* of its memory */
    uint32_t index;                  /* as the system counts */
    uint32_t package;                /* that holds it; WEFT_TOPO_NONE: none, or several */
    uint32_t ncaches;                /* entries of `caches` */
    uint32_t reserved;               /* 0 */
} weft_topo_node_t;

/* A core. Cores are added node by node, in the order of the nodes. */
typedef struct weft_topo_core {
    size_t size;
    uint32_t node;   /* that it belongs to */
    uint32_t pus;    /* hardware threads, at least 1 */
    uint32_t usable; /* of them, those on which this process may run */
    uint32_t reserved;
} weft_topo_core_t;

/* Where ways in the PCI tree part: a host bridge, or a bridge with several ways to GPUs and NICs
 * below. A bridge with one way is part of that way: `bridges` of the next thing counts it, and
 * `bandwidth` is the least on the stretch. */
typedef struct weft_topo_branch {
    size_t size;
    const char *name;  /* "host bridge 0000:00", "bridge 0000:15:00.0" */
    double bandwidth;  /* to the parent; of a host bridge: to its node */
    uint32_t parent;   /* branch, added before; WEFT_TOPO_NONE: it is a host bridge */
    uint32_t node;     /* NUMA node; WEFT_TOPO_NONE: not known */
    uint32_t bridges;  /* between it and the parent, neither counted */
    uint32_t reserved; /* 0 */
} weft_topo_branch_t;

#define WEFT_TOPO_GPU 0u
#define WEFT_TOPO_NIC 1u

/* A GPU, or a port of a NIC. */
typedef struct weft_topo_device {
    size_t size;
    const char *address; /* in PCI, "0000:15:00.0"; "": it has none */
    const char *model;   /* "": not known */
    const char *system;  /* names by which the system knows it, with blanks between: "mlx5_0 ib0" */
    double pci;          /* the least bandwidth on the way to its branch */
    double speed;        /* of a NIC: of its port */
    uint32_t kind;       /* WEFT_TOPO_GPU or WEFT_TOPO_NIC */
    uint32_t branch;     /* WEFT_TOPO_NONE: none is known */
    uint32_t node;       /* NUMA node; WEFT_TOPO_NONE: not known */
    uint32_t bridges;    /* between it and its branch */
} weft_topo_device_t;

/* A connection past PCIe, which carries `bandwidth` in both directions: NVLink or xGMI between two
 * GPUs, or from a GPU to the switch that all GPUs with such a link share. Links of the same ends
 * add up. */
typedef struct weft_topo_link {
    size_t size;
    double bandwidth;
    uint32_t from; /* GPU, as add_device() numbered it */
    uint32_t to;   /* other GPU; WEFT_TOPO_NONE: the switch */
} weft_topo_link_t;

/* Takes the description. It is the core's, and valid until discover() returns. Every function
 * copies what it gets, returns ERR_ARG for what cannot be or is too much, with the cause recorded,
 * or ERR_RESOURCE; the plugin passes both on. `index_p` gets the number by which other things name
 * this one; it counts from 0 for each kind of thing, and may be NULL. Devices may come in any
 * order; the core sorts them.
 * Blocking: no. Thread: that of discover(). */
struct weft_topo_builder {
    size_t size;
    void *core; /* the core's own; not for plugins */

    /* Names the machine: host, or file; and what describes it: "hwloc", "file x.xml". `socket` is
     * the bandwidth between two NUMA nodes of different packages. */
    weft_status_t (*set_machine)(const weft_topo_builder_t *builder, const char *name,
                                 const char *source, double socket);
    weft_status_t (*add_package)(const weft_topo_builder_t *builder,
                                 const weft_topo_package_t *package, uint32_t *index_p);
    weft_status_t (*add_node)(const weft_topo_builder_t *builder, const weft_topo_node_t *node,
                              uint32_t *index_p);
    weft_status_t (*add_core)(const weft_topo_builder_t *builder, const weft_topo_core_t *core);
    weft_status_t (*add_branch)(const weft_topo_builder_t *builder,
                                const weft_topo_branch_t *branch, uint32_t *index_p);
    weft_status_t (*add_device)(const weft_topo_builder_t *builder,
                                const weft_topo_device_t *device, uint32_t *index_p);
    weft_status_t (*add_link)(const weft_topo_builder_t *builder, const weft_topo_link_t *link);
};

#define WEFT_TOPO_RING 0u
#define WEFT_TOPO_TREE 1u

typedef struct weft_topo_ops {
    size_t size;

    /* As weft_net_ops_t.create and destroy. Reads no machine yet. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_topo_t **topo_p);
    void (*destroy)(weft_topo_t *topo);

    /* Describes the machine to the builder, which is empty. A second call describes it again.
     * Errors: ERR_UNSUPPORTED (nothing is known here: the core asks the next plugin, and at last
     * /sys), ERR_CONFIG (a file or an option is wrong: file, line and element are named), what the
     * builder returned, or any error. The core drops what was built.
     * Blocking: reads files and asks drivers; the plugin bounds their number and size.
     * Thread: [control]. */
    weft_status_t (*discover)(weft_topo_t *topo, const weft_topo_builder_t *builder);

    /* Optional. Writes the machine to a file in the plugin's own format, so that the plugin can
     * describe it elsewhere; "-" is the standard output.
     * Errors: ERR_SYSTEM, or those of discover().
     * Blocking: as discover(). Thread: [control]. */
    weft_status_t (*save)(weft_topo_t *topo, const char *file);

    /* Optional, since 1.1: takes the place of the core's search for rings and trees. Writes a
     * graph file for a machine file (docs/topology.md), as text that ends with a zero byte, in at
     * most `bytes` bytes: a graph of WEFT_TOPO_RING or WEFT_TOPO_TREE, with channels that enter
     * and leave by NICs if `hosts` is 1 and there are NICs. The core checks and measures it, and
     * uses it for all hosts of this kind; it asks on one rank of each host. Errors:
     * ERR_UNSUPPORTED (the core asks the next plugin, and at last searches), ERR_RESOURCE (more
     * than `bytes`), or any error. Blocking: it computes. Thread: [control]. */
    weft_status_t (*graph)(weft_topo_t *topo, const char *machine, uint32_t pattern, uint32_t hosts,
                           char *text, size_t bytes);
} weft_topo_ops_t;

#ifdef __cplusplus
}
#endif
#endif
