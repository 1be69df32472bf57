/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failover. Both ends walk through the same steps; an end enters a step when it has received the
 * peer's control message for the step before:
 *
 *   STOP   The queue pairs of the rail take and send nothing more. The message names the rails.
 *   MOVE   What had arrived is counted, and queue pairs are created on other rails. The message
 *          holds the counts and the new numbers.
 *   GO     The new queue pairs are connected.
 *   none   Parts that the peer has are complete, the others are sent again, in order.
 *
 * What one queue pair carries is a stream of parts in order, also when another queue pair
 * continues it, so one count per queue pair says what arrived. Nothing is sent again before the
 * peer has shut whatever could still write to its memory. */
#include "ib_failover.h"

#include <endian.h>
#include <stdio.h>

#include "ib_flow.h"
#include "ib_ops.h"
#include "ib_qp.h"
#include "ib_rail.h"
#include "ib_refusal.h"
#include "ib_side.h"

#define DRAIN_NS                                                                                   \
    UINT64_C(250000000) /* how long flushed receives of a stopped queue pair may take */
#define RETIRED_MAX (IB_QPS_MAX * (IB_RAILS_MAX - 1))

/* A step is the kind of its control message. */
typedef enum ib_step {
    STEP_NONE,
    STEP_STOP = IB_CONTROL_STOP,
    STEP_MOVE = IB_CONTROL_MOVE,
    STEP_GO = IB_CONTROL_GO
} ib_step_t;

struct ib_failover {
    ib_hello_t peer;             /* its rails, and its newest queue pairs */
    uint32_t step;               /* whose message was sent last */
    uint32_t heard;              /* whose message was received last */
    uint32_t losing;             /* bit mask of the rails of this round */
    uint32_t moved;              /* bit mask of the queue pairs of this round */
    uint32_t counts[IB_QPS_MAX]; /* what the peer has received per queue pair */
    uint64_t began_ns, stopped_ns;
    uint32_t nretired;
    struct ibv_qp *retired[RETIRED_MAX]; /* queue pairs of lost rails, in the error state */
    char cause[160];
};

void ib_failover_fini(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; conn->failover != NULL && i < conn->failover->nretired; i++) {
        ibv_destroy_qp(conn->failover->retired[i]);
    }
    conn->host->free(conn->host, conn->failover);
    conn->failover = NULL;
}

weft_status_t ib_failover_init(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    bool agreed = conn->device->net->config.failover && conn->nrails > 1 && conn->with_immediate &&
                  (le32toh(peer->flags) & IB_HELLO_FAILOVER) != 0;
    ib_failover_fini(conn); /* of the set-up before */
    if (!agreed) {
        return WEFT_OK;
    }
    conn->failover = conn->host->alloc(conn->host, sizeof *conn->failover, 0);
    if (conn->failover == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->failover->peer = *peer;
    return WEFT_OK;
}

/* Detection ----------------------------------------------------------------------------------- */

static void ib_failover_begin(weft_net_conn_t *conn, uint32_t losing, uint64_t since,
                              const char *cause)
{
    ib_failover_t *failover = conn->failover;
    failover->losing = losing;
    failover->began_ns = since;
    snprintf(failover->cause, sizeof failover->cause, "%s", cause);
    conn->moving = true;
    ib_conn_set_busy(conn);
}

bool ib_failover_watch(weft_net_conn_t *conn, uint64_t now)
{
    uint32_t up = ib_rails_up(conn), losing = 0;
    uint64_t first = UINT64_MAX, since;
    const char *why = "";
    if (conn->failover == NULL || conn->side.ended_ns != 0 || conn->moving) {
        return conn->moving && conn->side.ended_ns == 0;
    }
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const char *cause =
            (up & 1u << i) != 0 ? ib_rail_cause(&conn->rails[i], now, &since) : NULL;
        if (cause != NULL) {
            losing |= 1u << i;
            why = since < first ? cause : why;
            first = since < first ? since : first;
        }
    }
    if (losing == 0 || losing == up) {
        return false;
    }
    ib_failover_begin(conn, losing, first, why);
    return true;
}

void ib_failover_decline(const weft_net_conn_t *conn)
{
    if (conn->nrails > 1) {
        conn->host->log(conn->host, WEFT_LOG_WARN,
                        "connection to peer %s cannot go on over another rail: %s", conn->info.peer,
                        conn->failover != NULL
                            ? "no other is left, or the error is none of the rail"
                            : "failover = no here or at the peer, or it sends no immediates");
    }
}

