/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listeners and connections. A connection of NCCL has one direction, so it uses one of weft's. All
 * functions are those of NCCL's table and return a result. */
#ifndef WEFT_BINDINGS_NCCL_NET_COMM_H
#define WEFT_BINDINGS_NCCL_NET_COMM_H

#include "offer.h"
#include "offer_auth.h"

typedef struct offer_comm offer_comm_t;

/* An operation under way. The device's lock is for the fields behind `used`. */
typedef struct offer_request {
    offer_comm_t *comm;
    bool used; /* by the comm's thread */
    bool done;
    weft_status_t status;
    uint64_t bytes;
} offer_request_t;

struct offer_comm {
    offer_device_t *device;
    weft_net_conn_t *conn;
    uint8_t secret[OFFER_SECRET]; /* of the peer, while the connector is on its way */
    uint32_t next;                /* request to try first */
    offer_request_t requests[WEFT_NCCL_REQUESTS];
};

int offer_listen(int dev, void *handle, void **listening);
int offer_connect(int dev, void *handle, void **comm);
int offer_accept(void *listening, void **comm);
int offer_close(void *comm);
int offer_close_listen(void *listening);
int offer_reg(void *comm, void *data, size_t size, int type, void **mhandle);
int offer_reg_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                     void **mhandle);
int offer_dereg(void *comm, void *mhandle);

#endif
