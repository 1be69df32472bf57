/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails and lanes of a connection: completion queues, rings of grants, queue pairs and their way to
 * the ready state. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cm.h"
#include "hello.h"

#define PSN_MASK 0xffffffu
#define RNR_TIMER 12 /* 0.64 ms */

static weft_status_t refused(const weft_net_conn_t *conn, const ib_rail_t *rail, const char *what,
                             int cause)
{
    const struct ibv_device_attr *attr = &rail->port->hca->attr;
    return conn->host->set_error(
        conn->host, WEFT_ERR_RESOURCE, cause,
        "cannot make %s for peer %s on %s:%u (the adapter has at most %d queue pairs, %d "
        "completion queues, %d registrations; locked memory is limited by ulimit -l)",
        what, conn->info.peer, rail->port->hca->name, rail->port->number, attr->max_qp,
        attr->max_cq, attr->max_mr);
}

static weft_status_t rail_create(weft_net_conn_t *conn, uint32_t index, const ib_gid_t *peer)
{
    ib_rail_t *rail = &conn->rails[index];
    ib_hca_t *hca = rail->port->hca;
    size_t ring = IB_OPS * sizeof(ib_grant_t);
    if (!ib_port_gid(rail->port, peer, &rail->gid)) {
        return conn->host->set_error(
            conn->host, WEFT_ERR_LINK, 0, "%s:%u has no GID of the kind that peer %s uses (%s)",
            hca->name, rail->port->number, conn->info.peer, ib_gid_type_text(peer->type));
    }
    rail->channel = ibv_create_comp_channel(hca->context);
    if (rail->channel == NULL) {
        return refused(conn, rail, "a completion channel", errno);
    }
    int flags = fcntl(rail->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(rail->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return refused(conn, rail, "a completion channel", errno);
    }
    /* A rail may have to take all lanes of the others. */
    bool all = conn->device->net->config.failover;
    uint32_t lanes = all ? conn->nlanes : (conn->nlanes + conn->nrails - 1) / conn->nrails + 1;
    int depth = (int)(lanes * (IB_SEND_DEPTH + IB_RECV_DEPTH));
    depth = depth < hca->attr.max_cqe ? depth : hca->attr.max_cqe;
    rail->cq = ibv_create_cq(hca->context, depth, rail, rail->channel, 0);
    if (rail->cq == NULL) {
        return refused(conn, rail, "a completion queue", errno);
    }
    rail->grants_in = ibv_reg_mr(hca->pd, conn->grants_in, ring,
                                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    rail->grants_out =
        rail->grants_in == NULL ? NULL : ibv_reg_mr(hca->pd, conn->grants_out, ring, 0);
    return rail->grants_out == NULL ? ib_memory_refused(hca, ring, errno)
                                    : ib_words_create(conn, rail);
}

/* The adapter tells the largest inline size only by refusing larger ones. */
static weft_status_t lane_create(weft_net_conn_t *conn, uint32_t index)
{
    ib_lane_t *lane = &conn->lanes[index];
    ib_rail_t *rail = &conn->rails[lane->rail];
    const ib_hca_t *hca = rail->port->hca;
    uint32_t limit = (uint32_t)hca->attr.max_qp_wr;
    uint32_t size = (uint32_t)conn->device->net->config.inline_bytes;
    struct ibv_qp_init_attr attr = {
        .qp_context = rail,
        .send_cq = rail->cq,
        .recv_cq = rail->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = limit < IB_SEND_DEPTH ? limit : IB_SEND_DEPTH,
                .max_recv_wr = IB_RECV_DEPTH,
                .max_send_sge = 1,
                .max_recv_sge = 1}};
    lane->depth = attr.cap.max_send_wr;
    for (;;) {
        attr.cap.max_inline_data = size;
        lane->qp = ibv_create_qp(hca->pd, &attr);
        if (lane->qp != NULL) {
            lane->inline_max = attr.cap.max_inline_data < size ? attr.cap.max_inline_data : size;
            break;
        }
        if (size == 0 || (errno != EINVAL && errno != ENOMEM)) {
            return refused(conn, rail, "a queue pair", errno);
        }
        size /= 2;
    }
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = (uint16_t)conn->device->net->config.pkey,
                               .port_num = rail->port->number,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    /* The connection manager knows the port, and iWARP knows no partitions. */
    int ours = hca->iwarp ? 0 : IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    int cause = ibv_modify_qp(lane->qp, &init, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | ours);
    if (cause != 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_LINK, cause,
                                     "queue pair on %s:%u does not start; does index pkey = %u "
                                     "exist in its P_Key table?",
                                     hca->name, rail->port->number,
                                     (unsigned)conn->device->net->config.pkey);
    }
    lane->unfilled = IB_RECV_DEPTH;
    return ib_lane_fill(conn, lane);
}

