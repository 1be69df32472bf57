/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flow of messages. For each posted receive the receiver writes a credit into the sender's
 * ring, and the sender writes message n straight to where credit n says. With d queue pairs for
 * data, a message begins on number n mod d and may be split into parts, one for each of the next
 * queue pairs. Every part ends with an immediate that holds the size of the whole message. Both
 * ends compute the number of parts from the size, and immediates of one queue pair stay in
 * order, so the receiver counts them off. */
#include "ib_flow.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ib_immediate.h"
#include "ib_ops.h"
#include "ib_rail.h"
#include "ib_refusal.h"

#define CREDITS_HELD 4u   /* the sender's unused credits from which on new ones are collected */
#define CREDIT_SIGNAL 16u /* one in so many credit writes asks for a completion */

uint32_t ib_flow_parts(const ib_config_t *config, uint32_t data_qps, uint64_t bytes,
                       uint64_t *part_p)
{
    *part_p = bytes;
    if (data_qps == 1 || !config->split || bytes < 2 * config->split_bytes) {
        return 1;
    }
    uint64_t most = bytes / config->split_bytes;
    uint64_t parts = most < data_qps ? most : data_qps;
    uint64_t unit = IB_PART_UNIT;
    uint64_t part = ((bytes + parts - 1) / parts + unit - 1) / unit * unit;
    *part_p = part;
    return (uint32_t)((bytes + part - 1) / part);
}

/* Index of the queue pair on which message `n` begins. Divides only if there is a choice. */
static uint32_t ib_flow_turn(uint32_t n, uint32_t qps)
{
    return qps == 1 ? 0 : n % qps;
}

static uint32_t ib_qp_room(const ib_qp_t *qp)
{
    return qp->stopped ? 0 : qp->depth - (qp->sent - qp->retired);
}

/* Posts a chain of `count` requests. Returns OK, ERR_LINK, or AGAIN if the rail of the queue
 * pair is lost: failover sends it again. */
static weft_status_t ib_qp_post(weft_net_conn_t *conn, ib_qp_t *qp, struct ibv_send_wr *first,
                                uint32_t count)
{
    struct ibv_send_wr *bad = NULL;
    if (qp->stopped) {
        return WEFT_AGAIN;
    }
    int cause = ibv_post_send(qp->handle, first, &bad);
    cause = cause < 0 ? errno : cause; /* Soft-iWARP */
    if (cause != 0 && ib_rail_refused(conn, qp, cause)) {
        return WEFT_AGAIN;
    }
    if (cause != 0) {
        return ib_blame(conn, WEFT_ERR_LINK, cause, "cannot post a request for peer %s",
                        conn->info.peer);
    }
    qp->sent += count;
    return WEFT_OK;
}

/* Sending ------------------------------------------------------------------------------------- */

/* One part of a message. */
typedef struct ib_part {
    uint32_t qp;
    uint32_t slot; /* slot of the operation */
    uint32_t immediate;
    uint64_t offset, bytes;
    uint64_t to; /* address of the message at the peer */
    uint32_t local_key, remote_key;
    bool on_device; /* memory of another device: it cannot be copied into the request */
} ib_part_t;

static uint64_t ib_part_write_max(const weft_net_conn_t *conn, const ib_part_t *part)
{
    return conn->rails[conn->qps[part->qp].rail].port->write_max;
}

/* Writes pieces of the largest size until one request is left. Their completions are not
 * awaited. */
static inline weft_status_t ib_part_begin(weft_net_conn_t *conn, const uint8_t *from,
                                          ib_part_t *part)
{
    uint64_t most = ib_part_write_max(conn, part);
    ib_qp_t *qp = &conn->qps[part->qp];
    while (part->bytes > most) {
        struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)(from + part->offset),
                                .length = (uint32_t)most,
                                .lkey = part->local_key};
        struct ibv_send_wr write = {
            .wr_id = ib_id(IB_ID_CREDIT, part->qp, 0, qp->sent + 1),
            .sg_list = &piece,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = conn->with_immediate ? 0 : IBV_SEND_SIGNALED,
            .wr = {.rdma = {.remote_addr = part->to + part->offset, .rkey = part->remote_key}}};
        weft_status_t status = ib_qp_post(conn, qp, &write, 1);
        if (status != WEFT_OK) {
            return status;
        }
        part->offset += most;
        part->bytes -= most;
    }
    return WEFT_OK;
}

