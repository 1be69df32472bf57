/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flow of messages. The receiver writes a grant for each posted receive into the sender's ring;
 * the sender writes message n straight to where grant n says. A message begins on data lane
 * n mod lanes and may be cut in parts, one for each of the next lanes; every part ends with an
 * immediate that holds the size of the whole message. Both ends know from the size how many parts
 * there are, and immediates of one lane keep their order, so the receiver counts them off. */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "ib.h"

#define GRANTS_HELD 4u   /* with so many unused at the sender, new grants are collected */
#define GRANT_SIGNAL 16u /* every so many grant writes one completion is asked for */

uint32_t ib_flow_parts(const ib_config_t *config, uint32_t data_lanes, uint64_t bytes,
                       uint64_t *part_p)
{
    *part_p = bytes;
    if (data_lanes == 1 || !config->split || bytes < 2 * config->split_bytes) {
        return 1;
    }
    uint64_t most = bytes / config->split_bytes;
    uint64_t parts = most < data_lanes ? most : data_lanes;
    uint64_t unit = IB_LANE_UNIT;
    uint64_t part = ((bytes + parts - 1) / parts + unit - 1) / unit * unit;
    *part_p = part;
    return (uint32_t)((bytes + part - 1) / part);
}

/* Whose turn message `n` is; a division only where there is a choice. */
static uint32_t flow_turn(uint32_t n, uint32_t lanes)
{
    return lanes == 1 ? 0 : n % lanes;
}

static uint32_t lane_room(const ib_lane_t *lane)
{
    return lane->stopped ? 0 : lane->depth - (lane->sent - lane->retired);
}

/* AGAIN: the lane's rail is lost; what was not taken goes out when the lane goes on over another. */
static weft_status_t lane_post(weft_net_conn_t *conn, ib_lane_t *lane, struct ibv_send_wr *first,
                               uint32_t count)
{
    struct ibv_send_wr *bad = NULL;
    if (lane->stopped) {
        return WEFT_AGAIN;
    }
    int cause = ibv_post_send(lane->qp, first, &bad);
    if (cause != 0 && ib_failover_refused(conn, lane, cause)) {
        return WEFT_AGAIN;
    }
    if (cause != 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_LINK, cause,
                                     "cannot post a request for peer %s", conn->info.peer);
    }
    lane->sent += count;
    return WEFT_OK;
}

/* Sending -------------------------------------------------------------------------------------- */

/* One part of a message. */
typedef struct ib_part {
    uint32_t lane;
    uint32_t slot; /* of the operation */
    uint32_t immediate;
    uint64_t offset, bytes;
    uint64_t to; /* address of the message at the peer */
    uint32_t local_key, remote_key;
    bool apart; /* not the host's memory: it cannot be copied into a request */
} ib_part_t;

static uint64_t part_write_max(const weft_net_conn_t *conn, const ib_part_t *part)
{
    return conn->rails[conn->lanes[part->lane].rail].port->write_max;
}

/* Writes of the largest size, until one request is left. Nobody waits for their completions. */
static inline weft_status_t part_begin(weft_net_conn_t *conn, const uint8_t *from, ib_part_t *part)
{
    uint64_t most = part_write_max(conn, part);
    ib_lane_t *lane = &conn->lanes[part->lane];
    while (part->bytes > most) {
        struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)(from + part->offset),
                                .length = (uint32_t)most,
                                .lkey = part->local_key};
        struct ibv_send_wr write = {
            .wr_id = ib_id(IB_ID_GRANT, part->lane, 0, lane->sent + 1),
            .sg_list = &piece,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = conn->with_immediate ? 0 : IBV_SEND_SIGNALED,
            .wr = {.rdma = {.remote_addr = part->to + part->offset, .rkey = part->remote_key}}};
        weft_status_t status = lane_post(conn, lane, &write, 1);
        if (status != WEFT_OK) {
            return status;
        }
        part->offset += most;
        part->bytes -= most;
    }
    return WEFT_OK;
}

/* The last write and the immediate, in one request where the network keeps packets in order. Where there
 * are no immediates each write asks for a completion: that of the word says nothing about the memory. */
