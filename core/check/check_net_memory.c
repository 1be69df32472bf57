/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Regions, mapped memory, and the descriptions of devices. */
#include "core/check/check_net_memory.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"

#define PAGE 4096u

/* Regions -------------------------------------------------------------------------------------- */

static weft_status_t memory_region_made(const weft_check_call_t *call, weft_status_t status,
                                        weft_net_region_t *own, bool on_host,
                                        weft_net_region_t **region_p)
{
    weft_net_region_t *region = NULL;
    if (status == WEFT_OK && own == NULL) {
        return weft_check_breach(call->check, call->method, "OK: it has stored the object",
                                 "it returned OK and no region");
    }
    if (status == WEFT_OK) {
        region = weft_os_alloc(sizeof *region, 0);
        if (region == NULL) {
            call->check->own.net->dereg(own);
            return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to check a region");
        }
        *region = (weft_net_region_t){.check = call->check, .own = own, .on_host = on_host};
        *region_p = region;
    }
    return status;
}

weft_status_t weft_check_net_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                                 uint32_t memory_kind, weft_net_region_t **region_p)
{
    weft_check_t *check = device->net->check;
    weft_net_region_t *own = NULL;
    weft_check_call_t call = weft_check_enter(check, "reg");
    weft_status_t status =
        weft_check_end(&call, check->own.net->reg(device->own, memory, bytes, memory_kind, &own),
                       WEFT_CHECK_FAILURES);
    return memory_region_made(&call, status, own, memory_kind == WEFT_MEMORY_HOST, region_p);
}

void weft_check_net_dereg(weft_net_region_t *region)
{
    weft_check_call_t call = weft_check_enter(region->check, "dereg");
    region->check->own.net->dereg(region->own);
    weft_check_leave(&call);
    weft_os_free(region);
}

static weft_status_t memory_reg_dmabuf(weft_net_device_t *device,
                                       const weft_net_dmabuf_range_t *range,
                                       weft_net_region_t **region_p)
{
    weft_net_region_t *own = NULL;
    weft_check_call_t call = weft_check_enter(device->net->check, "dmabuf.reg");
    weft_status_t status = weft_check_end(
        &call, device->net->own_dmabuf->reg(device->own, range, &own), WEFT_CHECK_FAILURES);
    return memory_region_made(&call, status, own, range->memory_kind == WEFT_MEMORY_HOST, region_p);
}

/* Mapped memory -------------------------------------------------------------------------------- */

static weft_status_t memory_map_region(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "map.region");
    weft_status_t status = weft_check_end(
        &call, conn->device->net->own_map->region(conn->own, base_p, bytes_p), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && ((uintptr_t)*base_p % PAGE != 0 || *base_p == NULL)) {
        return weft_check_breach(check, "map.region", "the memory is page aligned",
                                 "it stored the address %p", *base_p);
    }
    if (status == WEFT_OK && *bytes_p < conn->map_bytes) {
        return weft_check_breach(check, "map.region", "at least params.map_bytes long",
                                 "found %llu bytes of %llu", (unsigned long long)*bytes_p,
                                 (unsigned long long)conn->map_bytes);
    }
    conn->map_bytes = status == WEFT_OK ? *bytes_p : 0;
    return status;
}

static weft_status_t memory_map_commit(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    weft_check_call_t call = weft_check_enter(conn->device->net->check, "map.commit");
    return weft_check_end(&call, conn->device->net->own_map->commit(conn->own, offset, bytes),
                          WEFT_CHECK_FAILURES);
}

static void memory_map_discard(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    weft_check_call_t call = weft_check_enter(conn->device->net->check, "map.discard");
    conn->device->net->own_map->discard(conn->own, offset, bytes);
    weft_check_leave(&call);
}

/* Descriptions --------------------------------------------------------------------------------- */

static weft_status_t memory_describe(weft_net_t *net, uint32_t index, char *text, size_t bytes)
{
    weft_check_call_t call = weft_check_enter(net->check, "describe.describe");
    weft_status_t status = weft_check_end(
        &call, net->own_describe->describe(net->own, index, text, bytes), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && bytes > 0 && memchr(text, 0, bytes) == NULL) {
        return weft_check_breach(net->check, "describe.describe",
                                 "at most `bytes` bytes including the final NUL",
                                 "found no end of the text");
    }
    return status;
}

const void *weft_check_net_memory_extension(weft_net_t *net, const char *name, const void *own)
{
    static const weft_net_dmabuf_t dmabuf = {.size = sizeof dmabuf, .reg = memory_reg_dmabuf};
    static const weft_net_describe_t describe = {.size = sizeof describe,
                                                 .describe = memory_describe};
    if (strcmp(name, WEFT_NET_MAP) == 0) {
        net->own_map = own;
        net->map = (weft_net_map_t){
            .size = sizeof net->map,
            .region = memory_map_region,
            .commit = WEFT_HAS(net->own_map, weft_net_map_t, commit) ? memory_map_commit : NULL,
            .discard = WEFT_HAS(net->own_map, weft_net_map_t, discard) ? memory_map_discard : NULL,
        };
        return &net->map;
    }
    if (strcmp(name, WEFT_NET_DMABUF) == 0) {
        net->own_dmabuf = own;
        return &dmabuf;
    }
    if (strcmp(name, WEFT_NET_DESCRIBE) == 0) {
        net->own_describe = own;
        return &describe;
    }
    return NULL;
}
