/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Committing slots by need, and giving them back. */
#include "core/exec/slot_pool.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_shared.h"

/* From this size on a port is likely to go round all its slots: they are committed together, so
 * that the host may use huge pages. */
#define WHOLE_RING_BYTES (UINT64_C(128) << 10)

/* Returns what the payload takes of the host: whole pages, of 64 KiB on many hosts of AArch64. */
static uint64_t pool_round_up(uint64_t bytes)
{
    const uint64_t page = weft_os_page_bytes();
    return (bytes + page - 1) / page * page;
}

/* Returns whether the peer has consumed everything that was sent. */
static bool pool_port_is_idle(weft_mapped_port_t *port)
{
    (void)weft_mapped_port_refresh(&port->port);
    return port->port.limit == port->port.next + port->port.slots;
}

static void pool_remove(weft_slot_pool_t *pool, weft_mapped_port_t **link,
                        weft_mapped_port_t *before)
{
    weft_mapped_port_t *port = *link;
    *link = port->store.next;
    pool->newest = pool->newest == port ? before : pool->newest;
    pool->committed -= port->store.held;
    port->store.held = 0;
    port->store.listed = false;
}

static void pool_append(weft_slot_pool_t *pool, weft_mapped_port_t *port)
{
    port->store.next = NULL;
    port->store.listed = true;
    if (pool->newest == NULL) {
        pool->oldest = port;
    } else {
        pool->newest->store.next = port;
    }
    pool->newest = port;
}

/* Sets what may be written to any slot without a further look. */
static void pool_set_ready(weft_mapped_port_t *port)
{
    const weft_slot_store_t *store = &port->store;
    uint64_t least = store->room[0];
    for (uint32_t i = 1; i < port->port.slots; i++) {
        least = store->room[i] < least ? store->room[i] : least;
    }
    uint64_t small = store->small_ready ? port->small_bytes : port->near_bytes;
    port->ready = least > small ? least : small;
}

static void pool_give_back(weft_slot_pool_t *pool, weft_mapped_port_t *port)
{
    weft_slot_store_t *store = &port->store;
    store->map->discard(store->conn, store->slots_at, port->port.slots * port->port.stride);
    pool->given_back += store->held;
    memset(store->room, 0, port->port.slots * sizeof *store->room);
    pool_set_ready(port);
}

/* Gives the slots of idle ports back until `bytes` more fit, the longest held first. */
static void pool_make_room(weft_slot_pool_t *pool, const weft_mapped_port_t *wants, uint64_t bytes)
{
    weft_mapped_port_t *before = NULL;
    weft_mapped_port_t **link = &pool->oldest;
    while (*link != NULL && pool->committed + bytes > pool->limit) {
        weft_mapped_port_t *port = *link;
        if (port != wants && pool_port_is_idle(port)) {
            pool_give_back(pool, port);
            pool_remove(pool, link, before);
        } else {
            before = port;
            link = &port->store.next;
        }
    }
}

void weft_slot_pool_sweep(weft_slot_pool_t *pool)
{
    weft_mapped_port_t *before = NULL;
    weft_mapped_port_t **link = &pool->oldest;
    while (*link != NULL) {
        weft_mapped_port_t *port = *link;
        bool quiet = port->store.seen == port->port.next;
        port->store.seen = port->port.next;
        if (quiet && pool_port_is_idle(port)) {
            pool_give_back(pool, port);
            pool_remove(pool, link, before);
        } else {
            before = port;
            link = &port->store.next;
        }
    }
}

void weft_slot_pool_look(weft_slot_pool_t *pool, uint64_t now)
{
    if (now - pool->swept >= WEFT_SLOT_IDLE_NS) {
        pool->swept = now;
        weft_slot_pool_sweep(pool);
    }
}

static weft_status_t pool_commit_range(weft_mapped_port_t *port, uint64_t offset, uint64_t bytes)
{
    weft_status_t status = port->store.map->commit(port->store.conn, offset, bytes);
    if (status != WEFT_OK) {
        weft_error_record()->peer = (int32_t)port->port.peer;
    }
    return status;
}

static weft_status_t pool_commit_small(weft_mapped_port_t *port)
{
    weft_slot_store_t *store = &port->store;
    if (store->small_ready || port->small_bytes <= port->near_bytes) {
        return WEFT_OK;
    }
    weft_status_t status = pool_commit_range(port, store->small_at,
                                             (port->header_mask + UINT64_C(1)) * port->small_bytes);
    store->small_ready = status == WEFT_OK;
    return status;
}

/* Commits `room` bytes of `count` slots from slot `first` on. */
static weft_status_t pool_commit_slots(weft_mapped_port_t *port, uint32_t first, uint32_t count,
                                       uint64_t room)
{
    weft_slot_store_t *store = &port->store;
    weft_slot_pool_t *pool = store->pool;
    uint64_t more = count * room;
    for (uint32_t i = first; i < first + count; i++) {
        more -= store->room[i];
    }
    if (pool->limit != 0 && pool->committed + more > pool->limit) {
        pool_make_room(pool, port, more);
    }
    weft_status_t status = pool_commit_range(port, store->slots_at + first * port->port.stride,
                                             (count - 1) * port->port.stride + room);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = first; i < first + count; i++) {
        store->room[i] = room;
    }
    store->held += more;
    pool->committed += more;
    pool->peak = pool->committed > pool->peak ? pool->committed : pool->peak;
    if (!store->listed) {
        pool_append(pool, port);
    }
    return WEFT_OK;
}

static weft_status_t pool_commit(weft_mapped_port_t *port, uint64_t bytes)
{
    uint64_t stride = port->port.stride, room = pool_round_up(bytes);
    uint32_t at = weft_port_slot(&port->port);
    weft_status_t status = pool_commit_small(port);
    if (status == WEFT_OK && bytes > port->small_bytes && bytes > port->store.room[at]) {
        bool whole = bytes >= WHOLE_RING_BYTES;
        room = whole || room > stride ? stride : room;
        status = whole ? pool_commit_slots(port, 0, port->port.slots, room)
                       : pool_commit_slots(port, at, 1, room);
    }
    if (status == WEFT_OK) {
        pool_set_ready(port);
    }
    return status;
}

static void pool_leave(weft_mapped_port_t *port)
{
    weft_slot_pool_t *pool = port->store.pool;
    if (port->store.listed) {
        weft_mapped_port_t *before = NULL;
        weft_mapped_port_t **link = &pool->oldest;
        while (*link != port) {
            before = *link;
            link = &before->store.next;
        }
        pool_remove(pool, link, before);
    }
    weft_os_free(port->store.room);
    port->store = (weft_slot_store_t){.pool = NULL};
}

static const weft_slot_store_ops_t pool_ops = {.commit = pool_commit, .leave = pool_leave};

weft_status_t weft_slot_pool_join(weft_slot_pool_t *pool, weft_mapped_port_t *port,
                                  const weft_slot_store_t *store)
{
    port->store = *store;
    port->store.pool = pool;
    port->store.ops = &pool_ops;
    port->store.room = weft_os_alloc(port->port.slots * sizeof *port->store.room, 0);
    if (port->store.room == NULL) {
        port->store.pool = NULL;
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a port to rank %u",
                         port->port.peer);
    }
    port->ready = port->near_bytes;
    return WEFT_OK;
}
