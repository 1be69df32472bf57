/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One request: finding the peer, checking both ends' memory, moving the bytes, completing the
 * peer's receive. */
#include "fake_world.h"

#include <string.h>

#define PSN_MASK 0xffffffu

vqp_t *qp_find(uint32_t number)
{
    vqp_t *qp = world.qps;
    while (qp != NULL && qp->base.qp_num != number) {
        qp = qp->next;
    }
    return qp;
}

bool qp_is_iwarp(const vqp_t *qp)
{
    return device_of(qp->base.context)->spec.transport == IBV_TRANSPORT_IWARP;
}

static const fake_port_t *qp_port(const vqp_t *qp)
{
    return device_port(device_of(qp->base.context), qp->attr.port_num);
}

static const struct ibv_gid_entry *gid_at(const fake_port_t *port, uint32_t index)
{
    for (uint32_t i = 0; i < port->ngids; i++) {
        if (port->gids[i].gid_index == index) {
            return &port->gids[i];
        }
    }
    return NULL;
}

/* Whether the address that `from` was given leads to a port, and in the same protocol. */
static bool path_leads(const vqp_t *from, const fake_port_t *mine, const fake_port_t *theirs)
{
    const struct ibv_ah_attr *path = &from->attr.ah_attr;
    if (mine->attr.link_layer != theirs->attr.link_layer) {
        return false;
    }
    if (path->is_global == 0) {
        return path->dlid == theirs->attr.lid && (theirs->attr.flags & IBV_QPF_GRH_REQUIRED) == 0;
    }
    const struct ibv_gid_entry *source = gid_at(mine, path->grh.sgid_index);
    for (uint32_t i = 0; i < theirs->ngids && source != NULL; i++) {
        const struct ibv_gid_entry *entry = &theirs->gids[i];
        if (entry->gid_type == source->gid_type &&
            memcmp(&entry->gid, &path->grh.dgid, sizeof entry->gid) == 0) {
            return true;
        }
    }
    return false;
}

/* The peer, or NULL while nothing gets there. */
static vqp_t *peer_of(const vqp_t *qp)
{
    vqp_t *peer = qp_find(qp->attr.dest_qp_num);
    const fake_port_t *mine = qp_port(qp);
    if (peer == NULL || (peer->base.state != IBV_QPS_RTR && peer->base.state != IBV_QPS_RTS)) {
        return NULL;
    }
    const fake_port_t *theirs = qp_port(peer);
    bool up = mine->attr.state == IBV_PORT_ACTIVE && theirs->attr.state == IBV_PORT_ACTIVE &&
              !device_of(qp->base.context)->fatal && !device_of(peer->base.context)->fatal;
    bool paired = peer->attr.dest_qp_num == qp->base.qp_num &&
                  ((qp->attr.sq_psn ^ peer->attr.rq_psn) & PSN_MASK) == 0;
    return up && paired && (qp_is_iwarp(qp) || path_leads(qp, mine, theirs)) ? peer : NULL;
}

static bool has_immediate(const vsend_t *send)
{
    return send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || send->opcode == IBV_WR_SEND_WITH_IMM;
}

static bool takes_receive(const vsend_t *send)
{
    return has_immediate(send) || send->opcode == IBV_WR_SEND;
}

static fake_kind_t kind_of(const vsend_t *send)
{
    switch (send->opcode) {
    case IBV_WR_RDMA_WRITE:
        return FAKE_WRITE;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return FAKE_WRITE_IMM;
    case IBV_WR_RDMA_READ:
        return FAKE_READ;
    default:
        return FAKE_SEND;
    }
}

/* Copies between the request's own memory and `other`, which stands for the peer's. */
static void own_copy(const vqp_t *qp, const vsend_t *send, uint8_t *other, bool out)
{
    if ((send->flags & IBV_SEND_INLINE) != 0) {
        memcpy(other, send->data, send->bytes);
        return;
    }
    for (int i = 0; i < send->nsge; i++) {
        uint8_t *mine = memory_local(qp->base.pd, &send->sge[i], !out);
        if (mine == NULL) {
            continue; /* an empty piece may name anything */
        }
        memmove(out ? other : mine, out ? mine : other, send->sge[i].length);
        other += send->sge[i].length;
    }
}

static bool own_admitted(const vqp_t *qp, const vsend_t *send)
{
    bool write = send->opcode == IBV_WR_RDMA_READ;
    for (int i = 0; i < send->nsge && (send->flags & IBV_SEND_INLINE) == 0; i++) {
        if (send->sge[i].length > 0 && memory_local(qp->base.pd, &send->sge[i], write) == NULL) {
            return false;
        }
    }
    return true;
}

static void peer_broken(vqp_t *peer, enum ibv_event_type type)
{
    struct ibv_async_event event = {.element = {.qp = &peer->base}, .event_type = type};
    event_raise(context_of(peer->base.context), &event);
    engine_fail(peer);
}

