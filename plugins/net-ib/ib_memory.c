/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration of memory. */
#include "ib_memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

bool ib_peer_memory(void)
{
    static const char *const signs[] = {"/sys/module/nvidia_peermem",
                                        "/sys/kernel/mm/memory_peers/nv_mem",
                                        "/sys/kernel/mm/memory_peers/amdkfd"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (access(signs[i], F_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* A driver that knows the call refuses a bad descriptor with another errno. */
bool ib_dmabuf_known(const ib_hca_t *hca)
{
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(hca->pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
    int cause = mr == NULL ? errno : 0;
    if (mr != NULL) {
        ibv_dereg_mr(mr);
    }
    return cause != 0 && cause != EOPNOTSUPP && cause != EPROTONOSUPPORT && cause != ENOSYS;
}

weft_status_t ib_memory_refused(ib_hca_t *hca, uint64_t bytes, int cause)
{
    const weft_host_t *host = hca->net->host;
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (!limited || (cause != ENOMEM && cause != EAGAIN)) {
        return host->set_error(host, WEFT_ERR_RESOURCE, cause,
                               "cannot register %llu bytes with adapter %s; it has at most %d "
                               "registrations, and the rdma control group may allow fewer",
                               (unsigned long long)bytes, hca->name, hca->attr.max_mr);
    }
    char value[40];
    snprintf(value, sizeof value, "%llu KiB", (unsigned long long)limit.rlim_cur / 1024);
    return host->set_error(host, WEFT_ERR_RESOURCE, cause,
                           "cannot register %llu bytes with adapter %s: the limit of locked memory "
                           "(RLIMIT_MEMLOCK, ulimit -l) is %s; raise it, e.g. \"* - memlock "
                           "unlimited\" in /etc/security/limits.conf or LimitMEMLOCK=infinity in "
                           "the service that starts the job",
                           (unsigned long long)bytes, hca->name, value);
}

void ib_region_fini(weft_net_region_t *region)
{
    for (uint32_t i = 0; i < region->nrails; i++) {
        if (region->pins[i] != NULL) {
            ib_cache_put(&region->hcas[i]->cache, region->pins[i]);
        }
    }
}

static void ib_region_begin(weft_net_device_t *device, weft_net_region_t *region)
{
    *region = (weft_net_region_t){.net = device->net, .nrails = device->nrails};
    for (uint32_t i = 0; i < device->nrails; i++) {
        region->hcas[i] = device->rails[i]->hca;
    }
}

weft_status_t ib_region_init(weft_net_device_t *device, const void *memory, uint64_t bytes,
                             uint32_t access_kind, weft_net_region_t *region)
{
    ib_region_begin(device, region);
    for (uint32_t i = 0; i < region->nrails; i++) {
        if (atomic_load(&region->hcas[i]->fatal)) {
            continue; /* nothing is sent over it any longer */
        }
        weft_status_t status =
            ib_cache_get(&region->hcas[i]->cache, memory, bytes, access_kind, &region->pins[i]);
        if (status != WEFT_OK) {
            ib_region_fini(region);
            return status;
        }
    }
    return WEFT_OK;
}

weft_status_t ib_reg(weft_net_device_t *device, void *memory, uint64_t bytes, uint32_t memory_kind,
                     weft_net_region_t **region_p)
{
    const weft_host_t *host = device->host;
    if (memory == NULL || bytes == 0) {
        return host->set_error(host, WEFT_ERR_ARG, 0, "cannot register %llu bytes at %p",
                               (unsigned long long)bytes, memory);
    }
    if (memory_kind != WEFT_MEMORY_HOST && !ib_peer_memory()) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "device memory needs its dma-buf or a peer-memory module; load "
                               "nvidia_peermem");
    }
    weft_net_region_t *region = host->alloc(host, sizeof *region, 0);
    if (region == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = ib_region_init(device, memory, bytes, IB_PIN_WRITE, region);
    if (status != WEFT_OK) {
        host->free(host, region);
        return status == WEFT_AGAIN ? WEFT_ERR_RESOURCE : status;
    }
    region->on_device = memory_kind != WEFT_MEMORY_HOST;
    *region_p = region;
    return WEFT_OK;
}

/* A dma-buf is never shared in the cache: an address does not tell which buffer it belongs to. */
weft_status_t ib_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                            weft_net_region_t **region_p)
{
    weft_net_region_t *region = device->host->alloc(device->host, sizeof *region, 0);
    if (region == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    ib_region_begin(device, region);
    region->on_device = true;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < region->nrails && status == WEFT_OK; i++) {
        ib_hca_t *hca = region->hcas[i];
        struct ibv_mr *mr =
            ibv_reg_dmabuf_mr(hca->pd, range->offset, range->bytes, range->address, range->fd,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        if (mr == NULL && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT)) {
            status = device->host->set_error(device->host, WEFT_ERR_UNSUPPORTED, errno,
                                             "adapter %s registers no dma-buf", hca->name);
        } else if (mr == NULL) {
            status = ib_memory_refused(hca, range->bytes, errno);
        } else {
            status = ib_cache_adopt(&hca->cache, mr, mr->lkey, mr->rkey, &region->pins[i]);
        }
    }
    if (status != WEFT_OK) {
        ib_dereg(region);
        return status;
    }
    *region_p = region;
    return WEFT_OK;
}

void ib_dereg(weft_net_region_t *region)
{
    if (region != NULL) {
        ib_region_fini(region);
        region->net->host->free(region->net->host, region);
    }
}
