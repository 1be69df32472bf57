/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reliable queue pairs: making, and the way between states with the attributes each step needs. */
#include "fake_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RTR_NEEDS                                                                                  \
    (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |   \
     IBV_QP_MIN_RNR_TIMER)
#define RTS_NEEDS                                                                                  \
    (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
#define INIT_NEEDS (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)

static bool limits_hold(const fake_device_t *device, const struct ibv_qp_init_attr *wish)
{
    const struct ibv_qp_cap *cap = &wish->cap;
    return wish->qp_type == IBV_QPT_RC && wish->send_cq != NULL && wish->recv_cq != NULL &&
           wish->srq == NULL && cap->max_send_wr <= (uint32_t)device->attr.max_qp_wr &&
           cap->max_recv_wr <= (uint32_t)device->attr.max_qp_wr && cap->max_send_sge <= SGE_MAX &&
           cap->max_recv_sge <= SGE_MAX && cap->max_inline_data <= device->max_inline &&
           cap->max_inline_data <= INLINE_MAX;
}

static vqp_t *qp_make(struct ibv_pd *pd, const struct ibv_qp_init_attr *wish)
{
    vqp_t *qp = world_alloc(sizeof *qp);
    qp->base.context = pd->context;
    qp->base.qp_context = wish->qp_context;
    qp->base.pd = pd;
    qp->base.send_cq = wish->send_cq;
    qp->base.recv_cq = wish->recv_cq;
    qp->base.qp_num = world.next_qp++ & 0xffffffu;
    qp->base.state = IBV_QPS_RESET;
    qp->base.qp_type = wish->qp_type;
    qp->cap = wish->cap;
    qp->signal_all = wish->sq_sig_all != 0;
    qp->sends = world_alloc((qp->cap.max_send_wr + 1) * sizeof *qp->sends);
    qp->recvs = world_alloc((qp->cap.max_recv_wr + 1) * sizeof *qp->recvs);
    ((vcq_t *)wish->send_cq)->users++;
    ((vcq_t *)wish->recv_cq)->users++;
    ((vpd_t *)pd)->users++;
    /* Last, so that the n-th queue pair is the n-th made. */
    vqp_t **link = &world.qps;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = qp;
    world.live.qps++;
    return qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wish)
{
    world_enter();
    int cause = script_make(FAKE_CREATE_QP, pd->context);
    cause = cause == 0 && !limits_hold(&device_of(pd->context)->spec, wish) ? EINVAL : cause;
    vqp_t *qp = cause == 0 ? qp_make(pd, wish) : NULL;
    if (qp != NULL) {
        wish->cap = qp->cap;
    }
    world_leave();
    errno = cause;
    return qp != NULL ? &qp->base : NULL;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
    vqp_t *qp = (vqp_t *)base;
    world_enter();
    event_forget(base->context, qp);
    event_settle(&qp->asyncs_got, &base->events_completed, "a queue pair");
    queue_drop((vcq_t *)base->send_cq, qp);
    queue_drop((vcq_t *)base->recv_cq, qp);
    ((vcq_t *)base->send_cq)->users--;
    ((vcq_t *)base->recv_cq)->users--;
    ((vpd_t *)base->pd)->users--;
    vqp_t **link = &world.qps;
    while (*link != qp) {
        link = &(*link)->next;
    }
    *link = qp->next;
    world.live.qps--;
    free(qp->sends);
    free(qp->recvs);
    free(qp);
    world_leave();
    return 0;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    vqp_t *qp = (vqp_t *)base;
    (void)mask;
    world_enter();
    *attr = qp->attr;
    attr->qp_state = attr->cur_qp_state = base->state;
    attr->cap = qp->cap;
    *init = (struct ibv_qp_init_attr){.qp_context = base->qp_context,
                                      .send_cq = base->send_cq,
                                      .recv_cq = base->recv_cq,
                                      .cap = qp->cap,
                                      .qp_type = base->qp_type,
                                      .sq_sig_all = qp->signal_all};
    world_leave();
    return 0;
}

/* A step between two states: attributes it needs, and those it takes besides. */
static const struct step {
    enum ibv_qp_state from, to;
    int needs, takes;
} steps[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT_NEEDS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_NEEDS},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR_NEEDS, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_RTR, IBV_QPS_RTS, RTS_NEEDS,
     IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
};

static bool step_legal(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
    if (to == IBV_QPS_ERR || to == IBV_QPS_RESET) {
        return (mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE)) == 0;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct step *step = &steps[i];
        int more = mask & ~(IBV_QP_STATE | step->needs);
        if (step->from == from && step->to == to && (mask & step->needs) == step->needs &&
            (more & ~step->takes) == 0) {
            return true;
        }
    }
    return false;
}

