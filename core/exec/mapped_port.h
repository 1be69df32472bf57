/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped ports: a FIFO in memory that both ranks share. The executor reads and writes the slots
 * in place. The payloads may lie in memory of a device (payload_location.h), so only the
 * kernel's functions follow their addresses. */
#ifndef WEFT_EXEC_MAPPED_PORT_H
#define WEFT_EXEC_MAPPED_PORT_H

#include <string.h>

#include "core/exec/device_words.h"
#include "core/exec/payload_location.h"
#include "core/exec/peer_windows.h"
#include "core/exec/port_base.h"
#include "core/exec/slot.h"
#include "core/exec/slot_store.h"
#include "core/exec/store_trials.h"
#include "core/os/os.h"

/* What a receiving end has offered: weft_fifo_landing_t as this rank knows it. */
typedef struct weft_landing {
    uint64_t first; /* number of the first message; UINT64_MAX: nothing is offered */
    uint8_t *to;
    uint64_t bytes, slice;
} weft_landing_t;

typedef struct weft_mapped_port {
    weft_port_t port;
    weft_slot_header_t *headers; /* of slot 0; the others are header_stride bytes apart */
    uint64_t header_stride;
    uint32_t header_mask; /* headers − 1 */
    uint32_t ahead;       /* headers − slots: so many more small messages may be under way */
    uint64_t near_bytes;  /* payloads up to this size begin in the header's line */
    weft_fifo_control_t *control;
    uint64_t last_zero_copy; /* send: messages up to the last zero-copy one; 0: there was none */
    weft_import_t *reading; /* receive: of the window that the next message is read from, or NULL */
    uint8_t *small;         /* the area for small payloads; a place for each header */
    uint64_t small_bytes;   /* payloads up to this size are never zero-copy: they go there */
    uint64_t ready;         /* send: payloads up to this size may be written without a commit */
    weft_slot_store_t store;
    weft_store_trials_t trials; /* send: of messages between two ranks */
    weft_windows_t *windows;    /* of the communicator, or NULL */
    uint64_t answer; /* send: the peer's last answer to an offer of our arena; 0: there was none */
    weft_arena_import_t *arena;       /* the peer's, or NULL */
    uint64_t refused;                 /* send: token of an arena that could not be mapped */
    weft_landing_t landing;           /* receive */
    weft_payload_location_t location; /* settled before the first message */
    weft_device_words_t words;        /* if it is settled on a device */
} weft_mapped_port_t;

/* Makes an end of the FIFO at `fifo`, in shared memory. The caller keeps the memory. */
void weft_mapped_port_init(weft_mapped_port_t *mapped, uint32_t peer, bool sends, void *fifo,
                           uint32_t slots, uint64_t slot_bytes);

/* Moves the payloads: those of up to `small_bytes` of the shape into places of that size at
 * `small`, one for each header, and the smallest of them behind headers that are further apart
 * (WEFT_SLOT_NEAR_STRIDE); all others into slots at `slots`. small_bytes 0: all lie there. Both
 * ends do it alike. */
void weft_mapped_port_set_payloads(weft_mapped_port_t *mapped, const weft_fifo_shape_t *shape,
                                   uint8_t *small, uint8_t *slots);

/* Agrees with the other end where the payloads lie. OK: settled; IN_PROGRESS; ERR_PROTO, with the
 * peer. */
weft_status_t weft_mapped_port_settle(weft_mapped_port_t *mapped);

/* Sleeps until a peer has moved one of the ports, all of them mapped, or for about `timeout_ns`.
 * Returns false, at once, where the system cannot wait for so many. */
bool weft_mapped_ports_sleep(weft_port_t *const *ports, uint32_t count, uint64_t timeout_ns);
/* Fills in what such a sleep waits for, one word for each port, for a caller that gives the
 * communicator away meanwhile. Returns `count`; 0: one of them has moved already. */
uint32_t weft_mapped_ports_watch(weft_port_t *const *ports, uint32_t count, weft_os_futex_t *words);

void weft_mapped_port_wake_peer(weft_mapped_port_t *mapped);

/* Releases greetings of a device (weft/plugin/draft/lanes.h), which say nothing to a host. Returns
 * whether the message behind them is there. */
bool weft_mapped_port_pass_greetings(weft_port_t *port);

/* Describes the port to a device. Headers are WEFT_FIFO_HEADER_BYTES apart where a rank has one. */
void weft_mapped_port_describe(const weft_mapped_port_t *mapped, weft_lanes_port_t *port);

static inline weft_mapped_port_t *weft_mapped_port(weft_port_t *port)
{
    weft_assert(port->kind == WEFT_PORT_MAPPED);
    return (weft_mapped_port_t *)port;
}

static inline const weft_mapped_port_t *weft_mapped_port_const(const weft_port_t *port)
{
    weft_assert(port->kind == WEFT_PORT_MAPPED);
    return (const weft_mapped_port_t *)port;
}

/* Hot path ------------------------------------------------------------------------------------- */

