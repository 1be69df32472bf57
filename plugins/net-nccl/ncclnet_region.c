/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_region.h. A region owns its registrations, under the lock of the instance. A
 * connection remembers some by the region's number, so that its operations take no lock. */
#include "ncclnet_region.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ncclnet_call.h"

static weft_status_t ncclnet_region_create(weft_net_device_t *device,
                                           const ncclnet_memory_t *memory,
                                           weft_net_region_t **region_p)
{
    weft_net_t *net = device->net;
    weft_net_region_t *region = net->host->alloc(net->host, sizeof *region, 0);
    if (region == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    region->net = net;
    region->memory = *memory;
    pthread_mutex_lock(&net->lock);
    region->number = ++net->region_number;
    region->next = net->regions;
    net->regions = region;
    pthread_mutex_unlock(&net->lock);
    *region_p = region;
    return WEFT_OK;
}

static weft_status_t ncclnet_region_type(const weft_net_device_t *device, uint32_t memory_kind,
                                         int *type_p)
{
    const weft_host_t *host = device->host;
    int type = memory_kind == WEFT_MEMORY_CUDA ? WEFT_NCCL_PTR_CUDA : WEFT_NCCL_PTR_HOST;
    if ((device->foreign.memory & type) == 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "%s: device %d takes no memory of that kind (ptrSupport %d)",
                               device->net->library->file, device->dev, device->foreign.memory);
    }
    *type_p = type;
    return WEFT_OK;
}

weft_status_t ncclnet_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                          uint32_t memory_kind, weft_net_region_t **region_p)
{
    ncclnet_memory_t mine = {.data = memory, .bytes = bytes, .fd = -1};
    const ncclnet_library_t *library = device->net->library;
    weft_status_t status = ncclnet_region_type(device, memory_kind, &mine.type);
    if (status == WEFT_OK && bytes > library->shim->reg_most) {
        return device->host->set_error(
            device->host, WEFT_ERR_UNSUPPORTED, 0,
            "%s: regMr of %s takes at most %zu bytes, found %llu; register it in parts, or use a "
            "network plugin of v8 or newer",
            library->file, library->shim->symbol, library->shim->reg_most,
            (unsigned long long)bytes);
    }
    return status == WEFT_OK ? ncclnet_region_create(device, &mine, region_p) : status;
}

weft_status_t ncclnet_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                                 weft_net_region_t **region_p)
{
    const weft_host_t *host = device->host;
    const ncclnet_library_t *library = device->net->library;
    ncclnet_memory_t mine = {
        .data = (void *)(uintptr_t)range->address, .bytes = range->bytes, .offset = range->offset};
    if ((device->foreign.memory & WEFT_NCCL_PTR_DMABUF) == 0 ||
        !library->shim->has_dmabuf(library->table)) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "%s: device %d takes no dma-buf",
                               library->file, device->dev);
    }
    weft_status_t status = ncclnet_region_type(device, range->memory_kind, &mine.type);
    if (status != WEFT_OK) {
        return status;
    }
    mine.fd = fcntl(range->fd, F_DUPFD_CLOEXEC, 0);
    if (mine.fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot keep the dma-buf");
    }
    status = ncclnet_region_create(device, &mine, region_p);
    if (status != WEFT_OK) {
        close(mine.fd);
    }
    return status;
}

static void ncclnet_registration_end(weft_net_t *net, ncclnet_registration_t *registration)
{
    ncclnet_memory_dereg(registration->conn, registration->comm, registration->mhandle);
    net->host->free(net->host, registration);
}

void ncclnet_dereg(weft_net_region_t *region)
{
    if (region == NULL) {
        return;
    }
    weft_net_t *net = region->net;
    pthread_mutex_lock(&net->lock);
    weft_net_region_t **link = &net->regions;
    while (*link != region) {
        link = &(*link)->next;
    }
    *link = region->next;
    while (region->registrations != NULL) {
        ncclnet_registration_t *registration = region->registrations;
        region->registrations = registration->next;
        ncclnet_registration_end(net, registration);
    }
    pthread_mutex_unlock(&net->lock);
    if (region->memory.fd >= 0) {
        close(region->memory.fd);
    }
    net->host->free(net->host, region);
}

