/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connecting the queue pairs of iWARP ports. The acceptor's adapter listens on each rail while the set-up
 * lasts; the connector names queue pair and token in its request. By iWARP's rules the connector sends
 * first: an empty message on each queue pair, and nobody sends anything else before all have come. */
#include "cm.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "cm_calls.h"
#include "hello.h"

/* The connection manager and sockets choose ports without knowing of each other, so a port of either end may
 * turn out to be in use. */
#define PORT_TRIES 8
#define BATCH 16

/* What a request carries. */
typedef struct ib_cm_word {
    uint8_t token[IB_TOKEN];
    uint32_t lane; /* little-endian */
} ib_cm_word_t;

struct ib_cm {
    const ib_cm_calls_t *calls;
    struct rdma_event_channel *channel;
    int watch; /* epoll that has the channel, or −1 */
    uint8_t token[IB_TOKEN];
    bool connects, done;
    uint32_t connected; /* queue pairs */
    uint32_t heard;     /* first messages */
    uint32_t tries[IB_LANES_MAX];
    ib_hello_t peer; /* connector */
    struct rdma_cm_id *doors[IB_RAILS_MAX];
    struct rdma_cm_id *ids[IB_LANES_MAX];
};

/* What an event says, taken before it is acknowledged. */
typedef struct ib_cm_news {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    bool has_word;
    ib_cm_word_t word;
} ib_cm_news_t;

static void point_make(const union ibv_gid *gid, uint16_t port, weft_endpoint_t *point)
{
    memset(point, 0, sizeof *point);
    if (ib_gid_family(gid) == IB_GID_IPV4) {
        point->v4.sin_family = AF_INET;
        point->v4.sin_port = htobe16(port);
        memcpy(&point->v4.sin_addr, gid->raw + 12, 4);
        return;
    }
    point->v6.sin6_family = AF_INET6;
    point->v6.sin6_port = htobe16(port);
    memcpy(&point->v6.sin6_addr, gid->raw, 16);
}

static weft_status_t cm_failed(const weft_net_conn_t *conn, uint32_t rail, int cause,
                               const char *what)
{
    const ib_rail_t *at = &conn->rails[rail];
    char text[IB_GID_TEXT];
    ib_gid_text(&at->gid.gid, text);
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, cause < 0 ? -cause : cause,
                                 "cannot connect the queue pairs of %s:%u, address %s, with peer "
                                 "%s over iWARP: %s",
                                 at->port->hca->name, at->port->number, text, conn->info.peer,
                                 what);
}

static weft_status_t cm_open(weft_net_conn_t *conn)
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
        return cm_failed(conn, 0, errno, "no event channel of librdmacm");
    }
    return WEFT_OK;
}

/* Acceptor -------------------------------------------------------------------------------------- */

static weft_status_t door_open(weft_net_conn_t *conn, uint32_t rail, uint16_t *port_p)
{
    ib_cm_t *cm = conn->cm;
    struct rdma_cm_id **door = &cm->doors[rail];
    weft_endpoint_t point;
    int cause = EADDRINUSE;
    point_make(&conn->rails[rail].gid.gid, 0, &point);
    for (int i = 0; i < PORT_TRIES && cause == EADDRINUSE; i++) {
        if (cm->calls->create_id(cm->channel, door, NULL, RDMA_PS_TCP) != 0) {
            *door = NULL;
            return cm_failed(conn, rail, errno, "no identifier of librdmacm");
        }
        if (cm->calls->bind_addr(*door, &point.any) == 0 &&
            cm->calls->listen(*door, (int)conn->nlanes + 1) == 0) {
            *port_p = be16toh(cm->calls->get_src_port(*door));
            return WEFT_OK;
        }
        cause = errno;
        cm->calls->destroy_id(*door);
        *door = NULL;
    }
    return cm_failed(conn, rail, cause, "the adapter cannot listen");
}