static weft_status_t lane_begin(weft_net_conn_t *conn, uint32_t index)
{
    ib_lane_t *lane = &conn->lanes[index];
    weft_status_t status = conn->host->random(conn->host, &lane->psn, sizeof lane->psn);
    lane->psn &= PSN_MASK;
    return status == WEFT_OK ? lane_create(conn, index) : status;
}

/* What goes inline on one lane does so on all: only then a message needs a registration on none. */
static void lanes_level(weft_net_conn_t *conn)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        least = conn->lanes[i].inline_max < least ? conn->lanes[i].inline_max : least;
    }
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        conn->lanes[i].inline_max = least;
    }
}

weft_status_t ib_lanes_create(weft_net_conn_t *conn, const ib_gid_t *peer)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        status = rail_create(conn, i, peer);
    }
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        conn->lanes[i].rail = i == 0 ? 0 : (i - 1) % conn->nrails;
        status = lane_begin(conn, i);
    }
    lanes_level(conn);
    return status;
}

void ib_lane_stop(ib_lane_t *lane)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    /* A dead adapter may refuse; the queue pair is destroyed in any case. */
    (void)ibv_modify_qp(lane->qp, &attr, IBV_QP_STATE);
    lane->stopped = true;
}

weft_status_t ib_lane_remake(weft_net_conn_t *conn, uint32_t index, uint32_t rail)
{
    ib_lane_t *lane = &conn->lanes[index];
    uint32_t inline_max = lane->inline_max;
    lane->rail = rail;
    lane->sent = lane->retired = lane->filled = lane->received = 0;
    weft_status_t status = lane_begin(conn, index);
    if (status == WEFT_OK && lane->inline_max < inline_max) {
        return refused(conn, &conn->rails[rail], "a queue pair as good as the one before", 0);
    }
    lane->inline_max = inline_max;
    return status;
}

weft_status_t ib_lane_fill(weft_net_conn_t *conn, ib_lane_t *lane)
{
    uint32_t index = (uint32_t)(lane - conn->lanes);
    while (lane->unfilled > 0) {
        struct ibv_recv_wr *bad = NULL;
        struct ibv_sge word;
        struct ibv_recv_wr request = {.wr_id = ib_id(IB_ID_RECV, index, 0, lane->filled)};
        if (!conn->with_immediate) {
            ib_words_recv(conn, index, &word);
            request.sg_list = &word;
            request.num_sge = 1;
        }
        int cause = ibv_post_recv(lane->qp, &request, &bad);
        if (cause != 0 && ib_failover_refused(conn, lane, cause)) {
            return WEFT_OK;
        }
        if (cause != 0) {
            return conn->host->set_error(conn->host, WEFT_ERR_LINK, cause,
                                         "cannot post a receive for peer %s", conn->info.peer);
        }
        lane->filled++;
        lane->unfilled--;
    }
    return WEFT_OK;
}

void ib_lanes_tell(const weft_net_conn_t *conn, ib_hello_t *hello)
{
    uint32_t flags = (conn->with_immediate ? IB_HELLO_IMMEDIATE : 0) |
                     (conn->device->net->config.split ? IB_HELLO_SPLIT : 0) |
                     (conn->device->net->config.failover ? IB_HELLO_FAILOVER : 0);
    memset(hello, 0, sizeof *hello);
    hello->magic = htole32(IB_HELLO_MAGIC);
    hello->nrails = htole32(conn->nrails);
    hello->nlanes = htole32(conn->nlanes);
    hello->ops = htole32(IB_OPS);
    hello->flags = htole32(flags);
    hello->grants = htole64((uint64_t)(uintptr_t)conn->grants_in);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const ib_rail_t *rail = &conn->rails[i];
        ib_hello_rail_t *told = &hello->rails[i];
        memcpy(told->gid, rail->gid.gid.raw, sizeof told->gid);
        told->gid_type = htole32(rail->gid.type);
        told->lid = htole32(rail->port->attr.lid);
        told->mtu = htole32((uint32_t)rail->port->attr.active_mtu);
        told->grants_key = htole32(rail->grants_in->rkey);
    }
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        hello->numbers[i] = htole32(conn->lanes[i].qp->qp_num);
        hello->psns[i] = htole32(conn->lanes[i].psn);
    }
}