/* Queue pairs of iWARP are connected by the connection manager only. */
static bool iwarp_step_legal(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
    return from == IBV_QPS_RESET && to == IBV_QPS_INIT &&
           mask == (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
}

static bool gid_exists(const fake_port_t *port, uint32_t index)
{
    for (uint32_t i = 0; i < port->ngids; i++) {
        if (port->gids[i].gid_index == index) {
            return true;
        }
    }
    return false;
}

static bool path_valid(const fake_port_t *port, const struct ibv_qp_attr *attr)
{
    const struct ibv_ah_attr *path = &attr->ah_attr;
    bool ethernet = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    if (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > port->attr.active_mtu ||
        ((ethernet || (port->attr.flags & IBV_QPF_GRH_REQUIRED) != 0) && path->is_global == 0)) {
        return false;
    }
    return path->is_global == 0 || gid_exists(port, path->grh.sgid_index);
}

static bool values_valid(const vqp_t *qp, const struct ibv_qp_attr *attr, int mask)
{
    const vdevice_t *device = device_of(qp->base.context);
    uint32_t number = (mask & IBV_QP_PORT) != 0 ? attr->port_num : qp->attr.port_num;
    const fake_port_t *port = device_port(device, number);
    if (port == NULL) {
        return false;
    }
    if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr->pkey_index >= port->attr.pkey_tbl_len) {
        return false;
    }
    if ((mask & IBV_QP_AV) == 0) {
        return true;
    }
    return attr->ah_attr.port_num == number && path_valid(port, attr);
}

static void values_take(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
    if ((mask & IBV_QP_STATE) != 0 && from->qp_state == IBV_QPS_INIT) {
        to->pkey_index = from->pkey_index;
        to->port_num = from->port_num;
    }
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0) {
        to->qp_access_flags = from->qp_access_flags;
    }
    if ((mask & IBV_QP_AV) != 0) {
        to->ah_attr = from->ah_attr;
        to->path_mtu = from->path_mtu;
        to->dest_qp_num = from->dest_qp_num;
        to->rq_psn = from->rq_psn;
        to->min_rnr_timer = from->min_rnr_timer;
    }
    if ((mask & IBV_QP_TIMEOUT) != 0) {
        to->timeout = from->timeout;
        to->retry_cnt = from->retry_cnt;
        to->rnr_retry = from->rnr_retry;
        to->sq_psn = from->sq_psn;
    }
}

static void state_enter(vqp_t *qp, enum ibv_qp_state state)
{
    if (state == IBV_QPS_ERR) {
        engine_fail(qp);
        return;
    }
    if (state == IBV_QPS_RESET) {
        queue_drop((vcq_t *)qp->base.send_cq, qp);
        queue_drop((vcq_t *)qp->base.recv_cq, qp);
        qp->send_head = qp->send_run = qp->send_tail = 0;
        qp->recv_head = qp->recv_run = qp->recv_tail = 0;
    }
    qp->base.state = state;
    engine_run();
}

/* Without its network interface an Ethernet port finds no route to any peer. */
static bool path_routes(const vqp_t *qp, int mask)
{
    const fake_port_t *port = device_port(device_of(qp->base.context), qp->attr.port_num);
    return (mask & IBV_QP_AV) == 0 || port->attr.link_layer != IBV_LINK_LAYER_ETHERNET ||
           port->attr.state == IBV_PORT_ACTIVE;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    vqp_t *qp = (vqp_t *)base;
    world_enter();
    int cause = script_call(FAKE_MODIFY_QP);
    enum ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr->qp_state : base->state;
    bool plain = to == IBV_QPS_ERR || to == IBV_QPS_RESET;
    if (cause == 0 && qp_is_iwarp(qp) && !plain) {
        cause = iwarp_step_legal(base->state, to, mask) ? 0 : EINVAL;
    } else if (cause == 0 &&
               (!step_legal(base->state, to, mask) || (!plain && !values_valid(qp, attr, mask)))) {
        cause = EINVAL;
    } else if (cause == 0 && !plain) {
        cause = device_of(base->context)->fatal ? EIO : path_routes(qp, mask) ? 0 : ENETUNREACH;
    }
    if (cause == 0) {
        values_take(&qp->attr, attr, mask);
        state_enter(qp, to);
    }
    world_leave();
    errno = cause;
    return cause;
}

int fake_qp_join(uint32_t first, uint32_t first_port, uint32_t second, uint32_t second_port)
{
    int cause = EINVAL;
    world_enter();
    vqp_t *a = qp_find(first), *b = qp_find(second);
    if (a != NULL && b != NULL && qp_is_iwarp(a) && qp_is_iwarp(b) &&
        a->base.state == IBV_QPS_INIT && b->base.state == IBV_QPS_INIT) {
        a->attr.port_num = (uint8_t)first_port;
        b->attr.port_num = (uint8_t)second_port;
        a->attr.dest_qp_num = second;
        b->attr.dest_qp_num = first;
        a->base.state = b->base.state = IBV_QPS_RTS;
        b->silent = true;
        cause = 0;
    }
    world_leave();
    return cause;
}

void fake_qp_cut(uint32_t number)
{
    world_enter();
    vqp_t *qp = qp_find(number);
    if (qp != NULL && qp->base.state == IBV_QPS_RTS) {
        engine_fail(qp);
    }
    world_leave();
}
