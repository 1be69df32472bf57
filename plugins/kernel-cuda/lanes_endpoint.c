/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of FIFOs: their pages are registered, and a word that host and device see holds the number
 * of the next message. Each run stores it there; runs read it only after the host has set it. */
#include "lanes_endpoint.h"

#include "cuda_device.h"
#include "cuda_memory.h"
#include "cuda_pool.h"
#include "lanes_protocol.h"
#include "lanes_seeks.h"
#include "lanes_types.h"

/* The spans of host memory that the device has to see: one if they touch, as registering takes
 * time. */
static void lanes_endpoint_end_spans(weft_lanes_endpoint_t *end, const weft_lanes_port_t *port)
{
    const uint64_t bytes = (port->slots - 1) * port->stride + port->slot_bytes;
    end->fifo = port->fifo;
    end->fifo_bytes = port->fifo_bytes;
    if (port->on_device != 0) {
        return;
    }
    const uintptr_t begin = (uintptr_t)port->fifo, at = (uintptr_t)port->payloads;
    if (at >= begin && at <= begin + port->fifo_bytes) {
        const uint64_t both = at - begin + bytes;
        end->fifo_bytes = both > end->fifo_bytes ? both : end->fifo_bytes;
    } else {
        end->payloads = port->payloads;
        end->payload_bytes = bytes;
    }
}

static weft_status_t lanes_endpoint_end_register(weft_lanes_endpoint_t *end)
{
    weft_status_t status =
        cuda_pages_register(end->kernel, end->fifo, end->fifo_bytes, &end->fifo_shift);
    if (status == WEFT_OK && end->payload_bytes > 0) {
        status = cuda_pages_register(end->kernel, end->payloads, end->payload_bytes,
                                     &end->payload_shift);
        if (status != WEFT_OK) {
            cuda_pages_unregister(end->kernel, end->fifo, end->fifo_bytes, end->fifo_shift);
        }
    }
    return status;
}

/* The port with the addresses that the device uses. */
static weft_lanes_port_t lanes_endpoint_shift(const weft_lanes_endpoint_t *end,
                                              const weft_lanes_port_t *port)
{
    weft_lanes_port_t there = *port;
    there.fifo += end->fifo_shift;
    if ((uintptr_t)port->lengths - (uintptr_t)port->fifo < end->fifo_bytes) {
        there.lengths = (uint32_t *)(void *)((uint8_t *)port->lengths + end->fifo_shift);
    }
    if (port->on_device == 0) {
        there.payloads += end->payload_bytes > 0 ? end->payload_shift : end->fifo_shift;
    }
    return there;
}

static void lanes_endpoint_end_forget(weft_lanes_endpoint_t *end)
{
    cuda_pages_unregister(end->kernel, end->fifo, end->fifo_bytes, end->fifo_shift);
    if (end->payload_bytes > 0) {
        cuda_pages_unregister(end->kernel, end->payloads, end->payload_bytes, end->payload_shift);
    }
    cuda_device_free(end->kernel, end->port.end);
    cuda_device_free(end->kernel, end->port.flagged.bench);
}

/* Makes what runs find of the end in memory of the device, once: captured runs read it at this
 * address, whatever becomes of the windows. */
static weft_status_t lanes_endpoint_end_near(weft_lanes_endpoint_t *end)
{
    void *memory = NULL;
    weft_status_t status = cuda_device_alloc(end->kernel, sizeof(lanes_end_t), &memory);
    if (status == WEFT_OK) {
        status = cuda_device_zero(end->kernel, memory, sizeof(lanes_end_t));
        end->port.end = memory;
    }
    return status;
}

