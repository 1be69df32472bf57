/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connects the queue pairs of iWARP ports. The acceptor's adapter listens on each rail while the
 * set-up lasts; the connector names queue pair and token in its request. iWARP requires the
 * connector to send first: it sends an empty message on each queue pair, and neither end sends
 * anything else before all of them have arrived. It sends them when the acceptor has said that its
 * queue pairs are connected, too: Soft-iWARP leaves unread what comes between its answer and
 * that. */
#include "ib_cm.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include <weft/sdk/acceptor.h>
#include "ib_cm_calls.h"
#include "ib_errors.h"
#include "ib_rail.h"
#include "ib_refusal.h"
#include "ib_side.h"
#include "ib_watch.h"

/* The connection manager and the TCP stack choose ports independently, so a port of either end
 * may turn out to be in use. */
#define PORT_TRIES 8
#define BATCH 16

/* The private data of a connection request. */
typedef struct ib_cm_private {
    uint8_t token[IB_TOKEN];
    uint32_t qp; /* little-endian */
} ib_cm_private_t;

struct ib_cm {
    const ib_cm_calls_t *calls;
    struct rdma_event_channel *channel;
    int watch; /* epoll set that has the channel, or −1 */
    uint8_t token[IB_TOKEN];
    bool connects, done;
    bool told;          /* the acceptor has said that its queue pairs are connected */
    uint32_t word;      /* with which it does; little-endian */
    uint32_t word_done; /* bytes of it that were sent or received */
    uint32_t connected; /* bit mask of queue pairs */
    uint32_t heard;     /* first messages that were received */
    uint32_t tries[IB_QPS_MAX];
    ib_hello_t peer; /* the acceptor's record; connector only */
    struct rdma_cm_id *listeners[IB_RAILS_MAX];
    struct rdma_cm_id *ids[IB_QPS_MAX];
};

/* An event, copied before it is acknowledged. */
typedef struct ib_cm_event {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    bool has_private;
    ib_cm_private_t private; /* if has_private */
} ib_cm_event_t;

static weft_status_t ib_cm_failed(weft_net_conn_t *conn, uint32_t rail, int cause, const char *what)
{
    const ib_rail_t *at = &conn->rails[rail];
    char text[IB_GID_TEXT];
    ib_gid_text(&at->gid.gid, text);
    return ib_blame(conn, WEFT_ERR_LINK, cause < 0 ? -cause : cause,
                    "cannot connect the queue pairs of %s:%u, address %s, with peer "
                    "%s over iWARP: %s",
                    at->port->hca->name, at->port->number, text, conn->info.peer, what);
}

static weft_status_t ib_cm_open(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->host;
    ib_cm_t *cm = host->alloc(host, sizeof *cm, 0);
    if (cm == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->cm = cm;
    cm->calls = conn->device->net->cm_calls;
    cm->watch = -1;
    cm->channel = cm->calls->create_event_channel();
    int flags = cm->channel != NULL ? fcntl(cm->channel->fd, F_GETFL) : -1;
    if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(cm->channel->fd, F_SETFD, FD_CLOEXEC) != 0) {
        return ib_cm_failed(conn, 0, errno, "no event channel of librdmacm");
    }
    bool watched = ib_device_watch(conn->device, EPOLL_CTL_ADD, cm->channel->fd, EPOLLIN, NULL);
    cm->watch = watched ? conn->device->epoll : -1;
    return WEFT_OK;
}

/* Acceptor ------------------------------------------------------------------------------------ */

static weft_status_t ib_cm_listener_open(weft_net_conn_t *conn, uint32_t rail, uint16_t *port_p)
{
    ib_cm_t *cm = conn->cm;
    struct rdma_cm_id **listener = &cm->listeners[rail];
    weft_endpoint_t point;
    int cause = EADDRINUSE;
    ib_gid_endpoint(&conn->rails[rail].gid.gid, 0, &point);
    for (int i = 0; i < PORT_TRIES && cause == EADDRINUSE; i++) {
        if (cm->calls->create_id(cm->channel, listener, NULL, RDMA_PS_TCP) != 0) {
            *listener = NULL;
            return ib_cm_failed(conn, rail, errno, "no identifier of librdmacm");
        }
        if (cm->calls->bind_addr(*listener, &point.any) == 0 &&
            cm->calls->listen(*listener, (int)conn->nqps + 1) == 0) {
            *port_p = be16toh(cm->calls->get_src_port(*listener));
            return WEFT_OK;
        }
        cause = errno;
        cm->calls->destroy_id(*listener);
        *listener = NULL;
    }
    return ib_cm_failed(conn, rail, cause, "the adapter cannot listen");
}

