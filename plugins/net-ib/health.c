/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be wrong with a connection apart from its completions: the peer's end of the side channel,
 * ports, adapters, and flushed requests whose cause does not show. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ib.h"

#define END_PATIENCE_NS UINT64_C(5000000) /* for completions of what came before the end */
/* Over iWARP a peer ends well when its data is on the way, not when it is here. */
#define IWARP_PATIENCE_NS UINT64_C(500000000)
/* A peer that says farewell knows the cause; its word travels through the core meanwhile. */
#define FAREWELL_PATIENCE_NS UINT64_C(200000000)
#define FLUSH_PATIENCE_NS UINT64_C(500000000) /* for the cause of a flushed request */
#define EVENT_PATIENCE_NS UINT64_C(20000000)  /* for an event that explains a completion */

void ib_health_farewell(weft_net_conn_t *conn, weft_status_t status)
{
    ib_word_t word = {.magic = htole32(IB_WORD_MAGIC),
                      .kind = htole32(IB_WORD_BYE),
                      .status = htole32((uint32_t)status)};
    /* A word that does not get through only costs the peer the reason. */
    ssize_t ignored = send(conn->side, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    if (conn->side_watched) {
        epoll_ctl(conn->device->epoll, EPOLL_CTL_DEL, conn->side, NULL);
        conn->side_watched = false;
    }
    shutdown(conn->side, SHUT_RDWR);
}

void ib_health_side(weft_net_conn_t *conn)
{
    const ib_word_t *word = &conn->word;
    if (conn->ended_ns != 0 || conn->failed != WEFT_OK || !ib_failover_listens(conn)) {
        return;
    }
    weft_status_t status =
        weft_record_receive(conn->side, &conn->word, sizeof conn->word, &conn->word_bytes);
    if (status == WEFT_IN_PROGRESS) {
        return;
    }
    if (status == WEFT_OK && le32toh(word->magic) == IB_WORD_MAGIC) {
        conn->word_bytes = 0;
        if (le32toh(word->kind) == IB_WORD_BYE) {
            conn->peer_reason = (int32_t)le32toh(word->status);
        } else if (ib_failover_hear(conn)) {
            return;
        }
    }
    conn->ended_ns = conn->host->clock_ns(conn->host);
    if (conn->side_watched) {
        epoll_ctl(conn->device->epoll, EPOLL_CTL_DEL, conn->side, NULL);
        conn->side_watched = false;
    }
}

static ib_port_t *port_find(ib_hca_t *hca, int number)
{
    weft_net_t *net = hca->net;
    for (uint32_t i = 0; i < net->nports; i++) {
        if (net->ports[i].hca == hca && net->ports[i].number == number) {
            return &net->ports[i];
        }
    }
    return NULL;
}

/* Any thread may find an event, so it is only noted where the owner looks. */
static void event_note(ib_hca_t *hca, const struct ibv_async_event *event)
{
    const weft_host_t *host = hca->net->host;
    ib_port_t *port = port_find(hca, event->element.port_num);
    ib_rail_t *rail = NULL;
    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
        if (port != NULL) {
            bool down = event->event_type == IBV_EVENT_PORT_ERR;
            atomic_store(&port->down_ns, down ? host->clock_ns(host) : 0);
            host->log(host, WEFT_LOG_WARN, "%s:%u: %s", hca->name, port->number,
                      ib_event_text(event->event_type));
        }
        break;
    case IBV_EVENT_DEVICE_FATAL:
        atomic_store(&hca->fatal, true);
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        /* The queue pair lives until the event is acknowledged, and so does the connection. */
        rail = event->element.qp->qp_context;
        break;
    case IBV_EVENT_CQ_ERR:
        rail = event->element.cq->cq_context;
        break;
    default:
        host->log(host, WEFT_LOG_DEBUG, "%s: %s", hca->name, ib_event_text(event->event_type));
        break;
    }
    if (rail != NULL) {
        atomic_store(&rail->event, (uint32_t)event->event_type + 1);
    }
}

void ib_health_async(ib_hca_t *hca)
{
    struct ibv_async_event event;
    while (ibv_get_async_event(hca->context, &event) == 0) {
        event_note(hca, &event);
        ibv_ack_async_event(&event);
    }
}

