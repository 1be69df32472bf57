/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs and their way to the ready state. */
#include "ib_qp.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ib_cm.h"
#include "ib_hca.h"
#include "ib_immediate.h"
#include "ib_rail.h"
#include "ib_refusal.h"

#define PSN_MASK 0xffffffu
#define RNR_TIMER 12 /* 0.64 ms */
#define RESOLVE_TIMES 5u

/* An adapter reveals its largest inline size only by refusing larger ones. */
static weft_status_t ib_qp_create(weft_net_conn_t *conn, uint32_t index)
{
    ib_qp_t *qp = &conn->qps[index];
    ib_rail_t *rail = &conn->rails[qp->rail];
    const ib_hca_t *hca = rail->port->hca;
    uint32_t size = (uint32_t)conn->device->net->config.inline_bytes;
    struct ibv_qp_init_attr attr = {.qp_context = rail,
                                    .send_cq = rail->cq,
                                    .recv_cq = rail->cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = hca->send_depth,
                                            .max_recv_wr = IB_RECV_DEPTH,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    qp->depth = attr.cap.max_send_wr;
    for (;;) {
        attr.cap.max_inline_data = size;
        qp->handle = ibv_create_qp(hca->pd, &attr);
        if (qp->handle != NULL) {
            qp->inline_max = attr.cap.max_inline_data < size ? attr.cap.max_inline_data : size;
            break;
        }
        if (size == 0 || (errno != EINVAL && errno != ENOMEM)) {
            return ib_rail_short_of(conn, rail, "a queue pair", errno);
        }
        size /= 2;
    }
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = (uint16_t)conn->device->net->config.path.pkey,
                               .port_num = rail->port->number,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    /* The connection manager sets the port, and iWARP has no partitions. */
    int ours = hca->iwarp ? 0 : IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    int cause = ibv_modify_qp(qp->handle, &init, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | ours);
    if (cause != 0) {
        return ib_blame(conn, WEFT_ERR_LINK, cause,
                        "queue pair on %s:%u does not start; does index pkey = %u "
                        "exist in its P_Key table?",
                        hca->name, rail->port->number,
                        (unsigned)conn->device->net->config.path.pkey);
    }
    qp->unfilled = IB_RECV_DEPTH;
    return ib_qp_fill(conn, qp);
}

static weft_status_t ib_qp_begin(weft_net_conn_t *conn, uint32_t index)
{
    ib_qp_t *qp = &conn->qps[index];
    weft_status_t status = conn->host->random(conn->host, &qp->psn, sizeof qp->psn);
    qp->psn &= PSN_MASK;
    return status == WEFT_OK ? ib_qp_create(conn, index) : status;
}

/* Levels the inline size of all queue pairs, so that a message which needs no registration on
 * one needs it on none. */
static void ib_qps_level(weft_net_conn_t *conn)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < conn->nqps; i++) {
        least = conn->qps[i].inline_max < least ? conn->qps[i].inline_max : least;
    }
    for (uint32_t i = 0; i < conn->nqps; i++) {
        conn->qps[i].inline_max = least;
    }
}

void ib_qps_destroy(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nqps; i++) {
        ib_cm_qp_close(conn, i);
        if (conn->qps[i].handle != NULL) {
            ibv_destroy_qp(conn->qps[i].handle);
            conn->qps[i].handle = NULL;
        }
    }
}

weft_status_t ib_qps_create(weft_net_conn_t *conn, const ib_gid_t peers[IB_RAILS_MAX],
                            uint32_t lost)
{
    ib_qps_destroy(conn);
    ib_rails_close(conn);
    weft_status_t status = ib_rails_leave(conn, lost);
    uint32_t up = ib_rails_up(conn);
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        ib_rail_t *rail = &conn->rails[i];
        if ((up & 1u << i) != 0) {
            ib_port_path(rail->port, &rail->lid, &rail->mtu);
            status = ib_rail_open(conn, i, &peers[i]);
        }
    }
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        conn->qps[i] = (ib_qp_t){.rail = ib_rail_choose(up, i == 0 ? 0 : i - 1)};
        status = ib_qp_begin(conn, i);
    }
    ib_qps_level(conn);
    return status;
}