static void ib_cm_listeners_close(ib_cm_t *cm)
{
    for (uint32_t i = 0; i < IB_RAILS_MAX; i++) {
        if (cm->listeners[i] != NULL) {
            cm->calls->destroy_id(cm->listeners[i]);
            cm->listeners[i] = NULL;
        }
    }
}

weft_status_t ib_cm_listen(weft_net_conn_t *conn, ib_hello_t *hello)
{
    if (!conn->rails[0].port->hca->iwarp) {
        return WEFT_OK;
    }
    weft_status_t status = ib_cm_open(conn);
    ib_cm_t *cm = conn->cm;
    status = status == WEFT_OK ? conn->host->random(conn->host, cm->token, IB_TOKEN) : status;
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        uint16_t port = 0;
        status = ib_cm_listener_open(conn, i, &port);
        hello->rails[i].lid = htole32(port);
    }
    if (status == WEFT_OK) {
        memcpy(hello->token, cm->token, IB_TOKEN);
    }
    return status;
}

static bool ib_cm_token_fits(const ib_cm_t *cm, const ib_cm_private_t *private)
{
    uint8_t differs = 0;
    for (uint32_t i = 0; i < IB_TOKEN; i++) {
        differs |= (uint8_t)(cm->token[i] ^ private->token[i]);
    }
    return differs == 0;
}

static void ib_cm_param_fill(const weft_net_conn_t *conn, uint32_t qp,
                             struct rdma_conn_param *param)
{
    *param = (struct rdma_conn_param){.responder_resources = 1,
                                      .initiator_depth = 1,
                                      .retry_count = 7,
                                      .rnr_retry_count = 7,
                                      .qp_num = conn->qps[qp].handle->qp_num};
}

/* A request without the token is rejected; it says nothing about the connection. */
static weft_status_t ib_cm_qp_accept(weft_net_conn_t *conn, const ib_cm_event_t *event)
{
    ib_cm_t *cm = conn->cm;
    uint32_t qp = le32toh(event->private.qp);
    if (!event->has_private || !ib_cm_token_fits(cm, &event->private) || qp >= conn->nqps ||
        cm->ids[qp] != NULL || cm->connects) {
        conn->host->log(conn->host, WEFT_LOG_DEBUG, "a stranger asked for a queue pair for peer %s",
                        conn->info.peer);
        cm->calls->reject(event->id, NULL, 0);
        cm->calls->destroy_id(event->id);
        return WEFT_OK;
    }
    struct rdma_conn_param param;
    ib_cm_param_fill(conn, qp, &param);
    cm->ids[qp] = event->id;
    event->id->context = &cm->ids[qp];
    return cm->calls->accept(event->id, &param) == 0
               ? WEFT_OK
               : ib_cm_failed(conn, conn->qps[qp].rail, errno, "the adapter does not accept");
}

/* Connector ----------------------------------------------------------------------------------- */

static int ib_cm_patience_ms(const weft_net_conn_t *conn)
{
    return (int)(conn->device->net->config.connect_timeout * 1000) + 1;
}

static weft_status_t ib_cm_qp_resolve(weft_net_conn_t *conn, uint32_t qp)
{
    ib_cm_t *cm = conn->cm;
    const ib_hello_t *peer = &cm->peer;
    uint32_t rail = conn->qps[qp].rail;
    weft_endpoint_t from, to;
    ib_gid_t gid;
    ib_hello_gid(peer, rail, &gid);
    ib_gid_endpoint(&conn->rails[rail].gid.gid, 0, &from);
    ib_gid_endpoint(&gid.gid, (uint16_t)le32toh(peer->rails[rail].lid), &to);
    if (gid.type != IB_GID_TYPE_IWARP || from.any.sa_family != to.any.sa_family) {
        return ib_cm_failed(conn, rail, 0, "its rail is of another kind");
    }
    if (cm->calls->create_id(cm->channel, &cm->ids[qp], &cm->ids[qp], RDMA_PS_TCP) != 0) {
        cm->ids[qp] = NULL;
        return ib_cm_failed(conn, rail, errno, "no identifier of librdmacm");
    }
    uint8_t tc = (uint8_t)conn->device->net->config.path.tc;
    if (tc != 0) {
        cm->calls->set_option(cm->ids[qp], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tc, sizeof tc);
    }
    return cm->calls->resolve_addr(cm->ids[qp], &from.any, &to.any, ib_cm_patience_ms(conn)) == 0
               ? WEFT_OK
               : ib_cm_failed(conn, rail, errno, "its address cannot be resolved");
}

weft_status_t ib_cm_connect(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    if (!conn->rails[0].port->hca->iwarp) {
        return WEFT_OK;
    }
    weft_status_t status = ib_cm_open(conn);
    if (status == WEFT_OK) {
        conn->cm->connects = true;
        conn->cm->peer = *peer;
    }
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        status = ib_cm_qp_resolve(conn, i);
    }
    return status;
}