weft_status_t ib_failover_overdue(weft_net_conn_t *conn, uint64_t now)
{
    const ib_failover_t *failover = conn->failover;
    double patience = conn->device->net->config.failover_patience;
    if (failover->step == STEP_NONE || now - failover->stopped_ns < (uint64_t)(patience * 1e9)) {
        return WEFT_OK;
    }
    return ib_blame(conn, WEFT_ERR_LINK, 0,
                    "a rail to peer %s is lost (%s) and the peer does not answer "
                    "within %g s; raise failover_patience if it is only busy",
                    conn->info.peer, failover->cause, patience);
}

/* Control messages ---------------------------------------------------------------------------- */

/* An end is at most one message ahead of the other. */
bool ib_failover_expects(const weft_net_conn_t *conn)
{
    return conn->failover == NULL || conn->failover->heard <= conn->failover->step;
}

static weft_status_t ib_failover_step_send(weft_net_conn_t *conn, uint32_t step)
{
    ib_failover_t *failover = conn->failover;
    ib_control_t control = {.kind = htole32(step), .lost = htole32(failover->losing)};
    for (uint32_t i = 0; i < conn->nqps && step == STEP_MOVE; i++) {
        const ib_qp_t *qp = &conn->qps[i];
        control.arrived[i] = htole32(i == 0 ? conn->credits.received : qp->arrived);
        control.numbers[i] = htole32(qp->handle->qp_num);
        control.psns[i] = htole32(qp->psn);
    }
    failover->step = step;
    return ib_side_send(conn, &control);
}

static void ib_failover_rails_stop(weft_net_conn_t *conn, uint32_t mask)
{
    for (uint32_t i = 0; i < conn->nqps; i++) {
        ib_qp_t *qp = &conn->qps[i];
        if ((mask & 1u << qp->rail) != 0 && conn->rails[qp->rail].state == IB_RAIL_UP) {
            ib_qp_stop(qp);
        }
    }
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        rail->state = (mask & 1u << i) != 0 ? IB_RAIL_STOPPING : rail->state;
    }
}

static bool ib_failover_receive_stop(weft_net_conn_t *conn, uint32_t mask)
{
    ib_failover_t *failover = conn->failover;
    uint32_t usable = ib_rails_up(conn) | failover->losing;
    if (mask == 0 || (mask & ~usable) != 0) {
        return false;
    }
    if (!conn->moving) {
        ib_failover_begin(conn, mask, conn->host->clock_ns(conn->host), "the peer lost it");
        return true;
    }
    if (failover->step == STEP_STOP) {
        ib_failover_rails_stop(conn, mask & ~failover->losing);
    }
    failover->losing |= mask;
    return true;
}

static bool ib_failover_receive_move(weft_net_conn_t *conn, const ib_control_t *control)
{
    ib_failover_t *failover = conn->failover;
    for (uint32_t i = 0; i < conn->nqps; i++) {
        failover->counts[i] = le32toh(control->arrived[i]);
        failover->peer.numbers[i] = control->numbers[i];
        failover->peer.psns[i] = control->psns[i];
    }
    return true;
}

bool ib_failover_receive(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    const ib_control_t *control = &conn->side.control;
    uint32_t kind = le32toh(control->kind);
    if (failover == NULL || kind != failover->heard + 1 || kind > STEP_GO) {
        return false;
    }
    failover->heard = kind;
    return kind == STEP_STOP   ? ib_failover_receive_stop(conn, le32toh(control->lost))
           : kind == STEP_MOVE ? ib_failover_receive_move(conn, control)
                               : true;
}

/* Steps --------------------------------------------------------------------------------------- */

static weft_status_t ib_failover_enter_stop(weft_net_conn_t *conn)
{
    conn->failover->stopped_ns = conn->host->clock_ns(conn->host);
    ib_failover_rails_stop(conn, conn->failover->losing);
    return ib_failover_step_send(conn, STEP_STOP);
}

/* The last receive is flushed after everything that arrived before it. */
static bool ib_failover_qp_drained(const ib_qp_t *qp)
{
    return qp->received == qp->filled;
}

/* Returns whether everything that arrived on the stopped queue pairs has been polled. A dead
 * adapter flushes nothing. */
