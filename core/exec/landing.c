/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Landings: offers, and the looks at them. */
#include "core/exec/landing.h"

#include <inttypes.h>

#include "core/base/log.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

#define PATIENT_NS WEFT_NS_PER_S
#define LOOK_NS (WEFT_NS_PER_S / 1000) /* from then on the sender's process is looked at */

static void landing_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t landing_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

void weft_landing_offer(weft_port_t *port, const weft_landing_chunk_t *chunk)
{
    weft_arena_offer_t arena;
    uint64_t offset;
    if (!weft_port_is_mapped(port) || weft_mapped_port(port)->windows == NULL ||
        !weft_arena_find(chunk->to, chunk->bytes, &offset, &arena)) {
        return;
    }
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    weft_fifo_landing_t *l = &mapped->control->landing;
    /* Every chunk has its messages, an empty one too, so the number grows from offer to offer. A
     * sender that finds it as it was before and behind the other words has read one offer. */
    weft_assert(mapped->landing.first == UINT64_MAX ||
                mapped->landing.first < port->next + chunk->ahead);
    mapped->landing = (weft_landing_t){.first = port->next + chunk->ahead,
                                       .to = chunk->to,
                                       .bytes = chunk->bytes,
                                       .slice = chunk->slice};
    landing_set(&l->first, 0);
    atomic_thread_fence(memory_order_release);
    landing_set(&l->offset, offset);
    landing_set(&l->bytes, chunk->bytes);
    landing_set(&l->slice, chunk->slice);
    landing_set(&l->where, (uint64_t)(uint32_t)arena.pid << 32 | (uint32_t)arena.fd);
    landing_set(&l->token, arena.token);
    atomic_store_explicit(&l->first, mapped->landing.first + 1, memory_order_release);
}

/* Returns where slice number `at` of a chunk begins. UINT64_MAX: it has no such slice, or not of
 * that length. */
static uint64_t landing_slice(uint64_t chunk, uint64_t slice, uint64_t at, uint64_t bytes)
{
    if (slice == 0 || at > chunk / slice || at * slice == chunk) {
        return UINT64_MAX;
    }
    uint64_t left = chunk - at * slice;
    return bytes == (left < slice ? left : slice) ? at * slice : UINT64_MAX;
}

const uint8_t *weft_landing_take(const weft_mapped_port_t *mapped, uint64_t bytes)
{
    const weft_landing_t *l = &mapped->landing;
    if (mapped->port.next < l->first) {
        return NULL;
    }
    uint64_t offset = landing_slice(l->bytes, l->slice, mapped->port.next - l->first, bytes);
    return offset != UINT64_MAX ? l->to + offset : NULL;
}

void weft_landing_withdraw(weft_port_t *port)
{
    if (!weft_port_is_mapped(port) || weft_mapped_port(port)->landing.first == UINT64_MAX) {
        return;
    }
    weft_fifo_control_t *control = weft_mapped_port(port)->control;
    uint64_t begun = weft_os_clock_ns(), waited = 0;
    uint32_t turns = 0;
    weft_mapped_port(port)->landing.first = UINT64_MAX;
    /* Either the sender sees this, or this sees the sender. */
    landing_set(&control->landing.first, 0);
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t writer = atomic_load_explicit(&control->writes, memory_order_acquire);
    while (writer != 0 && waited < PATIENT_NS &&
           (waited < LOOK_NS || weft_os_process_runs((int32_t)writer, 0))) {
        weft_os_give_way(&turns);
        waited = weft_os_clock_ns() - begun;
        writer = atomic_load_explicit(&control->writes, memory_order_acquire);
    }
    if (waited >= PATIENT_NS) {
        weft_log(WEFT_LOG_WARN, "landing",
                 "rank %" PRIu32 " has been writing a result into memory of this rank for a second "
                 "and may go on; was it stopped?",
                 port->peer);
    }
}

/* Maps the arena of an offer, unless that is done. NULL: not possible. */
static weft_arena_import_t *landing_arena(weft_mapped_port_t *mapped, uint64_t where,
                                          uint64_t token)
{
    if (mapped->arena != NULL && mapped->arena->offer.token == token) {
        return mapped->arena;
    }
    if (mapped->refused == token) {
        return NULL;
    }
    weft_arena_offer_t offer = {
        .pid = (int32_t)(uint32_t)(where >> 32), .fd = (int32_t)(uint32_t)where, .token = token};
    weft_arena_unimport(mapped->arena);
    mapped->arena = weft_arena_import(&offer);
    mapped->refused = mapped->arena == NULL ? token : mapped->refused;
    return mapped->arena;
}

uint8_t *weft_landing_begin(weft_port_t *port, uint64_t bytes, size_t elem)
{
    if (!weft_port_is_mapped(port) || weft_mapped_port(port)->windows == NULL) {
        return NULL;
    }
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    weft_fifo_landing_t *l = &mapped->control->landing;
    uint64_t first = atomic_load_explicit(&l->first, memory_order_acquire);
    if (first == 0 || port->next < first - 1) {
        return NULL;
    }
    /* Copies: the peer can write shared memory at any time. */
    uint64_t chunk = landing_get(&l->bytes), slice = landing_get(&l->slice);
    uint64_t base = landing_get(&l->offset);
    uint64_t where = landing_get(&l->where), token = landing_get(&l->token);
    uint64_t offset = landing_slice(chunk, slice, port->next - (first - 1), bytes);
    atomic_thread_fence(memory_order_acquire);
    if (offset == UINT64_MAX || token == 0 || landing_get(&l->first) != first) {
        return NULL;
    }
    weft_arena_import_t *arena = landing_arena(mapped, where, token);
    if (arena == NULL || base > arena->shared.bytes || chunk > arena->shared.bytes - base ||
        (base + offset) % elem != 0 || !weft_arena_reach(arena, base + chunk)) {
        return NULL;
    }
    atomic_store_explicit(&mapped->control->writes, (uint32_t)weft_os_pid(), memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (landing_get(&l->first) != first) {
        weft_landing_end(port);
        return NULL;
    }
    mapped->windows->landed++;
    return arena->shared.base + base + offset;
}