static weft_status_t ib_cm_qp_route(weft_net_conn_t *conn, uint32_t qp)
{
    ib_cm_t *cm = conn->cm;
    uint32_t rail = conn->qps[qp].rail;
    const struct rdma_cm_id *id = cm->ids[qp];
    const char *name = id->verbs != NULL ? ibv_get_device_name(id->verbs->device) : "none";
    if (strcmp(name, conn->rails[rail].port->hca->name) != 0) {
        return ib_cm_failed(conn, rail, 0, "the route to it leads over another adapter");
    }
    return cm->calls->resolve_route(cm->ids[qp], ib_cm_patience_ms(conn)) == 0
               ? WEFT_OK
               : ib_cm_failed(conn, rail, errno, "there is no route to it");
}

static weft_status_t ib_cm_qp_failed(weft_net_conn_t *conn, uint32_t qp, int cause,
                                     const char *what)
{
    ib_cm_t *cm = conn->cm;
    if ((cause == EADDRINUSE || cause == -EADDRINUSE) && cm->connects &&
        ++cm->tries[qp] < PORT_TRIES) {
        ib_cm_qp_close(conn, qp);
        return ib_cm_qp_resolve(conn, qp);
    }
    return ib_cm_failed(conn, conn->qps[qp].rail, cause, what);
}

static weft_status_t ib_cm_qp_connect(weft_net_conn_t *conn, uint32_t qp)
{
    ib_cm_t *cm = conn->cm;
    struct rdma_conn_param param;
    ib_cm_private_t private = {.qp = htole32(qp)};
    memcpy(private.token, cm->peer.token, IB_TOKEN);
    ib_cm_param_fill(conn, qp, &param);
    param.private_data = &private;
    param.private_data_len = sizeof private;
    return cm->calls->connect(cm->ids[qp], &param) == 0
               ? WEFT_OK
               : ib_cm_qp_failed(conn, qp, errno, "it does not answer");
}

/* Both ---------------------------------------------------------------------------------------- */

static bool ib_cm_event_get(ib_cm_t *cm, ib_cm_event_t *event)
{
    struct rdma_cm_event *from = NULL;
    if (cm->calls->get_cm_event(cm->channel, &from) != 0) {
        return false;
    }
    *event = (ib_cm_event_t){.type = from->event, .status = from->status, .id = from->id};
    event->has_private = from->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
                         from->param.conn.private_data_len >= sizeof event->private;
    if (event->has_private) {
        memcpy(&event->private, from->param.conn.private_data, sizeof event->private);
    }
    cm->calls->ack_cm_event(from);
    return true;
}

static bool ib_cm_is_listener(const ib_cm_t *cm, const struct rdma_cm_id *id)
{
    uint32_t i = 0;
    while (i < IB_RAILS_MAX && cm->listeners[i] != id) {
        i++;
    }
    return i < IB_RAILS_MAX;
}

static weft_status_t ib_cm_event_take(weft_net_conn_t *conn, const ib_cm_event_t *event)
{
    ib_cm_t *cm = conn->cm;
    if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        return ib_cm_qp_accept(conn, event);
    }
    if (event->id->context == NULL) {
        /* A rejected request that is gone again, or a listener. */
        return ib_cm_is_listener(cm, event->id)
                   ? ib_cm_failed(conn, 0, event->status, cm->calls->event_str(event->type))
                   : WEFT_OK;
    }
    uint32_t qp = (uint32_t)((struct rdma_cm_id **)event->id->context - cm->ids);
    switch (event->type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return ib_cm_qp_route(conn, qp);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return ib_cm_qp_connect(conn, qp);
    case RDMA_CM_EVENT_ESTABLISHED:
        cm->connected |= 1u << qp;
        return WEFT_OK;
    default:
        return ib_cm_qp_failed(conn, qp, event->status, cm->calls->event_str(event->type));
    }
}

static bool ib_cm_is_connected(const weft_net_conn_t *conn)
{
    return conn->cm->connected == (1u << conn->nqps) - 1;
}

static weft_status_t ib_cm_first_send(weft_net_conn_t *conn, uint32_t index)
{
    ib_qp_t *qp = &conn->qps[index];
    struct ibv_send_wr *bad = NULL;
    struct ibv_send_wr request = {.wr_id = ib_id(IB_ID_CREDIT, index, 0, qp->sent + 1),
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED};
    int cause = ibv_post_send(qp->handle, &request, &bad);
    qp->sent += cause == 0 ? 1 : 0;
    return cause == 0 ? WEFT_OK : ib_cm_failed(conn, qp->rail, cause, "the first message");
}

