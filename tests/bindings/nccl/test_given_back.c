/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was given back, or is another communicator's: handles and operators whose place somebody
 * else has by now are refused, and that one does not notice. The process has no CUDA. */
#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"

/* Operators ------------------------------------------------------------------------------------ */

static ncclRedOp_t make_factor(ncclComm_t comm, int factor)
{
    ncclRedOp_t op = ncclSum;
    assert_int_equal(
        ncclRedOpCreatePreMulSum(&op, &factor, ncclInt32, ncclScalarHostImmediate, comm),
        ncclSuccess);
    assert_in_range(op, ncclNumOps, ncclMaxRedOp);
    return op;
}

static void need_product(ncclComm_t comm, ncclRedOp_t op, int want)
{
    int value = 1;
    assert_int_equal(ncclAllReduce(&value, &value, 1, ncclInt32, op, comm, NULL), ncclSuccess);
    assert_int_equal(value, want);
}

static void need_no_operator(ncclComm_t comm, ncclRedOp_t op)
{
    int value = 1;
    assert_int_equal(ncclAllReduce(&value, &value, 1, ncclInt32, op, comm, NULL),
                     ncclInvalidArgument);
    assert_int_equal(ncclRedOpDestroy(op, comm), ncclInvalidArgument);
    assert_int_equal(value, 1);
}

static void an_operator_is_of_one_communicator(void **state)
{
    ncclComm_t comms[2] = {make_single(), make_single()};
    ncclRedOp_t ops[2] = {make_factor(comms[0], 2), make_factor(comms[1], 100)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        need_no_operator(comms[i], ops[1 - i]);
    }
    need_product(comms[0], ops[0], 2);
    need_product(comms[1], ops[1], 100);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ncclCommDestroy(comms[i]), ncclSuccess);
    }
}

static void an_operator_that_ended_is_no_later_one(void **state)
{
    enum { MANY = 20 }; /* more than the table has at first */
    ncclComm_t comm = make_single();
    ncclRedOp_t ended = make_factor(comm, 2), ops[MANY];
    (void)state;
    assert_int_equal(ncclRedOpDestroy(ended, comm), ncclSuccess);
    for (int i = 0; i < MANY; i++) {
        ops[i] = make_factor(comm, 100 + i);
    }
    need_no_operator(comm, ended);
    for (int i = 0; i < MANY; i++) {
        need_product(comm, ops[i], 100 + i);
    }
    assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
}

/* Handles -------------------------------------------------------------------------------------- */

enum { LATER = 64 }; /* handles that are made before a place is used again */

static void a_communicator_that_ended_is_no_later_one(void **state)
{
    ncclComm_t ended = make_single();
    (void)state;
    assert_int_equal(ncclCommDestroy(ended), ncclSuccess);
    for (int i = 0; i < LATER; i++) {
        ncclComm_t later = make_single();
        int rank = -1;
        assert_int_equal(ncclCommDestroy(ended), ncclInvalidArgument);
        assert_int_equal(ncclCommAbort(ended), ncclInvalidArgument);
        assert_int_equal(ncclCommUserRank(ended, &rank), ncclInvalidArgument);
        assert_int_equal(ncclCommUserRank(later, &rank), ncclSuccess);
        assert_int_equal(ncclCommDestroy(later), ncclSuccess);
    }
}

static void a_window_that_ended_is_no_later_one(void **state)
{
    ncclComm_t comm = make_single();
    ncclWindow_t ended = NULL, later = NULL;
    char buffer[64];
    void *at = NULL;
    (void)state;
    assert_int_equal(ncclCommWindowRegister(comm, buffer, 1, &ended, 0), ncclSuccess);
    assert_int_equal(ncclCommWindowDeregister(comm, ended), ncclSuccess);
    for (int i = 0; i < LATER; i++) {
        assert_int_equal(ncclCommWindowRegister(comm, buffer, 1, &later, 0), ncclSuccess);
        assert_int_equal(ncclCommWindowDeregister(comm, ended), ncclInvalidArgument);
        assert_int_equal(ncclWinGetUserPtr(comm, ended, &at), ncclInvalidArgument);
        assert_int_equal(ncclWinGetUserPtr(comm, later, &at), ncclSuccess);
        assert_int_equal(ncclCommWindowDeregister(comm, later), ncclSuccess);
    }
    assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_is_of_one_communicator),
        cmocka_unit_test(an_operator_that_ended_is_no_later_one),
        cmocka_unit_test(a_communicator_that_ended_is_no_later_one),
        cmocka_unit_test(a_window_that_ended_is_no_later_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
