/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rail that is lost: its lanes go on over the others. Both ends walk through the same steps, each of
 * which ends when the peer's word for it is here:
 *
 *   stop   the rail's queue pairs take and send nothing more; the word names the rails
 *   move   what had arrived is counted; queue pairs are made anew on other rails; the word holds the
 *          counts and the new numbers
 *   go     the new queue pairs are connected; the word says so
 *   then   parts that the peer has are complete, the others are sent again, in order
 *
 * A lane is a stream of parts in order, whatever queue pair carries it, so one count per lane says what
 * arrived. Nothing is sent again before the peer shut what could still write to its memory. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "hello.h"

#define DRAIN_NS UINT64_C(250000000) /* for flushed receives of a stopped queue pair */
#define RETIRED_MAX (IB_LANES_MAX * (IB_RAILS_MAX - 1))

/* Kinds of words are steps. */
typedef enum ib_step { STEP_NONE, STEP_STOP, STEP_MOVE, STEP_GO } ib_step_t;

struct ib_failover {
    ib_hello_t peer;               /* its rails, and its newest queue pairs */
    uint32_t step;                 /* whose word was sent last */
    uint32_t heard;                /* whose word was heard last */
    uint32_t losing;               /* rails of this round: bit mask */
    uint32_t moved;                /* lanes of this round: bit mask */
    uint32_t counts[IB_LANES_MAX]; /* what the peer has of each lane */
    uint64_t began_ns, stopped_ns;
    uint32_t nretired;
    struct ibv_qp *retired[RETIRED_MAX]; /* queue pairs of lost rails, in the error state */
    char cause[160];
};

weft_status_t ib_failover_init(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    bool agreed = conn->device->net->config.failover && conn->nrails > 1 && conn->with_immediate &&
                  (le32toh(peer->flags) & IB_HELLO_FAILOVER) != 0;
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

void ib_failover_fini(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; conn->failover != NULL && i < conn->failover->nretired; i++) {
        ibv_destroy_qp(conn->failover->retired[i]);
    }
    conn->host->free(conn->host, conn->failover);
    conn->failover = NULL;
}

/* Noticing --------------------------------------------------------------------------------------- */