/* Sends the last write and the immediate, in one request if the network keeps packets in order.
 * Without immediates each write asks for a completion, because the completion of the emulated
 * immediate says nothing about the memory. */
static inline weft_status_t ib_part_end(weft_net_conn_t *conn, const uint8_t *from,
                                        const ib_part_t *part)
{
    ib_qp_t *qp = &conn->qps[part->qp];
    bool small = part->bytes <= qp->inline_max && !part->on_device;
    bool separate = conn->with_immediate ? conn->unordered && !small : part->bytes > 0;
    struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)(from + part->offset),
                            .length = (uint32_t)part->bytes,
                            .lkey = part->local_key};
    struct ibv_send_wr last = {
        .wr_id = ib_id(IB_ID_DATA, part->qp, part->slot, qp->sent + (separate ? 2 : 1)),
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = IBV_SEND_SIGNALED,
        .imm_data = htonl(part->immediate),
        .wr = {.rdma = {.remote_addr = part->to + part->offset, .rkey = part->remote_key}}};
    if (!separate) {
        last.sg_list = &piece;
        last.num_sge = part->bytes > 0 ? 1 : 0;
        last.send_flags |= small && qp->inline_max > 0 ? IBV_SEND_INLINE : 0;
    }
    struct ibv_send_wr write = {.wr_id = ib_id(IB_ID_CREDIT, part->qp, 0, qp->sent + 1),
                                .next = &last,
                                .sg_list = &piece,
                                .num_sge = 1,
                                .opcode = IBV_WR_RDMA_WRITE,
                                .wr = last.wr};
    struct ibv_sge value;
    if (!conn->with_immediate) {
        write.send_flags = IBV_SEND_SIGNALED | (small ? IBV_SEND_INLINE : 0u);
        ib_immediate_send(conn, part->qp, part->immediate, &last, &value);
    }
    return ib_qp_post(conn, qp, separate ? &write : &last, separate ? 2 : 1);
}

/* The largest number of requests that the part takes. */
static uint32_t ib_part_requests(const weft_net_conn_t *conn, const ib_part_t *part)
{
    uint64_t most = ib_part_write_max(conn, part);
    return part->bytes <= most ? 2 : (uint32_t)((part->bytes + most - 1) / most) + 2;
}

static void ib_part_locate(const weft_net_conn_t *conn, const weft_posted_op_t *op,
                           const ib_credit_t *credit, ib_part_t *part)
{
    uint32_t rail = conn->qps[part->qp].rail;
    part->to = le64toh(credit->address);
    part->remote_key = le32toh(credit->keys[rail]);
    const ib_pin_t *pin = op->region != NULL ? op->region->pins[rail] : NULL;
    part->local_key = pin != NULL ? pin->local_key : 0;
    part->on_device = op->region != NULL && op->region->on_device;
}

