/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private parts of net-ib: instance, adapter, port, device, connection. A connection is an array of
 * rails (ports it uses) and an array of lanes (queue pairs): lane 0 carries grants, the others carry
 * data. A grant is the receiver's clear-to-send for one message; the n-th send takes the n-th grant. */
#ifndef WEFT_PLUGINS_NET_IB_H
#define WEFT_PLUGINS_NET_IB_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weft/plugin/net.h>

#include <weft/sdk/net_interface.h>
#include "cache.h"
#include <weft/sdk/acceptor.h>
#include "gid.h"

#define IB_OPS 64u /* outstanding per direction, a power of two; also the grants of a ring */
#define IB_RAILS_MAX 8u
#define IB_DATA_MAX 16u /* data lanes of a connection */
#define IB_LANES_MAX (1 + IB_DATA_MAX)
#define IB_HCAS_MAX 32u
#define IB_PORTS_MAX 64u
#define IB_ADDRESSES_MAX 8u        /* of an iWARP port */
#define IB_SEND_DEPTH 256u         /* requests in the send queue of a lane */
#define IB_RECV_DEPTH (2 * IB_OPS) /* empty receives that catch immediates */
#define IB_WRITES_MAX 64u          /* requests that one part of a message may take */
#define IB_MESSAGE_MAX (UINT64_C(1) << 30)
#define IB_TOO_LONG UINT32_C(0xffffffff) /* immediate: the message is longer than its room */
#define IB_LANE_UNIT 128u                /* parts of a message begin at multiples of this */

typedef struct ib_config {
    const char *devices;
    const char *interfaces;
    int64_t family;
    const char *gid_index;
    int64_t roce_version;
    int64_t address_family;
    int64_t rails;
    int64_t qps;
    bool split;
    uint64_t split_bytes;
    uint64_t inline_bytes;
    int64_t mtu;
    int64_t pkey, sl, tc;
    int64_t timeout, retry, rnr_retry;
    int64_t adaptive_routing;
    bool relaxed_ordering;
    bool failover;
    double failover_patience;
    double port_patience;
    double connect_timeout;
    int64_t slots;
    uint64_t slot_bytes;
} ib_config_t;

typedef struct ib_cm ib_cm_t;             /* cm.c */
typedef struct ib_cm_calls ib_cm_calls_t; /* cm_calls.h */

/* One adapter: an opened verbs device with the instance's protection domain on it. */
typedef struct ib_hca {
    weft_net_t *net;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr attr;
    char name[64];
    char pci[32];
    bool iwarp;  /* queue pairs come up by cm.c only, and know no immediates */
    bool dmabuf; /* registers memory of other devices */
    _Atomic bool fatal;
    ib_cache_t cache;
} ib_hca_t;

/* One usable port of an adapter. */
typedef struct ib_port {
    ib_hca_t *hca;
    uint8_t number;
    struct ibv_port_attr attr;
    ib_gid_t gid;             /* chosen without knowing a peer */
    _Atomic uint64_t down_ns; /* when it went down; 0: up */
    uint64_t write_max;       /* bytes of one request */
    uint32_t naddresses;      /* iWARP: takes the place of the GID table */
    union ibv_gid addresses[IB_ADDRESSES_MAX];
} ib_port_t;

struct weft_net {
    const weft_host_t *host;
    ib_config_t config;
    int64_t gid_index; /* −1: chosen */
    weft_interface_filter_t filter;
    ib_cm_calls_t *cm_calls;    /* NULL: no iWARP */
    weft_endpoint_list_t local; /* addresses for the side channel, ports 0 */
    uint32_t nhcas, nports;
    ib_hca_t hcas[IB_HCAS_MAX];
    ib_port_t ports[IB_PORTS_MAX];
};

typedef enum ib_watch_kind { IB_WATCH_SIDE = 1, IB_WATCH_CHANNEL, IB_WATCH_ASYNC } ib_watch_kind_t;

/* What a descriptor in a device's epoll belongs to. */
typedef struct ib_watch {
    ib_watch_kind_t kind;
    void *owner;
} ib_watch_t;

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    uint32_t nrails;
    ib_port_t *rails[IB_RAILS_MAX];
    weft_net_conn_t *conns; /* those with something open */
    weft_net_conn_t *done;  /* those with completions to give out */
    uint32_t quiet;         /* polls since the descriptors were looked at */
    int epoll;
    ib_watch_t async[IB_RAILS_MAX];
};

/* Clear to send, in the sender's memory, little-endian. */
typedef struct ib_grant {
    uint64_t address;
    uint64_t room;
    uint32_t keys[IB_RAILS_MAX];
    uint32_t sequence; /* number of the message + 1 */
    uint32_t zero[3];
} ib_grant_t;

