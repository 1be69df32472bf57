/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the flow of messages, over queue pairs that only record what was posted. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ib_flow.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#define NOTES 512

typedef struct note {
    uint32_t qp;
    enum ibv_wr_opcode opcode;
    uint32_t immediate, flags;
    uint64_t bytes, to;
} note_t;

typedef struct bed {
    fake_host_t fake;
    weft_net_t net;
    weft_net_device_t device;
    ib_port_t port;
    weft_net_conn_t conn;
    struct ibv_context context;
    struct ibv_qp qps[IB_QPS_MAX];
    struct ibv_mr mr;
    weft_net_region_t region;
    ib_pin_t pin;
    ib_credit_t in[IB_OPS], out[IB_OPS];
    uint8_t memory[1 << 20];
    note_t notes[NOTES];
    uint32_t count;
    bool refuses, goes_on;
} bed_t;

static bed_t bed;

static uint32_t word_of(const struct ibv_send_wr *wr)
{
    uint32_t word = 0;
    assert_int_equal(wr->num_sge, 1);
    assert_int_equal(wr->sg_list->length, sizeof word);
    memcpy(&word, (const void *)(uintptr_t)wr->sg_list->addr, sizeof word);
    return le32toh(word);
}

static int note_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)bad;
    if (bed.refuses) {
        return EIO;
    }
    for (; wr != NULL; wr = wr->next) {
        assert_true(bed.count < NOTES);
        bed.notes[bed.count++] =
            (note_t){.qp = qp->qp_num,
                     .opcode = wr->opcode,
                     .immediate = wr->opcode == IBV_WR_SEND ? word_of(wr) : ntohl(wr->imm_data),
                     .flags = wr->send_flags,
                     .bytes = wr->num_sge > 0 ? wr->sg_list->length : 0,
                     .to = wr->wr.rdma.remote_addr};
    }
    return 0;
}

void ib_op_unregister(weft_net_conn_t *conn, const weft_op_queue_t *queue, weft_posted_op_t *op)
{
    (void)conn;
    (void)queue;
    (void)op;
}

void ib_conn_set_busy(weft_net_conn_t *conn)
{
    (void)conn;
}

weft_status_t ib_memory_blame(weft_net_conn_t *conn, const ib_hca_t *hca, uint64_t bytes, int cause)
{
    (void)conn;
    (void)hca;
    (void)bytes;
    (void)cause;
    return WEFT_ERR_RESOURCE;
}

/* Says whether the connection can go on although a queue pair took no request. */
bool ib_rail_refused(weft_net_conn_t *conn, ib_qp_t *qp, int cause)
{
    (void)conn;
    qp->stopped = bed.goes_on;
    return bed.goes_on && cause != 0;
}

static void bed_init(uint32_t qps)
{
    memset(&bed, 0, sizeof bed);
    fake_host_init(&bed.fake, "test");
    bed.context.ops.post_send = note_send;
    bed.net.config = (ib_config_t){.split = true, .split_bytes = 1024};
    bed.device = (weft_net_device_t){.host = &bed.fake.host, .net = &bed.net};
    bed.port.write_max = 8192;
    bed.pin = (ib_pin_t){.local_key = 1, .remote_key = 77};
    bed.region = (weft_net_region_t){.nrails = 1, .pins = {&bed.pin}};
    weft_net_conn_t *conn = &bed.conn;
    conn->host = &bed.fake.host;
    conn->device = &bed.device;
    weft_op_queues_attach(&conn->ops, conn, &bed.device.done);
    conn->with_immediate = true;
    conn->nrails = 1;
    conn->nqps = 1 + qps;
    conn->rails[0].port = &bed.port;
    conn->rails[0].credits_out = &bed.mr;
    conn->credits.in = bed.in;
    conn->credits.out = bed.out;
    conn->credits.peer_ring = 0x5000;
    for (uint32_t i = 0; i < conn->nqps; i++) {
        bed.qps[i] = (struct ibv_qp){.context = &bed.context, .qp_num = i};
        conn->qps[i] = (ib_qp_t){.handle = &bed.qps[i], .depth = IB_SEND_DEPTH, .inline_max = 64};
    }
}

