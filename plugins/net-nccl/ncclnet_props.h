/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices of the foreign library: which can be used, and their properties in weft's words. */
#ifndef WEFT_PLUGINS_NCCLNET_PROPS_H
#define WEFT_PLUGINS_NCCLNET_PROPS_H

#include "ncclnet.h"

/* Asks the library for its devices and checks their properties. A device that offloads to a GPU
 * is left out, with a line; ERR_UNSUPPORTED if no other is left. ERR_PLUGIN for properties that
 * cannot be. */
weft_status_t ncclnet_devices_find(weft_net_t *net);

/* Asks for the properties of one device of the library. */
weft_status_t ncclnet_device_ask(weft_net_t *net, int dev, ncclnet_foreign_t *foreign);

/* Converts the properties of the `index`-th device in use. */
void ncclnet_device_convert(const weft_net_t *net, uint32_t index, const ncclnet_foreign_t *foreign,
                            weft_net_props_t *props);

/* Bytes of the largest message of a device. */
uint64_t ncclnet_message_most(const ncclnet_foreign_t *foreign);

/* Text about a device for weft info. */
void ncclnet_device_describe(const weft_net_t *net, int dev, const ncclnet_foreign_t *foreign,
                             char *text, size_t bytes);

#endif
