/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered and mapped memory of a net plugin under core.check. */
#ifndef WEFT_CHECK_CHECK_NET_MEMORY_H
#define WEFT_CHECK_CHECK_NET_MEMORY_H

#include "core/check/check_net_state.h"

/* Slots of the table that the core calls. */
weft_status_t weft_check_net_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                                 uint32_t memory_kind, weft_net_region_t **region_p);
void weft_check_net_dereg(weft_net_region_t *region);

/* The table that the core gets for the plugin's extension `own` of that name. NULL: the layer does
 * not know it. */
const void *weft_check_net_memory_extension(weft_net_t *net, const char *name, const void *own);

#endif
