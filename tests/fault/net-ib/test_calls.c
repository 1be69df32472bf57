/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every verbs call fails at every occurrence in the life of a connection. The result is a typed
 * error with a text, and nothing is left behind. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "traffic.h"

static const char *const settings[] = {"qps=2", "split_bytes=4K", NULL};

static bool text_there(const traffic_t *traffic)
{
    return traffic->sides[0].fake.error[0] != '\0' || traffic->sides[1].fake.error[0] != '\0' ||
           traffic->sides[0].fake.log[0] != '\0';
}

static bool status_typed(weft_status_t status)
{
    return status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM || status == WEFT_ERR_LINK ||
           status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_UNSUPPORTED;
}

/* The outcome of one life with one failing call. */
typedef struct outcome {
    bool happened;
    weft_status_t status;
    uint32_t failed, posted;
    bool told;
} outcome_t;

static outcome_t life(fake_call_t call, uint32_t nth, int cause)
{
    const fake_fault_t fault = {.act = FAKE_FAIL, .call = call, .nth = nth, .value = cause};
    traffic_t traffic = {.wait = call == FAKE_REQ_NOTIFY || nth % 3 == 0};
    fake_setup(2);
    fake_fault(&fault);
    outcome_t outcome = {.status = traffic_begin(&traffic, settings)};
    if (outcome.status == WEFT_OK) {
        traffic_post(&traffic);
        if (!traffic_wait(&traffic, 5)) {
            fail_msg("%s number %u, errno %d: %u of %u done", fake_call_name(call), nth, cause,
                     traffic.done, traffic.posted);
        }
        traffic_verify(&traffic);
    }
    outcome.happened = fake_happened();
    outcome.told = text_there(&traffic);
    outcome.failed = traffic.failed;
    outcome.posted = traffic.posted;
    traffic_end(&traffic);
    return outcome;
}

/* Returns the number of occurrences. */
static uint32_t every_occurrence(fake_call_t call, int cause, uint32_t most)
{
    uint32_t nth = 0;
    bool happened = true;
    while (happened && nth < most) {
        outcome_t outcome = life(call, ++nth, cause);
        happened = outcome.happened;
        bool lost = outcome.failed > 0 || outcome.posted < 2 * TRAFFIC_MESSAGES;
        if (outcome.status != WEFT_OK && (!happened || !status_typed(outcome.status))) {
            fail_msg("%s number %u, errno %d: status %d", fake_call_name(call), nth, cause,
                     (int)outcome.status);
        }
        if (happened ? (outcome.status != WEFT_OK || lost) && !outcome.told : lost) {
            fail_msg("%s number %u, errno %d: lost %d, told %d", fake_call_name(call), nth, cause,
                     lost, outcome.told);
        }
    }
    return nth - 1;
}

static void calls_of_the_setup(void **state)
{
    static const struct {
        fake_call_t call;
        uint32_t least; /* occurrences */
    } calls[] = {{FAKE_GET_DEVICE_LIST, 2}, {FAKE_OPEN_DEVICE, 4}, {FAKE_QUERY_DEVICE, 4},
                 {FAKE_QUERY_PORT, 4},      {FAKE_ALLOC_PD, 4},    {FAKE_QUERY_GID_TABLE, 4},
                 {FAKE_CREATE_CHANNEL, 2},  {FAKE_CREATE_CQ, 2},   {FAKE_CREATE_QP, 6},
                 {FAKE_MODIFY_QP, 18}};
    static const int causes[] = {ENOMEM, EINVAL, EAGAIN, EPERM};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (size_t k = 0; k < sizeof causes / sizeof causes[0]; k++) {
            uint32_t count = every_occurrence(calls[i].call, causes[k], 200);
            if (count < calls[i].least) {
                fail_msg("%s happened %u times only", fake_call_name(calls[i].call), count);
            }
        }
    }
}

static void registrations(void **state)
{
    (void)state;
    assert_true(every_occurrence(FAKE_REG_MR, ENOMEM, 200) >= 8);
    assert_true(every_occurrence(FAKE_REG_MR, EINVAL, 200) >= 8);
    assert_true(every_occurrence(FAKE_REG_MR, EAGAIN, 200) >= 8);
}

static void posting(void **state)
{
    (void)state;
    assert_true(every_occurrence(FAKE_POST_SEND, ENOMEM, 300) >= 20);
    assert_true(every_occurrence(FAKE_POST_SEND, EINVAL, 300) >= 20);
    /* The set-up posts many receives that are all alike. */
    for (uint32_t nth = 1; nth < 800; nth += 37) {
        outcome_t outcome = life(FAKE_POST_RECV, nth, ENOMEM);
        assert_true(!outcome.happened || outcome.told);
        assert_true(outcome.status == WEFT_OK || status_typed(outcome.status));
    }
}