static inline weft_status_t ib_part_send(weft_net_conn_t *conn, const weft_posted_op_t *op,
                                         ib_part_t *part)
{
    weft_status_t status = ib_part_begin(conn, op->buffer, part);
    status = status == WEFT_OK ? ib_part_end(conn, op->buffer, part) : status;
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

/* Splits message `n`, as far as its room goes. Returns the number of parts. */
static inline uint32_t ib_message_split(const weft_net_conn_t *conn, uint32_t n,
                                        ib_part_t list[IB_DATA_MAX])
{
    const weft_posted_op_t *op = &conn->ops.send.ops[n % IB_OPS];
    const ib_credit_t *credit = &conn->credits.in[n % IB_OPS];
    uint32_t qps = conn->nqps - 1;
    bool too_long = op->bytes > le64toh(credit->room);
    uint64_t size = 0, bytes = too_long ? 0 : op->bytes;
    uint32_t parts = ib_flow_parts(&conn->device->net->config, qps, bytes, &size);
    for (uint32_t i = 0; i < parts; i++) {
        ib_part_t *part = &list[i];
        part->qp = 1 + ib_flow_turn(n + i, qps);
        part->slot = n % IB_OPS;
        part->immediate = too_long ? IB_TOO_LONG : (uint32_t)bytes;
        part->offset = i * size;
        part->bytes = bytes - part->offset < size ? bytes - part->offset : size;
        ib_part_locate(conn, op, credit, part);
    }
    return parts;
}

/* Sends message number send.next; *fits_p is false if a queue pair has no room now. */
static weft_status_t ib_message_send(weft_net_conn_t *conn, weft_posted_op_t *op, bool *fits_p)
{
    ib_part_t list[IB_DATA_MAX];
    uint32_t parts = ib_message_split(conn, conn->ops.send.next, list), mask = 0;
    for (uint32_t i = 0; i < parts; i++) {
        mask |= 1u << list[i].qp;
        if (ib_qp_room(&conn->qps[list[i].qp]) < ib_part_requests(conn, &list[i])) {
            *fits_p = false;
            return WEFT_OK;
        }
    }
    bool too_long = op->bytes > le64toh(conn->credits.in[conn->ops.send.next % IB_OPS].room);
    op->progress = mask;
    op->moved = too_long ? 0 : op->bytes;
    op->status = too_long ? WEFT_ERR_PROTO : WEFT_OK;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < parts && status == WEFT_OK; i++) {
        status = ib_part_send(conn, op, &list[i]);
    }
    return status;
}

weft_status_t ib_flow_send(weft_net_conn_t *conn)
{
    weft_op_queue_t *queue = &conn->ops.send;
    weft_status_t status = WEFT_OK;
    bool fits = true;
    while (queue->next != queue->tail && queue->next != conn->credits.received &&
           status == WEFT_OK) {
        const ib_credit_t *credit = &conn->credits.in[queue->next % IB_OPS];
        if (le32toh(credit->sequence) != queue->next + 1) {
            return ib_blame(conn, WEFT_ERR_PROTO, 0, "credit of peer %s has number %u, expected %u",
                            conn->info.peer, le32toh(credit->sequence), queue->next + 1);
        }
        status = ib_message_send(conn, weft_op_at(queue, queue->next), &fits);
        if (!fits) {
            break;
        }
        queue->next++;
    }
    return status;
}

weft_status_t ib_flow_acked(weft_net_conn_t *conn, weft_posted_op_t *op, uint32_t qp)
{
    conn->qps[qp].acked++;
    op->progress &= ~(UINT64_C(1) << qp);
    if (op->progress != 0) {
        return WEFT_OK;
    }
    if (op->status != WEFT_OK) {
        return ib_blame(conn, op->status, 0,
                        "message of %llu bytes to peer %s is longer than its room",
                        (unsigned long long)op->bytes, conn->info.peer);
    }
    ib_op_finish(conn, &conn->ops.send, op, WEFT_OK);
    return WEFT_OK;
}

/* Sends the part of message `n` that belongs to the queue pair. */
static weft_status_t ib_part_again(weft_net_conn_t *conn, uint32_t n, uint32_t qp)
{
    ib_part_t list[IB_DATA_MAX] = {{0}};
    uint32_t parts = ib_message_split(conn, n, list), i = 0;
    while (i + 1 < parts && list[i].qp != qp) {
        i++;
    }
    return ib_part_send(conn, weft_op_at(&conn->ops.send, n), &list[i]);
}

static bool ib_part_open(const weft_posted_op_t *op, uint32_t qp)
{
    return !op->done && (op->progress & 1u << qp) != 0;
}

/* Parts of a queue pair arrive in the order in which they were sent, so the peer's count tells
 * which have arrived. The credits of the others are still in the ring. */
