/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zero-copy messages: writing descriptors and checking them. */
#include "core/exec/zero_copy.h"

#include <inttypes.h>

#include "core/base/error.h"

static const weft_peer_windows_t *zero_copy_windows(const weft_mapped_port_t *mapped)
{
    return mapped->windows != NULL && mapped->windows->reach != NULL
               ? &mapped->windows->reach[mapped->port.peer]
               : NULL;
}

weft_zero_copy_t weft_zero_copy_describe(weft_port_t *port, const void *payload, uint64_t bytes)
{
    const weft_peer_windows_t *peer =
        weft_port_is_mapped(port) ? zero_copy_windows(weft_mapped_port(port)) : NULL;
    for (uint32_t w = 0; peer != NULL && w < WEFT_LANES_WINDOWS; w++) {
        uint64_t offset = (uintptr_t)payload - (uintptr_t)peer->mine[w].base;
        if (offset < peer->mine[w].bytes && bytes <= peer->mine[w].bytes - offset) {
            weft_mapped_port(port)->windows->sent++;
            return (weft_zero_copy_t){.window = w + 1, .offset = offset};
        }
    }
    return (weft_zero_copy_t){.window = 0};
}

static weft_status_t zero_copy_wrong(const weft_port_t *port, const weft_zero_copy_t *at,
                                     uint64_t bytes)
{
    weft_status_t status =
        weft_fail(WEFT_ERR_PROTO, 0,
                  "rank %" PRIu32 " says that %" PRIu64 " bytes are at %" PRIu64
                  " of its window %" PRIu64 ", which is not open here or ends before",
                  port->peer, bytes, at->offset, at->window - 1);
    weft_error_record()->peer = (int32_t)port->peer;
    return status;
}

weft_status_t weft_zero_copy_resolve(weft_port_t *port, uint64_t bytes, size_t elem,
                                     const uint8_t **payload_p)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    weft_zero_copy_t at; /* a copy: the peer can write shared memory at any time */
    memcpy(&at, mapped->headers[weft_port_slot(port)].payload, sizeof at);
    *payload_p = NULL;
    if (at.window == 0) {
        return WEFT_OK;
    }
    const weft_peer_windows_t *peer = zero_copy_windows(mapped);
    if (peer == NULL || at.window > WEFT_LANES_WINDOWS) {
        return zero_copy_wrong(port, &at, bytes);
    }
    const weft_lanes_window_t *window = &peer->theirs[at.window - 1];
    if (at.offset > window->bytes || bytes > window->bytes - at.offset ||
        ((uintptr_t)window->base + at.offset) % elem != 0) {
        return zero_copy_wrong(port, &at, bytes);
    }
    weft_import_t *import = peer->import[at.window - 1];
    if (import != NULL && !weft_import_begin_read(import)) {
        return WEFT_AGAIN;
    }
    mapped->reading = import;
    *payload_p = window->base + at.offset;
    return WEFT_OK;
}

void weft_zero_copy_abandon(weft_port_t *port)
{
    if (weft_port_is_mapped(port)) {
        weft_mapped_port_end_read(weft_mapped_port(port));
    }
}

void weft_zero_copy_count(weft_port_t *const *ports, uint32_t nports, uint64_t messages)
{
    for (uint32_t i = 0; i < nports; i++) {
        if (weft_port_is_mapped(ports[i]) && weft_mapped_port(ports[i])->windows != NULL) {
            weft_mapped_port(ports[i])->windows->sent += messages;
            return;
        }
    }
}