static enum ibv_mtu path_mtu(const weft_net_conn_t *conn, const ib_rail_t *rail, uint32_t theirs)
{
    uint32_t mtu = (uint32_t)rail->port->attr.active_mtu;
    uint32_t wish = (uint32_t)conn->device->net->config.mtu; /* 0: auto, 1: 256, as the enum */
    mtu = theirs >= IBV_MTU_256 && theirs < mtu ? theirs : mtu;
    mtu = wish != 0 && wish < mtu ? wish : mtu;
    return (enum ibv_mtu)mtu;
}

static void path_fill(const weft_net_conn_t *conn, const ib_rail_t *rail,
                      const ib_hello_rail_t *told, struct ibv_ah_attr *path)
{
    const ib_config_t *config = &conn->device->net->config;
    *path = (struct ibv_ah_attr){.dlid = (uint16_t)le32toh(told->lid),
                                 .sl = (uint8_t)config->sl,
                                 .port_num = rail->port->number};
    union ibv_gid theirs;
    memcpy(theirs.raw, told->gid, sizeof theirs.raw);
    path->is_global = ib_port_is_ethernet(rail->port) || path->dlid == 0 ||
                      theirs.global.subnet_prefix != rail->gid.gid.global.subnet_prefix;
    if (path->is_global) {
        path->grh = (struct ibv_global_route){.dgid = theirs,
                                              .sgid_index = (uint8_t)rail->gid.index,
                                              .hop_limit = 255,
                                              .traffic_class = (uint8_t)config->tc};
    }
}

weft_status_t ib_lane_connect(weft_net_conn_t *conn, uint32_t index, const ib_hello_t *peer)
{
    const ib_config_t *config = &conn->device->net->config;
    const ib_lane_t *lane = &conn->lanes[index];
    const ib_rail_t *rail = &conn->rails[lane->rail];
    const ib_hello_rail_t *told = &peer->rails[lane->rail];
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = path_mtu(conn, rail, le32toh(told->mtu)),
                               .dest_qp_num = le32toh(peer->numbers[index]) & PSN_MASK,
                               .rq_psn = le32toh(peer->psns[index]) & PSN_MASK,
                               .max_dest_rd_atomic = 1,
                               .min_rnr_timer = RNR_TIMER};
    path_fill(conn, rail, told, &attr.ah_attr);
    int cause = ibv_modify_qp(lane->qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (cause == 0) {
        attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .timeout = (uint8_t)config->timeout,
                                    .retry_cnt = (uint8_t)config->retry,
                                    .rnr_retry = (uint8_t)config->rnr_retry,
                                    .sq_psn = lane->psn,
                                    .max_rd_atomic = 1};
        cause = ibv_modify_qp(lane->qp, &attr,
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
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, cause,
                                 "no path from %s:%u, GID %u %s, to peer %s, GID %s; check routes "
                                 "between them, or choose another gid_index",
                                 rail->port->hca->name, rail->port->number, rail->gid.index, here,
                                 conn->info.peer, there);
}

weft_status_t ib_lanes_connect(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    weft_status_t status = ib_hello_check(conn, peer);
    conn->peer_grants = le64toh(peer->grants);
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        conn->rails[i].peer_key = le32toh(peer->rails[i].grants_key);
    }
    for (uint32_t i = 0; i < conn->nlanes && status == WEFT_OK; i++) {
        bool iwarp = conn->rails[conn->lanes[i].rail].port->hca->iwarp;
        status = iwarp ? WEFT_OK : ib_lane_connect(conn, i, peer);
    }
    return status == WEFT_OK ? ib_failover_init(conn, peer) : status;
}

/* After this no adapter touches memory of the connection's operations any more. */
void ib_lanes_stop(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nlanes; i++) {
        ib_cm_lane_close(conn, i);
        if (conn->lanes[i].qp != NULL) {
            ibv_destroy_qp(conn->lanes[i].qp);
            conn->lanes[i].qp = NULL;
        }
    }
}

void ib_lanes_destroy(weft_net_conn_t *conn)
{
    ib_lanes_stop(conn);
    ib_cm_close(conn);
    ib_words_destroy(conn);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        if (rail->grants_out != NULL) {
            ibv_dereg_mr(rail->grants_out);
        }
        if (rail->grants_in != NULL) {
            ibv_dereg_mr(rail->grants_in);
        }
        if (rail->cq != NULL) {
            ibv_destroy_cq(rail->cq);
        }
        if (rail->channel != NULL) {
            ibv_destroy_comp_channel(rail->channel);
        }
    }
}