static const char *reason_text(int32_t reason)
{
    static const struct {
        weft_status_t status;
        const char *text;
    } texts[] = {{WEFT_ERR_ABORTED, "it cancelled its operations"},
                 {WEFT_ERR_PROTO, "it found the protocol violated"},
                 {WEFT_ERR_LINK, "it lost the link"},
                 {WEFT_ERR_RESOURCE, "it has no resources left, e.g. memory it may register"},
                 {WEFT_ERR_PEER_DEAD, "it took this process for dead"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if ((int32_t)texts[i].status == reason) {
            return texts[i].text;
        }
    }
    return "look at its own error";
}

static weft_status_t health_ended(const weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->host;
    if (conn->peer_reason != 0) {
        return host->set_error(host, WEFT_ERR_LINK, 0, "peer %s ended the connection: %s",
                               conn->info.peer, reason_text(conn->peer_reason));
    }
    return host->set_error(host, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                           conn->info.peer);
}

static weft_status_t health_port(const weft_net_conn_t *conn, const ib_port_t *port, uint64_t now)
{
    const weft_host_t *host = conn->host;
    uint64_t down = atomic_load(&port->down_ns);
    uint64_t patience = (uint64_t)(conn->device->net->config.port_patience * 1e9);
    if (atomic_load(&port->hca->fatal)) {
        return host->set_error(host, WEFT_ERR_LINK, 0,
                               "connection to peer %s: adapter %s failed; "
                               "look at dmesg",
                               conn->info.peer, port->hca->name);
    }
    if (down != 0 && now - down >= patience) {
        return host->set_error(host, WEFT_ERR_LINK, 0,
                               "connection to peer %s: port %s:%u is down since %llu ms; check "
                               "cable and switch (ibstat %s), or raise port_patience",
                               conn->info.peer, port->hca->name, port->number,
                               (unsigned long long)(now - down) / 1000000, port->hca->name);
    }
    return WEFT_OK;
}

void ib_health_completion(weft_net_conn_t *conn, const struct ibv_wc *wc)
{
    ib_rail_t *rail = &conn->rails[conn->lanes[(wc->wr_id >> 48) & 0xff].rail];
    if (rail->state == IB_RAIL_UP &&
        (rail->bad_ns == 0 ||
         (rail->bad.status == IBV_WC_WR_FLUSH_ERR && wc->status != IBV_WC_WR_FLUSH_ERR))) {
        rail->bad_ns = conn->host->clock_ns(conn->host);
        rail->bad = *wc;
    }
}

/* The rail with the first bad completion; one that was not flushed goes first. */
static const ib_rail_t *rail_bad(const weft_net_conn_t *conn)
{
    const ib_rail_t *first = NULL;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const ib_rail_t *rail = &conn->rails[i];
        if (rail->state != IB_RAIL_UP || rail->bad_ns == 0) {
            continue;
        }
        bool flushed = rail->bad.status == IBV_WC_WR_FLUSH_ERR;
        bool other = first != NULL && first->bad.status == IBV_WC_WR_FLUSH_ERR;
        if (first == NULL || (other && !flushed) ||
            (other == flushed && rail->bad_ns < first->bad_ns)) {
            first = rail;
        }
    }
    return first;
}

bool ib_health_due(const weft_net_conn_t *conn)
{
    return conn->ended_ns != 0 || conn->moving || rail_bad(conn) != NULL;
}

/* A flushed request is never the cause, so the cause gets time to show elsewhere. */
static weft_status_t health_bad(const weft_net_conn_t *conn, const ib_rail_t *rail, uint64_t now)
{
    const weft_host_t *host = conn->host;
    const struct ibv_wc *wc = &rail->bad;
    const ib_port_t *port = rail->port;
    const ib_cause_t *cause = ib_cause_of(wc->status);
    bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;
    bool down = atomic_load(&port->down_ns) != 0;
    if (!down && now - rail->bad_ns < (flushed ? FLUSH_PATIENCE_NS : EVENT_PATIENCE_NS)) {
        return WEFT_OK;
    }
    if (down) {
        return host->set_error(host, WEFT_ERR_LINK, 0,
                               "connection to peer %s: port %s:%u is down; check cable and switch "
                               "(the adapter says: %s, status %d, vendor %#x)",
                               conn->info.peer, port->hca->name, port->number, cause->name,
                               (int)wc->status, wc->vendor_err);
    }
    if (flushed) {
        return host->set_error(host, cause->status, 0,
                               "the queue pair of %s:%u to peer %s failed and the adapter tells no "
                               "cause; look at dmesg and at the peer's error",
                               port->hca->name, port->number, conn->info.peer);
    }
    return host->set_error(host, cause->status, 0,
                           "%s (status %d, vendor %#x) on %s:%u to peer %s: %s; %s", cause->name,
                           (int)wc->status, wc->vendor_err, port->hca->name, port->number,
                           conn->info.peer, cause->meaning, cause->remedy);
}

static weft_status_t health_rail(const weft_net_conn_t *conn, const ib_rail_t *rail, uint64_t now)
{
    uint32_t event = atomic_load(&rail->event);
    if (rail->state != IB_RAIL_UP) {
        return WEFT_OK;
    }
    if (event != 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0, "connection to peer %s: %s",
                                     conn->info.peer,
                                     ib_event_text((enum ibv_event_type)(event - 1)));
    }
    return health_port(conn, rail->port, now);
}

/* What an adapter here found before the peer gave up is the cause of both; on a busy host the peer's
 * word may be the first that is old enough. */
static bool cause_is_here(const weft_net_conn_t *conn, const ib_rail_t *bad)
{
    return conn->peer_reason != 0 && bad != NULL && bad->bad_ns <= conn->ended_ns &&
           bad->bad.status != IBV_WC_WR_FLUSH_ERR;
}

weft_status_t ib_health(weft_net_conn_t *conn)
{
    uint64_t now = conn->host->clock_ns(conn->host);
    weft_status_t status = WEFT_OK;
    if (ib_failover_watch(conn, now)) {
        return ib_failover_overdue(conn, now);
    }
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        status = health_rail(conn, &conn->rails[i], now);
    }
    const ib_rail_t *bad = rail_bad(conn);
    uint64_t patience = conn->peer_reason != 0 ? FAREWELL_PATIENCE_NS
                        : conn->cm != NULL     ? IWARP_PATIENCE_NS
                                               : END_PATIENCE_NS;
    bool ended = conn->ended_ns != 0 && now - conn->ended_ns >= patience;
    if (status == WEFT_OK && ended && !cause_is_here(conn, bad)) {
        status = health_ended(conn);
    }
    if (status == WEFT_OK && bad != NULL) {
        status = health_bad(conn, bad, now);
    }
    if (status != WEFT_OK && conn->ended_ns == 0) {
        ib_failover_decline(conn);
    }
    return status;
}