static weft_status_t ib_parts_resume(weft_net_conn_t *conn, uint32_t index, uint32_t arrived,
                                     uint32_t *again_p)
{
    weft_op_queue_t *queue = &conn->ops.send;
    uint32_t there = arrived - conn->qps[index].acked, end = queue->next, open = 0;
    weft_status_t status = WEFT_OK;
    for (uint32_t n = queue->head; n != end; n++) {
        open += ib_part_open(weft_op_at(queue, n), index) ? 1 : 0;
    }
    if (there > open) {
        return ib_blame(conn, WEFT_ERR_LINK, 0,
                        "peer %s does not have what its adapter acknowledged; what "
                        "was sent cannot be sent again",
                        conn->info.peer);
    }
    for (uint32_t n = queue->head; n != end && status == WEFT_OK; n++) {
        weft_posted_op_t *op = weft_op_at(queue, n);
        if (!ib_part_open(op, index)) {
            continue;
        }
        if (there > 0) {
            there--;
            status = ib_flow_acked(conn, op, index);
        } else {
            (*again_p)++;
            status = ib_part_again(conn, n, index);
        }
    }
    return status;
}

weft_status_t ib_flow_resume(weft_net_conn_t *conn, uint32_t qp, uint32_t arrived,
                             uint32_t *again_p)
{
    weft_op_queue_t *queue = &conn->ops.recv;
    if (qp != 0) {
        return ib_parts_resume(conn, qp, arrived, again_p);
    }
    uint32_t missing = conn->credits.sent - arrived;
    if (missing > conn->credits.sent - queue->next) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0, "wrong count of credits: %u from peer %s", arrived,
                        conn->info.peer);
    }
    *again_p += missing;
    conn->credits.sent = arrived;
    return WEFT_OK;
}

/* Credits ------------------------------------------------------------------------------------- */

static void ib_credit_fill(const weft_net_conn_t *conn, uint32_t n)
{
    const weft_posted_op_t *op = &conn->ops.recv.ops[n % IB_OPS];
    ib_credit_t *credit = &conn->credits.out[n % IB_OPS];
    *credit = (ib_credit_t){.address = htole64((uint64_t)(uintptr_t)op->buffer),
                            .room = htole64(op->bytes),
                            .sequence = htole32(n + 1)};
    for (uint32_t i = 0; op->region != NULL && i < conn->nrails; i++) {
        const ib_pin_t *pin = op->region->pins[i];
        credit->keys[i] = htole32(pin != NULL ? pin->remote_key : 0);
    }
}

/* Writes neighbouring credits at once. Their slots in the ring are reused only after their
 * messages have arrived, and by then the adapter has read them. */
