/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The properties of a device as a net plugin tells them, checked before anybody uses them. */
#ifndef WEFT_PLUGIN_NET_PROPS_H
#define WEFT_PLUGIN_NET_PROPS_H

#include <weft/plugin/net.h>

#include "core/plugin/loader.h"

/* Asks for the properties of device `index`. Errors: ERR_PLUGIN names the property, what was found
 * and what was expected; those of the plugin. */
weft_status_t weft_net_props_read(const weft_loaded_t *loaded, weft_net_t *net, uint32_t index,
                                  weft_net_props_t *props);

#endif
