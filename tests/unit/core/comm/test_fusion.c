/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fusions: which calls have room in one, what they copy, and how their members end. */
#include <string.h>

#include "core/base/error.h"
#include "core/comm/fusion.h"
#include "tests/support/unit.h"

enum { RANKS = 2 };

static weft_family_t family;
static uint64_t memory[8192]; /* the least that a fusion asks for */
static const weft_comm_identity_t self = {.family = &family, .nranks = RANKS};

/* A call of `count` elements over buffers of which the checks have found the extents. */
static weft_request_t called(weft_coll_t coll, const int32_t *send, int32_t *recv, uint64_t count)
{
    const bool in = coll == WEFT_REDUCE_SCATTER, out = coll == WEFT_ALL_GATHER;
    return (weft_request_t){.args = {.coll = coll,
                                     .dtype = WEFT_INT32,
                                     .op = WEFT_SUM,
                                     .count = count,
                                     .send = send,
                                     .recv = recv,
                                     .send_bytes = count * sizeof *send * (in ? RANKS : 1),
                                     .recv_bytes = count * sizeof *recv * (out ? RANKS : 1)},
                            .timeout = 10,
                            .status = WEFT_IN_PROGRESS};
}

static void calls_of_one_kind_suit_each_other(void **state)
{
    const weft_args_t sum = called(WEFT_ALL_REDUCE, NULL, NULL, 1).args;
    weft_args_t other = sum;
    (void)state;
    other.count = 7;
    other.root = 1; /* which an all-reduce does not have */
    assert_true(weft_fusion_suits(&sum, &other));
    other.op = WEFT_MAX;
    assert_false(weft_fusion_suits(&sum, &other));
    other.coll = WEFT_REDUCE;
    assert_false(weft_fusion_suits(&sum, &other));
    weft_args_t cast = {.coll = WEFT_BROADCAST, .dtype = WEFT_INT8, .root = 1}, same = cast;
    same.op = WEFT_MAX; /* which a broadcast does not have */
    assert_true(weft_fusion_suits(&cast, &same));
    same.root = 0;
    assert_false(weft_fusion_suits(&cast, &same));
    same = cast;
    same.dtype = WEFT_UINT8;
    assert_false(weft_fusion_suits(&cast, &same));
}

/* Makes a fusion of two calls. */
static weft_fusion_t *fuse(weft_request_t *a, weft_request_t *b)
{
    weft_fusion_t *fusion = NULL;
    assert_int_equal(weft_fusion_create(&self, a, &fusion), WEFT_OK);
    assert_true(weft_fusion_has_room(fusion, &b->args));
    weft_fusion_add(fusion, b);
    return fusion;
}

static void blocks_lie_rank_by_rank(void **state)
{
    const int32_t x[4] = {1, 2, 3, 4}, y[2] = {5, 6};
    int32_t into_x[2] = {0}, into_y[1] = {0}, all_x[4] = {0}, all_y[2] = {0};
    weft_request_t a = called(WEFT_REDUCE_SCATTER, x, into_x, 2);
    weft_request_t b = called(WEFT_REDUCE_SCATTER, y, into_y, 1);
    (void)state;
    weft_fusion_t *fusion = fuse(&a, &b);
    const weft_args_t *args = &fusion->request.args;
    assert_int_equal(args->count, 3);
    assert_int_equal(args->send_bytes, sizeof x + sizeof y);
    assert_int_equal(weft_fusion_bytes(fusion), sizeof memory);
    weft_fusion_pack(fusion, memory);
    assert_memory_equal(args->send, ((int32_t[]){1, 2, 5, 3, 4, 6}), args->send_bytes);
    memcpy(args->recv, ((int32_t[]){7, 8, 9}), args->recv_bytes);
    weft_fusion_end(fusion, WEFT_OK);
    assert_memory_equal(into_x, ((int32_t[]){7, 8}), sizeof into_x);
    assert_int_equal(into_y[0], 9);
    a = called(WEFT_ALL_GATHER, x, all_x, 2);
    b = called(WEFT_ALL_GATHER, y, all_y, 1);
    fusion = fuse(&a, &b);
    weft_fusion_pack(fusion, memory);
    memcpy(fusion->request.args.recv, ((int32_t[]){1, 2, 5, 3, 4, 6}), 24);
    weft_fusion_end(fusion, WEFT_OK);
    assert_memory_equal(all_x, x, sizeof all_x);
    assert_memory_equal(all_y, y, sizeof all_y);
}

