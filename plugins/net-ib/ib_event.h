/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asynchronous events of adapters. They are noted in the adapter, the port or the rail that they
 * belong to. Nothing blocks. Thread: [any]. */
#ifndef WEFT_PLUGINS_NET_IB_EVENT_H
#define WEFT_PLUGINS_NET_IB_EVENT_H

#include "ib.h"

/* Takes the adapter's events and notes them where the owners look. */
void ib_events_take(ib_hca_t *hca);

/* The same for all adapters of a device. */
void ib_device_events_take(const weft_net_device_t *device);

#endif