static void doors_close(ib_cm_t *cm)
{
    for (uint32_t i = 0; i < IB_RAILS_MAX; i++) {
        if (cm->doors[i] != NULL) {
            cm->calls->destroy_id(cm->doors[i]);
            cm->doors[i] = NULL;
        }
    }
}

weft_status_t ib_cm_listen(weft_net_conn_t *conn, ib_hello_t *hello)
{
    if (!conn->rails[0].port->hca->iwarp) {
        return WEFT_OK;
    }
    weft_status_t status = cm_open(conn);
    ib_cm_t *cm = conn->cm;
    status = status == WEFT_OK ? conn->host->random(conn->host, cm->token, IB_TOKEN) : status;
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        uint16_t port = 0;
        status = door_open(conn, i, &port);
        hello->rails[i].lid = htole32(port);
    }
    if (status == WEFT_OK) {
        memcpy(hello->token, cm->token, IB_TOKEN);
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
        bool watched = epoll_ctl(conn->device->epoll, EPOLL_CTL_ADD, cm->channel->fd, &event) == 0;
        cm->watch = watched ? conn->device->epoll : -1;
    }
    return status;
}

static bool token_fits(const ib_cm_t *cm, const ib_cm_word_t *word)
{
    uint8_t differs = 0;
    for (uint32_t i = 0; i < IB_TOKEN; i++) {
        differs |= (uint8_t)(cm->token[i] ^ word->token[i]);
    }
    return differs == 0;
}

static void param_fill(const weft_net_conn_t *conn, uint32_t lane, struct rdma_conn_param *param)
{
    *param = (struct rdma_conn_param){.responder_resources = 1,
                                      .initiator_depth = 1,
                                      .retry_count = 7,
                                      .rnr_retry_count = 7,
                                      .qp_num = conn->lanes[lane].qp->qp_num};
}

/* Strangers are sent away; what they asked for says nothing about the connection. */
static weft_status_t lane_accept(weft_net_conn_t *conn, const ib_cm_news_t *news)
{
    ib_cm_t *cm = conn->cm;
    uint32_t lane = le32toh(news->word.lane);
    if (!news->has_word || !token_fits(cm, &news->word) || lane >= conn->nlanes ||
        cm->ids[lane] != NULL || cm->connects) {
        conn->host->log(conn->host, WEFT_LOG_DEBUG, "a stranger at the door for peer %s",
                        conn->info.peer);
        cm->calls->reject(news->id, NULL, 0);
        cm->calls->destroy_id(news->id);
        return WEFT_OK;
    }
    struct rdma_conn_param param;
    param_fill(conn, lane, &param);
    cm->ids[lane] = news->id;
    news->id->context = &cm->ids[lane];
    return cm->calls->accept(news->id, &param) == 0
               ? WEFT_OK
               : cm_failed(conn, conn->lanes[lane].rail, errno, "the adapter does not accept");
}

/* Connector ------------------------------------------------------------------------------------- */

static int patience_ms(const weft_net_conn_t *conn)
{
    return (int)(conn->device->net->config.connect_timeout * 1000) + 1;
}

static weft_status_t lane_dial(weft_net_conn_t *conn, uint32_t lane)
{
    ib_cm_t *cm = conn->cm;
    const ib_hello_t *peer = &cm->peer;
    uint32_t rail = conn->lanes[lane].rail;
    weft_endpoint_t from, to;
    ib_gid_t gid;
    ib_hello_gid(peer, rail, &gid);
    point_make(&conn->rails[rail].gid.gid, 0, &from);
    point_make(&gid.gid, (uint16_t)le32toh(peer->rails[rail].lid), &to);
    if (gid.type != IB_GID_TYPE_IWARP || from.any.sa_family != to.any.sa_family) {
        return cm_failed(conn, rail, 0, "its rail is of another kind");
    }
    if (cm->calls->create_id(cm->channel, &cm->ids[lane], &cm->ids[lane], RDMA_PS_TCP) != 0) {
        cm->ids[lane] = NULL;
        return cm_failed(conn, rail, errno, "no identifier of librdmacm");
    }
    uint8_t tc = (uint8_t)conn->device->net->config.tc;
    if (tc != 0) {
        cm->calls->set_option(cm->ids[lane], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tc, sizeof tc);
    }
    return cm->calls->resolve_addr(cm->ids[lane], &from.any, &to.any, patience_ms(conn)) == 0
               ? WEFT_OK
               : cm_failed(conn, rail, errno, "its address cannot be resolved");
}