_Static_assert(sizeof(ib_grant_t) == 64, "one cache line");

/* Registered memory: one pin for each rail of the device. */
struct weft_net_region {
    weft_net_t *net;
    uint32_t nrails;
    bool apart; /* memory of another device: no CPU touches it */
    ib_hca_t *hcas[IB_RAILS_MAX];
    ib_pin_t *pins[IB_RAILS_MAX];
};

/* One posted operation. */
typedef struct ib_op {
    uint8_t *buffer;
    uint64_t bytes; /* to send, or room */
    uint64_t moved;
    void *context;
    const weft_net_region_t *region;
    bool own; /* registered for this operation only */
    weft_status_t status;
    uint32_t lanes; /* send: bit mask of those whose completion is to come */
    bool done;
} ib_op_t;

/* Operations of one direction. The counters run freely and are the message numbers. */
typedef struct ib_queue {
    uint32_t head;    /* oldest not given out as completed */
    uint32_t next;    /* send: first not handed to the adapter; receive: first not arrived */
    uint32_t granted; /* send: grants that are here; receive: grants that were sent */
    uint32_t tail;    /* next to post */
    uint32_t open;    /* posted and not done */
    ib_op_t ops[IB_OPS];
    weft_net_region_t own[IB_OPS]; /* registrations that live as long as their operation */
} ib_queue_t;

typedef enum ib_rail_state { IB_RAIL_UP, IB_RAIL_STOPPING, IB_RAIL_LOST } ib_rail_state_t;

typedef struct ib_rail {
    ib_port_t *port;
    ib_rail_state_t state;
    uint64_t bad_ns;        /* when the first bad completion came */
    struct ibv_wc bad;      /* that one, or the first one that was not flushed */
    _Atomic uint32_t event; /* asynchronous event of a queue pair or completion queue, + 1 */
    ib_gid_t gid;           /* ours, of the kind that the peer has */
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *grants_in;  /* the peer writes */
    struct ibv_mr *grants_out; /* read by our adapter only */
    struct ibv_mr *words;      /* without immediates */
    uint32_t peer_key;         /* of the peer's ring of grants */
    bool armed;
    ib_watch_t watch;
} ib_rail_t;

typedef struct ib_lane {
    struct ibv_qp *qp;
    uint32_t rail;
    uint32_t psn;
    uint32_t depth;         /* of the send queue */
    uint32_t sent, retired; /* requests; they run freely */
    uint32_t inline_max;
    uint32_t unfilled;         /* receives to post again */
    uint32_t filled, received; /* receives posted and completed; they run freely */
    uint32_t arrived, taken;   /* immediates */
    uint32_t acked;            /* parts of messages that were completed here; runs freely */
    bool stopped;              /* takes no requests until it goes on over another rail */
    uint32_t immediates[IB_OPS];
} ib_lane_t;

typedef struct ib_dial ib_dial_t;
typedef struct ib_failover ib_failover_t;

/* What an end says on the side channel once the connection is ready, little-endian. Its magic names the
 * kind: a farewell, or one of the words of failover.c. */
typedef struct ib_word {
    uint32_t magic;
    uint32_t kind;
    uint32_t status;                    /* farewell: weft_status_t, why */
    uint32_t lost;                      /* stop: bit mask of rails */
    uint32_t arrived[IB_LANES_MAX + 1]; /* move: parts that came, of lane 0 grants; one spare */
    uint32_t numbers[IB_LANES_MAX + 1]; /* move: of the queue pairs */
    uint32_t psns[IB_LANES_MAX + 1];
} ib_word_t;

_Static_assert(sizeof(ib_word_t) == 16 + 12 * (IB_LANES_MAX + 1), "no padding");

#define IB_WORD_MAGIC 0x32627977u /* "wyb2" */
enum { IB_WORD_BYE = 0 };         /* failover.c has the others */

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns */
    weft_net_conn_t *done_next;
    bool done_listed;
    bool ready;
    bool busy;
    bool with_immediate; /* else a send follows the writes */
    bool apart;          /* data as plain writes, then an empty immediate */
    weft_status_t failed;
    bool moving;             /* lanes are on their way to another rail */
    ib_failover_t *failover; /* NULL: not agreed on */
    uint64_t ended_ns;       /* when the peer's end of the side channel closed */
    int32_t peer_reason;     /* weft_status_t the peer ended with, or 0 */
    int side;                /* TCP socket */
    bool side_watched;
    uint32_t word_bytes; /* of the word that are here */
    ib_word_t word;      /* being heard */
    ib_watch_t side_watch;
    ib_dial_t *dial; /* connector, until ready */
    ib_cm_t *cm;     /* iWARP */
    weft_net_conn_info_t info;
    ib_grant_t *grants_in, *grants_out;
    uint32_t *words;      /* without immediates */
    uint64_t peer_grants; /* address of the peer's ring */
    ib_queue_t send, recv;
    uint32_t nrails, nlanes;
    ib_rail_t rails[IB_RAILS_MAX];
    ib_lane_t lanes[IB_LANES_MAX];
};

