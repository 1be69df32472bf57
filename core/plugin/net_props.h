/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The properties of a device as a net plugin tells them, checked before anybody uses them. */
#ifndef WEFT_PLUGIN_NET_PROPS_H
#define WEFT_PLUGIN_NET_PROPS_H

#include <stdbool.h>

#include <weft/plugin/net.h>

#include "core/plugin/loader.h"

/* Asks for the properties of device `index`. Errors: ERR_PLUGIN names the property, what was found
 * and what was expected; those of the plugin. */
weft_status_t weft_net_props_read(const weft_loaded_t *loaded, weft_net_t *net, uint32_t index,
                                  weft_net_props_t *props);

/* Bytes per second of a connection; `local`: between ranks of one host. */
static inline uint64_t weft_net_props_bandwidth(const weft_net_props_t *props, bool local)
{
    return local && props->local_bandwidth != 0 ? props->local_bandwidth : props->bandwidth;
}

/* The overhead as it is told, in nanoseconds; 0: it is not. */
static inline uint64_t weft_net_props_overhead(const weft_net_props_t *props, bool local)
{
    return local && props->local_overhead_ns != 0 ? props->local_overhead_ns : props->overhead_ns;
}

#endif
