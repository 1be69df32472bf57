/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine as `weft topo` shows it: filled once from hwloc (machine.c, pci.c) and from plugins
 * (uses.c), read by what prints and draws. Things name each other by their index in the arrays. */
#ifndef WEFT_TOPO_TOPO_H
#define WEFT_TOPO_TOPO_H

#include <stdbool.h>

#include <weft/plugin/describe.h>
#include <weft/plugin/net.h>

#define TOPO_NONE UINT32_MAX
#define TOPO_CACHES 6

/* The way between two devices in the words of nvidia-smi and NCCL, nearest first. */
typedef enum topo_path {
    TOPO_SELF,
    TOPO_NV,   /* past PCIe */
    TOPO_PIX,  /* one bridge at most */
    TOPO_PXB,  /* several bridges, no host bridge */
    TOPO_PHB,  /* one host bridge */
    TOPO_NODE, /* several host bridges of one NUMA node */
    TOPO_SYS,  /* from one NUMA node to another */
    TOPO_UNKNOWN
} topo_path_t;

typedef struct topo_package {
    uint32_t index; /* as the system counts; places name packages by it */
    char model[128];
} topo_package_t;

/* All caches of one level, kind and size in a place. */
typedef struct topo_cache {
    char name[8]; /* "L3", "L1d" */
    uint64_t bytes;
    uint32_t count;
} topo_cache_t;

/* A NUMA node with the cores that are nearest to it. */
typedef struct topo_place {
    uint32_t numa;    /* as the system counts */
    uint32_t package; /* index of topo_package_t; TOPO_NONE: in none, or in several */
    uint64_t memory;
    uint32_t cores, pus, usable; /* usable: PUs on which this process may run */
    char list[256];              /* of PUs, "0-7,16-23" */
    topo_cache_t caches[TOPO_CACHES];
    uint32_t ncaches;
} topo_place_t;

typedef struct topo_core {
    uint32_t place, pus, usable;
} topo_core_t;

/* Where ways in the PCI tree part: a host bridge, or a bridge with several devices of interest
 * below. */
typedef struct topo_branch {
    uint32_t parent; /* branch; TOPO_NONE for host bridges */
    uint32_t place;  /* TOPO_NONE: not known */
    char name[32];   /* "host bridge 0000:00", "bridge 0000:15:00.0" */
} topo_branch_t;

/* A GPU or a NIC; GPUs come first, each kind in PCI order. */
typedef struct topo_device {
    bool gpu;
    uint32_t number; /* of its kind: GPU0, NIC0 */
    uint32_t branch; /* TOPO_NONE: none is known */
    uint32_t place;  /* TOPO_NONE: not known */
    char near[64];   /* NUMA nodes that are near, "0" or "0-3"; empty: not known */
    char pci[32];
    char model[160];
    char system[128]; /* what the system calls it: "mlx5_0 ib0" */
    double link;      /* bytes per second of the PCI link, 0: not known */
} topo_device_t;

/* A device as a plugin sees it; a NIC can be one of several plugins. */
typedef struct topo_use {
    char plugin[32];
    uint32_t index;  /* as the plugin counts */
    uint32_t device; /* TOPO_NONE: no GPU or NIC of this machine has its address or name */
    bool gpu;        /* which of the two is filled */
    weft_net_props_t net;
    weft_kernel_device_t kernel;
} topo_use_t;

/* A plugin that cannot be used, in its own words. */
typedef struct topo_trouble {
    char plugin[32];
    char text[512];
} topo_trouble_t;

typedef struct topo {
    char name[128]; /* host, or file */
    topo_package_t *packages;
    topo_place_t *places;
    topo_core_t *cores;
    topo_branch_t *branches;
    topo_device_t *devices;
    topo_use_t *uses;
    topo_trouble_t *troubles;
    uint32_t npackages, nplaces, ncores, nbranches, ndevices, ngpus, nuses, ntroubles;
    char spare_net[256],
        spare_kernel[256]; /* plugins that were not asked, as they are not loaded */
    uint8_t *paths;        /* topo_path_t, ndevices × ndevices */
    struct hwloc_topology *hwloc;
} topo_t;

/* "GPU0", "NIC3". */
typedef char topo_name_t[16];

#endif
