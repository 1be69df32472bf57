/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port: one end of one FIFO of slots to a peer, in one direction. Two kinds behind one interface:
 * mapped (slots in shared memory, the executor reads and writes them in place) and message (slots
 * here, moved by the transport's post and poll). The payloads of a mapped port may be memory of a
 * device, and so may the slots of a message port, head and payload (direct.h): only the kernel's functions
 * follow what weft_port_payload() returns. */
#ifndef WEFT_EXEC_PORT_H
#define WEFT_EXEC_PORT_H

#include <stdbool.h>
#include <string.h>

#include <weft/plugin/net.h>

#include "core/exec/direct.h"
#include "core/exec/place.h"
#include "core/exec/windows.h"

/* In front of every message; the payload follows at the next cache line. */
typedef struct weft_message_head {
    weft_signature_t signature;
    uint64_t bytes;
    uint8_t pad[WEFT_LINE - 32];
} weft_message_head_t;

_Static_assert(sizeof(weft_message_head_t) == WEFT_LINE, "keeps payloads aligned");

typedef enum weft_slot_state {
    WEFT_SLOT_FREE = 0, /* send: may be filled */
    WEFT_SLOT_QUEUED,   /* filled (send) or empty (receive), not yet posted: counted in unposted */
    WEFT_SLOT_POSTED,   /* the transport's */
    WEFT_SLOT_READY     /* receive: filled and not yet consumed */
} weft_slot_state_t;

typedef struct weft_relay weft_relay_t;

/* One slot of a message port; the context of its posts. */
typedef struct weft_message_slot {
    weft_port_t *port;
    weft_message_head_t *head; /* in front of the payload; of a slot on the device, `copy` */
    weft_message_head_t copy;
    uint32_t state; /* weft_slot_state_t */
} weft_message_slot_t;

struct weft_port {
    uint64_t next;           /* number of the message to send or receive next */
    uint64_t limit;          /* send: messages below this number have a free slot */
    uint32_t mask;           /* slots − 1 */
    uint32_t sends;          /* 1: this end sends */
    weft_slot_head_t *heads; /* mapped: NULL for a message port */
    uint8_t *payloads;       /* of slot 0 */
    uint64_t stride;         /* from payload to payload */
    weft_fifo_control_t *control;
    uint64_t slot_bytes;
    uint32_t slots;
    uint32_t peer;        /* rank */
    weft_status_t broken; /* message: why the connection is unusable, or WEFT_OK */
    uint32_t unposted;    /* message: slots waiting to be posted, for lack of resources */
    uint64_t post_next;   /* message: number of the next slot to post */
    weft_message_slot_t *slot;
    const weft_net_ops_t *ops;
    weft_net_conn_t *conn;
    uint8_t *memory; /* message: slots */
    size_t memory_bytes;
    weft_net_region_t *region;   /* message: registration of the slots, or NULL; the caller's */
    const weft_direct_t *direct; /* message: whose memory the slots are; NULL: the host's */
    uint64_t fetched;    /* message on the device: copies of the heads below this number are here */
    weft_relay_t *relay; /* message: what a device knows of it, or NULL */
    weft_place_t place;  /* mapped: where the payloads lie; settled before the first message */
    weft_windows_t *windows; /* mapped: of the communicator, or NULL */
    uint64_t referred;       /* send: messages up to the last one by reference; 0: there was none */
    weft_lease_t *reading; /* receive: of the window that the next message is read from, or NULL */
    /* The end as a device knows it, from the first program on that binds to it; NULL: none does. Between
     * runs it holds the number of the next message, whoever moved the last one. */
    weft_lanes_end_t *end;
    const weft_kernel_lanes_t *device; /* of `end` */
};

/* `fifo` is the FIFO's place in shared memory. */
void weft_port_init_mapped(weft_port_t *port, uint32_t peer, bool sends, void *fifo, uint32_t slots,
                           uint64_t slot_bytes);
/* Agrees with the other end where the payloads lie: weft_place_step() for this port. */
weft_status_t weft_port_settle(weft_port_t *port);
/* Allocates the slots; weft_port_open is next. ERR_RESOURCE. */
weft_status_t weft_port_init_message(weft_port_t *port, uint32_t peer, bool sends,
                                     const weft_net_ops_t *ops, weft_net_conn_t *conn,
                                     uint32_t slots, uint64_t slot_bytes);
/* Takes slots on the device, `memory_bytes` of the kernel's alloc(), in place of those of a port that is not
 * open yet; they are the port's. */
void weft_port_go_direct(weft_port_t *port, const weft_direct_t *direct, void *memory);
/* Takes the registration of the slots, or NULL; a receive port posts them all. The transport's failure. */
weft_status_t weft_port_open(weft_port_t *port, weft_net_region_t *region);
void weft_port_fini(weft_port_t *port);

/* Takes a completion whose context is a weft_message_slot_t. */
void weft_port_complete(const weft_net_completion_t *completion);
/* Posts what could not be posted before. Returns the port's health. */
weft_status_t weft_port_flush(weft_port_t *port);
weft_status_t weft_port_post(weft_port_t *port);
/* Whether messages to send are still in our slots. */
bool weft_port_holds(const weft_port_t *port);

/* Hot path ---------------------------------------------------------------------------------------- */

/* Looks again how many slots the consumer has given back. */
static inline bool weft_port_refresh(weft_port_t *port)
{
    if (port->heads != NULL) {
        port->limit =
            atomic_load_explicit(&port->control->released, memory_order_acquire) + port->slots;
        /* A peer that lies can only make us overwrite its own slots. */
        return port->next < port->limit;
    }
    return port->slot[port->next & port->mask].state == WEFT_SLOT_FREE;
}

static inline bool weft_port_can_send(weft_port_t *port)
{
    return port->next < port->limit || weft_port_refresh(port);
}

/* Copies the head of the next message, which is on the device, here. False: the port broke. */
bool weft_port_fetch_head(weft_port_t *port);

static inline bool weft_port_can_receive(weft_port_t *port)
{
    uint32_t at = (uint32_t)port->next & port->mask;
    if (port->heads != NULL) {
        return atomic_load_explicit(&port->heads[at].sequence, memory_order_acquire) ==
               port->next + 1;
    }
    return port->slot[at].state == WEFT_SLOT_READY &&
           (port->direct == NULL || port->fetched > port->next || weft_port_fetch_head(port));
}

/* Where the payload of the next message is, or goes. */
static inline void *weft_port_payload(const weft_port_t *port, uint64_t bytes)
{
    uint32_t at = (uint32_t)port->next & port->mask;
    return port->heads != NULL && bytes <= WEFT_SLOT_INLINE
               ? (void *)port->heads[at].payload
               : (void *)(port->payloads + at * port->stride);
}

static inline const weft_signature_t *weft_port_signature(const weft_port_t *port)
{
    uint32_t at = (uint32_t)port->next & port->mask;
    return port->heads != NULL ? &port->heads[at].signature : &port->slot[at].head->signature;
}

void weft_port_wake_peer(weft_port_t *port);

/* Posts the next slot of a message port, with head and payload of `bytes` bytes as they are. */
static inline weft_status_t weft_port_push(weft_port_t *port, uint64_t bytes)
{
    weft_message_slot_t *slot = &port->slot[port->next & port->mask];
    slot->head->bytes = bytes;
    slot->state = WEFT_SLOT_QUEUED;
    port->next++;
    port->unposted++;
    return weft_port_post(port);
}

/* Puts the head of the next message, which is here, in front of its payload on the device. */
weft_status_t weft_port_store_head(weft_port_t *port);

/* Publishes the message whose payload was written, or is where `where` says; NULL: in the slot. */
static inline weft_status_t weft_port_send(weft_port_t *port, const weft_signature_t *signature,
                                           uint64_t bytes, const weft_reference_t *where)
{
    uint32_t at = (uint32_t)port->next & port->mask;
    if (port->heads != NULL) {
        weft_slot_head_t *head = &port->heads[at];
        head->signature = *signature;
        port->next++;
        if (bytes > WEFT_SLOT_INLINE) {
            static const weft_reference_t slot;
            memcpy(head->payload, where != NULL ? where : &slot, sizeof slot);
            port->referred = where != NULL && where->window != 0 ? port->next : port->referred;
        }
        atomic_store_explicit(&head->sequence, port->next, memory_order_release);
        if (atomic_load_explicit(&port->control->consumer_sleeps, memory_order_relaxed) != 0) {
            weft_port_wake_peer(port);
        }
        return WEFT_OK;
    }
    weft_message_head_t *head = port->slot[at].head;
    head->signature = *signature;
    head->bytes = bytes;
    weft_status_t status = port->direct != NULL ? weft_port_store_head(port) : WEFT_OK;
    return status == WEFT_OK ? weft_port_push(port, bytes) : status;
}

/* Whether every message by reference has been given back. */
static inline bool weft_port_returned(weft_port_t *port)
{
    if (port->referred != 0 && port->limit < port->referred + port->slots) {
        (void)weft_port_refresh(port);
    }
    return port->referred == 0 || port->limit >= port->referred + port->slots;
}

/* Gives the slot of the consumed message back. */
static inline weft_status_t weft_port_release(weft_port_t *port)
{
    uint32_t at = (uint32_t)port->next & port->mask;
    port->next++;
    if (port->reading != NULL) {
        weft_windows_leave(port);
    }
    if (port->heads != NULL) {
        atomic_store_explicit(&port->control->released, port->next, memory_order_release);
        if (atomic_load_explicit(&port->control->producer_sleeps, memory_order_relaxed) != 0) {
            weft_port_wake_peer(port);
        }
        return WEFT_OK;
    }
    port->slot[at].state = WEFT_SLOT_QUEUED;
    port->unposted++;
    return weft_port_post(port);
}

/* What: makes the port known to a device, unless it is. OK, or the device's failure. */
weft_status_t weft_port_lend(weft_port_t *port, const weft_kernel_lanes_t *device,
                             weft_kernel_t *kernel);
/* Tells a device that knows the port which windows its messages refer to. OK, or the device's failure. */
weft_status_t weft_port_show_windows(weft_port_t *port);
/* The device forgets it; before its memory goes. */
void weft_port_recall(weft_port_t *port);

/* Around a run of the host: takes the number of the next message from the device's end, and gives it
 * back. */
void weft_port_fetch(weft_port_t *port);
static inline void weft_port_store(const weft_port_t *port)
{
    if (port->end != NULL) {
        port->device->end_seek(port->end, port->next);
    }
}

/* Sleeps on a mapped port until its peer has moved it, or about `timeout_ns`. */
void weft_port_sleep(weft_port_t *port, uint64_t timeout_ns);

#endif
