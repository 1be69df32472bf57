/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the user registered with the transports of a communicator. */
#ifndef WEFT_COMM_REGISTRATION_H
#define WEFT_COMM_REGISTRATION_H

#include "core/exec/links.h"

/* Registers memory with transports 0 … transports−1. ERR_RESOURCE, or the failure of a transport.
 * `links` is NULL for one rank, which has no transport. */
weft_status_t weft_registration_add(weft_mem_region_t **list, weft_links_t *links,
                                    uint32_t transports, void *memory, uint64_t bytes,
                                    weft_mem_region_t **region_p);

/* Ends a registration. False: it is not in the list. */
bool weft_registration_remove(weft_mem_region_t **list, weft_links_t *links,
                              weft_mem_region_t *region);

/* Ends everything that the user did not end. */
void weft_registration_remove_all(weft_mem_region_t **list, weft_links_t *links);

#endif