static void polling(void **state)
{
    (void)state;
    uint32_t nth = 0;
    outcome_t outcome;
    do {
        outcome = life(FAKE_POLL_CQ, ++nth, EIO);
        assert_int_equal(outcome.status, WEFT_OK);
        assert_true(!outcome.happened || outcome.told);
    } while (outcome.happened && nth < 100);
    assert_true(nth > 10);
}

/* A wait that cannot be armed must not look armed. */
static void arming(void **state)
{
    const fake_fault_t fault = {.act = FAKE_FAIL, .call = FAKE_REQ_NOTIFY, .nth = 1, .value = EIO};
    traffic_t traffic = {.wait = false};
    weft_net_op_t op = {.kind = WEFT_NET_RECV, .context = &traffic.recvs[0]};
    uint32_t posted = 0;
    int fd = -1;
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    fake_fault(&fault);
    traffic.recvs[0] = (traffic_op_t){.kind = WEFT_NET_RECV, .posted = true};
    op.context = &traffic.recvs[0];
    assert_int_equal(traffic.ops->post(traffic.sides[0].conn, &op, 1, &posted), WEFT_OK);
    assert_int_not_equal(traffic.ops->wait_fd(traffic.sides[0].device, &fd), WEFT_OK);
    assert_true(fake_happened());
    traffic_end(&traffic);
    every_occurrence(FAKE_REQ_NOTIFY, EIO, 40);
}

/* Nobody cancels: the refused side, the operations that it had posted, and the peer's end all
 * fail by themselves. */
static void a_post_without_registration_ends_the_connection(void **state)
{
    fake_fault_t fault = {.act = FAKE_FAIL, .call = FAKE_REG_MR, .value = ENOMEM};
    traffic_t traffic = {.wait = false};
    uint32_t posted = 0;
    (void)state;
    fake_setup(1);
    assert_int_equal(traffic_begin(&traffic, settings), WEFT_OK);
    weft_net_op_t ops[3];
    for (uint32_t i = 0; i < 3; i++) {
        traffic.recvs[i] = (traffic_op_t){.kind = WEFT_NET_RECV, .posted = i != 1};
        ops[i] = (weft_net_op_t){.kind = WEFT_NET_RECV, .context = &traffic.recvs[i]};
    }
    ops[1].buffer = traffic.in[1];
    ops[1].bytes = 8;
    assert_int_equal(traffic.ops->post(traffic.sides[1].conn, &ops[2], 1, &posted), WEFT_OK);
    fault.nth = fake_count_call(FAKE_REG_MR) + 1;
    fake_fault(&fault);
    assert_int_equal(traffic.ops->post(traffic.sides[0].conn, ops, 2, &posted), WEFT_ERR_RESOURCE);
    assert_int_equal(posted, 1);
    assert_non_null(strstr(traffic.sides[0].fake.error, "ulimit -l"));
    traffic.posted = 2;
    traffic.sides[0].fake.error[0] = '\0'; /* the completions tell it again, and the next post */
    assert_true(traffic_wait(&traffic, 2));
    assert_non_null(strstr(traffic.sides[0].fake.error, "ulimit -l"));
    assert_int_equal(traffic.recvs[0].status, WEFT_ERR_LINK);
    assert_int_equal(traffic.recvs[2].status, WEFT_ERR_LINK);
    assert_non_null(strstr(traffic.sides[1].fake.error, "resources"));
    assert_int_equal(traffic.ops->post(traffic.sides[0].conn, ops, 1, &posted), WEFT_ERR_LINK);
    assert_int_equal(posted, 0);
    assert_non_null(strstr(traffic.sides[0].fake.error, "ulimit -l"));
    traffic_end(&traffic);
}

static void memory_that_cannot_be_registered_names_limit_and_remedy(void **state)
{
    const fake_fault_t fault = {.act = FAKE_FAIL, .call = FAKE_REG_MR, .nth = 1, .value = ENOMEM};
    traffic_side_t side;
    weft_net_region_t *region = NULL;
    static uint8_t memory[8192];
    (void)state;
    fake_setup(1);
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_open(side.net, 0, &side.device), WEFT_OK);
    fake_fault(&fault);
    assert_int_equal(
        traffic_ops()->reg(side.device, memory, sizeof memory, WEFT_MEMORY_HOST, &region),
        WEFT_ERR_RESOURCE);
    assert_non_null(strstr(side.fake.error, "ulimit -l"));
    assert_non_null(strstr(side.fake.error, "fake0"));
    assert_int_equal(
        traffic_ops()->reg(side.device, memory, sizeof memory, WEFT_MEMORY_HOST, &region), WEFT_OK);
    traffic_ops()->dereg(region);
    side_close(&side);
}