weft_status_t ib_cm_dial(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    if (!conn->rails[0].port->hca->iwarp) {
        return WEFT_OK;
    }
    weft_status_t status = cm_open(conn);
    if (status == WEFT_OK) {
        conn->cm->connects = true;
        conn->cm->peer = *peer;
    }
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        status = lane_dial(conn, i);
    }
    return status;
}

static weft_status_t lane_route(weft_net_conn_t *conn, uint32_t lane)
{
    ib_cm_t *cm = conn->cm;
    uint32_t rail = conn->lanes[lane].rail;
    const struct rdma_cm_id *id = cm->ids[lane];
    const char *name = id->verbs != NULL ? ibv_get_device_name(id->verbs->device) : "none";
    if (strcmp(name, conn->rails[rail].port->hca->name) != 0) {
        return cm_failed(conn, rail, 0, "the route to it leads over another adapter");
    }
    return cm->calls->resolve_route(cm->ids[lane], patience_ms(conn)) == 0
               ? WEFT_OK
               : cm_failed(conn, rail, errno, "there is no route to it");
}

static weft_status_t lane_failed(weft_net_conn_t *conn, uint32_t lane, int cause, const char *what)
{
    ib_cm_t *cm = conn->cm;
    if ((cause == EADDRINUSE || cause == -EADDRINUSE) && cm->connects &&
        ++cm->tries[lane] < PORT_TRIES) {
        ib_cm_lane_close(conn, lane);
        return lane_dial(conn, lane);
    }
    return cm_failed(conn, conn->lanes[lane].rail, cause, what);
}

static weft_status_t lane_connect(weft_net_conn_t *conn, uint32_t lane)
{
    ib_cm_t *cm = conn->cm;
    struct rdma_conn_param param;
    ib_cm_word_t word = {.lane = htole32(lane)};
    memcpy(word.token, cm->peer.token, IB_TOKEN);
    param_fill(conn, lane, &param);
    param.private_data = &word;
    param.private_data_len = sizeof word;
    return cm->calls->connect(cm->ids[lane], &param) == 0
               ? WEFT_OK
               : lane_failed(conn, lane, errno, "it does not answer");
}

/* Both ------------------------------------------------------------------------------------------ */

static bool news_get(ib_cm_t *cm, ib_cm_news_t *news)
{
    struct rdma_cm_event *event = NULL;
    if (cm->calls->get_cm_event(cm->channel, &event) != 0) {
        return false;
    }
    *news = (ib_cm_news_t){.type = event->event, .status = event->status, .id = event->id};
    news->has_word = event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
                     event->param.conn.private_data_len >= sizeof news->word;
    if (news->has_word) {
        memcpy(&news->word, event->param.conn.private_data, sizeof news->word);
    }
    cm->calls->ack_cm_event(event);
    return true;
}

static bool is_door(const ib_cm_t *cm, const struct rdma_cm_id *id)
{
    uint32_t i = 0;
    while (i < IB_RAILS_MAX && cm->doors[i] != id) {
        i++;
    }
    return i < IB_RAILS_MAX;
}

static weft_status_t news_take(weft_net_conn_t *conn, const ib_cm_news_t *news)
{
    ib_cm_t *cm = conn->cm;
    if (news->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        return lane_accept(conn, news);
    }
    if (news->id->context == NULL) {
        /* A stranger that is gone again, or a door. */
        return is_door(cm, news->id)
                   ? cm_failed(conn, 0, news->status, cm->calls->event_str(news->type))
                   : WEFT_OK;
    }
    uint32_t lane = (uint32_t)((struct rdma_cm_id **)news->id->context - cm->ids);
    switch (news->type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return lane_route(conn, lane);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return lane_connect(conn, lane);
    case RDMA_CM_EVENT_ESTABLISHED:
        cm->connected++;
        return WEFT_OK;
    default:
        return lane_failed(conn, lane, news->status, cm->calls->event_str(news->type));
    }
}

