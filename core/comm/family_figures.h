/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures that all ranks must know equally, because choices depend on them. */
#ifndef WEFT_COMM_FAMILY_FIGURES_H
#define WEFT_COMM_FAMILY_FIGURES_H

#include "core/comm/device_edges.h"
#include "core/comm/family.h"

/* Agrees on the figures of the cost model, on slots, channels and cores. `used` has a bit for each
 * transport that this rank uses. */
weft_status_t weft_family_exchange_figures(weft_family_t *family, uint32_t used);

/* Returns the path between the devices of this rank and another one whose slots are in memory that
 * both access; WEFT_KERNEL_PATH_COUNT: there is none. */
weft_kernel_path_t weft_family_device_path(const weft_family_t *family, uint32_t peer);

#endif
