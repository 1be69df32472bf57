/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be wrong with a connection besides its completions. */
#include "ib_health.h"

#include <endian.h>

#include "ib_errors.h"
#include "ib_failover.h"
#include "ib_rail.h"
#include "ib_refusal.h"
#include "ib_side.h"

#define END_PATIENCE_NS                                                                            \
    UINT64_C(5000000) /* how long completions of what came before the end may take */
/* Over iWARP a peer leaves as soon as its data is on the way, not when it has arrived. */
#define IWARP_PATIENCE_NS UINT64_C(500000000)
/* A peer that leaves with a reason knows the cause, which meanwhile travels through the core. */
#define LEAVE_PATIENCE_NS UINT64_C(200000000)
#define FLUSH_PATIENCE_NS                                                                          \
    UINT64_C(500000000) /* how long the cause of a flushed request may take to show */
#define EVENT_PATIENCE_NS                                                                          \
    UINT64_C(20000000) /* how long an event that explains a completion may take */

void ib_health_side(weft_net_conn_t *conn)
{
    if (conn->failed == WEFT_OK && ib_failover_expects(conn) && ib_side_receive(conn) &&
        !ib_failover_receive(conn)) {
        ib_side_refuse(conn);
    }
}

static const char *ib_health_reason_text(int32_t reason)
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

static weft_status_t ib_health_ended(weft_net_conn_t *conn)
{
    if (conn->side.wrong) {
        const ib_control_t *control = &conn->side.control;
        return ib_blame(conn, WEFT_ERR_PROTO, 0,
                        "peer %s sent a wrong control message (%#x, kind %u, rails %#x); check "
                        "that all ranks run the same version of weft",
                        conn->info.peer, le32toh(control->magic), le32toh(control->kind),
                        le32toh(control->lost));
    }
    if (conn->side.peer_reason != 0) {
        return ib_blame(conn, WEFT_ERR_LINK, 0, "peer %s ended the connection: %s", conn->info.peer,
                        ib_health_reason_text(conn->side.peer_reason));
    }
    return ib_blame(conn, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection", conn->info.peer);
}

static weft_status_t ib_health_port(weft_net_conn_t *conn, const ib_port_t *port, uint64_t now)
{
    uint64_t down = atomic_load(&port->down_ns);
    uint64_t patience = (uint64_t)(conn->device->net->config.port_patience * 1e9);
    if (atomic_load(&port->hca->fatal)) {
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "connection to peer %s: adapter %s failed; "
                        "look at dmesg",
                        conn->info.peer, port->hca->name);
    }
    if (down != 0 && now - down >= patience) {
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "connection to peer %s: port %s:%u is down since %llu ms; check "
                        "cable and switch (ibstat %s), or raise port_patience",
                        conn->info.peer, port->hca->name, port->number,
                        (unsigned long long)(now - down) / 1000000, port->hca->name);
    }
    return WEFT_OK;
}

/* Returns the rail with the first bad completion; one that was not flushed takes precedence. */
static const ib_rail_t *ib_health_rail_bad(const weft_net_conn_t *conn)
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

static bool ib_health_has_event(const weft_net_conn_t *conn)
{
    bool has = false;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        has = has || conn->rails[i].event_ns != 0;
    }
    return has;
}

bool ib_health_due(const weft_net_conn_t *conn)
{
    return conn->side.ended_ns != 0 || conn->moving || ib_health_has_event(conn) ||
           ib_health_rail_bad(conn) != NULL;
}

/* A flushed request is never the cause, so the cause gets time to show elsewhere. */
static weft_status_t ib_health_bad(weft_net_conn_t *conn, const ib_rail_t *rail, uint64_t now)
{
    const struct ibv_wc *wc = &rail->bad;
    const ib_port_t *port = rail->port;
    const ib_cause_t *cause = ib_cause_of(wc->status);
    bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;
    bool down = atomic_load(&port->down_ns) != 0;
    bool refused = conn->cm != NULL && wc->status == IBV_WC_GENERAL_ERR;
    uint64_t patience = flushed   ? FLUSH_PATIENCE_NS
                        : refused ? IWARP_PATIENCE_NS
                                  : EVENT_PATIENCE_NS;
    if (!down && now - rail->bad_ns < patience) {
        return WEFT_OK;
    }
    if (down) {
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "connection to peer %s: port %s:%u is down; check cable and switch "
                        "(the adapter says: %s, status %d, vendor %#x)",
                        conn->info.peer, port->hca->name, port->number, cause->name,
                        (int)wc->status, wc->vendor_err);
    }
    if (flushed) {
        return ib_blame(conn, cause->status, 0,
                        "the queue pair of %s:%u to peer %s failed and the adapter tells no "
                        "cause; look at dmesg and at the peer's error",
                        port->hca->name, port->number, conn->info.peer);
    }
    return ib_blame(conn, cause->status, 0,
                    "%s (status %d, vendor %#x) on %s:%u to peer %s: %s; %s", cause->name,
                    (int)wc->status, wc->vendor_err, port->hca->name, port->number, conn->info.peer,
                    cause->meaning, cause->remedy);
}

/* Over iWARP the end of one queue pair may overtake what the peer sent before on another. */
static weft_status_t ib_health_rail(weft_net_conn_t *conn, ib_rail_t *rail, uint64_t now)
{
    uint32_t event = atomic_load(&rail->event);
    uint64_t patience = conn->cm != NULL ? IWARP_PATIENCE_NS : 0;
    if (rail->state != IB_RAIL_UP) {
        return WEFT_OK;
    }
    rail->event_ns = event != 0 && rail->event_ns == 0 ? now : rail->event_ns;
    if (event != 0 && now - rail->event_ns >= patience) {
        return ib_blame(conn, WEFT_ERR_LINK, 0, "connection to peer %s: %s", conn->info.peer,
                        ib_event_text((enum ibv_event_type)(event - 1)));
    }
    return ib_health_port(conn, rail->port, now);
}

/* An error that an adapter here found before the peer left is the cause of both. On a busy host
 * the peer's message may be the first that is old enough. */
static bool ib_health_cause_is_here(const weft_net_conn_t *conn, const ib_rail_t *bad)
{
    return conn->side.peer_reason != 0 && bad != NULL && bad->bad_ns <= conn->side.ended_ns &&
           bad->bad.status != IBV_WC_WR_FLUSH_ERR;
}

weft_status_t ib_health_check(weft_net_conn_t *conn)
{
    uint64_t now = conn->host->clock_ns(conn->host);
    weft_status_t status = WEFT_OK;
    if (ib_failover_watch(conn, now)) {
        return ib_failover_overdue(conn, now);
    }
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        status = ib_health_rail(conn, &conn->rails[i], now);
    }
    const ib_rail_t *bad = ib_health_rail_bad(conn);
    uint64_t patience = conn->side.peer_reason != 0 ? LEAVE_PATIENCE_NS
                        : conn->cm != NULL          ? IWARP_PATIENCE_NS
                                                    : END_PATIENCE_NS;
    bool ended = conn->side.ended_ns != 0 && now - conn->side.ended_ns >= patience;
    if (status == WEFT_OK && ended && !ib_health_cause_is_here(conn, bad)) {
        status = ib_health_ended(conn);
    }
    if (status == WEFT_OK && bad != NULL) {
        status = ib_health_bad(conn, bad, now);
    }
    if (status != WEFT_OK && conn->side.ended_ns == 0) {
        ib_failover_decline(conn);
    }
    return status;
}