/* Bytes into or out of memory that the peer named. */
static enum ibv_wc_status memory_move(const vqp_t *qp, const vsend_t *send, vqp_t *peer)
{
    bool read = send->opcode == IBV_WR_RDMA_READ;
    int access = read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    if (send->bytes == 0) {
        return IBV_WC_SUCCESS;
    }
    uint8_t *at = memory_remote(peer->base.pd, send->remote, send->rkey, send->bytes, access);
    if (at == NULL || (peer->attr.qp_access_flags & (unsigned)access) == 0) {
        peer_broken(peer, IBV_EVENT_QP_ACCESS_ERR);
        return IBV_WC_REM_ACCESS_ERR;
    }
    own_copy(qp, send, at, !read);
    return IBV_WC_SUCCESS;
}

/* Bytes into the buffers of a receive. */
static enum ibv_wc_status receive_move(const vqp_t *qp, const vsend_t *send, const vqp_t *peer,
                                       const vrecv_t *recv)
{
    uint8_t bytes[INLINE_MAX];
    uint32_t left = send->bytes, done = 0;
    for (int i = 0; i < recv->nsge && left > 0; i++) {
        struct ibv_sge sge = recv->sge[i];
        sge.length = sge.length < left ? sge.length : left;
        uint8_t *to = memory_local(peer->base.pd, &sge, true);
        if (to == NULL || send->bytes > sizeof bytes) {
            return to == NULL ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR;
        }
        own_copy(qp, send, bytes, true);
        memcpy(to, bytes + done, sge.length);
        done += sge.length;
        left -= sge.length;
    }
    return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

static void receive_complete(vqp_t *peer, const vsend_t *send, enum ibv_wc_status status,
                             const fault_t *fault)
{
    bool good = status == IBV_WC_SUCCESS;
    const vrecv_t *recv = &peer->recvs[peer->recv_run % (peer->cap.max_recv_wr + 1)];
    vcqe_t entry = {.wc = {.wr_id = recv->wr_id,
                           .status = status,
                           .vendor_err = good ? 0 : 0x80u + (uint32_t)status,
                           .byte_len = good ? send->bytes : 0xeeeeeeee,
                           .imm_data = good ? send->imm : 0xeeeeeeee,
                           .qp_num = peer->base.qp_num,
                           .wc_flags = has_immediate(send) ? IBV_WC_WITH_IMM : 0},
                    .qp = peer,
                    .recv = true};
    bool write = send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    entry.wc.opcode = !good   ? (enum ibv_wc_opcode)0xee
                      : write ? IBV_WC_RECV_RDMA_WITH_IMM
                              : IBV_WC_RECV;
    entry.end = ++peer->recv_run;
    script_push((vcq_t *)peer->base.recv_cq, &entry, fault);
    if (!good) {
        engine_fail(peer);
    }
}

/* The request's part at a peer that has a receive. */
static enum ibv_wc_status receive_run(const vqp_t *qp, vsend_t *send, vqp_t *peer)
{
    const vrecv_t *recv = &peer->recvs[peer->recv_run % (peer->cap.max_recv_wr + 1)];
    fault_t *fault = script_meet(FAKE_RECV);
    fake_act_t act = fault != NULL ? fault->what.act : FAKE_FAIL;
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    if (act == FAKE_STATUS) {
        receive_complete(peer, send, (enum ibv_wc_status)fault->what.value, fault);
        return IBV_WC_REM_OP_ERR;
    }
    if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        status = memory_move(qp, send, peer);
        if (status != IBV_WC_SUCCESS) {
            return status;
        }
    } else {
        status = receive_move(qp, send, peer, recv);
    }
    if (status == IBV_WC_SUCCESS && act == FAKE_AFTER) {
        receive_complete(peer, send, (enum ibv_wc_status)fault->what.value, fault);
        return IBV_WC_SUCCESS;
    }
    receive_complete(peer, send, status, fault);
    return status == IBV_WC_SUCCESS       ? IBV_WC_SUCCESS
           : status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR
                                          : IBV_WC_REM_OP_ERR;
}

static int request_move(vqp_t *qp, vsend_t *send)
{
    if (!own_admitted(qp, send)) {
        return IBV_WC_LOC_PROT_ERR;
    }
    if (send->bytes > qp_port(qp)->attr.max_msg_sz) {
        return IBV_WC_LOC_LEN_ERR;
    }
    vqp_t *peer = peer_of(qp);
    send->not_ready = false;
    if (peer == NULL) {
        return REQUEST_WAITS;
    }
    peer->silent = false;
    if (!takes_receive(send)) {
        return (int)memory_move(qp, send, peer);
    }
    if (peer->recv_run == peer->recv_tail && qp_is_iwarp(qp)) {
        /* iWARP has no word for "not ready": the peer ends the connection. */
        engine_fail(peer);
        return IBV_WC_REM_OP_ERR;
    }
    if (peer->recv_run == peer->recv_tail) {
        send->not_ready = true;
        return REQUEST_WAITS;
    }
    return (int)receive_run(qp, send, peer);
}

int request_run(vqp_t *qp, vsend_t *send)
{
    if (!send->met) {
        send->met = true;
        send->fault = script_meet(kind_of(send));
    }
    const fault_t *fault = send->fault;
    if (fault != NULL && fault->what.act == FAKE_STALL && !fault->released) {
        return REQUEST_WAITS;
    }
    if (fault != NULL && fault->what.act == FAKE_STATUS) {
        return fault->what.value;
    }
    int status = request_move(qp, send);
    bool after = fault != NULL && fault->what.act == FAKE_AFTER && status == IBV_WC_SUCCESS;
    return after ? fault->what.value : status;
}
