/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by reference on a device: what the leader of a block says and believes of them. The table of a
 * port stays in its place and is changed only while no run is under way, so a recording sees it too. */
#ifndef KERNEL_CUDA_DEVICE_WINDOWS_H
#define KERNEL_CUDA_DEVICE_WINDOWS_H

#include "run.h"

#define LANES_NO_HOLDER UINT32_MAX

/* Where `bytes` bytes are in a window that the peer has open; window 0: nowhere. */
static WEFT_DEVICE lanes_reference_t lanes_refer(const lanes_port_t *port, const uint8_t *payload,
                                                 uint64_t bytes)
{
    lanes_reference_t at = {0, 0};
    const lanes_windows_t *windows = port->windows;
    for (uint32_t w = 0; w < port->count; w++) {
        const uint64_t offset = (uintptr_t)payload - (uintptr_t)windows->window[w].base;
        const uint64_t room = windows->window[w].bytes;
        if (offset < room && bytes <= room - offset) {
            at.window = w + 1;
            at.offset = offset;
            break;
        }
    }
    return at;
}

/* What such a message means here; NULL: nothing that may be read. */
static WEFT_DEVICE const uint8_t *lanes_meant(const lanes_port_t *port, const lanes_reference_t *at,
                                              uint64_t bytes, uint32_t elem)
{
    const lanes_windows_t *windows = port->windows;
    if (at->window > port->count) {
        return NULL;
    }
    const weft_lanes_window_t *window = &windows->window[at->window - 1];
    const uintptr_t there = (uintptr_t)window->base + at->offset;
    if (at->offset > window->bytes || bytes > window->bytes - at->offset || there % elem != 0) {
        return NULL;
    }
    return (const uint8_t *)there;
}

#endif