/* Returns the number of the next message's header. weft_port_slot() is that of its slot. */
static inline uint32_t weft_mapped_port_place(const weft_port_t *port)
{
    return (uint32_t)port->next & weft_mapped_port_const(port)->header_mask;
}

/* Returns the header of the next message. */
static inline weft_slot_header_t *weft_mapped_port_header(const weft_port_t *port)
{
    const weft_mapped_port_t *mapped = weft_mapped_port_const(port);
    if (mapped->words.copied == port->next + 1) {
        return (weft_slot_header_t *)&mapped->words.header;
    }
    return (weft_slot_header_t *)(void *)((uint8_t *)mapped->headers +
                                          weft_mapped_port_place(port) * mapped->header_stride);
}

/* Returns whether what is there is a greeting. */
static inline bool weft_mapped_port_is_greeted(const weft_port_t *port)
{
    return weft_mapped_port_header(port)->signature.greets != 0;
}

/* Returns where a payload of up to near_bytes is, or goes. */
static inline uint8_t *weft_mapped_port_near(const weft_port_t *port)
{
    return (uint8_t *)weft_mapped_port_header(port) + offsetof(weft_slot_header_t, payload);
}

/* Looks again how many messages have been released. Returns whether the next slot is free. */
static inline bool weft_mapped_port_refresh(weft_port_t *port)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    uint64_t released = atomic_load_explicit(&mapped->control->released, memory_order_acquire);
    if (mapped->words.released != NULL) {
        released = weft_device_words_released(&mapped->words, released);
    }
    port->limit = released + port->slots;
    /* A peer that lies can only make us overwrite its own slots. */
    return port->next < port->limit;
}

/* Returns whether a message of `bytes` may be sent. A small one needs no slot. */
static inline bool weft_mapped_port_can_send(weft_port_t *port, uint64_t bytes)
{
    const weft_mapped_port_t *mapped = weft_mapped_port_const(port);
    uint32_t ahead = bytes <= mapped->small_bytes ? mapped->ahead : 0;
    return port->next < port->limit + ahead || weft_mapped_port_refresh(port) ||
           port->next < port->limit + ahead;
}

/* Returns whether a message or a greeting is there. */
static inline bool weft_mapped_port_is_told(weft_port_t *port)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    const weft_slot_header_t *header = weft_mapped_port_header(port);
    return atomic_load_explicit(&header->sequence, memory_order_acquire) == port->next + 1 ||
           (mapped->words.headers != NULL &&
            weft_device_words_receive(&mapped->words, port->next, weft_port_slot(port)));
}

static inline bool weft_mapped_port_can_receive(weft_port_t *port)
{
    return weft_mapped_port_is_told(port) &&
           (!weft_mapped_port_is_greeted(port) || weft_mapped_port_pass_greetings(port));
}

/* Makes sure that a payload can be written to the next slot. ERR_RESOURCE, with the peer. */
static inline weft_status_t weft_mapped_port_commit(weft_mapped_port_t *mapped, uint64_t bytes)
{
    return bytes <= mapped->ready ? WEFT_OK : mapped->store.ops->commit(mapped, bytes);
}

/* Publishes the next message. Its payload is in the slot, or where `where` says. */
static inline void weft_mapped_port_send(weft_port_t *port, const weft_signature_t *signature,
                                         uint64_t bytes, const weft_zero_copy_t *where)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    weft_slot_header_t *header = weft_mapped_port_header(port);
    header->signature = *signature;
    port->next++;
    if (bytes > mapped->small_bytes) {
        static const weft_zero_copy_t slot;
        memcpy(header->payload, where != NULL ? where : &slot, sizeof slot);
        if (where != NULL && where->window != 0 && where->window != WEFT_ZERO_COPY_LANDED) {
            mapped->last_zero_copy = port->next;
        }
    }
    atomic_store_explicit(&header->sequence, port->next, memory_order_release);
    if (atomic_load_explicit(&mapped->control->consumer_sleeps, memory_order_relaxed) != 0) {
        weft_mapped_port_wake_peer(mapped);
    }
}

/* Ends the read of a window that zero_copy.h began, if any. */
static inline void weft_mapped_port_end_read(weft_mapped_port_t *mapped)
{
    if (mapped->reading != NULL) {
        weft_import_end_read(mapped->reading);
        mapped->reading = NULL;
    }
}

static inline void weft_mapped_port_release(weft_port_t *port)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    port->next++;
    weft_mapped_port_end_read(mapped);
    atomic_store_explicit(&mapped->control->released, port->next, memory_order_release);
    if (atomic_load_explicit(&mapped->control->producer_sleeps, memory_order_relaxed) != 0) {
        weft_mapped_port_wake_peer(mapped);
    }
}

/* Returns whether the peer has released every zero-copy message. */
static inline bool weft_mapped_port_is_returned(weft_port_t *port)
{
    uint64_t last_zero_copy = weft_mapped_port(port)->last_zero_copy;
    if (last_zero_copy != 0 && port->limit < last_zero_copy + port->slots) {
        (void)weft_mapped_port_refresh(port);
    }
    return last_zero_copy == 0 || port->limit >= last_zero_copy + port->slots;
}

#endif
