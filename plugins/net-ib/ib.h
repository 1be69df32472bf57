/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types that net-ib is made of: instance, adapter, port, device, registered memory,
 * connection. Each other header declares the functions of the .c file of its name.
 *
 * A connection has rails (the ports that it uses) and queue pairs spread over them. Queue pair 0
 * carries credits, the others carry data. A credit is the receiver's clear-to-send for one
 * message: the n-th send uses the n-th credit. */
#ifndef WEFT_PLUGINS_NET_IB_H
#define WEFT_PLUGINS_NET_IB_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weft/plugin/net.h>
#include <weft/sdk/op_queue.h>

#include <weft/sdk/net_interface.h>
#include "ib_cache.h"
#include "ib_gid.h"
#include "ib_options.h"

#define IB_OPS WEFT_OP_SLOTS /* outstanding per direction; also the credits of a ring */
#define IB_QPS_MAX (1 + IB_DATA_MAX)
#define IB_HCAS_MAX 32u
#define IB_PORTS_MAX 64u
#define IB_ADDRESSES_MAX 8u        /* of an iWARP port */
#define IB_SEND_DEPTH 256u         /* requests in the send queue of a queue pair, at most */
#define IB_RECV_DEPTH (2 * IB_OPS) /* empty receives that catch immediates */
#define IB_WRITES_MAX 64u          /* requests that one part of a message may take */
#define IB_MESSAGE_MAX (UINT64_C(1) << 30)

/* The instance and its adapters --------------------------------------------------------------- */

typedef struct ib_cm ib_cm_t;             /* ib_cm.c */
typedef struct ib_cm_calls ib_cm_calls_t; /* ib_cm_calls.h */
typedef struct ib_attempt ib_attempt_t;   /* ib_connect.c */
typedef struct ib_failover ib_failover_t; /* ib_failover.c */

/* An adapter (host channel adapter): an opened verbs device with the instance's protection
 * domain. */
typedef struct ib_hca {
    weft_net_t *net;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr attr;
    char name[64];
    char pci[32];
    char path[IBV_SYSFS_PATH_MAX]; /* its folder in /sys */
    bool iwarp;                    /* ib_cm.c connects its queue pairs, and it has no immediates */
    bool dmabuf;                   /* it can register memory of other devices */
    uint32_t send_depth;           /* requests in the send queue of its queue pairs */
    uint32_t cq_depth;             /* entries of its completion queues */
    _Atomic uint32_t vector;       /* of its next completion queue, modulo how many it has */
    _Atomic bool fatal;            /* it failed; set by any thread */
    pthread_mutex_t events;        /* held from taking an event until it is noted */
    ib_cache_t cache;
} ib_hca_t;

/* A usable port of an adapter. */
typedef struct ib_port {
    ib_hca_t *hca;
    uint8_t number;            /* from 1 */
    struct ibv_port_attr attr; /* when it was opened */
    ib_gid_t gid;              /* chosen before a peer is known */
    _Atomic uint64_t down_ns;  /* when it went down; 0: it is up */
    uint64_t write_max;        /* bytes of one request */
    uint32_t naddresses;       /* of an iWARP port, in place of a GID table */
    union ibv_gid addresses[IB_ADDRESSES_MAX];
} ib_port_t;

/* Whether nothing gets over the port now: its adapter failed, or it is down. */
static inline bool ib_port_lost(const ib_port_t *port)
{
    return atomic_load(&port->hca->fatal) || atomic_load(&port->down_ns) != 0;
}

/* Whether packets from and to the port need a global route, because others share its LID. */
static inline bool ib_port_is_global(const ib_port_t *port)
{
    return !port->hca->iwarp && (port->attr.flags & IBV_QPF_GRH_REQUIRED) != 0;
}

struct weft_net {
    const weft_host_t *host;
    ib_config_t config;
    int64_t gid_index; /* −1: chosen by net-ib */
    weft_interface_filter_t filter;
    weft_interface_filter_t networks; /* of GIDs */
    ib_cm_calls_t *cm_calls;          /* NULL: no iWARP port */
    weft_endpoint_list_t local;       /* addresses for the side channel, with port 0 */
    uint32_t nhcas, nports, ndevices;
    ib_hca_t hcas[IB_HCAS_MAX];
    ib_port_t ports[IB_PORTS_MAX];
    ib_port_t *rails[IB_PORTS_MAX]; /* of all devices, config.rails of each */
};