/* Work request ids: kind, lane, slot of the operation, count of the lane's requests. */
enum { IB_ID_RECV = 1, IB_ID_DATA = 2, IB_ID_GRANT = 3 };

static inline uint64_t ib_id(uint32_t kind, uint32_t lane, uint32_t slot, uint32_t count)
{
    return (uint64_t)kind << 56 | (uint64_t)lane << 48 | (uint64_t)slot << 32 | count;
}

/* hca.c: What: finds the ports the options admit. OK with none is no fault. */
weft_status_t ib_ports_open(weft_net_t *net);
void ib_ports_close(weft_net_t *net);
/* What: a GID of the port that fits the options and, unless NULL, the peer's. False: none. */
bool ib_port_gid(const ib_port_t *port, const ib_gid_t *peer, ib_gid_t *gid);
bool ib_port_is_ethernet(const ib_port_t *port);
/* What: appends lines about the port and its GID table; the chosen GID has a star. */
void ib_port_describe(const ib_port_t *port, char *text, size_t bytes);

/* memory.c */
weft_status_t ib_reg(weft_net_device_t *device, void *memory, uint64_t bytes, uint32_t memory_kind,
                     weft_net_region_t **region_p);
weft_status_t ib_reg_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                            weft_net_region_t **region_p);
/* What: registers in the caller's region. AGAIN: no memory now. */
weft_status_t ib_region_init(weft_net_device_t *device, const void *memory, uint64_t bytes,
                             uint32_t access, weft_net_region_t *region);
void ib_region_fini(weft_net_region_t *region);
void ib_dereg(weft_net_region_t *region);
bool ib_peer_memory(void);
/* What: whether the adapter registers dma-bufs. Blocks: briefly. */
bool ib_dmabuf_known(const ib_hca_t *hca);
/* What: explains why `bytes` cannot be registered with `hca`; errno `cause`. Returns ERR_RESOURCE. */
weft_status_t ib_memory_refused(ib_hca_t *hca, uint64_t bytes, int cause);

/* lanes.c */
typedef struct ib_hello ib_hello_t;
weft_status_t ib_lanes_create(weft_net_conn_t *conn, const ib_gid_t *peer);
weft_status_t ib_lanes_connect(weft_net_conn_t *conn, const ib_hello_t *peer);
void ib_lanes_stop(weft_net_conn_t *conn);
void ib_lanes_destroy(weft_net_conn_t *conn);
/* What: makes the queue pair of a lane anew, on another rail; it stays stopped. */
weft_status_t ib_lane_remake(weft_net_conn_t *conn, uint32_t index, uint32_t rail);
weft_status_t ib_lane_connect(weft_net_conn_t *conn, uint32_t index, const ib_hello_t *peer);
/* What: nothing more is sent or received. What had arrived before can still be polled. */
void ib_lane_stop(ib_lane_t *lane);
void ib_lanes_tell(const weft_net_conn_t *conn, ib_hello_t *hello);
/* What: posts receives again. Failure: ERR_LINK, error set. */
weft_status_t ib_lane_fill(weft_net_conn_t *conn, ib_lane_t *lane);

/* words.c: without immediates. The memory of a rail's words; then each word's way. */
weft_status_t ib_words_create(weft_net_conn_t *conn, ib_rail_t *rail);
void ib_words_destroy(weft_net_conn_t *conn);
/* What: where the next receive of a lane puts its word. */
void ib_words_recv(const weft_net_conn_t *conn, uint32_t lane, struct ibv_sge *piece);
/* What: makes `request`, whose id is set, the message that tells `value`. */
void ib_words_send(const weft_net_conn_t *conn, uint32_t lane, uint32_t value,
                   struct ibv_send_wr *request, struct ibv_sge *piece);
weft_status_t ib_words_take(const weft_net_conn_t *conn, uint32_t lane, const struct ibv_wc *wc,
                            uint32_t *value_p);

/* conn.c */
weft_net_conn_t *ib_conn_create(weft_net_device_t *device, const uint8_t label[WEFT_AUTH_LABEL]);
void ib_conn_ready(weft_net_conn_t *conn);
/* What: ends the connection: everything open completes with `status`, ERR_LINK for ERR_RESOURCE. The
 * cause is set before. */
