/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work requests: taken into the rings, run in order, completed, flushed. A request runs at once
 * when it can; what waits for the peer is tried again at every call. */
#include "fake_world.h"

#include <errno.h>
#include <string.h>

static void send_complete(vqp_t *qp, uint32_t index, enum ibv_wc_status status,
                          const fault_t *fault)
{
    static const enum ibv_wc_opcode opcodes[] = {[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
                                                 [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
                                                 [IBV_WR_SEND] = IBV_WC_SEND,
                                                 [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
                                                 [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ};
    const vsend_t *send = &qp->sends[index % (qp->cap.max_send_wr + 1)];
    vcqe_t entry = {.wc = {.wr_id = send->wr_id, .status = status, .qp_num = qp->base.qp_num},
                    .qp = qp,
                    .end = index + 1};
    /* Only number, status and vendor's code are valid in a failed one; the rest is noise. */
    entry.wc.opcode = status == IBV_WC_SUCCESS ? opcodes[send->opcode] : (enum ibv_wc_opcode)0xee;
    entry.wc.byte_len = status == IBV_WC_SUCCESS ? send->bytes : 0xeeeeeeee;
    entry.wc.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x80u + (uint32_t)status;
    script_push((vcq_t *)qp->base.send_cq, &entry, fault);
}

static void recvs_flush(vqp_t *qp)
{
    while (qp->recv_run != qp->recv_tail) {
        vcqe_t entry = {.wc = {.wr_id = qp->recvs[qp->recv_run % (qp->cap.max_recv_wr + 1)].wr_id,
                               .status = IBV_WC_WR_FLUSH_ERR,
                               .opcode = (enum ibv_wc_opcode)0xee,
                               .vendor_err = 0x85,
                               .qp_num = qp->base.qp_num},
                        .qp = qp,
                        .recv = true,
                        .end = qp->recv_run + 1};
        qp->recv_run++;
        script_push((vcq_t *)qp->base.recv_cq, &entry, NULL);
    }
}

void engine_fail(vqp_t *qp)
{
    qp->base.state = IBV_QPS_ERR;
    while (qp->send_run != qp->send_tail) {
        uint32_t index = qp->send_run++;
        send_complete(qp, index, IBV_WC_WR_FLUSH_ERR, NULL);
    }
    recvs_flush(qp);
}

/* Whether a request that waits has waited longer than the queue pair's retries take. */
static bool wait_over(const vqp_t *qp, vsend_t *send)
{
    uint64_t now = world_now_ns();
    send->stalled_ns = send->stalled_ns == 0 ? now : send->stalled_ns;
    uint64_t waited = now - send->stalled_ns;
    if (send->not_ready) {
        return qp->attr.rnr_retry < 7 && waited > UINT64_C(640000) * (qp->attr.rnr_retry + 1u);
    }
    return qp->attr.timeout > 0 &&
           waited > (UINT64_C(4096) << qp->attr.timeout) * (qp->attr.retry_cnt + 1u);
}

static void qp_run(vqp_t *qp)
{
    while (qp->base.state == IBV_QPS_RTS && qp->send_run != qp->send_tail) {
        vsend_t *send = &qp->sends[qp->send_run % (qp->cap.max_send_wr + 1)];
        int status = request_run(qp, send);
        if (status == REQUEST_WAITS && !wait_over(qp, send)) {
            return;
        }
        if (status == REQUEST_WAITS) {
            status = send->not_ready ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
        }
        uint32_t index = qp->send_run++;
        if (status != IBV_WC_SUCCESS) {
            send_complete(qp, index, (enum ibv_wc_status)status, send->fault);
            engine_fail(qp);
        } else if (qp->signal_all || (send->flags & IBV_SEND_SIGNALED) != 0) {
            send_complete(qp, index, IBV_WC_SUCCESS, send->fault);
        }
    }
}

void engine_run(void)
{
    for (vqp_t *qp = world.qps; qp != NULL; qp = qp->next) {
        qp_run(qp);
    }
}

/* The driver refuses what the adapter could not even take. */
static int send_check(const vqp_t *qp, const struct ibv_send_wr *wr)
{
    bool iwarp = qp_is_iwarp(qp);
    bool immediate = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_IMM;
    if (qp->silent || (qp->base.state != IBV_QPS_RTS && qp->base.state != IBV_QPS_ERR)) {
        return EINVAL;
    }
    if (qp->send_tail - qp->send_head >= qp->cap.max_send_wr) {
        return ENOMEM;
    }
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge || (iwarp && immediate) ||
        wr->opcode > IBV_WR_RDMA_READ) {
        return EINVAL;
    }
    uint64_t bytes = 0;
    for (int i = 0; i < wr->num_sge; i++) {
        bytes += wr->sg_list[i].length;
    }
    bool copied = (wr->send_flags & IBV_SEND_INLINE) != 0;
    return bytes > UINT32_MAX || (copied && bytes > qp->cap.max_inline_data) ? EINVAL : 0;
}

static void send_take(vqp_t *qp, const struct ibv_send_wr *wr)
{
    vsend_t *send = &qp->sends[qp->send_tail++ % (qp->cap.max_send_wr + 1)];
    send->wr_id = wr->wr_id;
    send->remote = wr->wr.rdma.remote_addr;
    send->rkey = wr->wr.rdma.rkey;
    send->opcode = wr->opcode;
    send->flags = wr->send_flags;
    send->imm = wr->imm_data;
    send->nsge = wr->num_sge;
    send->bytes = 0;
    send->met = send->not_ready = false;
    send->fault = NULL;
    send->stalled_ns = 0;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        send->sge[i] = *sge;
        if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
            memcpy(send->data + send->bytes, (const void *)(uintptr_t)sge->addr, sge->length);
        }
        send->bytes += sge->length;
    }
}

int engine_post_send(struct ibv_qp *base, struct ibv_send_wr *list, struct ibv_send_wr **bad_p)
{
    vqp_t *qp = (vqp_t *)base;
    int cause = 0;
    world_enter();
    for (struct ibv_send_wr *wr = list; wr != NULL && cause == 0; wr = wr->next) {
        cause = script_call(FAKE_POST_SEND);
        cause = cause == 0 ? send_check(qp, wr) : cause;
        if (cause == 0) {
            send_take(qp, wr);
        } else {
            *bad_p = wr;
        }
    }
    if (base->state == IBV_QPS_ERR) {
        engine_fail(qp);
    }
    qp_run(qp);
    world_leave();
    return cause;
}

static int recv_check(const vqp_t *qp, const struct ibv_recv_wr *wr)
{
    if (qp->base.state == IBV_QPS_RESET || wr->num_sge < 0 ||
        (uint32_t)wr->num_sge > qp->cap.max_recv_sge) {
        return EINVAL;
    }
    return qp->recv_tail - qp->recv_head >= qp->cap.max_recv_wr ? ENOMEM : 0;
}

int engine_post_recv(struct ibv_qp *base, struct ibv_recv_wr *list, struct ibv_recv_wr **bad_p)
{
    vqp_t *qp = (vqp_t *)base;
    int cause = 0;
    world_enter();
    for (struct ibv_recv_wr *wr = list; wr != NULL && cause == 0; wr = wr->next) {
        cause = script_call(FAKE_POST_RECV);
        cause = cause == 0 ? recv_check(qp, wr) : cause;
        if (cause == 0) {
            vrecv_t *recv = &qp->recvs[qp->recv_tail++ % (qp->cap.max_recv_wr + 1)];
            recv->wr_id = wr->wr_id;
            recv->nsge = wr->num_sge;
            for (int i = 0; i < wr->num_sge; i++) {
                recv->sge[i] = wr->sg_list[i];
            }
        } else {
            *bad_p = wr;
        }
    }
    if (base->state == IBV_QPS_ERR) {
        recvs_flush(qp);
    }
    engine_run();
    world_leave();
    return cause;
}
