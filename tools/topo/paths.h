/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words for paths, the nearest NICs, and other words that all outputs share. */
#ifndef WEFT_TOOLS_TOPO_PATHS_H
#define WEFT_TOOLS_TOPO_PATHS_H

#include "tools/topo/topo.h"

topo_path_t topo_path(const topo_t *topo, uint32_t from, uint32_t to);
const char *topo_path_name(topo_path_t path);
/* What the name means, one line. */
const char *topo_path_help(topo_path_t path);
/* The NICs nearest to a GPU share a path: answers it, and whether `nic` is one of them.
 * TOPO_UNKNOWN if there are none whose place is known. */
topo_path_t topo_nearest(const topo_t *topo, uint32_t gpu);
bool topo_is_nearest(const topo_t *topo, uint32_t gpu, uint32_t nic);
const char *topo_device_name(const topo_t *topo, uint32_t device, topo_name_t name);
/* A size as people write it, "96 GiB". */
const char *topo_bytes(uint64_t bytes, topo_name_t text);

#endif