static weft_status_t first_send(weft_net_conn_t *conn, uint32_t index)
{
    ib_lane_t *lane = &conn->lanes[index];
    struct ibv_send_wr *bad = NULL;
    struct ibv_send_wr request = {.wr_id = ib_id(IB_ID_GRANT, index, 0, lane->sent + 1),
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED};
    int cause = ibv_post_send(lane->qp, &request, &bad);
    lane->sent += cause == 0 ? 1 : 0;
    return cause == 0 ? WEFT_OK : cm_failed(conn, lane->rail, cause, "the first message");
}

static weft_status_t first_take(weft_net_conn_t *conn, uint32_t rail, const struct ibv_wc *wc)
{
    uint32_t index = (wc->wr_id >> 48) & 0xff;
    ib_lane_t *lane = &conn->lanes[index];
    if (wc->status != IBV_WC_SUCCESS || wc->wr_id >> 56 != IB_ID_RECV || lane->received != 0 ||
        wc->byte_len != 0) {
        return cm_failed(conn, rail, 0, ib_cause_of(wc->status)->name);
    }
    lane->received++;
    lane->unfilled++;
    conn->cm->heard++;
    return WEFT_OK;
}

static weft_status_t firsts_hear(weft_net_conn_t *conn)
{
    struct ibv_wc list[BATCH];
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        int count = ibv_poll_cq(conn->rails[i].cq, BATCH, list);
        if (count < 0) {
            return cm_failed(conn, i, 0, "its completion queue failed");
        }
        for (int k = 0; k < count && status == WEFT_OK; k++) {
            status = first_take(conn, i, &list[k]);
        }
    }
    return status;
}

static void cm_unwatch(ib_cm_t *cm)
{
    if (cm->watch >= 0) {
        epoll_ctl(cm->watch, EPOLL_CTL_DEL, cm->channel->fd, NULL);
        cm->watch = -1;
    }
}

static weft_status_t cm_finish(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    weft_status_t status = cm->connects ? WEFT_OK : firsts_hear(conn);
    for (uint32_t i = 0; cm->connects && i < conn->nlanes && status == WEFT_OK; i++) {
        status = first_send(conn, i);
    }
    if (status == WEFT_OK && !cm->connects && cm->heard < conn->nlanes) {
        return WEFT_IN_PROGRESS;
    }
    cm->done = true;
    cm_unwatch(cm);
    doors_close(cm);
    return status;
}

weft_status_t ib_cm_poll(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    ib_cm_news_t news;
    if (cm == NULL || cm->done) {
        return WEFT_OK;
    }
    while (news_get(cm, &news)) {
        weft_status_t status = news_take(conn, &news);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return cm->connected < conn->nlanes ? WEFT_IN_PROGRESS : cm_finish(conn);
}

void ib_cm_lane_close(weft_net_conn_t *conn, uint32_t lane)
{
    ib_cm_t *cm = conn->cm;
    if (cm != NULL && cm->ids[lane] != NULL) {
        cm->calls->destroy_id(cm->ids[lane]);
        cm->ids[lane] = NULL;
    }
}

void ib_cm_close(weft_net_conn_t *conn)
{
    ib_cm_t *cm = conn->cm;
    if (cm == NULL) {
        return;
    }
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        ib_cm_lane_close(conn, i);
    }
    doors_close(cm);
    if (cm->channel != NULL) {
        cm_unwatch(cm);
        cm->calls->destroy_event_channel(cm->channel);
    }
    conn->host->free(conn->host, cm);
    conn->cm = NULL;
}
