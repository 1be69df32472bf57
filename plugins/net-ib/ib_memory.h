/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration of memory with every adapter that a device's rails use. Errors are set by these
 * functions. Thread: [control], but ib_region_init() and ib_region_fini() also [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_MEMORY_H
#define WEFT_PLUGINS_NET_IB_MEMORY_H

#include "ib.h"

/* weft_net_ops_t.reg, the weft.net.dmabuf extension's reg, and weft_net_ops_t.dereg. */
weft_status_t ib_reg(weft_net_device_t *device, void *memory, uint64_t bytes, uint32_t memory_kind,
                     weft_net_region_t **region_p);
weft_status_t ib_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                            weft_net_region_t **region_p);
void ib_dereg(weft_net_region_t *region);

/* Registers what an operation of the connection sends or receives in a region that the caller
 * provides; `access` is IB_PIN_READ or IB_PIN_WRITE. Returns OK, AGAIN (the host has no memory for
 * it now) or ERR_RESOURCE, which is a reason for the connection to end. */
weft_status_t ib_region_init(weft_net_conn_t *conn, const weft_posted_op_t *op, uint32_t access,
                             weft_net_region_t *region);
void ib_region_fini(weft_net_region_t *region);

/* Access flags of memory that a peer may write: those of verbs. */
unsigned ib_access_write(const ib_hca_t *hca);

/* Returns whether a kernel module lets adapters register GPU memory by its address. */
bool ib_peer_memory(void);

/* Returns whether the adapter's driver can register dma-bufs. Blocks briefly. */
bool ib_dmabuf_known(const ib_hca_t *hca);

#define IB_MEMORY_TEXT 360u

/* Writes why `bytes` could not be registered with `hca`, and a remedy; `cause` is the errno. `room`
 * is at least IB_MEMORY_TEXT. */
void ib_memory_reason(const ib_hca_t *hca, uint64_t bytes, int cause, char *text, size_t room);
/* Sets it as an error that is the reason for the connection to end. Returns ERR_RESOURCE. */
weft_status_t ib_memory_blame(weft_net_conn_t *conn, const ib_hca_t *hca, uint64_t bytes,
                              int cause);

#endif
