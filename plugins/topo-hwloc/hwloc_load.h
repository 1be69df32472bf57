/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading a topology of hwloc. */
#ifndef TOPO_HWLOC_LOAD_H
#define TOPO_HWLOC_LOAD_H

#include "hwloc_instance.h"

/* Fills topo->hwloc by the options, unless it is there already. ERR_CONFIG names what is wrong in
 * a file or a synthetic description. */
weft_status_t hwloc_load(weft_topo_t *topo);

#endif