/* Connects with a fault at the acceptor. Its reason is in its log, and in the connector's error. */
static void refused(const char *const *mine, const char *const *theirs, const char *why)
{
    traffic_t traffic = {.wait = false};
    assert_true(traffic_begin_sides(&traffic, mine, theirs) < 0);
    for (int i = 0; i < 100 && traffic.sides[0].conn != NULL; i++) {
        weft_net_conn_t *conn = traffic.sides[0].conn;
        if (traffic.ops->connect_poll(conn) == WEFT_ERR_LINK) {
            break;
        }
    }
    const char *said = traffic.sides[0].fake.error, *log = traffic.sides[1].fake.log;
    if (strstr(said, "refused the connection") == NULL || strstr(said, why) == NULL ||
        strstr(log, why) == NULL) {
        fail_msg("no \"%s\" in \"%s\" and in the log \"%s\"", why, said, log);
    }
    traffic_end(&traffic);
}

static void the_acceptors_reason_reaches_the_connector(void **state)
{
    static const char *const more[] = {"qps=3", "split_bytes=4K", NULL};
    /* The connector makes three queue pairs and two rings before the acceptor makes its own. */
    static const struct {
        fake_call_t call;
        uint32_t nth;
        int cause;
        const char *why;
    } faults[] = {{FAKE_MODIFY_QP, 7, ENETUNREACH, "no path from fake0:1"},
                  {FAKE_MODIFY_QP, 4, EINVAL, "pkey = 0"},
                  {FAKE_CREATE_QP, 4, EPERM, "cannot make a queue pair"},
                  {FAKE_CREATE_CQ, 2, ENOMEM, "cannot make a completion queue"},
                  {FAKE_REG_MR, 3, EPERM, "cannot register"}};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const fake_fault_t fault = {.act = FAKE_FAIL,
                                    .call = faults[i].call,
                                    .nth = faults[i].nth,
                                    .value = faults[i].cause};
        char why[120];
        fake_setup(1);
        fake_fault(&fault);
        refused(settings, settings, faults[i].why);
        fake_setup(1);
        fake_fault(&fault);
        snprintf(why, sizeof why, ": %s", strerror(faults[i].cause));
        refused(settings, settings, why);
    }
    fake_setup(1);
    refused(settings, more, "must be the same on all ranks");
}

static void memory_larger_than_a_registration_names_that_limit(void **state)
{
    const fake_fault_t fault = {.act = FAKE_FAIL, .call = FAKE_REG_MR, .nth = 1, .value = ENOMEM};
    traffic_side_t side;
    weft_net_region_t *region = NULL;
    static uint8_t memory[8192];
    (void)state;
    fake_setup(1);
    fake_device(0)->attr.max_mr_size = 4096;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_open(side.net, 0, &side.device), WEFT_OK);
    fake_fault(&fault);
    assert_int_equal(
        traffic_ops()->reg(side.device, memory, sizeof memory, WEFT_MEMORY_HOST, &region),
        WEFT_ERR_RESOURCE);
    assert_non_null(strstr(side.fake.error, "its largest registration is 4096 bytes"));
    side_close(&side);
}

static void forks_are_made_safe_before_all_else(void **state)
{
    const fake_fault_t fault = {
        .act = FAKE_FAIL, .call = FAKE_FORK_INIT, .nth = 1, .value = EINVAL};
    traffic_side_t side;
    (void)state;
    fake_setup(1);
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(fake_count_call(FAKE_FORK_INIT), 1);
    assert_null(strstr(side.fake.log, "fork"));
    side_close(&side);
    fake_forget();
    fake_fault(&fault);
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_non_null(strstr(side.fake.log, "a fork() may change what adapters write and read"));
    side_close(&side);
}

static void no_rdma_in_the_kernel_is_no_fault(void **state)
{
    const fake_fault_t fault = {
        .act = FAKE_FAIL, .call = FAKE_GET_DEVICE_LIST, .nth = 1, .value = ENOSYS};
    traffic_side_t side;
    uint32_t count = 7;
    (void)state;
    fake_setup(1);
    fake_fault(&fault);
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, 0);
    side_close(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_the_setup),
        cmocka_unit_test(registrations),
        cmocka_unit_test(posting),
        cmocka_unit_test(polling),
        cmocka_unit_test(forks_are_made_safe_before_all_else),
        cmocka_unit_test(arming),
        cmocka_unit_test(a_post_without_registration_ends_the_connection),
        cmocka_unit_test(memory_that_cannot_be_registered_names_limit_and_remedy),
        cmocka_unit_test(memory_larger_than_a_registration_names_that_limit),
        cmocka_unit_test(the_acceptors_reason_reaches_the_connector),
        cmocka_unit_test(no_rdma_in_the_kernel_is_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