void ib_conn_fail(weft_net_conn_t *conn, weft_status_t status);
void ib_op_finish(weft_net_conn_t *conn, ib_queue_t *queue, ib_op_t *op, weft_status_t status);
/* What: puts the connection in the device's list, or takes it out, as it needs visits or not. */
void ib_conn_set_busy(weft_net_conn_t *conn);
weft_status_t ib_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                      uint32_t *posted_p);
weft_status_t ib_cancel(weft_net_conn_t *conn);
weft_status_t ib_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
void ib_conn_close(weft_net_conn_t *conn);
weft_status_t ib_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device);

/* flow.c: all return OK, or a failure of the connection with the error set. */
weft_status_t ib_flow_send(weft_net_conn_t *conn);
weft_status_t ib_flow_grant(weft_net_conn_t *conn);
weft_status_t ib_flow_arrive(weft_net_conn_t *conn, uint32_t lane, uint32_t immediate);
/* What: goes on with a lane that was made anew. The peer has taken `arrived` parts of it, or grants. */
weft_status_t ib_flow_resume(weft_net_conn_t *conn, uint32_t lane, uint32_t arrived,
                             uint32_t *again_p);
/* What: notes that a part of a message has arrived at the peer. */
weft_status_t ib_flow_acked(weft_net_conn_t *conn, ib_op_t *op, uint32_t lane);
/* What: parts that a message of `bytes` is cut in, and the bytes of each but the last. */
uint32_t ib_flow_parts(const ib_config_t *config, uint32_t data_lanes, uint64_t bytes,
                       uint64_t *part_p);

/* poll.c */
weft_status_t ib_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                      uint32_t *count_p);
weft_status_t ib_wait_fd(weft_net_device_t *device, int *fd_p);
weft_status_t ib_conn_check(weft_net_conn_t *conn);

/* health.c: what is wrong with a connection apart from its completions. */
void ib_health_async(ib_hca_t *hca);
void ib_health_side(weft_net_conn_t *conn);
weft_status_t ib_health(weft_net_conn_t *conn);
/* What: notes a completion that is not OK; ib_health() judges it when its cause had time to show. */
void ib_health_completion(weft_net_conn_t *conn, const struct ibv_wc *wc);
void ib_health_farewell(weft_net_conn_t *conn, weft_status_t status);
/* What: whether time alone may bring a change of the connection. */
bool ib_health_due(const weft_net_conn_t *conn);

/* rail.c */
/* What: why the rail is lost, and since when. NULL: it is not. */
const char *ib_rail_cause(const ib_rail_t *rail, uint64_t now, uint64_t *since_p);
uint32_t ib_rails_up(const weft_net_conn_t *conn);

/* failover.c: lanes of a lost rail go on over others. */
/* What: agrees on it, if both ends want it. Failure: ERR_RESOURCE. */
weft_status_t ib_failover_init(weft_net_conn_t *conn, const ib_hello_t *peer);
void ib_failover_fini(weft_net_conn_t *conn);
/* What: whether what is wrong is being dealt with here; looks for lost rails. */
bool ib_failover_watch(weft_net_conn_t *conn, uint64_t now);
/* What: advances what is under way. OK, or a failure of the connection with the error set. */
weft_status_t ib_failover_advance(weft_net_conn_t *conn);
weft_status_t ib_failover_overdue(const weft_net_conn_t *conn, uint64_t now);
/* What: whether another word of the peer may be heard now; takes conn->word. False: unexpected. */
bool ib_failover_listens(const weft_net_conn_t *conn);
bool ib_failover_hear(weft_net_conn_t *conn);
/* What: notes that the adapter took no request. True: the lane's rail counts as lost. */
bool ib_failover_refused(weft_net_conn_t *conn, const ib_lane_t *lane, int cause);
/* What: tells people why a failing connection with several rails does not go on. */
void ib_failover_decline(const weft_net_conn_t *conn);

/* errors.c */
typedef struct ib_cause {
    const char *name, *meaning, *remedy;
    weft_status_t status;
} ib_cause_t;
/* What: what a completion status usually means. Never NULL. */
const ib_cause_t *ib_cause_of(enum ibv_wc_status status);
const char *ib_event_text(enum ibv_event_type type);

/* dial.c */
weft_status_t ib_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                               const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t ib_connect_poll(weft_net_conn_t *conn);
void ib_dial_close(weft_net_conn_t *conn);

/* accept.c */
weft_status_t ib_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                        weft_net_listener_t **listener_p);
void ib_listener_close(weft_net_listener_t *listener);
weft_status_t ib_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

#endif
