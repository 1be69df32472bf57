/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message ports: slots of this rank whose contents a transport sends and receives. A message is
 * a header and a payload in one buffer. Slots are posted in order; a slot that the transport has
 * no resources for waits, with all behind it, until the next flush. */
#ifndef WEFT_EXEC_MESSAGE_PORT_H
#define WEFT_EXEC_MESSAGE_PORT_H

#include <weft/plugin/net.h>

#include "core/exec/poll_list.h"
#include "core/exec/slot.h"
#include "core/plugin/loader.h"

typedef enum weft_slot_state {
    WEFT_SLOT_FREE = 0, /* send: may be filled */
    WEFT_SLOT_QUEUED,   /* filled (send) or empty (receive), and not posted yet */
    WEFT_SLOT_POSTED,   /* owned by the transport */
    WEFT_SLOT_READY     /* receive: filled and not consumed yet */
} weft_slot_state_t;

typedef struct weft_message_port weft_message_port_t;

/* One slot; the context of its posts. */
typedef struct weft_message_slot {
    weft_message_port_t *port;
    uint32_t bytes; /* of the payload; receive: that it was placed for */
    uint32_t state; /* weft_slot_state_t */
    void *apart; /* where the payload is, or goes to if it has `bytes` bytes; NULL: in the slot */
} weft_message_slot_t;

typedef struct weft_message_port_params {
    const weft_loaded_t *loaded; /* for error texts */
    const weft_net_ops_t *net;
    const weft_net_payload_t *payload; /* NULL: payloads are copied through slots */
    weft_net_conn_t *conn;
    weft_poll_list_t *list; /* of the communicator; outlives the port */
    uint64_t slot_bytes;
    uint32_t slots; /* a power of two */
    uint32_t peer;
    bool sends;
    bool device; /* a device may run the lanes */
} weft_message_port_params_t;

struct weft_message_port {
    weft_port_t port;
    weft_message_slot_t *slot;
    weft_message_port_params_t params;
    uint8_t *memory; /* the slots */
    size_t memory_bytes;
    weft_net_region_t *region; /* registration of `memory`, or NULL; the caller's */
    uint64_t post_next;        /* number of the next slot to post */
    uint64_t placed;           /* messages below it have been asked for, if at all */
    uint32_t unposted;         /* slots in state QUEUED */
    weft_poll_entry_t entry;   /* listed while unposted, broken, or used by a proxy */
    struct weft_proxy *proxy;  /* of a device that uses the port, or NULL; see proxy.h */
    weft_error_t *why;         /* the record of what broke the port; NULL: none was written */
};

static inline weft_message_port_t *weft_message_port(weft_port_t *port)
{
    weft_assert(port->kind != WEFT_PORT_MAPPED);
    return (weft_message_port_t *)port;
}

static inline const weft_message_port_t *weft_message_port_const(const weft_port_t *port)
{
    weft_assert(port->kind != WEFT_PORT_MAPPED);
    return (const weft_message_port_t *)port;
}

/* Bytes of the slots of such a port. */
static inline size_t weft_message_port_bytes(uint32_t slots, uint64_t slot_bytes)
{
    return (sizeof(weft_message_header_t) + slot_bytes) * slots;
}

/* Makes a port with slots in host memory; weft_message_port_open() is next. ERR_RESOURCE. */
weft_status_t weft_message_port_init(weft_message_port_t *message,
                                     const weft_message_port_params_t *params);

/* Takes the registration of the slots, or NULL. A receive port posts all its slots. Returns the
 * failure of the connection. */
weft_status_t weft_message_port_open(weft_message_port_t *message, weft_net_region_t *region);

/* Payloads of this size and more go without a copy: below it one iovec more costs as much. */
#define WEFT_MESSAGE_APART 8192u

/* Returns whether the port can send a payload of that length from where it is. */
static inline bool weft_message_port_sends_apart(const weft_port_t *port, uint64_t bytes)
{
    return port->kind == WEFT_PORT_MESSAGE && bytes >= WEFT_MESSAGE_APART &&
           ((const weft_message_port_t *)port)->params.payload != NULL;
}

/* As weft_message_port_send(), for a payload that is not in the slot. It must not change until the
 * port holds no message any more (weft_port_holds() in port.h). */
weft_status_t weft_message_port_send_apart(weft_port_t *port, const weft_signature_t *signature,
                                           uint64_t bytes, const void *payload);

/* Asks that the payload of the message that is `ahead` messages behind the next one is received at
 * `to`, if it is `bytes` bytes long. weft_port_payload() tells where it is when it is here. */
void weft_message_port_place(weft_port_t *port, uint64_t ahead, void *to, uint64_t bytes);

/* The record of what broke the port; NULL: it is not broken, or there is none. Any port. It is the
 * port's. */
const weft_error_t *weft_message_port_why(const weft_port_t *port);
/* Puts that record, if there is one, in place of the thread's. */
void weft_message_port_recall(const weft_port_t *port);

/* Takes a completion whose context is a weft_message_slot_t. */
void weft_message_port_complete(const weft_net_completion_t *completion);

/* For the kinds of message ports and their proxies --------------------------------------------- */

/* As weft_message_port_init(), for slots in `memory`, which becomes the port's. ERR_RESOURCE: it
 * does not. */
weft_status_t weft_message_port_init_slots(weft_message_port_t *message, weft_port_kind_t kind,
                                           const weft_port_ops_t *ops,
                                           const weft_message_port_params_t *params,
                                           uint8_t *memory);
/* Leaves the list and frees all but the slots' memory. */
void weft_message_port_fini_slots(weft_message_port_t *message);

/* Queues the next slot and posts what can be posted. Sends: the message, of `bytes` bytes of
 * payload, is complete in its slot. Returns the failure of the connection. */
weft_status_t weft_message_port_push(weft_message_port_t *message, uint64_t bytes);
/* Breaks the port, so that every use and every poll tells it. Keeps the first failure, and the
 * thread's error record if it is of that status. */
void weft_message_port_break(weft_message_port_t *message, weft_status_t status);

/* Operations that tables of several kinds share (port_base.h). */
weft_status_t weft_message_port_send(weft_port_t *port, const weft_signature_t *signature,
                                     uint64_t bytes);
weft_status_t weft_message_port_release(weft_port_t *port);
bool weft_message_port_can_receive(weft_port_t *port);
const weft_signature_t *weft_message_port_signature(const weft_port_t *port);
weft_status_t weft_message_port_flush(weft_port_t *port, bool *moved_p);
void weft_message_port_fetch(weft_port_t *port);
bool weft_message_port_is_dry(const weft_port_t *port);
void weft_message_port_fini(weft_port_t *port);

#endif
