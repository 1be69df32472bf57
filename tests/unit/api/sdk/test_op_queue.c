/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the SDK's operation queue, as a transport uses it. */
#include <string.h>

#include <weft/sdk/op_queue.h>

#include "tests/support/unit.h"

#define CONNS 3

/* Connections are opaque to the queue. */
struct weft_net_conn {
    weft_op_queues_t ops;
};

typedef struct bed {
    weft_op_done_t done;
    struct weft_net_conn conns[CONNS];
    uint8_t memory[WEFT_OP_SLOTS];
} bed_t;

static bed_t bed;

static int bed_init(void **state)
{
    (void)state;
    memset(&bed, 0, sizeof bed);
    for (int i = 0; i < CONNS; i++) {
        weft_op_queues_attach(&bed.conns[i].ops, &bed.conns[i], &bed.done);
    }
    return 0;
}

/* Posts a message of n + 1 bytes, n being its number. Returns false if the queue is full. */
static bool post(weft_op_queue_t *queue, uint32_t kind)
{
    uint32_t number = queue->tail;
    weft_net_op_t op = {.kind = kind,
                        .buffer = bed.memory,
                        .bytes = number + 1,
                        .context = &bed.memory[number % WEFT_OP_SLOTS]};
    weft_posted_op_t *slot = weft_op_prepare(queue, &op);
    if (slot == NULL) {
        return false;
    }
    assert_ptr_equal(slot, weft_op_at(queue, number));
    assert_int_equal(slot->bytes, number + 1);
    assert_int_equal(slot->moved, 0);
    assert_int_equal(slot->progress, 0);
    assert_int_equal(slot->flags, 0);
    assert_false(slot->done);
    weft_op_push(queue);
    return true;
}

static void finish(int conn, weft_op_queue_t *queue, uint32_t number, weft_status_t status)
{
    weft_posted_op_t *op = weft_op_at(queue, number);
    op->moved = op->bytes;
    weft_op_finish(&bed.conns[conn].ops, queue, op, status);
}

static void completions_leave_in_the_order_of_the_posts(void **state)
{
    weft_op_queue_t *send = &bed.conns[0].ops.send;
    weft_net_completion_t list[4];
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(post(send, WEFT_NET_SEND));
    }
    finish(0, send, 2, WEFT_OK);
    finish(0, send, 1, WEFT_OK);
    assert_null(bed.done.first);
    assert_int_equal(weft_op_done_take(&bed.done, list, 4), 0);
    finish(0, send, 0, WEFT_ERR_LINK);
    assert_int_equal(send->open, 0);
    assert_int_equal(weft_op_done_take(&bed.done, list, 4), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_ptr_equal(list[i].context, &bed.memory[i]);
        assert_int_equal(list[i].bytes, i + 1);
        assert_int_equal(list[i].kind, WEFT_NET_SEND);
        assert_int_equal(list[i].status, i == 0 ? WEFT_ERR_LINK : WEFT_OK);
        assert_ptr_equal(list[i].conn, &bed.conns[0]);
    }
    assert_null(bed.done.first);
    assert_int_equal(weft_op_done_take(&bed.done, list, 4), 0);
}

static void a_full_queue_takes_no_more_until_completions_leave(void **state)
{
    weft_op_queue_t *recv = &bed.conns[0].ops.recv;
    weft_net_completion_t list[1];
    (void)state;
    for (uint32_t i = 0; i < WEFT_OP_SLOTS; i++) {
        assert_true(post(recv, WEFT_NET_RECV));
    }
    assert_false(post(recv, WEFT_NET_RECV));
    finish(0, recv, 0, WEFT_OK);
    assert_false(post(recv, WEFT_NET_RECV));
    assert_int_equal(weft_op_done_take(&bed.done, list, 1), 1);
    assert_true(post(recv, WEFT_NET_RECV));
    assert_false(post(recv, WEFT_NET_RECV));
}

static void counters_wrap(void **state)
{
    weft_op_queue_t *send = &bed.conns[0].ops.send;
    weft_net_completion_t list[2];
    (void)state;
    send->head = send->next = send->tail = UINT32_MAX;
    assert_true(post(send, WEFT_NET_SEND));
    assert_true(post(send, WEFT_NET_SEND));
    assert_int_equal(send->tail, 1);
    finish(0, send, UINT32_MAX, WEFT_OK);
    finish(0, send, 0, WEFT_OK);
    assert_int_equal(weft_op_done_take(&bed.done, list, 2), 2);
    assert_int_equal(send->head, 1);
}

