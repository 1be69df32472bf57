/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails: completion queue and registered rings; and what makes a rail count as lost: its
 * adapter, its port, an event or a completion of its queue pairs. */
#include "ib_rail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "ib_errors.h"
#include "ib_event.h"
#include "ib_hca.h"
#include "ib_immediate.h"
#include "ib_memory.h"
#include "ib_refusal.h"
#include "ib_watch.h"

#define FLUSH_WAIT_NS                                                                              \
    UINT64_C(20000000) /* how long the cause of a flushed request may take to show */

const char *ib_rail_lost_now(const ib_rail_t *rail)
{
    ib_events_take(rail->port->hca);
    return atomic_load(&rail->port->hca->fatal)     ? "the adapter failed; look at dmesg"
           : atomic_load(&rail->port->down_ns) != 0 ? "the port is down; check cable and switch"
                                                    : NULL;
}

weft_status_t ib_rail_short_of(weft_net_conn_t *conn, const ib_rail_t *rail, const char *what,
                               int cause)
{
    const struct ibv_device_attr *attr = &rail->port->hca->attr;
    const char *lost = ib_rail_lost_now(rail);
    if (lost != NULL) {
        return ib_blame(conn, WEFT_ERR_LINK, cause, "cannot make %s for peer %s on %s:%u: %s", what,
                        conn->info.peer, rail->port->hca->name, rail->port->number, lost);
    }
    return ib_blame(conn, WEFT_ERR_RESOURCE, cause,
                    "cannot make %s for peer %s on %s:%u (the adapter has at most %d queue pairs "
                    "of %d requests, %d completion queues, %d registrations; locked memory is "
                    "limited by ulimit -l)",
                    what, conn->info.peer, rail->port->hca->name, rail->port->number, attr->max_qp,
                    attr->max_qp_wr, attr->max_cq, attr->max_mr);
}

/* Completion queues of one vector interrupt one processor, for all ranks of the host. */
static int ib_rail_vector(ib_hca_t *hca)
{
    int vectors = hca->context->num_comp_vectors;
    uint32_t turn = atomic_fetch_add(&hca->vector, 1);
    return vectors > 1 ? (int)(turn % (uint32_t)vectors) : 0;
}

weft_status_t ib_rail_open(weft_net_conn_t *conn, uint32_t index, const ib_gid_t *peer)
{
    ib_rail_t *rail = &conn->rails[index];
    ib_hca_t *hca = rail->port->hca;
    size_t ring = IB_OPS * sizeof(ib_credit_t);
    if (!ib_port_gid(rail->port, peer, &rail->gid)) {
        if (ib_rail_lost_now(rail) != NULL) {
            return ib_rail_short_of(conn, rail, "a rail", 0);
        }
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "%s:%u has no GID of the kind that peer %s uses (%s)", hca->name,
                        rail->port->number, conn->info.peer, ib_gid_type_text(peer->type));
    }
    rail->channel = ibv_create_comp_channel(hca->context);
    if (rail->channel == NULL) {
        return ib_rail_short_of(conn, rail, "a completion channel", errno);
    }
    int flags = fcntl(rail->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(rail->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return ib_rail_short_of(conn, rail, "a completion channel", errno);
    }
    const int vector = ib_rail_vector(hca);
    rail->cq = ibv_create_cq(hca->context, (int)hca->cq_depth, rail, rail->channel, vector);
    if (rail->cq == NULL && vector != 0) { /* the system may have no interrupt left for that one */
        rail->cq = ibv_create_cq(hca->context, (int)hca->cq_depth, rail, rail->channel, 0);
    }
    if (rail->cq == NULL) {
        return ib_rail_short_of(conn, rail, "a completion queue", errno);
    }
    rail->credits_in = ibv_reg_mr(hca->pd, conn->credits.in, ring,
                                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    rail->credits_out =
        rail->credits_in == NULL ? NULL : ibv_reg_mr(hca->pd, conn->credits.out, ring, 0);
    if (rail->credits_out == NULL) {
        return ib_memory_blame(conn, hca, ring, errno);
    }
    return ib_immediate_create(conn, rail);
}

void ib_rails_watch(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        int verb = rail->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        if (rail->channel != NULL && rail->state != IB_RAIL_LOST &&
            ib_device_watch(conn->device, verb, rail->channel->fd, EPOLLIN,
                            conn->ready ? &rail->watch : NULL)) {
            rail->watched = true;
        }
    }
}

void ib_rail_unwatch(const weft_net_conn_t *conn, ib_rail_t *rail)
{
    if (rail->watched) {
        epoll_ctl(conn->device->epoll, EPOLL_CTL_DEL, rail->channel->fd, NULL);
        rail->watched = false;
    }
}

void ib_rails_unwatch(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_unwatch(conn, &conn->rails[i]);
    }
}

void ib_rails_drain(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        struct ibv_cq *cq;
        void *context;
        while (rail->channel != NULL && ibv_get_cq_event(rail->channel, &cq, &context) == 0) {
            ibv_ack_cq_events(cq, 1);
            rail->armed = false;
        }
    }
}

bool ib_rail_arm(ib_rail_t *rail)
{
    rail->armed = rail->armed || ibv_req_notify_cq(rail->cq, 0) == 0;
    return rail->armed;
}