static void failover_begin(weft_net_conn_t *conn, uint32_t losing, uint64_t since,
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
    if (conn->failover == NULL || conn->ended_ns != 0 || conn->moving) {
        return conn->moving && conn->ended_ns == 0;
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
    failover_begin(conn, losing, first, why);
    return true;
}

bool ib_failover_refused(weft_net_conn_t *conn, const ib_lane_t *lane, int cause)
{
    uint32_t index = (uint32_t)(lane - conn->lanes);
    /* A full queue is an error of ours. */
    if (conn->failover == NULL || cause == ENOMEM || !conn->ready) {
        return false;
    }
    const struct ibv_wc wc = {.wr_id = ib_id(IB_ID_DATA, index, 0, 0),
                              .status = IBV_WC_GENERAL_ERR,
                              .vendor_err = (uint32_t)cause};
    ib_health_completion(conn, &wc);
    conn->lanes[index].stopped = true;
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

weft_status_t ib_failover_overdue(const weft_net_conn_t *conn, uint64_t now)
{
    const ib_failover_t *failover = conn->failover;
    double patience = conn->device->net->config.failover_patience;
    if (failover->step == STEP_NONE || now - failover->stopped_ns < (uint64_t)(patience * 1e9)) {
        return WEFT_OK;
    }
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                 "a rail to peer %s is lost (%s) and the peer does not answer "
                                 "within %g s; raise failover_patience if it is only busy",
                                 conn->info.peer, failover->cause, patience);
}

/* Words ------------------------------------------------------------------------------------------ */

/* An end is at most one word ahead of the other. */
bool ib_failover_listens(const weft_net_conn_t *conn)
{
    return conn->failover == NULL || conn->failover->heard <= conn->failover->step;
}

static weft_status_t word_say(weft_net_conn_t *conn, uint32_t step)
{
    const ib_failover_t *failover = conn->failover;
    ib_word_t word = {
        .magic = htole32(IB_WORD_MAGIC), .kind = htole32(step), .lost = htole32(failover->losing)};
    for (uint32_t i = 0; i < conn->nlanes && step == STEP_MOVE; i++) {
        const ib_lane_t *lane = &conn->lanes[i];
        word.arrived[i] = htole32(i == 0 ? conn->send.granted : lane->arrived);
        word.numbers[i] = htole32(lane->qp->qp_num);
        word.psns[i] = htole32(lane->psn);
    }
    conn->failover->step = step;
    ssize_t sent = send(conn->side, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
    /* The end of a peer that is gone is still to be heard. */
    return sent == (ssize_t)sizeof word || (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
               ? WEFT_OK
               : conn->host->set_error(conn->host, WEFT_ERR_LINK, sent < 0 ? errno : 0,
                                       "cannot tell peer %s of a lost rail", conn->info.peer);
}

static void rails_stop(weft_net_conn_t *conn, uint32_t mask)
{
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        ib_lane_t *lane = &conn->lanes[i];
        if ((mask & 1u << lane->rail) != 0 && conn->rails[lane->rail].state == IB_RAIL_UP) {
            ib_lane_stop(lane);
        }
    }
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        rail->state = (mask & 1u << i) != 0 ? IB_RAIL_STOPPING : rail->state;
    }
}

static bool hear_stop(weft_net_conn_t *conn, uint32_t mask)
{
    ib_failover_t *failover = conn->failover;
    uint32_t usable = ib_rails_up(conn) | failover->losing;
    if (mask == 0 || (mask & ~usable) != 0) {
        return false;
    }
    if (!conn->moving) {
        failover_begin(conn, mask, conn->host->clock_ns(conn->host), "the peer lost it");
        return true;
    }
    if (failover->step == STEP_STOP) {
        rails_stop(conn, mask & ~failover->losing);
    }
    failover->losing |= mask;
    return true;
}

static bool hear_move(weft_net_conn_t *conn, const ib_word_t *word)
{
    ib_failover_t *failover = conn->failover;
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        failover->counts[i] = le32toh(word->arrived[i]);
        failover->peer.numbers[i] = word->numbers[i];
        failover->peer.psns[i] = word->psns[i];
    }
    return true;
}

bool ib_failover_hear(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    uint32_t kind = le32toh(conn->word.kind);
    if (failover == NULL || kind != failover->heard + 1 || kind > STEP_GO) {
        return false;
    }
    failover->heard = kind;
    return kind == STEP_STOP   ? hear_stop(conn, le32toh(conn->word.lost))
           : kind == STEP_MOVE ? hear_move(conn, &conn->word)
                               : true;
}

/* Steps ------------------------------------------------------------------------------------------ */

static weft_status_t enter_stop(weft_net_conn_t *conn)
{
    conn->failover->stopped_ns = conn->host->clock_ns(conn->host);
    rails_stop(conn, conn->failover->losing);
    return word_say(conn, STEP_STOP);
}

/* The last receive is flushed after all that arrived before. */
static bool lane_drained(const ib_lane_t *lane)
{
    return lane->received == lane->filled;
}

/* Whether all that arrived on the stopped queue pairs has been polled. A dead adapter tells nothing. */
static bool rails_drained(const weft_net_conn_t *conn)
{
    const ib_failover_t *failover = conn->failover;
    bool drained = true;
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        const ib_lane_t *lane = &conn->lanes[i];
        const ib_rail_t *rail = &conn->rails[lane->rail];
        drained = drained && (rail->state != IB_RAIL_STOPPING || lane_drained(lane) ||
                              atomic_load(&rail->port->hca->fatal));
    }
    return drained || conn->host->clock_ns(conn->host) - failover->stopped_ns > DRAIN_NS;
}

/* A queue pair that is drained does nothing any more. To destroy it can take seconds, while the network
 * device still holds its packets, so that has time until the connection is closed. */
