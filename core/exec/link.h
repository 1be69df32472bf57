/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a link and the links of a communicator consist of: made and unmade in links.c, used in traffic.c. */
#ifndef WEFT_EXEC_LINK_H
#define WEFT_EXEC_LINK_H

#include "core/exec/links.h"

typedef enum weft_link_state { WEFT_LINK_CONNECTING, WEFT_LINK_READY } weft_link_state_t;

typedef struct weft_link {
    struct weft_link *next;
    uint32_t peer, channel;
    uint32_t net;
    weft_link_state_t state;
    weft_net_conn_t *conn;
    uint32_t tries;     /* that failed at once */
    uint64_t begun;     /* this try */
    uint64_t retry_at;  /* conn NULL: when the next begins */
    weft_status_t lost; /* why it will not be tried again, or OK */
    bool asked[2];      /* somebody wants the port: receive, send */
    weft_port_t send, receive;
} weft_link_t;

struct weft_links {
    weft_links_setup_t setup;
    weft_nets_user_t user;
    weft_net_device_t *device[WEFT_NETS_MAX]; /* this communicator's, made when first needed */
    bool direct[WEFT_NETS_MAX];               /* slots of its ports lie on the kernel's device */
    bool decided[WEFT_NETS_MAX];              /* … or do not */
    weft_link_t *first;
    uint32_t messages; /* links that carry messages */
    bool making;       /* somebody waits for a link */
};

static inline const weft_links_net_t *weft_links_net(const weft_links_t *links, uint32_t i)
{
    return weft_nets_get(links->setup.nets, i);
}

/* Mapped connections live on the family's device, and so do those of a transport that cannot attach:
 * its only user is the first communicator. */
static inline bool weft_links_shares_device(const weft_links_net_t *net)
{
    return net->map != NULL || net->attach == NULL;
}

/* Calls on the family's device are made one at a time. */
static inline void weft_links_enter(weft_links_t *links, const weft_links_net_t *net)
{
    if (weft_links_shares_device(net)) {
        weft_nets_lock(links->setup.nets);
    }
}

static inline void weft_links_leave(weft_links_t *links, const weft_links_net_t *net)
{
    if (weft_links_shares_device(net)) {
        weft_nets_unlock(links->setup.nets);
    }
}

/* At least in one direction: memory for the other may have been wanting. */
static inline bool weft_link_is_direct(const weft_link_t *link)
{
    return link->send.direct != NULL || link->receive.direct != NULL;
}

#endif