static void what_does_not_fit_comes_with_the_next_call(void **state)
{
    weft_net_completion_t list[2];
    uint32_t taken = 0, count;
    (void)state;
    for (int i = 0; i < CONNS; i++) {
        weft_op_queues_t *ops = &bed.conns[i].ops;
        post(&ops->send, WEFT_NET_SEND);
        post(&ops->recv, WEFT_NET_RECV);
        post(&ops->recv, WEFT_NET_RECV);
        finish(i, &ops->recv, 0, WEFT_OK);
        finish(i, &ops->send, 0, WEFT_OK);
    }
    while ((count = weft_op_done_take(&bed.done, list, 2)) > 0) {
        taken += count;
    }
    assert_int_equal(taken, 2 * CONNS);
    assert_null(bed.done.first);
    finish(1, &bed.conns[1].ops.recv, 1, WEFT_OK);
    assert_int_equal(weft_op_done_take(&bed.done, list, 2), 1);
    assert_ptr_equal(list[0].conn, &bed.conns[1]);
}

static uint32_t told;

static bool tell_of_links(const weft_net_completion_t *completion)
{
    told += completion->status == WEFT_ERR_LINK;
    return completion->status == WEFT_ERR_LINK;
}

static void nothing_follows_what_failed_with_its_connection(void **state)
{
    weft_net_completion_t list[2 * CONNS];
    uint32_t count, calls = 0;
    (void)state;
    told = 0;
    for (int i = 0; i < CONNS; i++) {
        post(&bed.conns[i].ops.send, WEFT_NET_SEND);
        post(&bed.conns[i].ops.send, WEFT_NET_SEND);
        finish(i, &bed.conns[i].ops.send, 0, WEFT_OK);
        finish(i, &bed.conns[i].ops.send, 1, WEFT_ERR_LINK);
    }
    while ((count = weft_op_done_take_failing(&bed.done, list, 2 * CONNS, tell_of_links)) > 0) {
        assert_int_equal(count, 2);
        assert_int_equal(list[0].status, WEFT_OK);
        assert_int_equal(list[1].status, WEFT_ERR_LINK);
        assert_ptr_equal(list[0].conn, list[1].conn);
        assert_int_equal(told, ++calls);
    }
    assert_int_equal(calls, CONNS);
    assert_null(bed.done.first);
}

static void a_detached_connection_gives_out_nothing(void **state)
{
    weft_net_completion_t list[4];
    (void)state;
    for (int i = 0; i < CONNS; i++) {
        post(&bed.conns[i].ops.send, WEFT_NET_SEND);
        post(&bed.conns[i].ops.send, WEFT_NET_SEND);
        finish(i, &bed.conns[i].ops.send, 0, WEFT_OK);
    }
    weft_op_queues_detach(&bed.conns[1].ops);
    weft_op_queues_detach(&bed.conns[1].ops);
    assert_int_equal(bed.conns[1].ops.send.open, 0);
    assert_int_equal(weft_op_done_take(&bed.done, list, 4), CONNS - 1);
    assert_ptr_not_equal(list[0].conn, &bed.conns[1]);
    assert_ptr_not_equal(list[1].conn, &bed.conns[1]);
}

static void every_open_operation_is_found_once(void **state)
{
    weft_op_queues_t *ops = &bed.conns[0].ops;
    weft_net_completion_t list[8];
    weft_posted_op_t *op;
    (void)state;
    assert_false(weft_op_queues_used(ops));
    for (int i = 0; i < 5; i++) {
        post(&ops->recv, WEFT_NET_RECV);
    }
    assert_true(weft_op_queues_used(ops));
    finish(0, &ops->recv, 1, WEFT_OK);
    uint32_t number = ops->recv.head, found = 0;
    while ((op = weft_op_next_open(&ops->recv, &number)) != NULL) {
        weft_op_finish(ops, &ops->recv, op, WEFT_ERR_ABORTED);
        found++;
    }
    assert_int_equal(found, 4);
    assert_int_equal(weft_op_done_take(&bed.done, list, 8), 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(list[i].status, i == 1 ? WEFT_OK : WEFT_ERR_ABORTED);
    }
}

static void operations_are_checked_against_net_h(void **state)
{
    weft_net_op_t op = {.kind = WEFT_NET_SEND, .buffer = bed.memory, .bytes = 10};
    (void)state;
    assert_true(weft_op_valid(&op, 10));
    assert_false(weft_op_valid(&op, 9));
    op.buffer = NULL;
    assert_false(weft_op_valid(&op, 10));
    op.bytes = 0;
    assert_true(weft_op_valid(&op, 10));
    op.kind = 3;
    assert_false(weft_op_valid(&op, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(completions_leave_in_the_order_of_the_posts, bed_init),
        cmocka_unit_test_setup(a_full_queue_takes_no_more_until_completions_leave, bed_init),
        cmocka_unit_test_setup(counters_wrap, bed_init),
        cmocka_unit_test_setup(what_does_not_fit_comes_with_the_next_call, bed_init),
        cmocka_unit_test_setup(nothing_follows_what_failed_with_its_connection, bed_init),
        cmocka_unit_test_setup(a_detached_connection_gives_out_nothing, bed_init),
        cmocka_unit_test_setup(every_open_operation_is_found_once, bed_init),
        cmocka_unit_test_setup(operations_are_checked_against_net_h, bed_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