/* What a descriptor in a device's epoll set belongs to. The event data of a listener is NULL. */
typedef enum ib_watch_kind { IB_WATCH_SIDE = 1, IB_WATCH_CHANNEL, IB_WATCH_ASYNC } ib_watch_kind_t;
typedef struct ib_watch {
    ib_watch_kind_t kind;
    void *owner; /* connection; for _ASYNC the adapter */
} ib_watch_t;

/* The number of queue pairs of a connection. */
static inline uint32_t ib_config_qps(const ib_config_t *config)
{
    uint32_t count = 1 + (uint32_t)(config->qps * config->rails);
    return count > IB_QPS_MAX ? IB_QPS_MAX : count;
}

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    uint32_t nrails;
    ib_port_t *rails[IB_RAILS_MAX];
    weft_net_conn_t *conns; /* busy connections: poll() visits these */
    weft_op_done_t done;
    bool failing;   /* operations that failed are not given out yet */
    uint32_t polls; /* since the descriptors were looked at */
    uint32_t quiet; /* the newest of them that found nothing */
    int epoll;
    int unwatched; /* errno of a descriptor that the system did not let it watch, or 0 */
    ib_watch_t async[IB_RAILS_MAX];
};

/* Registered memory: one registration for each rail of the device. */
struct weft_net_region {
    weft_net_t *net;
    uint32_t nrails;
    bool on_device; /* memory of another device: the CPU must not touch it */
    ib_hca_t *hcas[IB_RAILS_MAX];
    ib_pin_t *pins[IB_RAILS_MAX]; /* NULL: the adapter had failed */
};

/* The connection ------------------------------------------------------------------------------ */

/* Clear to send, as it lies in the sender's memory; little-endian. */
typedef struct ib_credit {
    uint64_t address;
    uint64_t room;
    uint32_t keys[IB_RAILS_MAX];
    uint32_t sequence; /* number of the message + 1 */
    uint32_t zero[3];
} ib_credit_t;

_Static_assert(sizeof(ib_credit_t) == 64, "one cache line");

/* Credits of both directions. The counters run freely. */
typedef struct ib_credits {
    ib_credit_t *in, *out; /* rings of IB_OPS: the peer writes `in`, our adapter reads `out` */
    uint64_t peer_ring;    /* address of the peer's ring `in` */
    uint32_t received;     /* credits from the peer, for sends */
    uint32_t sent;         /* credits to the peer, for receives */
} ib_credits_t;

/* weft_posted_op_t.progress of a send is the bit mask of the queue pairs from which it still
 * expects a completion. In .flags: the memory is registered for this operation only. */
#define IB_OP_OWN UINT64_C(1)

/* Registrations that live as long as their operation, by slot. */
typedef struct ib_own_regions {
    weft_net_region_t send[IB_OPS], recv[IB_OPS];
} ib_own_regions_t;

typedef enum ib_rail_state { IB_RAIL_UP, IB_RAIL_STOPPING, IB_RAIL_LOST } ib_rail_state_t;

/* A port as one connection uses it. */
typedef struct ib_rail {
    ib_port_t *port;
    ib_rail_state_t state;
    uint64_t bad_ns;        /* when the first bad completion came; 0: none */
    struct ibv_wc bad;      /* that one, or the first one that was not flushed */
    _Atomic uint32_t event; /* asynchronous event of a queue pair or completion queue, + 1 */
    uint64_t event_ns;      /* when that was found; 0: there was none */
    ib_gid_t gid;           /* ours, of the kind that the peer has */
    uint32_t lid, mtu;      /* of the port, when the connection began; mtu: enum ibv_mtu */
    struct ibv_comp_channel *channel; /* NULL: lost before the connection began, as the next */
    struct ibv_cq *cq;
    struct ibv_mr *credits_in;  /* the peer writes */
    struct ibv_mr *credits_out; /* only our adapter reads */
    struct ibv_mr *immediates;  /* emulated immediates, or NULL */
    uint32_t peer_key;          /* remote key of the peer's ring of credits */
    bool armed;                 /* the next completion wakes the channel */
    bool watched;               /* the device's epoll set has the channel */
    ib_watch_t watch;
} ib_rail_t;