static void bed_fini(void)
{
    fake_host_fini(&bed.fake);
}

static void push(weft_op_queue_t *queue, uint64_t bytes)
{
    queue->ops[queue->tail % IB_OPS] =
        (weft_posted_op_t){.buffer = bed.memory, .bytes = bytes, .region = &bed.region};
    queue->tail++;
    queue->open++;
}

/* Puts a credit of the peer into our ring, as its write leaves it there. */
static void credit(uint64_t room)
{
    uint32_t n = bed.conn.credits.received;
    bed.in[n % IB_OPS] = (ib_credit_t){.address = htole64(0x9000 + n),
                                       .room = htole64(room),
                                       .keys = {htole32(5)},
                                       .sequence = htole32(n + 1)};
    assert_int_equal(ib_flow_arrive(&bed.conn, 0, 1), WEFT_OK);
}

static void nothing_is_sent_before_its_credit(void **state)
{
    (void)state;
    bed_init(1);
    push(&bed.conn.ops.send, 8);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.count, 0);
    credit(100);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.notes[0].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    assert_int_equal(bed.notes[0].immediate, 8);
    assert_int_equal(bed.notes[0].to, 0x9000);
    assert_int_equal(bed.notes[0].flags, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
    bed_fini();
}

static void large_messages_are_cut_by_lanes_and_by_the_largest_write(void **state)
{
    (void)state;
    uint64_t sum = 0;
    uint32_t immediates = 0;
    bed_init(3);
    push(&bed.conn.ops.send, 100001);
    credit(200000);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    for (uint32_t i = 0; i < bed.count; i++) {
        assert_true(bed.notes[i].bytes <= 8192);
        assert_int_equal((bed.notes[i].to - 0x9000) % IB_PART_UNIT, 0);
        sum += bed.notes[i].bytes;
        immediates += bed.notes[i].opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    }
    assert_int_equal(sum, 100001);
    assert_int_equal(immediates, 3);
    assert_int_equal(bed.conn.ops.send.ops[0].progress, 0xe); /* data qps 1, 2 and 3 */
    bed_fini();
}

static void adaptive_routing_sends_an_empty_immediate_after_the_data(void **state)
{
    (void)state;
    bed_init(1);
    bed.conn.unordered = true;
    push(&bed.conn.ops.send, 1000);
    credit(1000);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.notes[0].opcode, IBV_WR_RDMA_WRITE);
    assert_int_equal(bed.notes[0].bytes, 1000);
    assert_int_equal(bed.notes[1].bytes, 0);
    assert_int_equal(bed.notes[1].immediate, 1000);
    bed_fini();
}

/* As on an iWARP adapter: emulated immediates are messages of their own, and each write asks for
 * a completion. */
static void without_immediates_a_message_follows_the_writes(void **state)
{
    static uint32_t words[2 * (IB_SEND_DEPTH + IB_RECV_DEPTH)];
    (void)state;
    bed_init(1);
    bed.conn.with_immediate = false;
    bed.conn.immediates = words;
    bed.conn.rails[0].immediates = &bed.mr;
    bed.conn.qps[1].inline_max = 0;
    push(&bed.conn.ops.send, 10000);
    push(&bed.conn.ops.send, 0);
    credit(10000);
    credit(0);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    push(&bed.conn.ops.recv, 10);
    assert_int_equal(ib_flow_credit(&bed.conn), WEFT_OK);
    static const note_t expected[] = {
        {1, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED, 8192, 0x9000},
        {1, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED, 1808, 0x9000 + 8192},
        {1, IBV_WR_SEND, 10000, IBV_SEND_SIGNALED, 4, 0},
        {1, IBV_WR_SEND, 0, IBV_SEND_SIGNALED, 4, 0},
        {0, IBV_WR_RDMA_WRITE, 0, IBV_SEND_INLINE, 64, 0x5000},
        {0, IBV_WR_SEND, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 4, 0}};
    assert_int_equal(bed.count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < bed.count; i++) {
        assert_int_equal(bed.notes[i].qp, expected[i].qp);
        assert_int_equal(bed.notes[i].opcode, expected[i].opcode);
        assert_int_equal(bed.notes[i].flags, expected[i].flags);
        assert_int_equal(bed.notes[i].bytes, expected[i].bytes);
        assert_int_equal(bed.notes[i].to, expected[i].to);
        if (expected[i].opcode == IBV_WR_SEND) {
            assert_int_equal(bed.notes[i].immediate, expected[i].immediate);
        }
    }
    bed_fini();
}

