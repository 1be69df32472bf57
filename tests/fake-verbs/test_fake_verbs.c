/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stand-in behaves as an adapter does where net-ib relies on it. */
#include <errno.h>
#include <string.h>

#include "fake.h"
#include "tests/support/unit.h"

#define RTR_MASK                                                                                   \
    (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                \
     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                                   \
    (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |         \
     IBV_QP_MAX_QP_RD_ATOMIC)

typedef struct bed {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qps[2];
    struct ibv_mr *mr;
    uint8_t memory[64];
} bed_t;

static void bed_open(bed_t *bed)
{
    fake_setup(1);
    struct ibv_device **list = ibv_get_device_list(NULL);
    bed->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    bed->pd = ibv_alloc_pd(bed->context);
    bed->cq = ibv_create_cq(bed->context, 64, NULL, NULL, 0);
    bed->mr = ibv_reg_mr(bed->pd, bed->memory, sizeof bed->memory,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr wish = {
            .send_cq = bed->cq,
            .recv_cq = bed->cq,
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
        bed->qps[i] = ibv_create_qp(bed->pd, &wish);
        assert_non_null(bed->qps[i]);
    }
}

static int step_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int step_rtr(struct ibv_qp *qp, const struct ibv_qp *peer)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_4096,
        .dest_qp_num = peer->qp_num,
        .ah_attr = {.dlid = fake_device(0)->ports[0].attr.lid, .port_num = 1}};
    return ibv_modify_qp(qp, &attr, RTR_MASK);
}

static int step_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .rnr_retry = 7};
    return ibv_modify_qp(qp, &attr, RTS_MASK);
}

static void bed_connect(bed_t *bed)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(step_init(bed->qps[i]), 0);
        assert_int_equal(step_rtr(bed->qps[i], bed->qps[1 - i]), 0);
        assert_int_equal(step_rts(bed->qps[i]), 0);
    }
}

static void bed_close(bed_t *bed)
{
    fake_live_t live, none = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ibv_destroy_qp(bed->qps[i]), 0);
    }
    assert_int_equal(ibv_dereg_mr(bed->mr), 0);
    assert_int_equal(ibv_destroy_cq(bed->cq), 0);
    assert_int_equal(ibv_dealloc_pd(bed->pd), 0);
    assert_int_equal(ibv_close_device(bed->context), 0);
    fake_living(&live);
    assert_memory_equal(&live, &none, sizeof live);
}

static int write_post(bed_t *bed, uint64_t id, uint32_t rkey, uint32_t lkey)
{
    struct ibv_sge piece = {(uint64_t)(uintptr_t)bed->memory, 8, lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = id,
                                   .sg_list = &piece,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                   .send_flags = IBV_SEND_SIGNALED};
    wr.wr.rdma.remote_addr = (uint64_t)(uintptr_t)(bed->memory + 32);
    wr.wr.rdma.rkey = rkey;
    return ibv_post_send(bed->qps[0], &wr, &bad);
}

static int recv_post(bed_t *bed, uint64_t id)
{
    struct ibv_recv_wr *bad, wr = {.wr_id = id};
    return ibv_post_recv(bed->qps[1], &wr, &bad);
}

static void steps_out_of_order_are_refused(void **state)
{
    bed_t bed;
    (void)state;
    bed_open(&bed);
    assert_int_equal(step_rtr(bed.qps[0], bed.qps[1]), EINVAL);
    assert_int_equal(recv_post(&bed, 1), EINVAL);
    assert_int_equal(step_init(bed.qps[0]), 0);
    assert_int_equal(step_rts(bed.qps[0]), EINVAL);
    assert_int_equal(write_post(&bed, 1, 0, 0), EINVAL);
    assert_int_equal(step_rtr(bed.qps[0], bed.qps[1]), 0);
    assert_int_equal(step_rts(bed.qps[0]), 0);
    assert_int_equal(ibv_dealloc_pd(bed.pd), EBUSY);
    assert_int_equal(ibv_destroy_cq(bed.cq), EBUSY);
    bed_close(&bed);
}

static void a_write_waits_for_its_receive(void **state)
{
    bed_t bed;
    struct ibv_wc wc[4];
    (void)state;
    bed_open(&bed);
    bed_connect(&bed);
    memset(bed.memory, 7, 8);
    assert_int_equal(write_post(&bed, 5, bed.mr->rkey, bed.mr->lkey), 0);
    assert_int_equal(ibv_poll_cq(bed.cq, 4, wc), 0);
    assert_int_equal(recv_post(&bed, 6), 0);
    assert_int_equal(ibv_poll_cq(bed.cq, 4, wc), 2);
    assert_true(wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
    assert_int_equal(wc[0].wr_id + wc[1].wr_id, 11);
    assert_memory_equal(bed.memory, bed.memory + 32, 8);
    bed_close(&bed);
}

static void wrong_keys_are_errors_and_the_rest_is_flushed_in_order(void **state)
{
    static const enum ibv_wc_status expected[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR};
    (void)state;
    for (int local = 0; local < 2; local++) {
        bed_t bed;
        struct ibv_wc wc[8];
        bed_open(&bed);
        bed_connect(&bed);
        uint32_t rkey = bed.mr->rkey ^ (local == 0 ? 1u : 0), lkey = bed.mr->lkey ^ (uint32_t)local;
        assert_int_equal(write_post(&bed, 1, rkey, lkey), 0);
        assert_int_equal(write_post(&bed, 2, bed.mr->rkey, bed.mr->lkey), 0);
        assert_int_equal(recv_post(&bed, 3), 0);
        assert_int_equal(write_post(&bed, 4, bed.mr->rkey, bed.mr->lkey), 0);
        int count = ibv_poll_cq(bed.cq, 8, wc);
        assert_true(count >= 3);
        uint64_t last = 0;
        for (int i = 0; i < count; i++) {
            if (wc[i].qp_num == bed.qps[0]->qp_num) {
                assert_true(wc[i].wr_id > last);
                assert_int_equal(wc[i].status, last == 0 ? expected[local] : IBV_WC_WR_FLUSH_ERR);
                last = wc[i].wr_id;
            }
        }
        assert_int_equal(last, 4);
        bed_close(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_out_of_order_are_refused),
        cmocka_unit_test(a_write_waits_for_its_receive),
        cmocka_unit_test(wrong_keys_are_errors_and_the_rest_is_flushed_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
