/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by reference: writing and checking them. */
#include "core/exec/windows.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/port.h"

static const weft_reach_t *reach_of(const weft_port_t *port)
{
    return port->windows != NULL && port->windows->reach != NULL ? &port->windows->reach[port->peer]
                                                                 : NULL;
}

weft_reference_t weft_windows_refer(const weft_port_t *port, const void *payload, uint64_t bytes)
{
    const weft_reach_t *reach = reach_of(port);
    for (uint32_t w = 0; reach != NULL && w < WEFT_LANES_WINDOWS; w++) {
        uint64_t offset = (uintptr_t)payload - (uintptr_t)reach->mine[w].base;
        if (offset < reach->mine[w].bytes && bytes <= reach->mine[w].bytes - offset) {
            return (weft_reference_t){.window = w + 1, .offset = offset};
        }
    }
    return (weft_reference_t){.window = 0};
}

static weft_status_t wrong(const weft_port_t *port, const weft_reference_t *at, uint64_t bytes)
{
    weft_status_t status =
        weft_fail(WEFT_ERR_PROTO, 0,
                  "rank %" PRIu32 " says that %" PRIu64 " bytes are at %" PRIu64
                  " of its window %" PRIu64 ", which is not open here or ends before",
                  port->peer, bytes, at->offset, at->window - 1);
    weft_error_record()->peer = (int32_t)port->peer;
    return status;
}

weft_status_t weft_windows_follow(weft_port_t *port, uint64_t bytes, size_t elem,
                                  const uint8_t **payload_p)
{
    weft_reference_t at; /* a copy: the peer can write shared memory at any time */
    memcpy(&at, port->heads[port->next & port->mask].payload, sizeof at);
    *payload_p = NULL;
    if (at.window == 0) {
        return WEFT_OK;
    }
    const weft_reach_t *reach = reach_of(port);
    if (reach == NULL || at.window > WEFT_LANES_WINDOWS) {
        return wrong(port, &at, bytes);
    }
    const weft_lanes_window_t *window = &reach->theirs[at.window - 1];
    if (at.offset > window->bytes || bytes > window->bytes - at.offset ||
        ((uintptr_t)window->base + at.offset) % elem != 0) {
        return wrong(port, &at, bytes);
    }
    weft_lease_t *lease = reach->lease[at.window - 1];
    if (lease != NULL && !weft_lease_enter(lease)) {
        return WEFT_AGAIN;
    }
    port->reading = lease;
    *payload_p = window->base + at.offset;
    return WEFT_OK;
}

void weft_windows_leave(weft_port_t *port)
{
    if (port->reading != NULL) {
        weft_lease_leave(port->reading);
        port->reading = NULL;
    }
}