static void lane_retire(ib_failover_t *failover, ib_lane_t *lane)
{
    if (lane_drained(lane) && failover->nretired < RETIRED_MAX) {
        failover->retired[failover->nretired++] = lane->qp;
    } else {
        ibv_destroy_qp(lane->qp);
    }
    lane->qp = NULL;
}

/* Both ends choose alike: lanes take turns on what is left. */
static uint32_t rail_choose(uint32_t up, uint32_t lane)
{
    uint32_t skip = lane % (uint32_t)__builtin_popcount(up), rail = 0;
    while ((up & 1u << rail) == 0 || skip > 0) {
        skip -= (up & 1u << rail) != 0 ? 1 : 0;
        rail++;
    }
    return rail;
}

static weft_status_t enter_move(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    uint32_t up = ib_rails_up(conn);
    weft_status_t status = WEFT_OK;
    if (up == 0) {
        ib_failover_decline(conn);
        return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                     "no rail to peer %s is left: each was lost here (%s) or there",
                                     conn->info.peer, failover->cause);
    }
    failover->moved = 0;
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        ib_lane_t *lane = &conn->lanes[i];
        if (conn->rails[lane->rail].state == IB_RAIL_STOPPING) {
            lane_retire(failover, lane);
            failover->moved |= 1u << i;
            status = ib_lane_remake(conn, i, rail_choose(up, i));
        }
    }
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        rail->state = rail->state == IB_RAIL_STOPPING ? IB_RAIL_LOST : rail->state;
    }
    return status == WEFT_OK ? word_say(conn, STEP_MOVE) : status;
}

static weft_status_t enter_go(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        if ((conn->failover->moved & 1u << i) != 0) {
            status = ib_lane_connect(conn, i, &conn->failover->peer);
        }
    }
    return status == WEFT_OK ? word_say(conn, STEP_GO) : status;
}

static void failover_report(const weft_net_conn_t *conn, uint32_t parts, uint32_t grants)
{
    const ib_failover_t *failover = conn->failover;
    char names[160] = "";
    for (uint32_t i = 0; i < conn->nrails; i++) {
        size_t used = strlen(names);
        if ((failover->losing & 1u << i) != 0) {
            snprintf(names + used, sizeof names - used, "%s%.64s:%u", used > 0 ? ", " : "",
                     conn->rails[i].port->hca->name, conn->rails[i].port->number);
        }
    }
    uint64_t took = conn->host->clock_ns(conn->host) - failover->began_ns;
    conn->host->log(conn->host, WEFT_LOG_WARN,
                    "connection to peer %s: rail %s is lost (%s); %u parts of messages and %u "
                    "grants were sent again over other rails, recovered in %.1f ms",
                    conn->info.peer, names, failover->cause, parts, grants, (double)took / 1e6);
}

static weft_status_t enter_none(weft_net_conn_t *conn)
{
    ib_failover_t *failover = conn->failover;
    uint32_t parts = 0, grants = 0;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        if ((failover->moved & 1u << i) != 0) {
            conn->lanes[i].stopped = false;
            status = ib_flow_resume(conn, i, failover->counts[i], i == 0 ? &grants : &parts);
        }
    }
    status = status == WEFT_OK ? ib_flow_grant(conn) : status;
    status = status == WEFT_OK ? ib_flow_send(conn) : status;
    if (status == WEFT_OK) {
        failover_report(conn, parts, grants);
    }
    failover->step = failover->heard = STEP_NONE;
    failover->losing = 0;
    conn->moving = false;
    ib_conn_set_busy(conn);
    return status;
}

weft_status_t ib_failover_advance(weft_net_conn_t *conn)
{
    /* By the step that ends. */
    static weft_status_t (*const enters[])(weft_net_conn_t *) = {[STEP_NONE] = enter_stop,
                                                                 [STEP_STOP] = enter_move,
                                                                 [STEP_MOVE] = enter_go,
                                                                 [STEP_GO] = enter_none};
    const ib_failover_t *failover = conn->failover;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && conn->moving && failover->heard >= failover->step &&
           (failover->step != STEP_STOP || rails_drained(conn))) {
        status = enters[failover->step](conn);
    }
    return status;
}
