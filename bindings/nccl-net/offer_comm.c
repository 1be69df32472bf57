/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_comm.h. */
#include "offer_comm.h"

#include <stdlib.h>
#include <string.h>

#include "offer_handle.h"

typedef struct offer_listener {
    offer_device_t *device;
    weft_net_listener_t *listener;
} offer_listener_t;

/* The mhandle of a transport that needs no registration. */
static char unregistered;

int offer_listen(int dev, void *handle, void **listening)
{
    const weft_net_ops_t *ops = offer_get()->ops;
    weft_net_address_t address = {.bytes = 0};
    offer_device_t *device = offer_device_open(dev);
    if (device == NULL) {
        return WEFT_NCCL_SYSTEM_ERROR;
    }
    offer_listener_t *mine = calloc(1, sizeof *mine);
    if (mine == NULL) {
        offer_device_close(device);
        return offer_refuse(WEFT_NCCL_SYSTEM_ERROR, "no memory for a listener");
    }
    mine->device = device;
    pthread_mutex_lock(&device->lock);
    weft_status_t status = ops->listen(device->device, &address, &mine->listener);
    int result =
        status == WEFT_OK ? offer_handle_write(handle, &address) : offer_fail(status, "listen");
    pthread_mutex_unlock(&device->lock);
    if (result != WEFT_NCCL_SUCCESS) {
        (void)offer_close_listen(mine);
        return result;
    }
    *listening = mine;
    return WEFT_NCCL_SUCCESS;
}

int offer_close_listen(void *listening)
{
    offer_listener_t *mine = listening;
    if (mine == NULL) {
        return WEFT_NCCL_SUCCESS;
    }
    if (mine->listener != NULL) {
        pthread_mutex_lock(&mine->device->lock);
        offer_get()->ops->listener_close(mine->listener);
        pthread_mutex_unlock(&mine->device->lock);
    }
    offer_device_close(mine->device);
    free(mine);
    return WEFT_NCCL_SUCCESS;
}

/* NULL, after a line, if the device does not open or there is no memory. */
static offer_comm_t *offer_comm_create(int dev)
{
    offer_device_t *device = offer_device_open(dev);
    if (device == NULL) {
        return NULL;
    }
    offer_comm_t *comm = calloc(1, sizeof *comm);
    if (comm == NULL) {
        offer_device_close(device);
        (void)offer_refuse(0, "no memory for a connection");
        return NULL;
    }
    for (uint32_t i = 0; i < WEFT_NCCL_REQUESTS; i++) {
        comm->requests[i].comm = comm;
    }
    comm->device = device;
    return comm;
}

static int offer_connect_begin(int dev, void *handle)
{
    const weft_net_ops_t *ops = offer_get()->ops;
    weft_net_address_t address;
    weft_net_conn_params_t params = {.size = sizeof params};
    offer_comm_t *comm = offer_comm_create(dev);
    if (comm == NULL) {
        return WEFT_NCCL_SYSTEM_ERROR;
    }
    int result = offer_handle_read(handle, &address, comm->secret);
    if (result == WEFT_NCCL_SUCCESS) {
        pthread_mutex_lock(&comm->device->lock);
        offer_auth_use(comm->secret);
        weft_status_t status =
            ops->connect_begin(comm->device->device, &address, &params, &comm->conn);
        offer_auth_use(NULL);
        pthread_mutex_unlock(&comm->device->lock);
        result = status == WEFT_OK ? WEFT_NCCL_SUCCESS : offer_fail(status, "connect");
    }
    if (result != WEFT_NCCL_SUCCESS) {
        (void)offer_close(comm);
        return result;
    }
    offer_handle_keep(handle, comm);
    return WEFT_NCCL_SUCCESS;
}

int offer_connect(int dev, void *handle, void **comm_p)
{
    *comm_p = NULL;
    int result =
        offer_handle_kept(handle) == NULL ? offer_connect_begin(dev, handle) : WEFT_NCCL_SUCCESS;
    if (result != WEFT_NCCL_SUCCESS) {
        return result;
    }
    offer_comm_t *comm = offer_handle_kept(handle);
    pthread_mutex_lock(&comm->device->lock);
    offer_auth_use(comm->secret);
    weft_status_t status = offer_get()->ops->connect_poll(comm->conn);
    offer_auth_use(NULL);
    pthread_mutex_unlock(&comm->device->lock);
    if (status == WEFT_IN_PROGRESS) {
        return WEFT_NCCL_SUCCESS;
    }
    memset(handle, 0, WEFT_NCCL_HANDLE);
    if (status != WEFT_OK) {
        result = offer_fail(status, "connect");
        (void)offer_close(comm);
        return result;
    }
    *comm_p = comm;
    return WEFT_NCCL_SUCCESS;
}

