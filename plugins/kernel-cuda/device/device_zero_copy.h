/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zero-copy descriptors on a device: how the leader of a block makes and checks them. The table of
 * a port keeps its address and changes only while no run executes, so that captured runs see it
 * too. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_ZERO_COPY_H
#define KERNEL_CUDA_DEVICE_DEVICE_ZERO_COPY_H

#include "run.h"

#define LANES_NOT_STABLE UINT32_MAX

/* Makes the descriptor of `bytes` bytes. Its window is 0 if they are in no window that the peer has
 * open. */
static WEFT_DEVICE lanes_zero_copy_t lanes_zero_copy_make(const lanes_port_t *port,
                                                          const uint8_t *payload, uint64_t bytes)
{
    lanes_zero_copy_t at = {0, 0};
    const lanes_windows_t *windows = &port->end->windows;
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

/* Returns the address that a descriptor names here, or NULL if it is invalid. */
static WEFT_DEVICE const uint8_t *lanes_zero_copy_target(const lanes_port_t *port,
                                                         const lanes_zero_copy_t *at,
                                                         uint64_t bytes, uint32_t elem)
{
    const lanes_windows_t *windows = &port->end->windows;
    if (at->window - 1 >= port->count) {
        return NULL;
    }
    const weft_lanes_window_t *window = &windows->window[at->window - 1];
    const uintptr_t there = (uintptr_t)window->base + at->offset;
    if (at->offset > window->bytes || bytes > window->bytes - at->offset ||
        (there & (elem - 1)) != 0) {
        return NULL;
    }
    return (const uint8_t *)there;
}

#endif
