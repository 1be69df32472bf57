/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that all outputs share: names of devices, and sizes. */
#ifndef WEFT_TOOLS_TOPO_WORDS_H
#define WEFT_TOOLS_TOPO_WORDS_H

#include <weft/plugin/algo.h>

#include "tools/topo/topo.h"

/* The class of the path between two devices. */
weft_algo_path_class_t topo_path(const topo_t *topo, uint32_t from, uint32_t to);
const char *topo_device_name(const topo_t *topo, uint32_t device, topo_name_t name);
/* A size as people write it, "96 GiB". */
const char *topo_bytes(uint64_t bytes, topo_name_t text);

#endif