static weft_status_t ib_cm_first_take(weft_net_conn_t *conn, uint32_t rail, const struct ibv_wc *wc)
{
    uint32_t index = ib_id_qp(wc->wr_id);
    ib_qp_t *qp = &conn->qps[index];
    if (wc->status != IBV_WC_SUCCESS || ib_id_kind(wc->wr_id) != IB_ID_RECV || qp->received != 0 ||
        wc->byte_len != 0) {
        return ib_cm_failed(conn, rail, 0, ib_cause_of(wc->status)->name);
    }
    qp->received++;
    qp->unfilled++;
    conn->cm->heard++;
    return WEFT_OK;
}

/* They, not the confirmation that follows them over the side channel, end a sleep. */
static weft_status_t ib_cm_firsts_receive(weft_net_conn_t *conn)
{
    struct ibv_wc list[BATCH];
    weft_status_t status = WEFT_OK;
    ib_rails_watch(conn);
    ib_rails_drain(conn);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        (void)ib_rail_arm(&conn->rails[i]);
        int count = ibv_poll_cq(conn->rails[i].cq, BATCH, list);
        if (count < 0) {
            return ib_cm_failed(conn, i, 0, "its completion queue failed");
        }
        for (int k = 0; k < count && status == WEFT_OK; k++) {
            status = ib_cm_first_take(conn, i, &list[k]);
        }
    }
    return status;
}

static void ib_cm_unwatch(ib_cm_t *cm)
{
    if (cm->watch >= 0) {
        epoll_ctl(cm->watch, EPOLL_CTL_DEL, cm->channel->fd, NULL);
        cm->watch = -1;
    }
}

static weft_status_t ib_cm_finish(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    weft_status_t status = cm->connects ? WEFT_OK : ib_cm_firsts_receive(conn);
    for (uint32_t i = 0; cm->connects && i < conn->nqps && status == WEFT_OK; i++) {
        status = ib_cm_first_send(conn, i);
    }
    if (status == WEFT_OK && !cm->connects && cm->heard < conn->nqps) {
        return WEFT_IN_PROGRESS;
    }
    cm->done = true;
    ib_cm_listeners_close(cm);
    return status;
}

/* The connector reads the word as soon as it is there, so that it ends one sleep only. */
static weft_status_t ib_cm_tell(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    weft_status_t status = WEFT_OK;
    if (cm->connects && !cm->told) {
        status = weft_record_receive(conn->side.fd, &cm->word, sizeof cm->word, &cm->word_done);
    } else if (!cm->told && ib_cm_is_connected(conn)) {
        cm->word = htole32(IB_HELLO_CONNECTED);
        status = weft_record_send(conn->side.fd, &cm->word, sizeof cm->word, &cm->word_done);
    }
    cm->told = cm->word_done == sizeof cm->word;
    if (cm->told && le32toh(cm->word) != IB_HELLO_CONNECTED) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0, "peer %s speaks another version of net-ib",
                        conn->info.peer);
    }
    return status == WEFT_ERR_LINK ? ib_cm_failed(conn, 0, 0, "it closed the connection") : WEFT_OK;
}

static weft_status_t ib_cm_advance(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    ib_cm_event_t event;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && ib_cm_event_get(cm, &event)) {
        status = ib_cm_event_take(conn, &event);
    }
    status = status == WEFT_OK ? ib_cm_tell(conn) : status;
    if (status == WEFT_OK) {
        bool connected = ib_cm_is_connected(conn) && cm->told;
        status = connected ? ib_cm_finish(conn) : WEFT_IN_PROGRESS;
    }
    return status;
}

weft_status_t ib_cm_poll(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    if (cm == NULL || cm->done) {
        return WEFT_OK;
    }
    weft_status_t status = ib_cm_advance(conn);
    /* No event tells of a peer that goes before it has asked for the first queue pair, or between
     * two. */
    if (status == WEFT_IN_PROGRESS && ib_side_is_closed(conn)) {
        status = ib_cm_failed(conn, 0, 0, "it closed the connection");
    }
    if (status != WEFT_IN_PROGRESS) {
        ib_cm_unwatch(cm); /* nobody takes further events */
    }
    return status;
}

void ib_cm_qp_close(weft_net_conn_t *conn, uint32_t qp)
{
    ib_cm_t *cm = conn->cm;
    if (cm != NULL && cm->ids[qp] != NULL) {
        cm->calls->destroy_id(cm->ids[qp]);
        cm->ids[qp] = NULL;
    }
}

void ib_cm_close(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    if (cm == NULL) {
        return;
    }
    for (uint32_t i = 0; i < conn->nqps; i++) {
        ib_cm_qp_close(conn, i);
    }
    ib_cm_listeners_close(cm);
    if (cm->channel != NULL) {
        ib_cm_unwatch(cm);
        cm->calls->destroy_event_channel(cm->channel);
    }
    conn->host->free(conn->host, cm);
    conn->cm = NULL;
}
