/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the two ends send each other before a connection is ready, little-endian: the listener's
 * address, then, over the authenticated side channel, the record that describes one end's queue
 * pairs, and the messages that confirm it. */
#ifndef WEFT_PLUGINS_NET_IB_HELLO_H
#define WEFT_PLUGINS_NET_IB_HELLO_H

#include "ib_refusal.h"

#define IB_HELLO_MAGIC 0x34626977u     /* "wib4" */
#define IB_HELLO_AGAIN 0x67616977u     /* "wiag": in place of the acceptor's record */
#define IB_HELLO_CONNECTED 0x6e636977u /* "wicn": iWARP, the first messages may come */
#define IB_HELLO_ACK 0x6b616977u       /* "wiak" */
#define IB_HELLO_GO 0x6f676977u        /* "wigo": iWARP, the connector may send */
#define IB_TOKEN 16u

typedef struct ib_hello_rail {
    uint8_t gid[16];
    uint32_t gid_type;
    uint32_t lid; /* and IB_HELLO_GLOBAL; iWARP: TCP port where the acceptor's adapter listens */
    uint32_t mtu; /* enum ibv_mtu */
    uint32_t credits_key; /* of the ring that the peer writes */
} ib_hello_rail_t;

#define IB_HELLO_GLOBAL (1u << 16) /* the port is reached by its GID: others have its LID, too */

/* The record. An acceptor that has lost other rails than the connector answers with IB_HELLO_AGAIN:
 * only `magic` and `lost` count, and the connector sends another record, without those rails. */
typedef struct ib_hello {
    uint32_t magic;
    uint32_t nrails, nqps;
    uint32_t ops;     /* credits in a ring */
    uint32_t flags;   /* IB_HELLO_* */
    uint32_t lost;    /* bit mask of the rails that the connection goes without */
    uint64_t credits; /* address of the ring */
    ib_hello_rail_t rails[IB_RAILS_MAX];
    uint32_t numbers[IB_QPS_MAX + 1]; /* of the queue pairs; one spare */
    uint32_t psns[IB_QPS_MAX + 1];
    uint8_t token[IB_TOKEN]; /* iWARP: the connector proves by it that it was let in */
} ib_hello_t;

#define IB_HELLO_IMMEDIATE 1u /* this end can send immediates */
#define IB_HELLO_SPLIT 2u
#define IB_HELLO_FAILOVER 16u

_Static_assert(sizeof(ib_hello_t) == 32 + 32 * IB_RAILS_MAX + 8 * (IB_QPS_MAX + 1) + IB_TOKEN,
               "no padding");

_Static_assert(sizeof(ib_refusal_t) == sizeof(ib_hello_t), "one receive for both");

/* The address of a listener. It is public. */
typedef struct ib_address {
    uint32_t link_layer;
    ib_gid_t gid; /* its index is not sent */
    weft_endpoint_list_t list;
} ib_address_t;

void ib_address_encode(const ib_address_t *from, weft_net_address_t *address);
/* Checks every field. Returns OK, or ERR_PROTO without an error text. */
weft_status_t ib_address_decode(const weft_net_address_t *address, ib_address_t *to);

/* Returns whether the device can connect to the address, and keeps the TCP entries that can be
 * tried. */
bool ib_address_reaches(const weft_net_device_t *device, ib_address_t *address);

/* Describes this end's rails and queue pairs. */
void ib_hello_fill(const weft_net_conn_t *conn, ib_hello_t *hello);

/* Checks a peer's record against this end. Returns OK; ERR_PROTO or ERR_LINK with the error set. */
weft_status_t ib_hello_check(weft_net_conn_t *conn, const ib_hello_t *hello);

/* The GID of one of the record's rails. */
void ib_hello_gid(const ib_hello_t *hello, uint32_t rail, ib_gid_t *gid);

#endif
