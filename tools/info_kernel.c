/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft info` tells of kernel plugins: the variant, and the devices that they compute on. */
#include "tools/info_kernel.h"

#include <weft/plugin/describe.h>

#include "core/base/error.h"
#include "tools/json.h"

void info_trouble(json_t *json, weft_status_t status)
{
    const char *text = weft_error_record()->text;
    text = text[0] != '\0' ? text : weft_status_text(status);
    if (json == NULL) {
        printf("    cannot be used here: %s\n", text);
    } else {
        json_string(json, "trouble", text);
    }
}

static void info_kernel_print_device(const weft_kernel_device_t *d)
{
    const double gib = 1u << 30;
    printf("    device %u%s: %s%s%s, capability %s, %.1f GiB", d->ordinal,
           d->chosen ? " (in use)" : "", d->name, d->pci[0] != '\0' ? " at " : "", d->pci,
           d->capability, (double)d->memory_bytes / gib);
    if (d->memory_free != WEFT_BYTES_UNKNOWN) {
        printf(", %.1f GiB free", (double)d->memory_free / gib);
    }
    if (d->numa >= 0) {
        printf(", NUMA node %d", d->numa);
    }
    printf("\n      %s\n", d->uuid);
}

static void info_kernel_write_device(json_t *json, const weft_kernel_device_t *d)
{
    json_unsigned(json, "ordinal", d->ordinal);
    json_bool(json, "chosen", d->chosen != 0);
    json_string(json, "name", d->name);
    json_string(json, "pci", d->pci);
    json_string(json, "uuid", d->uuid);
    json_string(json, "capability", d->capability);
    json_unsigned(json, "memory_bytes", d->memory_bytes);
    if (d->memory_free != WEFT_BYTES_UNKNOWN) {
        json_unsigned(json, "memory_free", d->memory_free);
    }
    if (d->numa >= 0) {
        json_integer(json, "numa", d->numa);
    }
}

static void info_kernel_print_reach(json_t *json, uint32_t peer, const weft_kernel_peer_access_t *r)
{
    if (json == NULL) {
        printf("      %s the memory of device %u%s\n",
               r->access ? "loads and stores in" : "does not reach", peer,
               r->atomics ? ", all atomics too" : "");
        return;
    }
    json_open(json, NULL, '{');
    json_unsigned(json, "index", peer);
    json_bool(json, "access", r->access != 0);
    json_bool(json, "atomics", r->atomics != 0);
    json_integer(json, "rank", r->rank);
    json_close(json, '}');
}

static weft_status_t info_kernel_walk_peers(json_t *json, const weft_kernel_describe_t *describe,
                                            weft_kernel_t *kernel, uint32_t index, uint32_t count)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t peer = 0; peer < count && status == WEFT_OK; peer++) {
        weft_kernel_peer_access_t reach = {.size = sizeof reach};
        if (peer == index) {
            continue;
        }
        status = describe->peer_access(kernel, index, peer, &reach);
        if (status == WEFT_OK) {
            info_kernel_print_reach(json, peer, &reach);
        }
    }
    return status;
}

static weft_status_t info_kernel_walk_device(json_t *json, const weft_kernel_describe_t *describe,
                                             weft_kernel_t *kernel, uint32_t index, uint32_t count)
{
    weft_kernel_device_t device = {.size = sizeof device};
    weft_status_t status = describe->device(kernel, index, &device);
    if (status != WEFT_OK) {
        return status;
    }
    if (json == NULL) {
        info_kernel_print_device(&device);
        return info_kernel_walk_peers(NULL, describe, kernel, index, count);
    }
    json_open(json, NULL, '{');
    info_kernel_write_device(json, &device);
    json_open(json, "reaches", '[');
    status = info_kernel_walk_peers(json, describe, kernel, index, count);
    json_close(json, ']');
    json_close(json, '}');
    return status;
}

static weft_status_t info_kernel_walk_devices(json_t *json, const weft_kernel_describe_t *describe,
                                              weft_kernel_t *kernel)
{
    uint32_t count = 0;
    weft_status_t status = describe->count(kernel, &count);
    if (json != NULL) {
        json_open(json, "devices", '[');
    }
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        status = info_kernel_walk_device(json, describe, kernel, i, count);
    }
    if (json != NULL) {
        json_close(json, ']');
    }
    return status;
}

static weft_status_t print_kernel(json_t *json, const weft_kernel_ops_t *ops, weft_kernel_t *kernel)
{
    weft_kernel_props_t props = {.size = sizeof props};
    weft_status_t status = ops->props(kernel, &props);
    if (status != WEFT_OK) {
        return status;
    }
    if (json == NULL) {
        printf("    variant %s, %.1f GB/s\n", props.variant, (double)props.bandwidth / 1e9);
    } else {
        json_string(json, "variant", props.variant);
        json_unsigned(json, "bandwidth", props.bandwidth);
        json_unsigned(json, "memory_kind", props.memory_kind);
    }
    const weft_kernel_describe_t *describe = WEFT_HAS(ops, weft_kernel_ops_t, get_extension)
                                                 ? ops->get_extension(kernel, WEFT_KERNEL_DESCRIBE)
                                                 : NULL;
    return describe != NULL ? info_kernel_walk_devices(json, describe, kernel) : WEFT_OK;
}

void info_kernel(json_t *json, const weft_loaded_t *loaded)
{
    const weft_kernel_ops_t *ops = loaded->plugin->ops;
    weft_kernel_t *kernel = NULL;
    weft_status_t status = ops->create(loaded->host, loaded->config, &kernel);
    if (status == WEFT_OK) {
        status = print_kernel(json, ops, kernel);
        ops->destroy(kernel);
    }
    if (status != WEFT_OK) {
        info_trouble(json, status);
    }
}
