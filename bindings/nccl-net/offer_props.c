/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_props.h. */
#include "offer_props.h"

#include <limits.h>

#define MOST_BYTES ((size_t)1 << 30) /* test() tells sizes as int */

int offer_props(int dev, weft_nccl_props_v12_t *props)
{
    offer_t *offer = offer_get();
    if (dev < 0 || (uint32_t)dev >= offer->ndevices) {
        return offer_refuse(WEFT_NCCL_INVALID_ARGUMENT, "getProperties: device %d of %u", dev,
                            offer->ndevices);
    }
    offer_device_t *device = &offer->devices[dev];
    const weft_net_props_t *mine = &device->props;
    uint64_t speed = mine->bandwidth / 125000;
    /* weft flushes with a kernel plugin, which is not here. */
    bool cuda = (mine->memory_kinds & WEFT_MEMORY_CUDA) != 0 && mine->flush_needed == 0;
    size_t most = mine->max_message < MOST_BYTES ? (size_t)mine->max_message : MOST_BYTES;
    *props = (weft_nccl_props_v12_t){
        .name = device->props.name,
        .pciPath = device->pci_path[0] != '\0' ? device->pci_path : NULL,
        .guid = (uint64_t)dev,
        .ptrSupport = WEFT_NCCL_PTR_HOST | (cuda ? WEFT_NCCL_PTR_CUDA : 0),
        .speed = speed < INT_MAX ? (int)speed : INT_MAX,
        .port = 1,
        .latency = (float)mine->latency_ns / 1000.0f,
        .maxComms = 65536,
        .maxRecvs = 1,
        .netDeviceType = WEFT_NCCL_DEVICE_HOST,
        .vProps = {.ndevs = 1, .devs = {dev}},
        .maxP2pBytes = most,
        .maxCollBytes = most,
        .maxMultiRequestSize = 1,
        .railId = mine->rail < INT16_MAX ? (int16_t)mine->rail : -1,
        .planeId = -1,
    };
    return WEFT_NCCL_SUCCESS;
}
