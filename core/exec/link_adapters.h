/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adapters that the links of a communicator use, one of each transport: opened when first
 * needed. Some are the family's (link_state.h). Memory is registered with them. */
#ifndef WEFT_EXEC_LINK_ADAPTERS_H
#define WEFT_EXEC_LINK_ADAPTERS_H

#include "core/exec/links_setup.h"

/* Opens the adapter of transport i, unless it is open. */
weft_status_t weft_links_open_adapter(weft_links_t *links, uint32_t i);
/* Closes those of this communicator; nothing uses them any more. */
void weft_links_close_adapters(weft_links_t *links);

/* Registers memory with transport i. Does nothing if that registers no memory. */
weft_status_t weft_links_reg(weft_links_t *links, uint32_t i, void *memory, uint64_t bytes,
                             weft_net_region_t **region_p);
void weft_links_dereg(weft_links_t *links, uint32_t i, weft_net_region_t *region);

#endif