/* Memory for a payload between flagged units and a combination, and how such payloads are sent. */
static weft_status_t lanes_endpoint_end_flagged(weft_lanes_endpoint_t *end, bool sends)
{
    lanes_flagged_t *flagged = &end->port.flagged;
    const uint64_t words = flagged->words.room, lines = flagged->lines.room;
    const uint64_t room = words > lines ? words : lines;
    void *bench = NULL;
    if (end->port.apart == 0 || room == 0) {
        return WEFT_OK;
    }
    weft_status_t status = cuda_device_alloc(end->kernel, room, &bench);
    flagged->bench = bench;
    if (status == WEFT_OK && sends) {
        lanes_protocol_choose(end->kernel, &end->port);
    }
    return status;
}

static weft_status_t lanes_endpoint_end_fill(weft_lanes_endpoint_t *end,
                                             const weft_lanes_port_t *port)
{
    weft_kernel_t *kernel = end->kernel;
    char why[160];
    uint64_t *at = cuda_word_alloc(kernel);
    if (at == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = WEFT_OK;
    if (!lanes_image_port(&end->port, port, at, why, sizeof why)) {
        status = kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0, "%s", why);
    } else {
        lanes_endpoint_end_spans(end, port);
        status = lanes_endpoint_end_register(end);
    }
    if (status == WEFT_OK) {
        const weft_lanes_port_t there = lanes_endpoint_shift(end, port);
        (void)lanes_image_port(&end->port, &there, at, why, sizeof why); /* looked at above */
    }
    if (status == WEFT_OK) {
        status = lanes_endpoint_end_near(end);
        status = status == WEFT_OK ? lanes_endpoint_end_flagged(end, port->sends != 0) : status;
        if (status != WEFT_OK) {
            lanes_endpoint_end_forget(end);
        }
    }
    if (status != WEFT_OK) {
        cuda_word_free(kernel, at);
    }
    return status;
}

weft_status_t lanes_endpoint_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                  weft_lanes_endpoint_t **end_p)
{
    cuda_guard_t guard;
    weft_lanes_endpoint_t *end = kernel->host->alloc(kernel->host, sizeof *end, 0);
    if (end == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    end->kernel = kernel;
    end->number = atomic_fetch_add(&kernel->counts.ends, 1) + 1;
    end->slot_bytes = port->slot_bytes;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = lanes_endpoint_end_fill(end, port);
        cuda_guard_leave(&guard);
    }
    if (status != WEFT_OK) {
        kernel->host->free(kernel->host, end);
        return status;
    }
    *end_p = end;
    return WEFT_OK;
}

void lanes_endpoint_close(weft_lanes_endpoint_t *end)
{
    cuda_guard_t guard;
    if (end == NULL) {
        return;
    }
    weft_kernel_t *kernel = end->kernel;
    if (cuda_guard_enter(kernel, &guard) == WEFT_OK) {
        lanes_endpoint_end_forget(end);
        cuda_word_free(kernel, end->port.at);
        cuda_guard_leave(&guard);
    }
    kernel->host->free(kernel->host, end);
}

weft_status_t lanes_endpoint_windows(weft_lanes_endpoint_t *end, const weft_lanes_window_t *windows)
{
    cuda_guard_t guard;
    lanes_windows_t table = {.count = 0};
    if (end->port.lengths != NULL) {
        return WEFT_OK;
    }
    for (uint32_t w = 0; w < WEFT_LANES_WINDOWS; w++) {
        table.window[w] = windows[w];
        table.count = windows[w].bytes > 0 ? w + 1 : table.count;
    }
    weft_status_t status = cuda_guard_enter(end->kernel, &guard);
    if (status == WEFT_OK) {
        status = cuda_device_write(end->kernel, &end->port.end->windows, &table, sizeof table);
        end->windows = table;
        cuda_guard_leave(&guard);
    }
    return status;
}

uint64_t lanes_endpoint_next(const weft_lanes_endpoint_t *end)
{
    return *end->port.at;
}

void lanes_endpoint_seek(weft_lanes_endpoint_t *end, uint64_t next)
{
    if (*end->port.at != next) {
        *end->port.at = next;
        lanes_seeks_count(end->kernel);
    }
}
