/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See net_props.h. */
#include "core/plugin/net_props.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/plugin_status.h"

/* Bounds far beyond what there is, so that no product of two of them overflows. */
#define LATENCY_MOST UINT64_C(60000000000) /* a minute */
#define BANDWIDTH_MOST UINT64_C(1000000000000000)
#define SLOT_BYTES_MOST (UINT64_C(1) << 30)
#define SLOTS_MOST 4096u
#define MESSAGE_LEAST (UINT64_C(1) << 20)

typedef struct net_props_range {
    const char *name;
    uint64_t value, least, most;
} net_props_range_t;

static weft_status_t net_props_check_range(const weft_loaded_t *loaded, uint32_t index,
                                           const net_props_range_t *range)
{
    if (range->value >= range->least && range->value <= range->most) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PLUGIN, 0,
                     "%s: device_props of device %u: found %s %" PRIu64 ", expected %" PRIu64
                     " to %" PRIu64 " (%s)",
                     loaded->plugin->name, index, range->name, range->value, range->least,
                     range->most, loaded->path);
}

static weft_status_t net_props_check_text(const weft_loaded_t *loaded, uint32_t index,
                                          const char *name, const char *text, size_t bytes)
{
    if (memchr(text, '\0', bytes) != NULL) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PLUGIN, 0,
                     "%s: device_props of device %u: found no end of %s, expected a zero byte in "
                     "its %zu (%s)",
                     loaded->plugin->name, index, name, bytes, loaded->path);
}

static weft_status_t net_props_check(const weft_loaded_t *loaded, uint32_t index,
                                     const weft_net_props_t *props)
{
    const net_props_range_t ranges[] = {
        {"latency_ns", props->latency_ns, 1, LATENCY_MOST},
        {"overhead_ns", props->overhead_ns, 0, LATENCY_MOST},
        {"bandwidth", props->bandwidth, 1, BANDWIDTH_MOST},
        {"local_bandwidth", props->local_bandwidth, 0, BANDWIDTH_MOST},
        {"local_overhead_ns", props->local_overhead_ns, 0, LATENCY_MOST},
        {"max_outstanding", props->max_outstanding, 1, UINT32_MAX},
        {"max_message", props->max_message, MESSAGE_LEAST, UINT64_MAX},
        {"slot_bytes", props->slot_bytes, 1, SLOT_BYTES_MOST},
        {"slots", props->slots, 2, SLOTS_MOST},
        {"WEFT_MEMORY_HOST in memory_kinds", props->memory_kinds & WEFT_MEMORY_HOST,
         WEFT_MEMORY_HOST, WEFT_MEMORY_HOST},
    };
    weft_status_t status =
        net_props_check_text(loaded, index, "name", props->name, sizeof props->name);
    if (status == WEFT_OK) {
        status = net_props_check_text(loaded, index, "pci", props->pci, sizeof props->pci);
    }
    for (size_t i = 0; status == WEFT_OK && i < sizeof ranges / sizeof ranges[0]; i++) {
        status = net_props_check_range(loaded, index, &ranges[i]);
    }
    return status;
}

weft_status_t weft_net_props_read(const weft_loaded_t *loaded, weft_net_t *net, uint32_t index,
                                  weft_net_props_t *props)
{
    const weft_net_ops_t *ops = loaded->plugin->ops;
    *props = (weft_net_props_t){.size = sizeof *props};
    weft_status_t status = weft_plugin_status(loaded, "device_props", WEFT_RETURNS_FINAL,
                                              ops->device_props(net, index, props));
    return status == WEFT_OK ? net_props_check(loaded, index, props) : status;
}