static void message_longer_than_the_credit_is_told_and_not_written(void **state)
{
    (void)state;
    bed_init(1);
    push(&bed.conn.ops.send, 1000);
    credit(999);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.notes[0].bytes, 0);
    assert_int_equal(bed.notes[0].immediate, IB_TOO_LONG);
    assert_int_equal(bed.conn.ops.send.ops[0].status, WEFT_ERR_PROTO);
    bed_fini();
}

static void full_lane_waits_for_completions(void **state)
{
    (void)state;
    bed_init(1);
    bed.conn.qps[1].depth = 3;
    push(&bed.conn.ops.send, 8);
    push(&bed.conn.ops.send, 8);
    push(&bed.conn.ops.send, 8);
    credit(8);
    credit(8);
    credit(8);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.conn.ops.send.next, 2);
    bed.conn.qps[1].retired = 1;
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    assert_int_equal(bed.conn.ops.send.next, 3);
    bed_fini();
}

static void wrong_credits_end_the_connection(void **state)
{
    (void)state;
    bed_init(1);
    assert_int_equal(ib_flow_arrive(&bed.conn, 0, 0), WEFT_ERR_PROTO);
    assert_int_equal(ib_flow_arrive(&bed.conn, 0, IB_OPS + 1), WEFT_ERR_PROTO);
    push(&bed.conn.ops.send, 8);
    credit(8);
    bed.in[0].sequence = htole32(9);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_ERR_PROTO);
    assert_int_equal(bed.count, 0);
    bed_fini();
}

static void credits_name_address_room_key_and_number(void **state)
{
    (void)state;
    bed_init(1);
    push(&bed.conn.ops.recv, 123);
    assert_int_equal(ib_flow_credit(&bed.conn), WEFT_OK);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.notes[0].qp, 0);
    assert_int_equal(bed.notes[0].immediate, 1);
    assert_int_equal(bed.notes[0].to, 0x5000);
    assert_int_equal(le64toh(bed.out[0].address), (uint64_t)(uintptr_t)bed.memory);
    assert_int_equal(le64toh(bed.out[0].room), 123);
    assert_int_equal(le32toh(bed.out[0].keys[0]), 77);
    assert_int_equal(le32toh(bed.out[0].sequence), 1);
    bed_fini();
}

/* Receives are posted one by one as messages arrive; the ring wraps many times. */
static void credits_are_collected_and_none_is_lost_when_the_ring_wraps(void **state)
{
    (void)state;
    bed_init(1);
    weft_net_conn_t *conn = &bed.conn;
    uint32_t granted = 0, writes = 0;
    for (uint32_t n = 0; n < 10 * IB_OPS + 7; n++) {
        bed.count = 0;
        push(&conn->ops.recv, 10);
        assert_int_equal(ib_flow_credit(conn), WEFT_OK);
        for (uint32_t i = 0; i < bed.count; i++) {
            uint64_t at = (bed.notes[i].to - 0x5000) / sizeof(ib_credit_t);
            assert_int_equal(at, granted % IB_OPS);
            assert_true(at + bed.notes[i].immediate <= IB_OPS);
            granted += bed.notes[i].immediate;
            writes++;
        }
        conn->qps[0].retired = conn->qps[0].sent;
        if (n >= 15) {
            assert_true(conn->ops.recv.next != granted);
            assert_int_equal(ib_flow_arrive(conn, 1, 10), WEFT_OK);
            conn->ops.recv.head++;
        }
    }
    assert_int_equal(granted, conn->credits.sent);
    assert_true(writes < granted / 3);
    bed_fini();
}

