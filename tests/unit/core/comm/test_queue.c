/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues of operations: the order of sequence numbers, captured operations, messages per peer. */
#include <stdlib.h>

#include "core/comm/p2p_queues.h"
#include "core/comm/queue.h"
#include "tests/support/unit.h"

static weft_request_t numbered(uint64_t sequence)
{
    return (weft_request_t){.sequence = sequence, .state = WEFT_OP_QUEUED};
}

static weft_flight_comm_t flight;

static void operations_run_in_the_order_of_their_numbers(void **state)
{
    weft_queue_t queue = {.flight = &flight};
    weft_request_t one = numbered(1), two = numbered(2), three = numbered(3);
    (void)state;
    weft_queue_insert(&queue, &one);
    weft_queue_insert(&queue, &three);
    weft_queue_insert(&queue, &two); /* its stream came to it later */
    assert_ptr_equal(queue.first, &one);
    assert_ptr_equal(one.next, &two);
    assert_ptr_equal(two.next, &three);
    assert_ptr_equal(queue.last, &three);
}

static void an_operation_waits_for_those_called_before(void **state)
{
    weft_queue_t queue = {.flight = &flight};
    weft_request_t two = numbered(2);
    (void)state;
    weft_queue_insert(&queue, &two);
    assert_false(weft_queue_is_due(&queue, &two));
    weft_queue_complete(&queue, 1); /* a run in a stream */
    assert_true(weft_queue_is_due(&queue, &two));
    weft_queue_finish(&queue, WEFT_OK);
    assert_int_equal(two.state, WEFT_OP_DONE);
    assert_int_equal(queue.completed, 2);
    assert_null(queue.first);
    assert_null(queue.last);
}

static void a_captured_operation_goes_before_all_that_have_not_begun(void **state)
{
    weft_queue_t queue = {.flight = &flight};
    weft_request_t one = numbered(1), two = numbered(2), captured = numbered(0);
    (void)state;
    weft_queue_insert(&queue, &one);
    weft_queue_insert(&queue, &two);
    one.state = WEFT_OP_RUNNING;
    weft_queue_insert(&queue, &captured);
    assert_ptr_equal(queue.first, &one);
    assert_ptr_equal(one.next, &captured);
    assert_ptr_equal(captured.next, &two);
    weft_queue_finish(&queue, WEFT_OK);
    assert_true(weft_queue_is_due(&queue, &captured));
    weft_queue_finish(&queue, WEFT_OK);
    assert_int_equal(queue.completed, 1); /* it has no number */
}

static weft_request_t message(weft_p2p_t *p2p, uint32_t peer, uint32_t sends)
{
    weft_request_t request = {.args = {.coll = WEFT_SEND_RECV, .root = peer}, .sends = sends};
    request.sequence = weft_p2p_next_sequence(p2p, &request);
    return request;
}

static void each_peer_and_direction_has_a_queue(void **state)
{
    weft_p2p_t p2p = {.queues = NULL};
    (void)state;
    assert_int_equal(weft_p2p_open(&p2p, 3, WEFT_P2P_CHANNEL), WEFT_OK);
    weft_request_t send = message(&p2p, 2, 1), receive = message(&p2p, 2, 0);
    weft_request_t more = message(&p2p, 2, 1);
    assert_int_equal(send.sequence, 1);
    assert_int_equal(receive.sequence, 1);
    assert_int_equal(more.sequence, 2);
    assert_false(weft_p2p_is_busy(&p2p));
    weft_p2p_append(&p2p, &more);
    weft_p2p_queue_t *sends = &p2p.queues[2 * 2 + 1];
    assert_false(weft_p2p_queue_is_due(sends)); /* the first is in a stream */
    weft_p2p_append(&p2p, &send);
    weft_p2p_append(&p2p, &receive);
    assert_int_equal(p2p.nactive, 2);
    assert_ptr_equal(sends->first, &send);
    assert_true(weft_p2p_queue_is_due(sends));
    weft_p2p_queue_finish(sends, WEFT_OK);
    assert_true(weft_p2p_queue_is_due(sends));
    weft_p2p_queue_finish(sends, WEFT_OK);
    weft_p2p_tidy(&p2p);
    assert_int_equal(p2p.nactive, 1);
    assert_ptr_equal(p2p.queues[p2p.active[0]].first, &receive);
    weft_p2p_close(&p2p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_run_in_the_order_of_their_numbers),
        cmocka_unit_test(an_operation_waits_for_those_called_before),
        cmocka_unit_test(a_captured_operation_goes_before_all_that_have_not_begun),
        cmocka_unit_test(each_peer_and_direction_has_a_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