static inline weft_status_t part_end(weft_net_conn_t *conn, const uint8_t *from,
                                     const ib_part_t *part)
{
    ib_lane_t *lane = &conn->lanes[part->lane];
    bool small = part->bytes <= lane->inline_max && !part->apart;
    bool apart = conn->with_immediate ? conn->apart && !small : part->bytes > 0;
    struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)(from + part->offset),
                            .length = (uint32_t)part->bytes,
                            .lkey = part->local_key};
    struct ibv_send_wr last = {
        .wr_id = ib_id(IB_ID_DATA, part->lane, part->slot, lane->sent + (apart ? 2 : 1)),
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = IBV_SEND_SIGNALED,
        .imm_data = htonl(part->immediate),
        .wr = {.rdma = {.remote_addr = part->to + part->offset, .rkey = part->remote_key}}};
    if (!apart) {
        last.sg_list = &piece;
        last.num_sge = part->bytes > 0 ? 1 : 0;
        last.send_flags |= small && lane->inline_max > 0 ? IBV_SEND_INLINE : 0;
    }
    struct ibv_send_wr write = {.wr_id = ib_id(IB_ID_GRANT, part->lane, 0, lane->sent + 1),
                                .next = &last,
                                .sg_list = &piece,
                                .num_sge = 1,
                                .opcode = IBV_WR_RDMA_WRITE,
                                .wr = last.wr};
    struct ibv_sge word;
    if (!conn->with_immediate) {
        write.send_flags = IBV_SEND_SIGNALED | (small ? IBV_SEND_INLINE : 0u);
        ib_words_send(conn, part->lane, part->immediate, &last, &word);
    }
    return lane_post(conn, lane, apart ? &write : &last, apart ? 2 : 1);
}

/* Requests that a part of `bytes` takes at most. */
static uint32_t part_requests(const weft_net_conn_t *conn, const ib_part_t *part)
{
    uint64_t most = part_write_max(conn, part);
    return part->bytes <= most ? 2 : (uint32_t)((part->bytes + most - 1) / most) + 2;
}

static void part_locate(const weft_net_conn_t *conn, const ib_op_t *op, const ib_grant_t *grant,
                        ib_part_t *part)
{
    uint32_t rail = conn->lanes[part->lane].rail;
    part->to = le64toh(grant->address);
    part->remote_key = le32toh(grant->keys[rail]);
    const ib_pin_t *pin = op->region != NULL ? op->region->pins[rail] : NULL;
    part->local_key = pin != NULL ? pin->local_key : 0;
    part->apart = op->region != NULL && op->region->apart;
}

static inline weft_status_t part_send(weft_net_conn_t *conn, const ib_op_t *op, ib_part_t *part)
{
    weft_status_t status = part_begin(conn, op->buffer, part);
    status = status == WEFT_OK ? part_end(conn, op->buffer, part) : status;
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

/* Cuts message `n`, to be sent as far as its room goes. Returns the number of parts. */
static inline uint32_t message_cut(const weft_net_conn_t *conn, uint32_t n,
                                   ib_part_t list[IB_DATA_MAX])
{
    const ib_op_t *op = &conn->send.ops[n % IB_OPS];
    const ib_grant_t *grant = &conn->grants_in[n % IB_OPS];
    uint32_t lanes = conn->nlanes - 1;
    bool too_long = op->bytes > le64toh(grant->room);
    uint64_t size = 0, bytes = too_long ? 0 : op->bytes;
    uint32_t parts = ib_flow_parts(&conn->device->net->config, lanes, bytes, &size);
    for (uint32_t i = 0; i < parts; i++) {
        ib_part_t *part = &list[i];
        part->lane = 1 + flow_turn(n + i, lanes);
        part->slot = n % IB_OPS;
        part->immediate = too_long ? IB_TOO_LONG : (uint32_t)bytes;
        part->offset = i * size;
        part->bytes = bytes - part->offset < size ? bytes - part->offset : size;
        part_locate(conn, op, grant, part);
    }
    return parts;
}

/* Sends message number send.next; *fits_p is false when a lane has no room now. */
static weft_status_t message_send(weft_net_conn_t *conn, ib_op_t *op, bool *fits_p)
{
    ib_part_t list[IB_DATA_MAX];
    uint32_t parts = message_cut(conn, conn->send.next, list), mask = 0;
    for (uint32_t i = 0; i < parts; i++) {
        mask |= 1u << list[i].lane;
        if (lane_room(&conn->lanes[list[i].lane]) < part_requests(conn, &list[i])) {
            *fits_p = false;
            return WEFT_OK;
        }
    }
    bool too_long = op->bytes > le64toh(conn->grants_in[conn->send.next % IB_OPS].room);
    op->lanes = mask;
    op->moved = too_long ? 0 : op->bytes;
    op->status = too_long ? WEFT_ERR_PROTO : WEFT_OK;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < parts && status == WEFT_OK; i++) {
        status = part_send(conn, op, &list[i]);
    }
    return status;
}

weft_status_t ib_flow_send(weft_net_conn_t *conn)
{
    ib_queue_t *queue = &conn->send;
    weft_status_t status = WEFT_OK;
    bool fits = true;
    while (queue->next != queue->tail && queue->next != queue->granted && status == WEFT_OK) {
        const ib_grant_t *grant = &conn->grants_in[queue->next % IB_OPS];
        if (le32toh(grant->sequence) != queue->next + 1) {
            return conn->host->set_error(
                conn->host, WEFT_ERR_PROTO, 0, "grant of peer %s has number %u, expected %u",
                conn->info.peer, le32toh(grant->sequence), queue->next + 1);
        }
        status = message_send(conn, &queue->ops[queue->next % IB_OPS], &fits);
        if (!fits) {
            break;
        }
        queue->next++;
    }
    return status;
}