static void sender_without_credits_gets_one_at_once(void **state)
{
    (void)state;
    bed_init(1);
    weft_net_conn_t *conn = &bed.conn;
    for (uint32_t i = 0; i < 8; i++) {
        push(&conn->ops.recv, 10);
    }
    assert_int_equal(ib_flow_credit(conn), WEFT_OK);
    assert_int_equal(conn->credits.sent, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(ib_flow_arrive(conn, 1, 10), WEFT_OK);
    }
    push(&conn->ops.recv, 10);
    assert_int_equal(ib_flow_credit(conn), WEFT_OK);
    assert_int_equal(conn->credits.sent, 9);
    bed_fini();
}

static void messages_complete_in_order_whatever_lane_is_faster(void **state)
{
    (void)state;
    bed_init(2);
    weft_net_conn_t *conn = &bed.conn;
    push(&conn->ops.recv, 5000);
    push(&conn->ops.recv, 5000);
    push(&conn->ops.recv, 5000);
    assert_int_equal(ib_flow_credit(conn), WEFT_OK);
    /* Message 0 has two parts, on queue pairs 1 and 2; message 1 has one, on 2; message 2 has
     * two again. */
    assert_int_equal(ib_flow_arrive(conn, 2, 4096), WEFT_OK);
    assert_int_equal(ib_flow_arrive(conn, 2, 100), WEFT_OK);
    assert_int_equal(ib_flow_arrive(conn, 2, 3000), WEFT_OK);
    assert_int_equal(conn->ops.recv.next, 0);
    assert_int_equal(ib_flow_arrive(conn, 1, 4096), WEFT_OK);
    assert_int_equal(conn->ops.recv.next, 2);
    assert_int_equal(conn->ops.recv.ops[0].moved, 4096);
    assert_int_equal(conn->ops.recv.ops[1].moved, 100);
    assert_int_equal(ib_flow_arrive(conn, 1, 3000), WEFT_OK);
    assert_int_equal(conn->ops.recv.next, 3);
    assert_int_equal(conn->ops.recv.ops[2].moved, 3000);
    bed_fini();
}

static void more_than_the_room_or_the_credits_is_an_error(void **state)
{
    (void)state;
    bed_init(1);
    push(&bed.conn.ops.recv, 100);
    assert_int_equal(ib_flow_credit(&bed.conn), WEFT_OK);
    assert_int_equal(ib_flow_arrive(&bed.conn, 1, 101), WEFT_ERR_PROTO);
    bed_fini();
    bed_init(1);
    for (uint32_t i = 0; i < IB_OPS; i++) {
        assert_int_equal(ib_flow_arrive(&bed.conn, 1, 1), WEFT_OK);
    }
    assert_int_equal(ib_flow_arrive(&bed.conn, 1, 1), WEFT_ERR_PROTO);
    bed_fini();
}

static void offer(uint32_t messages, uint64_t bytes)
{
    for (uint32_t i = 0; i < messages; i++) {
        push(&bed.conn.ops.send, bytes);
        credit(bytes);
    }
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
}

/* Six messages use two queue pairs. Queue pair 1 has the even ones, and the peer has counted the
 * first two of them. */
static void a_lane_goes_on_with_what_the_peer_does_not_have(void **state)
{
    (void)state;
    uint32_t again = 0;
    bed_init(2);
    offer(6, 100);
    bed.count = 0;
    assert_int_equal(ib_flow_resume(&bed.conn, 1, 2, &again), WEFT_OK);
    assert_int_equal(again, 1);
    assert_true(bed.conn.ops.send.ops[0].done && bed.conn.ops.send.ops[2].done);
    assert_false(bed.conn.ops.send.ops[1].done || bed.conn.ops.send.ops[4].done);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.notes[0].to, 0x9000 + 4);
    bed_fini();
}