/* A queue pair. Its counters run freely and restart when failover replaces it, except those of
 * immediates and `acked`: what it carries is one stream of parts. */
typedef struct ib_qp {
    struct ibv_qp *handle;
    uint32_t rail;
    uint32_t psn;           /* initial packet sequence number */
    uint32_t depth;         /* of the send queue */
    uint32_t sent, retired; /* requests posted, and known to be complete */
    uint32_t inline_max;
    uint32_t unfilled;         /* receives to post again */
    uint32_t filled, received; /* receives posted and completed */
    uint32_t arrived, taken;   /* immediates received and used */
    uint32_t acked;            /* parts of messages completed */
    bool stopped;              /* takes no requests until failover has replaced it */
    uint32_t immediates[IB_OPS];
} ib_qp_t;

/* A control message on the side channel of a ready connection, little-endian. */
typedef struct ib_control {
    uint32_t magic;
    uint32_t kind;
    uint32_t status;                  /* LEAVE: weft_status_t, why */
    uint32_t lost;                    /* STOP: bit mask of rails */
    uint32_t arrived[IB_QPS_MAX + 1]; /* MOVE: parts received per queue pair; [0]: credits */
    uint32_t numbers[IB_QPS_MAX + 1]; /* MOVE: of the queue pairs; the last entry is a spare */
    uint32_t psns[IB_QPS_MAX + 1];
} ib_control_t;

_Static_assert(sizeof(ib_control_t) == 16 + 12 * (IB_QPS_MAX + 1), "no padding");

#define IB_CONTROL_MAGIC 0x32627977u /* "wyb2" */
/* Kinds. LEAVE is the last message of an end; the others are steps of failover. */
enum { IB_CONTROL_LEAVE = 0, IB_CONTROL_STOP = 1, IB_CONTROL_MOVE = 2, IB_CONTROL_GO = 3 };

/* The side channel: the TCP connection over which the two ends met. It stays open for control
 * messages, and its end is how a dead peer is noticed. */
typedef struct ib_side {
    int fd; /* −1: none */
    bool watched;
    uint32_t awaits;      /* EPOLL* events that the device's epoll set watches for before that */
    uint32_t bytes;       /* of `control` that have been received */
    ib_control_t control; /* being received */
    ib_watch_t watch;
    uint64_t ended_ns;   /* when the peer's end was found closed, or wrong; 0: open */
    bool wrong;          /* `control` is what the peer must not send */
    int32_t peer_reason; /* weft_status_t that the peer ended with, or 0 */
} ib_side_t;

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns */
    bool busy;                    /* it is in that list */
    bool ready;
    bool with_immediate;  /* else a message of one word follows the writes (ib_immediate.c) */
    bool unordered;       /* the network reorders: data as plain writes, then an empty immediate */
    bool moving;          /* failover is under way */
    bool noted;           /* something may be wrong: each poll() examines the connection */
    weft_status_t failed; /* OK, or the status of everything from now on */
    weft_net_conn_info_t info;
    ib_side_t side;
    char reason[384];        /* why it does not come about, or ended; "": not known */
    ib_attempt_t *attempt;   /* connector, until ready */
    ib_cm_t *cm;             /* iWARP, else NULL */
    ib_failover_t *failover; /* NULL: the ends did not agree on it */
    uint32_t *immediates;    /* emulated ones, or NULL */
    ib_credits_t credits;
    weft_op_queues_t ops;
    ib_own_regions_t own;
    uint32_t nrails, nqps;
    ib_rail_t rails[IB_RAILS_MAX];
    ib_qp_t qps[IB_QPS_MAX];
};

/* Identifiers of work requests: kind, queue pair, slot of the operation, request counter. */
enum { IB_ID_RECV = 1, IB_ID_DATA = 2, IB_ID_CREDIT = 3 };

static inline uint64_t ib_id(uint32_t kind, uint32_t qp, uint32_t slot, uint32_t count)
{
    return (uint64_t)kind << 56 | (uint64_t)qp << 48 | (uint64_t)slot << 32 | count;
}

static inline uint32_t ib_id_kind(uint64_t id)
{
    return (uint32_t)(id >> 56);
}

static inline uint32_t ib_id_qp(uint64_t id)
{
    return (id >> 48) & 0xff;
}

static inline uint32_t ib_id_slot(uint64_t id)
{
    return (id >> 32) & 0xffff;
}

#endif
