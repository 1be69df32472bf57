/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transports of one rank, shared by all communicators of its family: instances, listeners, addresses of
 * all ranks, and connections that came before their communicator asked for them. One lock guards what is
 * shared; it is taken while links are made, never while data moves. */
#ifndef WEFT_EXEC_NETS_H
#define WEFT_EXEC_NETS_H

#include <stdbool.h>

#include <weft/plugin/net.h>

#include "core/exec/place.h"
#include "core/os/os.h"
#include "core/plugin/registry.h"

#define WEFT_NETS_MAX 8

/* A transport in use, for links, cost model, tools and errors. */
typedef struct weft_links_net {
    const weft_loaded_t *loaded;
    const weft_net_ops_t *ops;
    const weft_net_map_t *map;       /* NULL: messages */
    const weft_net_attach_t *attach; /* NULL: messages for the first communicator only */
    const weft_net_dmabuf_t *dmabuf; /* NULL: registers no dma-buf */
    weft_net_t *net;
    weft_net_device_t
        *device; /* listens; mapped connections live on it; NULL: no usable device here */
    weft_net_listener_t *listener;
    weft_net_props_t props;
    weft_net_address_t address;
} weft_links_net_t;

/* What the connector tells the acceptor, under the authentication. Ranks are the communicator's. */
typedef struct weft_link_label {
    uint64_t comm_id;
    uint64_t slot_bytes;
    uint32_t from, to;
    uint32_t channel;
    uint32_t slots;
    uint8_t zero[WEFT_AUTH_LABEL - 32];
} weft_link_label_t;

_Static_assert(sizeof(weft_link_label_t) == WEFT_AUTH_LABEL, "fills the label");

/* One communicator that may be meant by a connection. */
typedef struct weft_nets_user {
    struct weft_nets_user *next;
    uint64_t comm_id;
    bool first; /* the family's first: it may use transports that cannot attach */
} weft_nets_user_t;

typedef struct weft_nets weft_nets_t;

/* Opens every listed transport's first device and listens. ERR_PLUGIN …, ERR_CONFIG (too many). */
weft_status_t weft_nets_create(const weft_registry_t *registry, uint32_t nranks, uint32_t rank,
                               weft_nets_t **nets_p);
void weft_nets_destroy(weft_nets_t *nets);

uint32_t weft_nets_count(const weft_nets_t *nets);
const weft_links_net_t *weft_nets_get(const weft_nets_t *nets, uint32_t i);

/* Bytes that every rank gives to every other: the addresses of its listeners. */
#define WEFT_LINKS_CARD (WEFT_NETS_MAX * sizeof(weft_net_address_t))
void weft_nets_card(const weft_nets_t *nets, uint8_t card[WEFT_LINKS_CARD]);
/* Takes the cards of all ranks in rank order and chooses the transport for each peer. *used_p: bit i
 * is set if net i serves some peer. ERR_LINK names the peer and the transports that cannot reach it. */
weft_status_t weft_nets_peers(weft_nets_t *nets, const uint8_t *cards, uint32_t *used_p);
/* Index of the transport that serves rank `peer` of the family; its address. */
uint32_t weft_nets_of(const weft_nets_t *nets, uint32_t peer);
void weft_nets_address(const weft_nets_t *nets, uint32_t peer, weft_net_address_t *address);

/* From enter to leave connections for user->comm_id are kept. Leaving closes those nobody claimed. */
void weft_nets_enter(weft_nets_t *nets, weft_nets_user_t *user);
void weft_nets_leave(weft_nets_t *nets, weft_nets_user_t *user);

/* Accepts what is there, then gives out one connection for `user`. AGAIN: none. */
weft_status_t weft_nets_accept(weft_nets_t *nets, const weft_nets_user_t *user, uint32_t *net_p,
                               weft_net_conn_t **conn_p, weft_link_label_t *label);

/* Takes a connection over mapped memory whose communicator ends here, with memory of this rank's device
 * that the peer may still have open: both are given up when the peer has done so too or is gone. What is
 * left of them goes with the transports. */
void weft_nets_keep(weft_nets_t *nets, uint32_t net, weft_net_conn_t *conn,
                    const weft_place_t *place);

/* Calls on a transport's shared device are made under this lock. */
void weft_nets_lock(weft_nets_t *nets);
void weft_nets_unlock(weft_nets_t *nets);

#endif
