/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft topo` shows: the machine as the core knows it, and what net and kernel plugins say of
 * its devices (uses.c). Things name each other by their index in the arrays. */
#ifndef WEFT_TOPO_TOPO_H
#define WEFT_TOPO_TOPO_H

#include <stdbool.h>

#include <weft/plugin/describe.h>
#include <weft/plugin/net.h>

#include "core/topo/machine.h"

/* A device as a plugin sees it; a NIC can be one of several plugins. */
typedef struct topo_use {
    char plugin[32];
    uint32_t index;  /* as the plugin counts */
    uint32_t device; /* WEFT_MACHINE_NONE: no GPU or NIC of this machine has its address or name */
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
    weft_machine_t machine;
    topo_use_t *uses;
    topo_trouble_t *troubles;
    uint32_t nuses, ntroubles;
    char spare_net[256],
        spare_kernel[256]; /* plugins that were not asked, as they are not loaded */
} topo_t;

/* "GPU0", "NIC3". */
typedef char topo_name_t[16];

#endif