void ib_qp_stop(ib_qp_t *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    /* A dead adapter may refuse; the queue pair is destroyed in any case. */
    (void)ibv_modify_qp(qp->handle, &attr, IBV_QP_STATE);
    qp->stopped = true;
}

weft_status_t ib_qp_remake(weft_net_conn_t *conn, uint32_t index, uint32_t rail)
{
    ib_qp_t *qp = &conn->qps[index];
    uint32_t inline_max = qp->inline_max;
    qp->rail = rail;
    qp->sent = qp->retired = qp->filled = qp->received = 0;
    weft_status_t status = ib_qp_begin(conn, index);
    if (status == WEFT_OK && qp->inline_max < inline_max) {
        return ib_rail_short_of(conn, &conn->rails[rail], "a queue pair as good as the one before",
                                0);
    }
    qp->inline_max = inline_max;
    return status;
}

weft_status_t ib_qp_fill(weft_net_conn_t *conn, ib_qp_t *qp)
{
    uint32_t index = (uint32_t)(qp - conn->qps);
    while (qp->unfilled > 0) {
        struct ibv_recv_wr *bad = NULL;
        struct ibv_sge piece;
        struct ibv_recv_wr request = {.wr_id = ib_id(IB_ID_RECV, index, 0, qp->filled)};
        if (!conn->with_immediate) {
            ib_immediate_recv(conn, index, &piece);
            request.sg_list = &piece;
            request.num_sge = 1;
        }
        int cause = ibv_post_recv(qp->handle, &request, &bad);
        if (cause != 0 && ib_rail_refused(conn, qp, cause)) {
            return WEFT_OK;
        }
        if (cause != 0) {
            return ib_blame(conn, WEFT_ERR_LINK, cause, "cannot post a receive for peer %s",
                            conn->info.peer);
        }
        qp->filled++;
        qp->unfilled--;
    }
    return WEFT_OK;
}

static enum ibv_mtu ib_path_mtu(const weft_net_conn_t *conn, const ib_rail_t *rail, uint32_t theirs)
{
    uint32_t mtu = rail->mtu;
    uint32_t wish = (uint32_t)conn->device->net->config.path
                        .mtu; /* 0: auto; 1: 256 bytes and so on, as in the enum */
    mtu = theirs >= IBV_MTU_256 && theirs < mtu ? theirs : mtu;
    mtu = wish != 0 && wish < mtu ? wish : mtu;
    return (enum ibv_mtu)mtu;
}

static void ib_path_fill(const weft_net_conn_t *conn, const ib_rail_t *rail,
                         const ib_hello_rail_t *told, struct ibv_ah_attr *path)
{
    const ib_config_t *config = &conn->device->net->config;
    *path = (struct ibv_ah_attr){.dlid = (uint16_t)le32toh(told->lid),
                                 .sl = (uint8_t)config->path.sl,
                                 .port_num = rail->port->number};
    union ibv_gid theirs;
    memcpy(theirs.raw, told->gid, sizeof theirs.raw);
    /* A virtual function may have the LID of its adapter, and wants the header at both ends. */
    path->is_global = ib_port_is_ethernet(rail->port) || path->dlid == 0 ||
                      ib_port_is_global(rail->port) || (le32toh(told->lid) & IB_HELLO_GLOBAL) != 0;
    if (path->is_global) {
        path->grh = (struct ibv_global_route){.dgid = theirs,
                                              .sgid_index = (uint8_t)rail->gid.index,
                                              .hop_limit = 255,
                                              .traffic_class = (uint8_t)config->path.tc};
    }
}

/* On RoCE the kernel asks for the peer's hardware address within this call, and waits a second for
 * the answer. While many ranks ask at once, questions and answers are lost. */