weft_status_t ib_flow_acked(weft_net_conn_t *conn, ib_op_t *op, uint32_t lane)
{
    conn->lanes[lane].acked++;
    op->lanes &= ~(1u << lane);
    if (op->lanes != 0) {
        return WEFT_OK;
    }
    if (op->status != WEFT_OK) {
        return conn->host->set_error(conn->host, op->status, 0,
                                     "message of %llu bytes to peer %s is longer than its room",
                                     (unsigned long long)op->bytes, conn->info.peer);
    }
    ib_op_finish(conn, &conn->send, op, WEFT_OK);
    return WEFT_OK;
}

/* Sends the part of message `n` that belongs to the lane. */
static weft_status_t part_again(weft_net_conn_t *conn, uint32_t n, uint32_t lane)
{
    ib_part_t list[IB_DATA_MAX];
    uint32_t parts = message_cut(conn, n, list), i = 0;
    while (i + 1 < parts && list[i].lane != lane) {
        i++;
    }
    return part_send(conn, &conn->send.ops[n % IB_OPS], &list[i]);
}

static bool part_open(const ib_op_t *op, uint32_t lane)
{
    return !op->done && (op->lanes & 1u << lane) != 0;
}

/* Parts of a lane arrive in the order in which they were sent, so the peer's count says which are there;
 * of those that are not, the grant is still in the ring. */
static weft_status_t parts_resume(weft_net_conn_t *conn, uint32_t index, uint32_t arrived,
                                  uint32_t *again_p)
{
    ib_queue_t *queue = &conn->send;
    uint32_t there = arrived - conn->lanes[index].acked, end = queue->next, open = 0;
    weft_status_t status = WEFT_OK;
    for (uint32_t n = queue->head; n != end; n++) {
        open += part_open(&queue->ops[n % IB_OPS], index) ? 1 : 0;
    }
    if (there > open) {
        return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                     "peer %s does not have what its adapter acknowledged; what "
                                     "was sent cannot be sent again",
                                     conn->info.peer);
    }
    for (uint32_t n = queue->head; n != end && status == WEFT_OK; n++) {
        ib_op_t *op = &queue->ops[n % IB_OPS];
        if (!part_open(op, index)) {
            continue;
        }
        if (there > 0) {
            there--;
            status = ib_flow_acked(conn, op, index);
        } else {
            (*again_p)++;
            status = part_again(conn, n, index);
        }
    }
    return status;
}

weft_status_t ib_flow_resume(weft_net_conn_t *conn, uint32_t lane, uint32_t arrived,
                             uint32_t *again_p)
{
    ib_queue_t *queue = &conn->recv;
    if (lane != 0) {
        return parts_resume(conn, lane, arrived, again_p);
    }
    uint32_t missing = queue->granted - arrived;
    if (missing > queue->granted - queue->next) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0,
                                     "wrong count of grants: %u from peer %s", arrived,
                                     conn->info.peer);
    }
    *again_p += missing;
    queue->granted = arrived;
    return WEFT_OK;
}

/* Granting ------------------------------------------------------------------------------------- */

static void grant_fill(const weft_net_conn_t *conn, uint32_t n)
{
    const ib_op_t *op = &conn->recv.ops[n % IB_OPS];
    ib_grant_t *grant = &conn->grants_out[n % IB_OPS];
    *grant = (ib_grant_t){.address = htole64((uint64_t)(uintptr_t)op->buffer),
                          .room = htole64(op->bytes),
                          .sequence = htole32(n + 1)};
    for (uint32_t i = 0; op->region != NULL && i < conn->nrails; i++) {
        const ib_pin_t *pin = op->region->pins[i];
        grant->keys[i] = htole32(pin != NULL ? pin->remote_key : 0);
    }
}

/* One write of neighbouring grants. Their place in the ring is free again only after the messages they
 * are for have arrived, so the adapter has read it by then. */
