/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zero-copy messages: writing descriptors and checking them. */
#include "core/exec/zero_copy.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/landing.h"

static const weft_peer_windows_t *zero_copy_windows(const weft_mapped_port_t *mapped)
{
    return mapped->windows != NULL && mapped->windows->reach != NULL
               ? &mapped->windows->reach[mapped->port.peer]
               : NULL;
}

/* Describes bytes in the arena if the peer has it mapped, and offers it to a peer that has not
 * answered yet. */
static weft_zero_copy_t zero_copy_in_arena(weft_mapped_port_t *mapped, const void *payload,
                                           uint64_t bytes)
{
    weft_zero_copy_t at = {.window = 0};
    if (!weft_arena_find(payload, bytes, &at.offset, &at.offer)) {
        return at;
    }
    uint64_t token = at.offer.token;
    if (mapped->answer != token && mapped->answer != ~token) {
        /* Acquire is not needed: the answer is all there is. */
        mapped->answer = atomic_load_explicit(&mapped->control->arena, memory_order_relaxed);
    }
    if (mapped->answer == token) {
        at.window = WEFT_ARENA_WINDOW + 1;
    } else if (mapped->answer == ~token) {
        at.offer.token = 0;
    }
    return at;
}

weft_zero_copy_t weft_zero_copy_describe_arena(weft_port_t *port, const void *payload,
                                               uint64_t bytes)
{
    if (!weft_port_may_be_apart(port, bytes) || weft_mapped_port(port)->windows == NULL) {
        return (weft_zero_copy_t){.window = 0};
    }
    weft_zero_copy_t at = zero_copy_in_arena(weft_mapped_port(port), payload, bytes);
    weft_mapped_port(port)->windows->sent += at.window != 0;
    return at;
}

weft_zero_copy_t weft_zero_copy_describe(weft_port_t *port, const void *payload, uint64_t bytes)
{
    if (weft_message_port_sends_apart(port, bytes)) {
        return (weft_zero_copy_t){.window = WEFT_ZERO_COPY_HERE, .offset = (uintptr_t)payload};
    }
    if (!weft_port_may_be_apart(port, bytes) || weft_mapped_port(port)->windows == NULL) {
        return (weft_zero_copy_t){.window = 0};
    }
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    const weft_peer_windows_t *peer = zero_copy_windows(mapped);
    for (uint32_t w = 0; peer != NULL && w < WEFT_LANES_WINDOWS; w++) {
        uint64_t offset = (uintptr_t)payload - (uintptr_t)peer->mine[w].base;
        if (offset < peer->mine[w].bytes && bytes <= peer->mine[w].bytes - offset) {
            mapped->windows->sent++;
            return (weft_zero_copy_t){.window = w + 1, .offset = offset};
        }
    }
    return weft_zero_copy_describe_arena(port, payload, bytes);
}

/* Maps the arena that the peer offers, and answers. A peer has one arena at a time. */
static void zero_copy_answer(weft_mapped_port_t *mapped, const weft_arena_offer_t *offer)
{
    uint64_t token = offer->token;
    uint64_t answered = atomic_load_explicit(&mapped->control->arena, memory_order_relaxed);
    if (answered == token || answered == ~token || mapped->windows == NULL) {
        return;
    }
    weft_arena_import_t *import = weft_arena_import(offer);
    weft_arena_unimport(mapped->arena);
    mapped->arena = import;
    if (import == NULL) {
        weft_log(WEFT_LOG_INFO, "arena", "memory of rank %" PRIu32 " cannot be mapped: slots",
                 mapped->port.peer);
    }
    atomic_store_explicit(&mapped->control->arena, import != NULL ? token : ~token,
                          memory_order_relaxed);
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

static bool zero_copy_is_inside(const uint8_t *base, uint64_t window, const weft_zero_copy_t *at,
                                uint64_t bytes, size_t elem)
{
    return at->offset <= window && bytes <= window - at->offset &&
           ((uintptr_t)base + at->offset) % elem == 0;
}

/* Finds bytes in the peer's arena. */
static weft_status_t zero_copy_resolve_arena(weft_mapped_port_t *mapped, const weft_zero_copy_t *at,
                                             uint64_t bytes, size_t elem, const uint8_t **payload_p)
{
    weft_arena_import_t *arena = mapped->arena;
    if (arena == NULL || at->offer.token != arena->offer.token ||
        !zero_copy_is_inside(arena->shared.base, arena->shared.bytes, at, bytes, elem)) {
        return zero_copy_wrong(&mapped->port, at, bytes);
    }
    if (weft_zero_copy_is_withdrawn(&mapped->port)) {
        return WEFT_AGAIN;
    }
    if (!weft_arena_reach(arena, at->offset + bytes)) {
        return weft_fail(WEFT_ERR_RESOURCE, errno, "cannot use memory of rank %" PRIu32,
                         mapped->port.peer);
    }
    *payload_p = arena->shared.base + at->offset;
    return WEFT_OK;
}

weft_status_t weft_zero_copy_resolve(weft_port_t *port, uint64_t bytes, size_t elem,
                                     const uint8_t **payload_p)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    weft_zero_copy_t at; /* a copy: the peer can write shared memory at any time */
    memcpy(&at, weft_mapped_port_header(port)->payload, sizeof at);
    *payload_p = NULL;
    if (at.window == 0) {
        if (at.offer.token != 0) {
            zero_copy_answer(mapped, &at.offer);
        }
        return WEFT_OK;
    }
    if (at.window == WEFT_ARENA_WINDOW + 1) {
        return zero_copy_resolve_arena(mapped, &at, bytes, elem, payload_p);
    }
    if (at.window == WEFT_ZERO_COPY_LANDED) {
        *payload_p = weft_landing_take(mapped, bytes);
        return *payload_p != NULL ? WEFT_OK : zero_copy_wrong(port, &at, bytes);
    }
    const weft_peer_windows_t *peer = zero_copy_windows(mapped);
    if (peer == NULL || at.window > WEFT_LANES_WINDOWS) {
        return zero_copy_wrong(port, &at, bytes);
    }
    const weft_lanes_window_t *window = &peer->theirs[at.window - 1];
    if (!zero_copy_is_inside(window->base, window->bytes, &at, bytes, elem)) {
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

void weft_zero_copy_withdraw(weft_port_t *port)
{
    if (weft_port_is_mapped(port) && port->sends) {
        atomic_store_explicit(&weft_mapped_port(port)->control->withdrawn, 1, memory_order_relaxed);
        /* The caller's writes to its buffers come after this. */
        atomic_thread_fence(memory_order_seq_cst);
    }
}

void weft_zero_copy_abandon(weft_port_t *port)
{
    if (weft_port_is_mapped(port)) {
        weft_mapped_port_end_read(weft_mapped_port(port));
    }
}

void weft_zero_copy_count(weft_port_t *const *ports, uint32_t nports, uint64_t messages,
                          uint64_t whole)
{
    for (uint32_t i = 0; i < nports; i++) {
        if (weft_port_is_mapped(ports[i]) && weft_mapped_port(ports[i])->windows != NULL) {
            weft_mapped_port(ports[i])->windows->sent += messages;
            weft_mapped_port(ports[i])->windows->whole += whole;
            return;
        }
    }
}
