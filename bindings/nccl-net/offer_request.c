/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_request.h. */
#include "offer_request.h"

#define BATCH 16u

/* Regions are made by offer_reg() of a transport that has them; else the handle says nothing. */
static weft_net_region_t *offer_region_of(void *mhandle)
{
    return WEFT_HAS(offer_get()->ops, weft_net_ops_t, reg) ? mhandle : NULL;
}

static int offer_post(offer_comm_t *comm, const weft_net_op_t *op, void **request_p)
{
    offer_request_t *request = &comm->requests[comm->next % WEFT_NCCL_REQUESTS];
    weft_net_op_t mine = *op;
    uint32_t posted = 0;
    *request_p = NULL;
    if (request->used) {
        return WEFT_NCCL_SUCCESS;
    }
    mine.context = request;
    pthread_mutex_lock(&comm->device->lock);
    request->used = true;
    request->done = false;
    weft_status_t status = offer_get()->ops->post(comm->conn, &mine, 1, &posted);
    request->used = posted == 1;
    pthread_mutex_unlock(&comm->device->lock);
    if (posted == 1) {
        comm->next++;
        *request_p = request;
        return WEFT_NCCL_SUCCESS;
    }
    return status == WEFT_AGAIN || status == WEFT_OK ? WEFT_NCCL_SUCCESS
                                                     : offer_fail(status, "post");
}

int offer_send(void *comm, void *data, size_t size, void *mhandle, void **request)
{
    weft_net_op_t op = {
        .kind = WEFT_NET_SEND, .buffer = data, .bytes = size, .region = offer_region_of(mhandle)};
    return offer_post(comm, &op, request);
}

int offer_receive(void *comm, void *data, size_t size, void *mhandle, void **request)
{
    weft_net_op_t op = {
        .kind = WEFT_NET_RECV, .buffer = data, .bytes = size, .region = offer_region_of(mhandle)};
    return offer_post(comm, &op, request);
}

/* Devices whose memory needs a flush are not offered (offer_props.c). */
int offer_flush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
    (void)comm;
    (void)n;
    (void)data;
    (void)sizes;
    (void)mhandles;
    *request = NULL;
    return WEFT_NCCL_SUCCESS;
}

/* With the lock. */
static weft_status_t offer_poll(offer_device_t *device)
{
    weft_net_completion_t list[BATCH];
    uint32_t count = 0;
    weft_status_t status = offer_get()->ops->poll(device->device, list, BATCH, &count);
    for (uint32_t i = 0; status == WEFT_OK && i < count; i++) {
        offer_request_t *request = list[i].context;
        request->done = true;
        request->status = list[i].status;
        request->bytes = list[i].bytes;
    }
    return status;
}

int offer_test(void *request, int *done, int *sizes)
{
    offer_request_t *mine = request;
    offer_device_t *device = mine->comm->device;
    weft_status_t status = WEFT_OK;
    pthread_mutex_lock(&device->lock);
    if (!mine->done) {
        status = offer_poll(device);
    }
    *done = mine->done ? 1 : 0;
    if (status == WEFT_OK && mine->done) {
        status = mine->status;
        mine->used = false;
    }
    if (sizes != NULL && mine->done) {
        sizes[0] = (int)mine->bytes;
    }
    pthread_mutex_unlock(&device->lock);
    return status == WEFT_OK ? WEFT_NCCL_SUCCESS : offer_fail(status, "test");
}
