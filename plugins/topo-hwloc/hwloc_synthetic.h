/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a synthetic description, before hwloc makes what it says. */
#ifndef TOPO_HWLOC_SYNTHETIC_H
#define TOPO_HWLOC_SYNTHETIC_H

#include "hwloc_instance.h"

#define HWLOC_SYNTHETIC_BYTES_MAX 1024u
#define HWLOC_SYNTHETIC_LEVELS_MAX 32u
#define HWLOC_SYNTHETIC_PUS_MAX 8192u

/* ERR_CONFIG: the text, its levels or the PUs that they make are more than these. */
weft_status_t hwloc_synthetic_check(const weft_host_t *host, const char *text);

#endif