static int ib_qp_meet(struct ibv_qp *handle, struct ibv_qp_attr *attr)
{
    int cause = ETIMEDOUT;
    for (uint32_t i = 0; i < RESOLVE_TIMES && cause == ETIMEDOUT; i++) {
        cause = ibv_modify_qp(handle, attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    return cause;
}

weft_status_t ib_qp_connect(weft_net_conn_t *conn, uint32_t index, const ib_hello_t *peer)
{
    const ib_config_t *config = &conn->device->net->config;
    const ib_qp_t *qp = &conn->qps[index];
    const ib_rail_t *rail = &conn->rails[qp->rail];
    const ib_hello_rail_t *told = &peer->rails[qp->rail];
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = ib_path_mtu(conn, rail, le32toh(told->mtu)),
                               .dest_qp_num = le32toh(peer->numbers[index]) & PSN_MASK,
                               .rq_psn = le32toh(peer->psns[index]) & PSN_MASK,
                               .max_dest_rd_atomic = 1,
                               .min_rnr_timer = RNR_TIMER};
    ib_path_fill(conn, rail, told, &attr.ah_attr);
    int cause = ib_qp_meet(qp->handle, &attr);
    if (cause == 0) {
        attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .timeout = (uint8_t)config->path.timeout,
                                    .retry_cnt = (uint8_t)config->path.retry,
                                    .rnr_retry = (uint8_t)config->path.rnr_retry,
                                    .sq_psn = qp->psn,
                                    .max_rd_atomic = 1};
        cause = ibv_modify_qp(qp->handle, &attr,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    if (cause == 0) {
        return WEFT_OK;
    }
    char here[IB_GID_TEXT], there[IB_GID_TEXT];
    union ibv_gid gid;
    memcpy(gid.raw, told->gid, sizeof gid.raw);
    ib_gid_text(&rail->gid.gid, here);
    ib_gid_text(&gid, there);
    const char *lost = ib_rail_lost_now(rail);
    return ib_blame(
        conn, WEFT_ERR_LINK, cause, "no path from %s:%u, GID %u %s, to peer %s, GID %s%s%s",
        rail->port->hca->name, rail->port->number, rail->gid.index, here, conn->info.peer, there,
        lost != NULL ? ": " : "; check routes between them, or choose another gid_index",
        lost != NULL ? lost : "");
}

/* The peer's record may tell other kinds of GIDs than were expected. */
static weft_status_t ib_rails_check(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    uint32_t up = ib_rails_up(conn);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const ib_rail_t *rail = &conn->rails[i];
        ib_gid_t gid;
        ib_hello_gid(peer, i, &gid);
        bool alike = ib_gid_compatible(rail->gid.type, &rail->gid.gid, &gid);
        if ((up & 1u << i) != 0 && (!alike || !ib_gid_same_subnet(&rail->gid, &gid))) {
            char here[IB_GID_TEXT], there[IB_GID_TEXT];
            ib_gid_text(&rail->gid.gid, here);
            ib_gid_text(&gid.gid, there);
            return ib_blame(
                conn, WEFT_ERR_LINK, 0,
                "%s:%u, rail %u, GID %s (%s), does not reach GID %s (%s) of peer %s: %s",
                rail->port->hca->name, rail->port->number, i, here,
                ib_gid_type_text(rail->gid.type), there, ib_gid_type_text(gid.type),
                conn->info.peer,
                alike ? "it is in another subnet of InfiniBand; choose devices of one"
                      : "it is of another kind; set devices in the same order on all hosts");
        }
    }
    return WEFT_OK;
}

weft_status_t ib_qps_connect(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    weft_status_t status = ib_hello_check(conn, peer);
    if (status == WEFT_OK && !ib_rails_agree(conn, le32toh(peer->lost))) {
        status = ib_blame(conn, WEFT_ERR_PROTO, 0, "peer %s goes over other rails than were agreed",
                          conn->info.peer);
    }
    status = status == WEFT_OK ? ib_rails_check(conn, peer) : status;
    conn->credits.peer_ring = le64toh(peer->credits);
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        conn->rails[i].peer_key = le32toh(peer->rails[i].credits_key);
    }
    for (uint32_t i = 0; i < conn->nqps && status == WEFT_OK; i++) {
        bool iwarp = conn->rails[conn->qps[i].rail].port->hca->iwarp;
        status = iwarp ? WEFT_OK : ib_qp_connect(conn, i, peer);
    }
    return status;
}