static weft_status_t grant_write(weft_net_conn_t *conn, uint32_t count)
{
    ib_lane_t *lane = &conn->lanes[0];
    const ib_rail_t *rail = &conn->rails[lane->rail];
    uint64_t offset = conn->recv.granted % IB_OPS * sizeof(ib_grant_t);
    uint32_t bytes = count * (uint32_t)sizeof(ib_grant_t);
    struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)conn->grants_out + offset,
                            .length = bytes,
                            .lkey = rail->grants_out->lkey};
    struct ibv_send_wr write = {
        .wr_id = ib_id(IB_ID_GRANT, 0, 0, lane->sent + 1),
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = (bytes <= lane->inline_max ? IBV_SEND_INLINE : 0u) |
                      ((lane->sent + 1) % GRANT_SIGNAL == 0 ? IBV_SEND_SIGNALED : 0u),
        .imm_data = htonl(count),
        .wr = {.rdma = {.remote_addr = conn->peer_grants + offset, .rkey = rail->peer_key}}};
    conn->recv.granted += count;
    struct ibv_sge word;
    struct ibv_send_wr last = {.wr_id = ib_id(IB_ID_GRANT, 0, 0, lane->sent + 2)};
    if (!conn->with_immediate) {
        ib_words_send(conn, 0, count, &last, &word);
        write.opcode = IBV_WR_RDMA_WRITE;
        write.next = &last;
    }
    weft_status_t status = lane_post(conn, lane, &write, conn->with_immediate ? 1 : 2);
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t ib_flow_grant(weft_net_conn_t *conn)
{
    ib_queue_t *queue = &conn->recv;
    uint32_t pending = queue->tail - queue->granted;
    uint32_t unused = queue->granted - queue->next;
    /* Each write costs both ends work; while the sender has plenty they go in one. */
    if (pending == 0 || (unused >= GRANTS_HELD && pending < unused)) {
        return WEFT_OK;
    }
    weft_status_t status = WEFT_OK;
    while (queue->granted != queue->tail && lane_room(&conn->lanes[0]) > 1 && status == WEFT_OK) {
        uint32_t at = queue->granted % IB_OPS;
        uint32_t count = queue->tail - queue->granted;
        count = count < IB_OPS - at ? count : IB_OPS - at;
        for (uint32_t i = 0; i < count; i++) {
            grant_fill(conn, queue->granted + i);
        }
        status = grant_write(conn, count);
    }
    return status;
}

/* Arriving ------------------------------------------------------------------------------------- */

static weft_status_t flow_bad(const weft_net_conn_t *conn, const char *what, uint32_t value)
{
    return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0, "%s %u from peer %s", what, value,
                                 conn->info.peer);
}

static weft_status_t grants_arrive(weft_net_conn_t *conn, uint32_t count)
{
    ib_queue_t *queue = &conn->send;
    uint32_t unused = queue->granted - queue->next;
    if (count == 0 || count > IB_OPS - unused) {
        return flow_bad(conn, "wrong number of grants:", count);
    }
    queue->granted += count;
    return WEFT_OK;
}

/* Takes the immediates of the oldest message, if all of them are here. */
static bool message_take(weft_net_conn_t *conn, uint32_t *immediate_p)
{
    uint32_t n = conn->recv.next, lanes = conn->nlanes - 1;
    const ib_lane_t *home = &conn->lanes[1 + flow_turn(n, lanes)];
    if (home->arrived == home->taken) {
        return false;
    }
    uint32_t immediate = home->immediates[home->taken % IB_OPS];
    uint64_t size = 0;
    uint32_t parts = immediate == IB_TOO_LONG
                         ? 1
                         : ib_flow_parts(&conn->device->net->config, lanes, immediate, &size);
    for (uint32_t i = 1; i < parts; i++) {
        const ib_lane_t *lane = &conn->lanes[1 + flow_turn(n + i, lanes)];
        if (lane->arrived == lane->taken) {
            return false;
        }
    }
    for (uint32_t i = 0; i < parts; i++) {
        conn->lanes[1 + flow_turn(n + i, lanes)].taken++;
    }
    *immediate_p = immediate;
    return true;
}

static weft_status_t messages_take(weft_net_conn_t *conn)
{
    ib_queue_t *queue = &conn->recv;
    uint32_t immediate;
    while (queue->next != queue->granted && message_take(conn, &immediate)) {
        ib_op_t *op = &queue->ops[queue->next % IB_OPS];
        if (immediate == IB_TOO_LONG) {
            return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0,
                                         "the message of peer %s is longer than the room, %llu",
                                         conn->info.peer, (unsigned long long)op->bytes);
        }
        if (immediate > op->bytes) {
            return flow_bad(conn, "wrong size of a message:", immediate);
        }
        op->moved = immediate;
        queue->next++;
        ib_op_finish(conn, queue, op, WEFT_OK);
    }
    return WEFT_OK;
}

weft_status_t ib_flow_arrive(weft_net_conn_t *conn, uint32_t index, uint32_t immediate)
{
    ib_lane_t *lane = &conn->lanes[index];
    if (index == 0) {
        return grants_arrive(conn, immediate);
    }
    if (lane->arrived - lane->taken == IB_OPS) {
        return flow_bad(conn, "message without a grant, size", immediate);
    }
    lane->immediates[lane->arrived++ % IB_OPS] = immediate;
    return messages_take(conn);
}
