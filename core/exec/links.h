/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: the connections of one communicator, made when a plan first needs them. A link joins two
 * ranks on one channel and carries a port in each direction. The lower rank connects, over the first
 * transport of the INI that can reach the peer; the higher rank accepts on all of them. */
#ifndef WEFT_EXEC_LINKS_H
#define WEFT_EXEC_LINKS_H

#include "core/exec/port.h"
#include "core/plugin/registry.h"

#define WEFT_NETS_MAX 8

typedef struct weft_links weft_links_t;

/* A transport in use, for cost model, tools and errors. */
typedef struct weft_links_net {
    const weft_loaded_t *loaded;
    const weft_net_ops_t *ops;
    const weft_net_map_t *map; /* NULL: messages */
    weft_net_t *net;
    weft_net_device_t *device; /* NULL: no usable device here */
    weft_net_listener_t *listener;
    weft_net_props_t props;
    weft_net_address_t address;
} weft_links_net_t;

typedef struct weft_links_setup {
    const weft_registry_t *registry;
    uint32_t nranks, rank;
    uint64_t comm_id;
} weft_links_setup_t;

/* Opens every listed transport's first device and listens. ERR_PLUGIN …, ERR_ARG (too many nets). */
weft_status_t weft_links_create(const weft_links_setup_t *setup, weft_links_t **links_p);
void weft_links_destroy(weft_links_t *links);

uint32_t weft_links_nets(const weft_links_t *links);
const weft_links_net_t *weft_links_net(const weft_links_t *links, uint32_t i);

/* Bytes that every rank gives to every other: the addresses of its listeners. */
#define WEFT_LINKS_CARD (WEFT_NETS_MAX * sizeof(weft_net_address_t))
void weft_links_card(const weft_links_t *links, uint8_t card[WEFT_LINKS_CARD]);
/* Takes the cards of all ranks in rank order and chooses the transport for each peer. *used_p: bit i
 * is set if net i serves some peer. ERR_LINK names the peer and the transports that cannot reach it. */
weft_status_t weft_links_peers(weft_links_t *links, const uint8_t *cards, uint32_t *used_p);
/* Depth and size of all slots; equal on all ranks. slots is a power of two. */
void weft_links_slots(weft_links_t *links, uint32_t slots, uint64_t slot_bytes);

/* The port to or from `peer` on `channel`; begins to connect where this rank must. NULL while the link
 * is not ready. A failure is kept and told by weft_links_progress. */
weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends);

/* Advances connections under way and accepts new ones. */
weft_status_t weft_links_progress(weft_links_t *links);
/* Takes completions of all message transports. */
weft_status_t weft_links_poll(weft_links_t *links);
/* True if some link carries messages, that is if weft_links_poll has to be called. */
bool weft_links_have_messages(const weft_links_t *links);
/* A descriptor that becomes readable when weft_links_poll may find something. AGAIN: there is something
 * already. ERR_UNSUPPORTED: no message transport, more than one, or one that cannot tell. */
weft_status_t weft_links_wait_fd(weft_links_t *links, int *fd_p);
/* Looks whether the peer of a port is still there. */
weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port);
/* Name of the transport that serves `peer`. */
const char *weft_links_transport(const weft_links_t *links, uint32_t peer);
/* Posts sends and receives that had to wait for resources, on all links. */
weft_status_t weft_links_flush(weft_links_t *links);

#endif
