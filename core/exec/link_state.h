/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a link and the links of a communicator consist of. links.c makes and unmakes them,
 * with link_adapters.c and link_ports.c, and traffic.c uses them. */
#ifndef WEFT_EXEC_LINK_STATE_H
#define WEFT_EXEC_LINK_STATE_H

#include "core/exec/gpudirect_port.h"
#include "core/exec/link_table.h"
#include "core/exec/links_setup.h"
#include "core/exec/mapped_port.h"
#include "core/exec/pair_layout.h"

typedef enum weft_link_state { WEFT_LINK_CONNECTING, WEFT_LINK_READY } weft_link_state_t;

/* All kinds begin with the head. It is zero until the port is made. */
typedef union weft_link_port {
    weft_port_t head;
    weft_mapped_port_t mapped;
    weft_message_port_t message;
    weft_gpudirect_port_t gpudirect;
} weft_link_port_t;

typedef struct weft_link {
    weft_link_node_t node; /* peer and channel; the first member */
    struct weft_link *next;
    struct weft_link *next_pending;
    bool pending; /* listed, as progress has something to do for it */
    uint32_t transport;
    weft_link_state_t state;
    weft_net_conn_t *conn;
    uint32_t tries;     /* that failed at once */
    uint32_t moves;     /* to another device, as tries over this one failed */
    uint64_t begun;     /* this try */
    uint64_t retry_at;  /* conn NULL: when the next begins */
    weft_status_t lost; /* why it will not be tried again, or OK */
    bool offered;       /* only the peer has asked for it so far */
    bool asked[2];      /* somebody wants the port: receive, send */
    bool settled[2];    /* where its payloads lie: receive, send */
    weft_link_port_t send, receive;
} weft_link_t;

struct weft_links {
    weft_links_setup_t setup;
    weft_transports_user_t user;
    /* This communicator's adapters, made when first needed. */
    weft_net_device_t *adapter[WEFT_TRANSPORTS_MAX];
    bool gpudirect[WEFT_TRANSPORTS_MAX]; /* slots of its ports lie on the device */
    bool decided[WEFT_TRANSPORTS_MAX];   /* … or do not */
    weft_link_table_t table;
    weft_link_t *first;    /* of all */
    weft_link_t *pending;  /* those under way */
    weft_poll_list_t busy; /* message ports with work */
    weft_slot_pool_t pool; /* slots of mapped ports */
    uint64_t events;       /* so far: completions taken, connections made or accepted */
    uint32_t messages;     /* links that carry messages */
    uint32_t mapped;       /* links of shared memory */
    weft_error_t refused;  /* what is wrong with a connection that was taken for a peer, or OK */
    bool making;           /* somebody has waited for a link in this step */
    bool made_before;      /* … in the last one, and may do so later in this one */
    bool called;           /* peers may be connecting, of any communicator */
    uint64_t called_until; /* unless another comes, in nanoseconds */
    uint64_t listen_at;    /* when weft_links_listen() looks for them again, in nanoseconds */
};

/* Returns how many devices reach the peer of a link. */
static inline uint32_t weft_link_devices(const weft_links_t *links, const weft_link_t *link)
{
    uint32_t count;
    (void)weft_transports_spread(links->setup.transports, links->setup.family[link->node.peer],
                                 link->node.channel, 0, &count);
    return count;
}

/* Returns whether anybody has to hear of a failure of links to that rank: not if it has left, since
 * those who wait for it hear that. */
static inline bool weft_links_miss(const weft_links_t *links, uint32_t peer)
{
    const weft_leavers_t *leavers = &links->setup.leavers;
    return leavers->has_left == NULL || !leavers->has_left(leavers->arg, peer);
}

static inline const weft_transport_t *weft_links_transport(const weft_links_t *links, uint32_t i)
{
    return weft_transports_get(links->setup.transports, i);
}

/* Mapped connections live on the family's adapter, and so do those of a transport that cannot
 * attach: its only user is the first communicator. */
static inline bool weft_links_shares_adapter(const weft_transport_t *transport)
{
    return transport->map != NULL || transport->attach == NULL;
}

/* Serializes calls on an adapter that the family shares. */
static inline void weft_links_lock(weft_links_t *links, const weft_transport_t *transport)
{
    if (weft_links_shares_adapter(transport)) {
        weft_transports_lock(links->setup.transports);
    }
}

static inline void weft_links_unlock(weft_links_t *links, const weft_transport_t *transport)
{
    if (weft_links_shares_adapter(transport)) {
        weft_transports_unlock(links->setup.transports);
    }
}

/* What a mapped connection has room for. */
static inline weft_pair_layout_t weft_links_layout(const weft_links_t *links)
{
    return weft_pair_layout(&links->setup.fifo);
}

/* One direction is enough: the device may have had no memory for the other. */
static inline bool weft_link_is_gpudirect(const weft_link_t *link)
{
    return link->send.head.kind == WEFT_PORT_GPUDIRECT ||
           link->receive.head.kind == WEFT_PORT_GPUDIRECT;
}

#endif