static bool ib_failover_rails_drained(const weft_net_conn_t *conn)
{
    const ib_failover_t *failover = conn->failover;
    bool drained = true;
    for (uint32_t i = 0; i < conn->nqps; i++) {
        const ib_qp_t *qp = &conn->qps[i];
        const ib_rail_t *rail = &conn->rails[qp->rail];
        drained = drained && (rail->state != IB_RAIL_STOPPING || ib_failover_qp_drained(qp) ||
                              atomic_load(&rail->port->hca->fatal));
    }
    return drained || conn->host->clock_ns(conn->host) - failover->stopped_ns > DRAIN_NS;
}

/* A drained queue pair is inactive. Destroying it can take seconds, while the network device
 * still holds its packets, so that waits until the connection is closed. */
static void ib_failover_qp_retire(ib_failover_t *failover, ib_qp_t *qp)
{
    if (ib_failover_qp_drained(qp) && failover->nretired < RETIRED_MAX) {
        failover->retired[failover->nretired++] = qp->handle;
    } else {
        ibv_destroy_qp(qp->handle);
    }
    qp->handle = NULL;
}

static weft_status_t ib_failover_enter_move(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    uint32_t up = ib_rails_up(conn);
    weft_status_t status = WEFT_OK;
    if (up == 0) {
        ib_failover_decline(conn);
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "no rail to peer %s is left: each was lost here (%s) or there",
                        conn->info.peer, failover->cause);
    }
    failover->moved = 0;
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        ib_qp_t *qp = &conn->qps[i];
        if (conn->rails[qp->rail].state == IB_RAIL_STOPPING) {
            ib_failover_qp_retire(failover, qp);
            failover->moved |= 1u << i;
            status = ib_qp_remake(conn, i, ib_rail_choose(up, i));
        }
    }
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        if (rail->state == IB_RAIL_STOPPING) {
            rail->state = IB_RAIL_LOST;
            ib_rail_unwatch(conn, rail);
        }
    }
    return status == WEFT_OK ? ib_failover_step_send(conn, STEP_MOVE) : status;
}

static weft_status_t ib_failover_enter_go(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        if ((conn->failover->moved & 1u << i) != 0) {
            status = ib_qp_connect(conn, i, &conn->failover->peer);
        }
    }
    return status == WEFT_OK ? ib_failover_step_send(conn, STEP_GO) : status;
}

static void ib_failover_report(const weft_net_conn_t *conn, uint32_t parts, uint32_t credits)
{
    const ib_failover_t *failover = conn->failover;
    char names[IB_RAILS_TEXT] = "";
    ib_rails_name(conn, failover->losing, names, sizeof names);
    uint64_t took = conn->host->clock_ns(conn->host) - failover->began_ns;
    conn->host->log(conn->host, WEFT_LOG_WARN,
                    "connection to peer %s: rail %s is lost (%s); %u parts of messages and %u "
                    "credits were sent again over other rails, recovered in %.1f ms",
                    conn->info.peer, names, failover->cause, parts, credits, (double)took / 1e6);
}

static weft_status_t ib_failover_finish(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    uint32_t parts = 0, credits = 0;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        if ((failover->moved & 1u << i) != 0) {
            conn->qps[i].stopped = false;
            status = ib_flow_resume(conn, i, failover->counts[i], i == 0 ? &credits : &parts);
        }
    }
    status = status == WEFT_OK ? ib_flow_credit(conn) : status;
    status = status == WEFT_OK ? ib_flow_send(conn) : status;
    if (status == WEFT_OK) {
        ib_failover_report(conn, parts, credits);
    }
    failover->step = failover->heard = STEP_NONE;
    failover->losing = 0;
    conn->moving = false;
    ib_conn_set_busy(conn);
    return status;
}

weft_status_t ib_failover_advance(weft_net_conn_t *conn)
{
    /* Indexed by the step that ends. */
    static weft_status_t (*const enters[])(weft_net_conn_t *) = {
        [STEP_NONE] = ib_failover_enter_stop,
        [STEP_STOP] = ib_failover_enter_move,
        [STEP_MOVE] = ib_failover_enter_go,
        [STEP_GO] = ib_failover_finish};
    const ib_failover_t *failover = conn->failover;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && conn->moving && failover->heard >= failover->step &&
           (failover->step != STEP_STOP || ib_failover_rails_drained(conn))) {
        status = enters[failover->step](conn);
    }
    return status;
}
