/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completions that a healthy adapter never gives: every error at every moment of an exchange;
 * completions that come twice, late, in another order, or never. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "traffic.h"

#define CHILD_S 200
#define LAST_STATUS IBV_WC_TM_RNDV_INCOMPLETE

static const char *const two_lanes[] = {"qps=2", "split_bytes=4K", "adaptive_routing=on", NULL};

static void moment(char *text, size_t bytes, const fake_fault_t *fault, const traffic_t *traffic)
{
    snprintf(text, bytes, "act %d, %s %u, value %d; \"%s\" and \"%s\"", (int)fault->act,
             fake_kind_name(fault->kind), fault->nth, fault->value, traffic->sides[0].cause,
             traffic->sides[1].cause);
}

static bool says_flushed(const traffic_t *traffic)
{
    return strstr(traffic->sides[0].cause, "request flushed") != NULL ||
           strstr(traffic->sides[1].cause, "request flushed") != NULL;
}

static bool says_status(const traffic_t *traffic, int status)
{
    char word[24];
    snprintf(word, sizeof word, "(status %d,", status);
    return strstr(traffic->sides[0].cause, word) != NULL ||
           strstr(traffic->sides[1].cause, word) != NULL;
}

static bool status_typed(weft_status_t status)
{
    return status == WEFT_OK || status == WEFT_ERR_LINK || status == WEFT_ERR_PROTO ||
           status == WEFT_ERR_PEER_DEAD;
}

static bool statuses_typed(const traffic_t *traffic)
{
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES; i++) {
        if (!status_typed(traffic->sends[i].status) || !status_typed(traffic->recvs[i].status)) {
            return false;
        }
    }
    return true;
}

/* Runs one exchange with one failed completion. Returns false if the exchange has fewer
 * completions. */
static bool failure_once(const fake_fault_t *fault, uint32_t *lost_p)
{
    traffic_t traffic = {.wait = fault->nth % 4 == 0};
    char text[1200];
    fake_setup(1);
    fake_fault(fault);
    assert_int_equal(traffic_begin(&traffic, two_lanes), WEFT_OK);
    traffic_post(&traffic);
    bool ended = traffic_wait(&traffic, 20);
    moment(text, sizeof text, fault, &traffic);
    bool happened = fake_happened(), flushed = fault->value == IBV_WC_WR_FLUSH_ERR;
    bool lost = traffic.failed > 0 || traffic.posted < 2 * TRAFFIC_MESSAGES;
    *lost_p += lost ? 1 : 0;
    if (!ended || !statuses_typed(&traffic) || says_flushed(&traffic) ||
        (happened && lost && !flushed && !says_status(&traffic, fault->value)) ||
        (!happened && lost)) {
        fail_msg("%s: %u of %u done, %u failed", text, traffic.done, traffic.posted,
                 traffic.failed);
    }
    traffic_verify(&traffic);
    traffic_end(&traffic);
    return happened;
}

static void status_at_every_moment(fake_act_t act, int status)
{
    fake_fault_t fault = {.act = act, .kind = FAKE_ANY, .value = status};
    uint32_t lost = 0;
    do {
        fault.nth++;
        assert_true(fault.nth < 500);
    } while (failure_once(&fault, &lost));
    /* At most moments something is lost. */
    assert_true(fault.nth > 40 && lost > fault.nth / 2);
}

/* A process for each status: most of the time they wait for net-ib's patience to end. */
static void every_status_at_every_moment(fake_act_t act)
{
    int bad = 0, result = 0;
    fflush(NULL);
    for (int status = IBV_WC_LOC_LEN_ERR; status <= (int)LAST_STATUS; status++) {
        pid_t child = status == IBV_WC_WR_FLUSH_ERR ? 1 : fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(CHILD_S);
            status_at_every_moment(act, status);
            exit(0);
        }
    }
    while (wait(&result) > 0) {
        bad += result != 0 ? 1 : 0;
    }
    assert_int_equal(bad, 0);
}

static int parent_note(void **state)
{
    static pid_t parent;
    parent = getpid();
    *state = &parent;
    return 0;
}

/* A failed child must not go on with the tests that follow. */
static int child_leave(void **state)
{
    if (getpid() != *(pid_t *)*state) {
        fflush(NULL);
        _exit(1);
    }
    return 0;
}

static void every_status_instead_of_a_request_is_named(void **state)
{
    (void)state;
    every_status_at_every_moment(FAKE_STATUS);
}

static void every_status_after_a_request_is_named(void **state)
{
    (void)state;
    every_status_at_every_moment(FAKE_AFTER);
}

/* The cause never shows. The connection must end all the same, and flushing is not called the
 * cause. */
static void flushed_requests_without_a_cause_end_the_connection(void **state)
{
    (void)state;
    uint32_t lost = 0;
    for (uint32_t nth = 1; nth <= 12; nth++) {
        const fake_fault_t fault = {
            .act = FAKE_STATUS, .kind = FAKE_ANY, .nth = nth, .value = IBV_WC_WR_FLUSH_ERR};
        assert_true(failure_once(&fault, &lost));
    }
    assert_int_equal(lost, 12);
}