static void a_call_that_needs_a_result_has_no_room(void **state)
{
    int32_t x[4] = {0}, y[4] = {0};
    weft_request_t first = called(WEFT_ALL_REDUCE, x, y + 1, 2);
    weft_request_t reads = called(WEFT_ALL_REDUCE, y + 2, x, 1);
    weft_request_t beside = called(WEFT_ALL_REDUCE, y + 3, x, 1);
    weft_request_t before = called(WEFT_ALL_REDUCE, y, x, 1);
    weft_request_t writes = called(WEFT_ALL_REDUCE, y + 3, y + 1, 1); /* the same result */
    weft_fusion_t *fusion = NULL;
    (void)state;
    assert_int_equal(weft_fusion_create(&self, &first, &fusion), WEFT_OK);
    assert_false(weft_fusion_has_room(fusion, &reads.args));
    assert_true(weft_fusion_has_room(fusion, &beside.args));
    assert_true(weft_fusion_has_room(fusion, &before.args));
    assert_true(weft_fusion_has_room(fusion, &writes.args));
    weft_os_free(fusion);
}

static void payload_and_deadline_are_bounded(void **state)
{
    int32_t x[1], y[1];
    const uint64_t half = WEFT_FUSION_MOST / sizeof *x / 2;
    weft_request_t first = called(WEFT_ALL_REDUCE, x, y, half);
    weft_request_t fits = called(WEFT_BROADCAST, x, y, half), soon = called(0, NULL, NULL, 0);
    weft_fusion_t *fusion = NULL;
    (void)state;
    first.timeout = 0; /* it has no deadline */
    assert_int_equal(weft_fusion_create(&self, &first, &fusion), WEFT_OK);
    fits.args.send_bytes = 0; /* of another rank than the root */
    assert_true(weft_fusion_has_room(fusion, &fits.args));
    fits.args.count++;
    assert_false(weft_fusion_has_room(fusion, &fits.args));
    soon.args.coll = WEFT_ALL_REDUCE;
    soon.timeout = 3;
    weft_fusion_add(fusion, &soon);
    assert_true(weft_fusion_bytes(fusion) == WEFT_FUSION_MOST); /* input and output of a half */
    assert_true(fusion->request.timeout == 3);
    weft_os_free(fusion);
}

static void other_counts_of_the_same_sum_have_another_hash(void **state)
{
    weft_request_t one = called(WEFT_ALL_REDUCE, NULL, NULL, 1);
    weft_request_t two = called(WEFT_ALL_REDUCE, NULL, NULL, 2);
    (void)state;
    one.args.send_bytes = one.args.recv_bytes = two.args.send_bytes = two.args.recv_bytes = 0;
    weft_fusion_t *a = fuse(&one, &two);
    const uint64_t counts = a->counts;
    weft_os_free(a);
    weft_fusion_t *b = fuse(&two, &one);
    assert_int_equal(b->request.args.count, 3);
    assert_true(counts != b->counts);
    weft_fusion_pack(b, memory);
    assert_null(b->request.args.send); /* nothing is moved: there are no buffers */
    weft_os_free(b);
}

/* Each member has the reason of the failure. */
static void members_fail_with_the_call(void **state)
{
    int32_t x[2] = {0}, y[2] = {-1, -1};
    weft_error_t *why[2] = {NULL, NULL};
    weft_request_t a = called(WEFT_ALL_REDUCE, x, y, 1);
    weft_request_t b = called(WEFT_ALL_REDUCE, x + 1, y + 1, 1);
    (void)state;
    a.error_p = &why[0];
    b.error_p = &why[1];
    weft_fusion_t *fusion = fuse(&a, &b);
    weft_fusion_pack(fusion, memory);
    (void)weft_fail(WEFT_ERR_LINK, 0, "a cable");
    weft_fusion_end(fusion, WEFT_ERR_LINK);
    assert_true(y[0] == -1 && y[1] == -1);
    assert_true(a.status == WEFT_ERR_LINK && a.state == WEFT_OP_DONE);
    assert_true(b.status == WEFT_ERR_LINK && b.state == WEFT_OP_DONE);
    for (int i = 0; i < 2; i++) {
        assert_non_null(why[i]);
        assert_string_equal(why[i]->text, "a cable");
        weft_os_free(why[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_one_kind_suit_each_other),
        cmocka_unit_test(blocks_lie_rank_by_rank),
        cmocka_unit_test(a_call_that_needs_a_result_has_no_room),
        cmocka_unit_test(payload_and_deadline_are_bounded),
        cmocka_unit_test(other_counts_of_the_same_sum_have_another_hash),
        cmocka_unit_test(members_fail_with_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