weft_status_t ncclnet_memory_reg(weft_net_conn_t *conn, void *comm, const ncclnet_memory_t *memory,
                                 void **mhandle_p)
{
    weft_net_t *net = conn->device->net;
    void *mhandle = NULL;
    ncclnet_call_t call = ncclnet_call_begin(
        net, memory->fd >= 0 ? NCCLNET_REG_DMABUF : NCCLNET_REG, conn->device->dev);
    weft_status_t status = ncclnet_call_end_operation(
        &call, conn, net->library->shim->reg(net->library->table, comm, memory, &mhandle));
    if (status != WEFT_OK) {
        return status;
    }
    *mhandle_p = mhandle;
    return WEFT_OK;
}

void ncclnet_memory_dereg(weft_net_conn_t *conn, void *comm, void *mhandle)
{
    weft_net_t *net = conn->device->net;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_DEREG, conn->device->dev);
    ncclnet_call_end_close(&call, net->library->shim->dereg(net->library->table, comm, mhandle));
}

/* With the lock. */
static weft_status_t ncclnet_region_add(weft_net_conn_t *conn, void *comm,
                                        weft_net_region_t *region, void **mhandle_p)
{
    const weft_host_t *host = conn->host;
    ncclnet_registration_t *registration = region->registrations;
    while (registration != NULL && registration->comm != comm) {
        registration = registration->next;
    }
    if (registration != NULL) {
        *mhandle_p = registration->mhandle;
        return WEFT_OK;
    }
    registration = host->alloc(host, sizeof *registration, 0);
    if (registration == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = ncclnet_memory_reg(conn, comm, &region->memory, mhandle_p);
    if (status != WEFT_OK) {
        host->free(host, registration);
        return status;
    }
    *registration = (ncclnet_registration_t){
        .next = region->registrations, .conn = conn, .comm = comm, .mhandle = *mhandle_p};
    region->registrations = registration;
    return WEFT_OK;
}

weft_status_t ncclnet_region_use(weft_net_conn_t *conn, ncclnet_way_t *way,
                                 const weft_net_region_t *region, void **mhandle_p)
{
    weft_net_t *net = conn->device->net;
    for (uint32_t i = 0; i < NCCLNET_KEPT; i++) {
        if (way->kept_number[i] == region->number) {
            *mhandle_p = way->kept_mhandle[i];
            return WEFT_OK;
        }
    }
    pthread_mutex_lock(&net->lock);
    weft_net_region_t *mine = net->regions;
    while (mine != NULL && mine != region) {
        mine = mine->next;
    }
    weft_status_t status =
        mine != NULL ? ncclnet_region_add(conn, way->comm, mine, mhandle_p) : WEFT_ERR_ARG;
    pthread_mutex_unlock(&net->lock);
    if (mine == NULL) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0,
                                    "the region of an operation is not registered");
    }
    if (status == WEFT_OK) {
        uint32_t at = way->kept_at++ % NCCLNET_KEPT;
        way->kept_number[at] = region->number;
        way->kept_mhandle[at] = *mhandle_p;
    }
    return status;
}

void ncclnet_regions_forget(weft_net_conn_t *conn)
{
    weft_net_t *net = conn->device->net;
    pthread_mutex_lock(&net->lock);
    for (weft_net_region_t *region = net->regions; region != NULL; region = region->next) {
        ncclnet_registration_t **link = &region->registrations;
        while (*link != NULL) {
            ncclnet_registration_t *registration = *link;
            if (registration->conn != conn) {
                link = &registration->next;
                continue;
            }
            *link = registration->next;
            ncclnet_registration_end(net, registration);
        }
    }
    pthread_mutex_unlock(&net->lock);
}