int offer_accept(void *listening, void **comm_p)
{
    const offer_listener_t *from = listening;
    weft_net_conn_t *conn = NULL;
    *comm_p = NULL;
    pthread_mutex_lock(&from->device->lock);
    weft_status_t status = offer_get()->ops->accept(from->listener, &conn);
    pthread_mutex_unlock(&from->device->lock);
    if (status != WEFT_OK) {
        return status == WEFT_AGAIN ? WEFT_NCCL_SUCCESS : offer_fail(status, "accept");
    }
    offer_comm_t *comm = offer_comm_create((int)(from->device - offer_get()->devices));
    if (comm == NULL) {
        pthread_mutex_lock(&from->device->lock);
        offer_get()->ops->conn_close(conn);
        pthread_mutex_unlock(&from->device->lock);
        return WEFT_NCCL_SYSTEM_ERROR;
    }
    comm->conn = conn;
    *comm_p = comm;
    return WEFT_NCCL_SUCCESS;
}

int offer_close(void *comm)
{
    offer_comm_t *mine = comm;
    if (mine == NULL) {
        return WEFT_NCCL_SUCCESS;
    }
    pthread_mutex_lock(&mine->device->lock);
    offer_get()->ops->conn_close(mine->conn);
    pthread_mutex_unlock(&mine->device->lock);
    offer_device_close(mine->device);
    free(mine);
    return WEFT_NCCL_SUCCESS;
}

int offer_reg(void *comm, void *data, size_t size, int type, void **mhandle)
{
    offer_comm_t *mine = comm;
    const weft_net_ops_t *ops = offer_get()->ops;
    weft_net_region_t *region = NULL;
    uint32_t kind = type == WEFT_NCCL_PTR_CUDA ? WEFT_MEMORY_CUDA : WEFT_MEMORY_HOST;
    if ((mine->device->props.memory_kinds & kind) == 0) {
        return offer_refuse(WEFT_NCCL_INVALID_ARGUMENT, "regMr: %s takes no memory of type %d",
                            offer_get()->name, type);
    }
    if (!WEFT_HAS(ops, weft_net_ops_t, reg) || !WEFT_HAS(ops, weft_net_ops_t, dereg)) {
        *mhandle = &unregistered;
        return WEFT_NCCL_SUCCESS;
    }
    weft_status_t status = ops->reg(mine->device->device, data, size, kind, &region);
    *mhandle = region;
    return status == WEFT_OK ? WEFT_NCCL_SUCCESS : offer_fail(status, "regMr");
}

int offer_reg_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                     void **mhandle)
{
    offer_comm_t *mine = comm;
    const offer_t *offer = offer_get();
    weft_net_region_t *region = NULL;
    weft_net_dmabuf_range_t range = {
        .size = sizeof range,
        .fd = fd,
        .memory_kind = type == WEFT_NCCL_PTR_CUDA ? WEFT_MEMORY_CUDA : WEFT_MEMORY_HOST,
        .offset = offset,
        .bytes = size,
        .address = (uint64_t)(uintptr_t)data,
    };
    const weft_net_dmabuf_t *dmabuf = WEFT_HAS(offer->ops, weft_net_ops_t, get_extension)
                                          ? offer->ops->get_extension(offer->net, WEFT_NET_DMABUF)
                                          : NULL;
    if (dmabuf == NULL) {
        return offer_refuse(WEFT_NCCL_INVALID_USAGE, "regMrDmaBuf: %s takes no dma-buf",
                            offer->name);
    }
    weft_status_t status = dmabuf->reg(mine->device->device, &range, &region);
    *mhandle = region;
    return status == WEFT_OK ? WEFT_NCCL_SUCCESS : offer_fail(status, "regMrDmaBuf");
}

int offer_dereg(void *comm, void *mhandle)
{
    (void)comm;
    if (mhandle != NULL && mhandle != &unregistered) {
        offer_get()->ops->dereg(mhandle);
    }
    return WEFT_NCCL_SUCCESS;
}