static weft_status_t ib_credit_write(weft_net_conn_t *conn, uint32_t count)
{
    ib_qp_t *qp = &conn->qps[0];
    const ib_rail_t *rail = &conn->rails[qp->rail];
    uint64_t offset = conn->credits.sent % IB_OPS * sizeof(ib_credit_t);
    uint32_t bytes = count * (uint32_t)sizeof(ib_credit_t);
    struct ibv_sge piece = {.addr = (uint64_t)(uintptr_t)conn->credits.out + offset,
                            .length = bytes,
                            .lkey = rail->credits_out->lkey};
    struct ibv_send_wr write = {
        .wr_id = ib_id(IB_ID_CREDIT, 0, 0, qp->sent + 1),
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = (bytes <= qp->inline_max ? IBV_SEND_INLINE : 0u) |
                      ((qp->sent + 1) % CREDIT_SIGNAL == 0 ? IBV_SEND_SIGNALED : 0u),
        .imm_data = htonl(count),
        .wr = {.rdma = {.remote_addr = conn->credits.peer_ring + offset, .rkey = rail->peer_key}}};
    conn->credits.sent += count;
    struct ibv_sge value;
    struct ibv_send_wr last = {.wr_id = ib_id(IB_ID_CREDIT, 0, 0, qp->sent + 2)};
    if (!conn->with_immediate) {
        ib_immediate_send(conn, 0, count, &last, &value);
        write.opcode = IBV_WR_RDMA_WRITE;
        write.next = &last;
    }
    weft_status_t status = ib_qp_post(conn, qp, &write, conn->with_immediate ? 1 : 2);
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t ib_flow_credit(weft_net_conn_t *conn)
{
    weft_op_queue_t *queue = &conn->ops.recv;
    uint32_t pending = queue->tail - conn->credits.sent;
    uint32_t unused = conn->credits.sent - queue->next;
    /* Each write costs both ends work, so credits are collected while the sender has plenty. */
    if (pending == 0 || (unused >= CREDITS_HELD && pending < unused)) {
        return WEFT_OK;
    }
    weft_status_t status = WEFT_OK;
    while (conn->credits.sent != queue->tail && ib_qp_room(&conn->qps[0]) > 1 &&
           status == WEFT_OK) {
        uint32_t at = conn->credits.sent % IB_OPS;
        uint32_t count = queue->tail - conn->credits.sent;
        count = count < IB_OPS - at ? count : IB_OPS - at;
        for (uint32_t i = 0; i < count; i++) {
            ib_credit_fill(conn, conn->credits.sent + i);
        }
        status = ib_credit_write(conn, count);
    }
    return status;
}

/* Arrival ------------------------------------------------------------------------------------- */

static weft_status_t ib_flow_bad(weft_net_conn_t *conn, const char *what, uint32_t value)
{
    return ib_blame(conn, WEFT_ERR_PROTO, 0, "%s %u from peer %s", what, value, conn->info.peer);
}

static weft_status_t ib_credits_arrive(weft_net_conn_t *conn, uint32_t count)
{
    weft_op_queue_t *queue = &conn->ops.send;
    uint32_t unused = conn->credits.received - queue->next;
    if (count == 0 || count > IB_OPS - unused) {
        return ib_flow_bad(conn, "wrong number of credits:", count);
    }
    conn->credits.received += count;
    return WEFT_OK;
}

/* Takes the immediates of the oldest message, if all of them have arrived. */
static bool ib_message_take(weft_net_conn_t *conn, uint32_t *immediate_p)
{
    uint32_t n = conn->ops.recv.next, qps = conn->nqps - 1;
    const ib_qp_t *home = &conn->qps[1 + ib_flow_turn(n, qps)];
    if (home->arrived == home->taken) {
        return false;
    }
    uint32_t immediate = home->immediates[home->taken % IB_OPS];
    uint64_t size = 0;
    uint32_t parts = immediate == IB_TOO_LONG
                         ? 1
                         : ib_flow_parts(&conn->device->net->config, qps, immediate, &size);
    for (uint32_t i = 1; i < parts; i++) {
        const ib_qp_t *qp = &conn->qps[1 + ib_flow_turn(n + i, qps)];
        if (qp->arrived == qp->taken) {
            return false;
        }
    }
    for (uint32_t i = 0; i < parts; i++) {
        conn->qps[1 + ib_flow_turn(n + i, qps)].taken++;
    }
    *immediate_p = immediate;
    return true;
}

static weft_status_t ib_messages_take(weft_net_conn_t *conn)
{
    weft_op_queue_t *queue = &conn->ops.recv;
    uint32_t immediate;
    while (queue->next != conn->credits.sent && ib_message_take(conn, &immediate)) {
        weft_posted_op_t *op = weft_op_at(queue, queue->next);
        if (immediate == IB_TOO_LONG) {
            return ib_blame(conn, WEFT_ERR_PROTO, 0,
                            "the message of peer %s is longer than the room, %llu", conn->info.peer,
                            (unsigned long long)op->bytes);
        }
        if (immediate > op->bytes) {
            return ib_flow_bad(conn, "wrong size of a message:", immediate);
        }
        op->moved = immediate;
        queue->next++;
        ib_op_finish(conn, queue, op, WEFT_OK);
    }
    return WEFT_OK;
}

weft_status_t ib_flow_arrive(weft_net_conn_t *conn, uint32_t index, uint32_t immediate)
{
    ib_qp_t *qp = &conn->qps[index];
    if (index == 0) {
        return ib_credits_arrive(conn, immediate);
    }
    if (qp->arrived - qp->taken == IB_OPS) {
        return ib_flow_bad(conn, "message without a credit, size", immediate);
    }
    qp->immediates[qp->arrived++ % IB_OPS] = immediate;
    return ib_messages_take(conn);
}
