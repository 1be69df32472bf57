/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration of memory. */
#include "ib_memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ib_event.h"
#include "ib_refusal.h"

unsigned ib_access_write(const ib_hca_t *hca)
{
    return (unsigned)IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
           (hca->net->config.relaxed_ordering ? IBV_ACCESS_RELAXED_ORDERING : 0u);
}

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

void ib_memory_reason(const ib_hca_t *hca, uint64_t bytes, int cause, char *text, size_t room)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    int used = snprintf(text, room, "cannot register %llu bytes with adapter %s",
                        (unsigned long long)bytes, hca->name);
    text += used;
    room -= (size_t)used;
    if (hca->attr.max_mr_size > 0 && bytes > hca->attr.max_mr_size) {
        snprintf(text, room,
                 ": its largest registration is %llu bytes (max_mr_size); use smaller ones",
                 (unsigned long long)hca->attr.max_mr_size);
    } else if (limited && (cause == ENOMEM || cause == EAGAIN)) {
        snprintf(text, room,
                 ": the limit of locked memory (RLIMIT_MEMLOCK, ulimit -l) is %llu KiB; raise it, "
                 "e.g. \"* - memlock unlimited\" in /etc/security/limits.conf or "
                 "LimitMEMLOCK=infinity in the service that starts the job",
                 (unsigned long long)limit.rlim_cur / 1024);
    } else {
        snprintf(text, room,
                 "; it has at most %d registrations, and the rdma control group may allow fewer",
                 hca->attr.max_mr);
    }
}

weft_status_t ib_memory_blame(weft_net_conn_t *conn, const ib_hca_t *hca, uint64_t bytes, int cause)
{
    char text[IB_MEMORY_TEXT];
    ib_memory_reason(hca, bytes, cause, text, sizeof text);
    return ib_blame(conn, WEFT_ERR_RESOURCE, cause, "%s", text);
}

void ib_region_fini(weft_net_region_t *region)
{
    for (uint32_t i = 0; i < region->nrails; i++) {
        if (region->pins[i] != NULL) {
            ib_cache_put(&region->hcas[i]->cache, region->pins[i]);
        }
    }
}

/* What a region is made of: host memory, or the range of a dma-buf. */
typedef struct ib_wish {
    const void *memory;
    uint64_t bytes;
    uint32_t access;
    const weft_net_dmabuf_range_t *dmabuf; /* NULL: host memory */
} ib_wish_t;

/* Who refused it, for the caller to tell. No adapter: another error, which is set. */
typedef struct ib_refuser {
    const ib_hca_t *hca;
    int cause;
} ib_refuser_t;

/* A dma-buf is never shared in the cache: an address does not tell which buffer it belongs to. */
static weft_status_t ib_dmabuf_pin(ib_hca_t *hca, const weft_net_dmabuf_range_t *range,
                                   ib_pin_t **pin_p, int *cause_p)
{
    const weft_host_t *host = hca->net->host;
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(hca->pd, range->offset, range->bytes, range->address,
                                          range->fd, (int)ib_access_write(hca));
    if (mr != NULL) {
        return ib_cache_adopt(&hca->cache, mr, mr->lkey, mr->rkey, pin_p);
    }
    if (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, errno, "adapter %s registers no dma-buf",
                               hca->name);
    }
    *cause_p = errno;
    return WEFT_ERR_RESOURCE;
}

/* Nothing is sent over a failed adapter any longer. It refuses before anybody has taken the event
 * which says that it failed. */
static weft_status_t ib_wish_pin(const ib_wish_t *wish, ib_hca_t *hca, ib_pin_t **pin_p,
                                 int *cause_p)
{
    if (atomic_load(&hca->fatal)) {
        return WEFT_OK;
    }
    weft_status_t status =
        wish->dmabuf != NULL
            ? ib_dmabuf_pin(hca, wish->dmabuf, pin_p, cause_p)
            : ib_cache_get(&hca->cache, wish->memory, wish->bytes, wish->access, pin_p, cause_p);
    if (status != WEFT_OK && status != WEFT_AGAIN) {
        ib_events_take(hca);
        status = atomic_load(&hca->fatal) ? WEFT_OK : status;
    }
    return status;
}

static weft_status_t ib_region_fill(weft_net_device_t *device, const ib_wish_t *wish,
                                    weft_net_region_t *region, ib_refuser_t *refuser)
{
    weft_status_t status = WEFT_OK;
    *region = (weft_net_region_t){.net = device->net, .nrails = device->nrails};
    for (uint32_t i = 0; i < device->nrails && status == WEFT_OK; i++) {
        int cause = 0;
        region->hcas[i] = device->rails[i]->hca;
        status = ib_wish_pin(wish, region->hcas[i], &region->pins[i], &cause);
        if (status == WEFT_ERR_RESOURCE && cause != 0) {
            *refuser = (ib_refuser_t){.hca = region->hcas[i], .cause = cause};
        }
    }
    if (status != WEFT_OK) {
        ib_region_fini(region);
    }
    return status;
}

weft_status_t ib_region_init(weft_net_conn_t *conn, const weft_posted_op_t *op,
                             uint32_t access_kind, weft_net_region_t *region)
{
    const ib_wish_t wish = {.memory = op->buffer, .bytes = op->bytes, .access = access_kind};
    ib_refuser_t refuser = {.hca = NULL};
    weft_status_t status = ib_region_fill(conn->device, &wish, region, &refuser);
    return refuser.hca == NULL ? status
                               : ib_memory_blame(conn, refuser.hca, op->bytes, refuser.cause);
}

/* Makes a region of the caller's, which is freed by ib_dereg(). */
static weft_status_t ib_region_create(weft_net_device_t *device, const ib_wish_t *wish,
                                      bool on_device, weft_net_region_t **region_p)
{
    const weft_host_t *host = device->host;
    weft_net_region_t *region = host->alloc(host, sizeof *region, 0);
    if (region == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    ib_refuser_t refuser = {.hca = NULL};
    weft_status_t status = ib_region_fill(device, wish, region, &refuser);
    if (status != WEFT_OK) {
        host->free(host, region);
        if (refuser.hca != NULL) {
            char text[IB_MEMORY_TEXT];
            ib_memory_reason(refuser.hca, wish->bytes, refuser.cause, text, sizeof text);
            return host->set_error(host, status, refuser.cause, "%s", text);
        }
        return status == WEFT_AGAIN ? WEFT_ERR_RESOURCE : status;
    }
    region->on_device = on_device;
    *region_p = region;
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
    const ib_wish_t wish = {.memory = memory, .bytes = bytes, .access = IB_PIN_WRITE};
    return ib_region_create(device, &wish, memory_kind != WEFT_MEMORY_HOST, region_p);
}

weft_status_t ib_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                            weft_net_region_t **region_p)
{
    const ib_wish_t wish = {.bytes = range->bytes, .dmabuf = range};
    return ib_region_create(device, &wish, true, region_p);
}

void ib_dereg(weft_net_region_t *region)
{
    if (region != NULL) {
        ib_region_fini(region);
        region->net->host->free(region->net->host, region);
    }
}