static void unknown_status_is_reported(void **state)
{
    (void)state;
    const fake_fault_t fault = {.act = FAKE_STATUS, .kind = FAKE_ANY, .nth = 3, .value = 99};
    uint32_t lost = 0;
    assert_true(failure_once(&fault, &lost));
    assert_int_equal(lost, 1);
}

/* Either the exchange goes on, or it ends with a typed error; a message that is reported as
 * received was received. */
static void completions_that_come_twice_do_no_harm(void **state)
{
    (void)state;
    fake_fault_t fault = {.act = FAKE_TWICE, .kind = FAKE_ANY};
    bool happened = true;
    while (happened) {
        traffic_t traffic = {.wait = false};
        fault.nth++;
        fake_setup(1);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, two_lanes), WEFT_OK);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_true(statuses_typed(&traffic));
        happened = fake_happened();
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
    assert_true(fault.nth > 20);
}

static void late(fake_act_t act)
{
    fake_fault_t fault = {.act = act, .kind = FAKE_ANY};
    bool happened = true;
    while (happened) {
        traffic_t traffic = {.wait = fault.nth % 2 == 1};
        fault.nth++;
        fake_setup(1);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, two_lanes), WEFT_OK);
        traffic_post(&traffic);
        traffic_poll(&traffic, 600);
        assert_int_equal(traffic.failed, 0);
        fake_release();
        assert_true(traffic_wait(&traffic, 5));
        assert_int_equal(traffic.failed, 0);
        assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
        happened = fake_happened();
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
    assert_true(fault.nth > 20);
}

static void completions_may_come_late(void **state)
{
    (void)state;
    late(FAKE_HOLD);
}

static void requests_may_take_long(void **state)
{
    (void)state;
    late(FAKE_STALL);
}

static void requests_that_are_never_acknowledged_end_by_retries(void **state)
{
    static const char *const hasty[] = {"qps=2", "timeout=1", "retry=0", NULL};
    (void)state;
    for (uint32_t nth = 1; nth <= 10; nth++) {
        const fake_fault_t fault = {.act = FAKE_STALL, .kind = FAKE_WRITE_IMM, .nth = nth};
        traffic_t traffic = {.wait = false};
        fake_setup(1);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, hasty), WEFT_OK);
        traffic_post(&traffic);
        assert_true(traffic_wait(&traffic, 5));
        assert_true(says_status(&traffic, IBV_WC_RETRY_EXC_ERR));
        assert_false(says_flushed(&traffic));
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

static void cancel_ends_what_is_kept_back(void **state)
{
    static const fake_act_t acts[] = {FAKE_HOLD, FAKE_STALL};
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        const fake_fault_t fault = {.act = acts[i % 2], .kind = FAKE_ANY, .nth = 1 + i / 2};
        traffic_t traffic = {.wait = false};
        fake_setup(1);
        fake_fault(&fault);
        assert_int_equal(traffic_begin(&traffic, two_lanes), WEFT_OK);
        traffic_post(&traffic);
        double start = traffic_now();
        assert_int_equal(traffic.ops->cancel(traffic.sides[0].conn), WEFT_OK);
        while (traffic.done < traffic.posted) {
            traffic_poll(&traffic, 16);
            assert_true(traffic_now() - start < 2);
        }
        traffic_verify(&traffic);
        traffic_end(&traffic);
    }
}

static void any_order_across_queue_pairs_is_good(void **state)
{
    static const char *const many[] = {"rails=2", "qps=3", "split_bytes=1K", NULL};
    static const char *const unordered[] = {"rails=3", "qps=1", "split_bytes=1K",
                                            "adaptive_routing=on", NULL};
    (void)state;
    for (uint32_t seed = 1; seed <= 150; seed++) {
        traffic_t traffic = {.wait = seed % 5 == 0};
        fake_setup(3);
        fake_reorder(seed);
        assert_int_equal(traffic_run(&traffic, seed % 2 == 0 ? many : unordered), WEFT_OK);
        assert_int_equal(traffic.failed, 0);
        assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_status_instead_of_a_request_is_named, child_leave),
        cmocka_unit_test_teardown(every_status_after_a_request_is_named, child_leave),
        cmocka_unit_test(flushed_requests_without_a_cause_end_the_connection),
        cmocka_unit_test(unknown_status_is_reported),
        cmocka_unit_test(completions_that_come_twice_do_no_harm),
        cmocka_unit_test(completions_may_come_late),
        cmocka_unit_test(requests_may_take_long),
        cmocka_unit_test(requests_that_are_never_acknowledged_end_by_retries),
        cmocka_unit_test(cancel_ends_what_is_kept_back),
        cmocka_unit_test(any_order_across_queue_pairs_is_good),
    };
    return cmocka_run_group_tests(tests, parent_note, NULL);
}
