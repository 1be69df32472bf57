/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory. weft registers with a device, NCCL's libraries with a comm: a region is
 * registered with a comm when an operation of it first uses the region there. */
#ifndef WEFT_PLUGINS_NCCLNET_REGION_H
#define WEFT_PLUGINS_NCCLNET_REGION_H

#include "ncclnet.h"

/* reg and dereg of net.h, and reg of its extension for dma-bufs. */
weft_status_t ncclnet_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                          uint32_t memory_kind, weft_net_region_t **region_p);
weft_status_t ncclnet_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                                 weft_net_region_t **region_p);
void ncclnet_dereg(weft_net_region_t *region);

/* Finds or makes the registration of a region with the comm of `way`. Thread: [progress]. */
weft_status_t ncclnet_region_use(weft_net_conn_t *conn, ncclnet_way_t *way,
                                 const weft_net_region_t *region, void **mhandle_p);
/* Registers memory for one operation. */
weft_status_t ncclnet_memory_reg(weft_net_conn_t *conn, void *comm, const ncclnet_memory_t *memory,
                                 void **mhandle_p);
void ncclnet_memory_dereg(weft_net_conn_t *conn, void *comm, void *mhandle);

/* Ends all registrations with the connection's comms, before these are closed. */
void ncclnet_regions_forget(weft_net_conn_t *conn);

#endif