static void a_count_below_what_was_acknowledged_completes_nothing(void **state)
{
    (void)state;
    uint32_t again = 0;
    bed_init(1);
    offer(3, 100);
    assert_int_equal(ib_flow_acked(&bed.conn, &bed.conn.ops.send.ops[0], 1), WEFT_OK);
    assert_int_equal(ib_flow_resume(&bed.conn, 1, 0, &again), WEFT_ERR_LINK);
    assert_int_equal(ib_flow_resume(&bed.conn, 1, 4, &again), WEFT_ERR_LINK);
    assert_true(bed.conn.ops.send.ops[0].done && !bed.conn.ops.send.ops[1].done);
    bed_fini();
}

static void credits_that_did_not_arrive_are_written_again(void **state)
{
    (void)state;
    uint32_t again = 0;
    bed_init(1);
    for (uint32_t i = 0; i < 3; i++) {
        push(&bed.conn.ops.recv, 100);
    }
    assert_int_equal(ib_flow_credit(&bed.conn), WEFT_OK);
    bed.count = 0;
    assert_int_equal(ib_flow_resume(&bed.conn, 0, 1, &again), WEFT_OK);
    assert_int_equal(ib_flow_credit(&bed.conn), WEFT_OK);
    assert_int_equal(again, 2);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.notes[0].immediate, 2);
    assert_int_equal(ib_flow_resume(&bed.conn, 0, 4, &again), WEFT_ERR_PROTO);
    bed_fini();
}

/* A part of several writes is not ended when one of them was not taken. */
static void a_lane_that_took_no_request_takes_no_other(void **state)
{
    (void)state;
    bed_init(1);
    bed.refuses = bed.goes_on = true;
    push(&bed.conn.ops.send, 20000);
    credit(20000);
    assert_int_equal(ib_flow_send(&bed.conn), WEFT_OK);
    bed.refuses = false;
    offer(1, 8);
    assert_int_equal(bed.count, 0);
    assert_int_equal(bed.conn.ops.send.next, 1);
    bed_fini();
}

static void parts_cover_every_size(void **state)
{
    (void)state;
    ib_config_t config = {.split = true, .split_bytes = 256};
    for (uint32_t qps = 1; qps <= IB_DATA_MAX; qps++) {
        for (uint64_t bytes = 0; bytes < 12000; bytes += 1 + bytes % 13) {
            uint64_t part = 0;
            uint32_t parts = ib_flow_parts(&config, qps, bytes, &part);
            assert_in_range(parts, 1, qps);
            assert_true((parts - 1) * part <= bytes && parts * part >= bytes);
            assert_true(parts == 1 || (part % IB_PART_UNIT == 0 && (parts - 1) * part < bytes));
        }
    }
    config.split = false;
    uint64_t part = 0;
    assert_int_equal(ib_flow_parts(&config, 4, 1 << 20, &part), 1);
    assert_int_equal(part, 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sent_before_its_credit),
        cmocka_unit_test(large_messages_are_cut_by_lanes_and_by_the_largest_write),
        cmocka_unit_test(adaptive_routing_sends_an_empty_immediate_after_the_data),
        cmocka_unit_test(without_immediates_a_message_follows_the_writes),
        cmocka_unit_test(message_longer_than_the_credit_is_told_and_not_written),
        cmocka_unit_test(full_lane_waits_for_completions),
        cmocka_unit_test(wrong_credits_end_the_connection),
        cmocka_unit_test(credits_name_address_room_key_and_number),
        cmocka_unit_test(credits_are_collected_and_none_is_lost_when_the_ring_wraps),
        cmocka_unit_test(sender_without_credits_gets_one_at_once),
        cmocka_unit_test(messages_complete_in_order_whatever_lane_is_faster),
        cmocka_unit_test(more_than_the_room_or_the_credits_is_an_error),
        cmocka_unit_test(a_lane_goes_on_with_what_the_peer_does_not_have),
        cmocka_unit_test(a_count_below_what_was_acknowledged_completes_nothing),
        cmocka_unit_test(credits_that_did_not_arrive_are_written_again),
        cmocka_unit_test(a_lane_that_took_no_request_takes_no_other),
        cmocka_unit_test(parts_cover_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