void ib_rails_close(weft_net_conn_t *conn)
{
    ib_rails_unwatch(conn);
    ib_immediate_destroy(conn);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        if (rail->credits_out != NULL) {
            ibv_dereg_mr(rail->credits_out);
        }
        if (rail->credits_in != NULL) {
            ibv_dereg_mr(rail->credits_in);
        }
        if (rail->cq != NULL) {
            ibv_destroy_cq(rail->cq);
        }
        if (rail->channel != NULL) {
            ibv_destroy_comp_channel(rail->channel);
        }
        rail->credits_out = rail->credits_in = NULL;
        rail->cq = NULL;
        rail->channel = NULL;
        rail->armed = false;
    }
}

void ib_rail_note(weft_net_conn_t *conn, const struct ibv_wc *wc)
{
    ib_rail_t *rail = &conn->rails[conn->qps[ib_id_qp(wc->wr_id)].rail];
    if (rail->state == IB_RAIL_UP &&
        (rail->bad_ns == 0 ||
         (rail->bad.status == IBV_WC_WR_FLUSH_ERR && wc->status != IBV_WC_WR_FLUSH_ERR))) {
        rail->bad_ns = conn->host->clock_ns(conn->host);
        rail->bad = *wc;
        conn->noted = true;
    }
}

bool ib_rail_refused(weft_net_conn_t *conn, ib_qp_t *qp, int cause)
{
    uint32_t index = (uint32_t)(qp - conn->qps);
    /* A full queue is a bug here, not a fault of the rail. Soft-iWARP refuses requests of a queue
     * pair that the peer has closed, and what it sent before that may still be unread. */
    bool may = conn->failover != NULL || conn->cm != NULL;
    if (!may || cause == ENOMEM || !conn->ready) {
        return false;
    }
    const struct ibv_wc wc = {.wr_id = ib_id(IB_ID_DATA, index, 0, 0),
                              .status = IBV_WC_GENERAL_ERR,
                              .vendor_err = (uint32_t)cause};
    ib_rail_note(conn, &wc);
    qp->stopped = true;
    return true;
}

/* Errors of the path or the adapter. All other errors would come again on every rail. */
static bool ib_rail_owns_status(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_FATAL_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_GENERAL_ERR:
        return true;
    default:
        return false;
    }
}

static bool ib_rail_owns_event(uint32_t event)
{
    return event == IBV_EVENT_QP_FATAL || event == IBV_EVENT_CQ_ERR ||
           event == IBV_EVENT_PATH_MIG_ERR;
}

const char *ib_rail_cause(const ib_rail_t *rail, uint64_t now, uint64_t *since_p)
{
    uint64_t down = atomic_load(&rail->port->down_ns);
    uint32_t event = atomic_load(&rail->event);
    bool flushed = rail->bad.status == IBV_WC_WR_FLUSH_ERR;
    *since_p = rail->bad_ns != 0 ? rail->bad_ns : now;
    if (atomic_load(&rail->port->hca->fatal)) {
        return "the adapter failed";
    }
    if (down != 0) {
        *since_p = down < *since_p ? down : *since_p;
        return "the port is down";
    }
    if (event != 0 && ib_rail_owns_event(event - 1)) {
        return ib_event_text((enum ibv_event_type)(event - 1));
    }
    if (rail->bad_ns == 0 || !ib_rail_owns_status(rail->bad.status) ||
        (flushed && now - rail->bad_ns < FLUSH_WAIT_NS)) {
        return NULL;
    }
    return ib_cause_of(rail->bad.status)->name;
}

uint32_t ib_rails_up(const weft_net_conn_t *conn)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        mask |= conn->rails[i].state == IB_RAIL_UP ? 1u << i : 0;
    }
    return mask;
}

static uint32_t ib_rails_all(const weft_net_conn_t *conn)
{
    return (1u << conn->nrails) - 1;
}

uint32_t ib_rails_lost(const weft_net_conn_t *conn)
{
    uint32_t mask = 0;
    bool needed = !conn->device->net->config.failover || !conn->with_immediate;
    for (uint32_t i = 0; i < conn->nrails && !needed; i++) {
        mask |= ib_port_lost(conn->rails[i].port) ? 1u << i : 0;
    }
    return mask == ib_rails_all(conn) ? 0 : mask;
}

void ib_rails_name(const weft_net_conn_t *conn, uint32_t mask, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < conn->nrails && used < bytes; i++) {
        if ((mask & 1u << i) != 0) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%.64s:%u", used > 0 ? ", " : "",
                                     conn->rails[i].port->hca->name, conn->rails[i].port->number);
        }
    }
}

weft_status_t ib_rails_leave(weft_net_conn_t *conn, uint32_t mask)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        conn->rails[i].state = (mask & 1u << i) != 0 ? IB_RAIL_LOST : IB_RAIL_UP;
    }
    if (mask != ib_rails_all(conn)) {
        return WEFT_OK;
    }
    char names[IB_RAILS_TEXT] = "none";
    ib_rails_name(conn, ib_rails_lost(conn), names, sizeof names);
    return ib_blame(conn, WEFT_ERR_LINK, 0,
                    "no rail to peer %s is left: lost are here %s, there the others",
                    conn->info.peer, names);
}

bool ib_rails_agree(const weft_net_conn_t *conn, uint32_t lost)
{
    return lost == (ib_rails_all(conn) & ~ib_rails_up(conn));
}

uint32_t ib_rail_choose(uint32_t up, uint32_t turn)
{
    uint32_t skip = turn % (uint32_t)__builtin_popcount(up), rail = 0;
    while ((up & 1u << rail) == 0 || skip > 0) {
        skip -= (up & 1u << rail) != 0 ? 1 : 0;
        rail++;
    }
    return rail;
}
