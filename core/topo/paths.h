/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way between two devices of a machine, or from a device to a NUMA node: its class, and the
 * least bandwidth on it. All of these read a machine that weft_machine_check() has passed. */
#ifndef WEFT_TOPO_PATHS_H
#define WEFT_TOPO_PATHS_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

#include "core/topo/machine.h"

typedef struct weft_path {
    weft_algo_path_class_t class;
    double bandwidth; /* the least of what is known on the way, without ports of NICs; 0: nothing */
} weft_path_t;

/* Links past PCIe win where there are any: all links between the two count together, or those to
 * the switch. A link counts in both directions. */
weft_path_t weft_path_between(const weft_machine_t *machine, uint32_t from, uint32_t to);
/* PHB where the device hangs on that node, else SYS; UNKNOWN where it is not known. */
weft_path_t weft_path_to_node(const weft_machine_t *machine, uint32_t device, uint32_t node);

/* "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS", "?". */
const char *weft_path_name(weft_algo_path_class_t class);
/* What the name means, one line. */
const char *weft_path_help(weft_algo_path_class_t class);

/* The NICs nearest to a GPU share a class: returns it, and whether `nic` is one of them. UNKNOWN if
 * there are none whose place is known. */
weft_algo_path_class_t weft_path_nearest(const weft_machine_t *machine, uint32_t gpu);
bool weft_path_is_nearest(const weft_machine_t *machine, uint32_t gpu, uint32_t nic);

#endif
