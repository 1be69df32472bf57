/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions about calls that cannot be, and answers without a place. */
#include <stdio.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* Both questions about one call get the answer that the call itself would. `words`: NULL if it can
 * be. */
static int ask(weft_comm_t *comm, weft_coll_t coll, uint64_t count, weft_dtype_t dtype,
               uint32_t root, const char *words)
{
    const weft_status_t wanted = words != NULL ? WEFT_ERR_ARG : WEFT_OK;
    char text[512];
    double seconds = -1;
    int wrong =
        weft_comm_explain(comm, coll, count, dtype, WEFT_SUM, root, text, sizeof text) != wanted;
    wrong += words != NULL && !ranks_error_says(WEFT_ERR_ARG, words);
    wrong += weft_comm_predict(comm, coll, count, dtype, WEFT_SUM, root, &seconds) != wanted;
    wrong += words != NULL && !ranks_error_says(WEFT_ERR_ARG, words);
    return wrong + (words == NULL && seconds < 0);
}

/* What a call has no argument for is not asked for. */
static int ask_too_much(weft_comm_t *comm, weft_coll_t coll, weft_dtype_t dtype)
{
    const weft_op_t none = (weft_op_t)-1;
    char text[512], same[512];
    double seconds = -1;
    int wrong =
        weft_comm_explain(comm, coll, 8, WEFT_UINT8, WEFT_SUM, 0, same, sizeof same) != WEFT_OK;
    wrong += weft_comm_explain(comm, coll, 8, dtype, none, 0, text, sizeof text) != WEFT_OK;
    wrong += weft_comm_predict(comm, coll, 8, dtype, none, 0, &seconds) != WEFT_OK;
    return wrong + (strcmp(text, same) != 0) + (seconds < 0);
}

static int ask_without_room(weft_comm_t *comm, uint32_t rank)
{
    char text[8];
    int wrong = 0;
    NEED(weft_comm_explain(comm, WEFT_BARRIER, 0, WEFT_UINT8, WEFT_SUM, 0, NULL, 8) ==
         WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_comm_explain: text is NULL"));
    NEED(weft_comm_explain(comm, WEFT_BARRIER, 0, WEFT_UINT8, WEFT_SUM, 0, text, 0) ==
         WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_comm_explain: bytes is 0"));
    NEED(weft_comm_predict(comm, WEFT_BARRIER, 0, WEFT_UINT8, WEFT_SUM, 0, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_comm_predict: seconds_p is NULL"));
    return wrong;
}

static int questions(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t other = n - 1 - rank;
    int bad = 0;
    (void)arg;
    bad += ask(comm, WEFT_SEND_RECV, 8, WEFT_FP32, other, NULL);
    bad += ask(comm, WEFT_SEND_RECV, 8, WEFT_FP32, n, "weft_send: peer ");
    bad += ask(comm, WEFT_SEND_RECV, 8, WEFT_FP32, 100000000, "weft_send: peer 100000000 is out");
    bad += ask(comm, WEFT_SEND_RECV, 8, WEFT_FP32, WEFT_ANY_RANK, "WEFT_ANY_RANK is for weft_recv");
    bad += ask(comm, WEFT_SEND_RECV, UINT64_MAX, WEFT_FP32, other, "overflow");
    bad += ask(comm, WEFT_ALL_REDUCE, UINT64_MAX, WEFT_FP32, 0, "overflow");
    bad += ask(comm, WEFT_ALL_REDUCE, UINT64_C(1) << 60, WEFT_FP64, 0, "overflow");
    bad += ask(comm, WEFT_ALL_REDUCE, UINT64_C(1) << 59, WEFT_FP64, 0, NULL);
    bad += ask(comm, WEFT_ALL_GATHER_V, UINT64_MAX, WEFT_UINT8, 0, "overflow");
    bad += ask(comm, WEFT_ALL_GATHER_V, 1000, WEFT_UINT8, 0, NULL);
    bad += ask(comm, WEFT_BROADCAST, 8, WEFT_FP32, n, "root ");
    bad += ask(comm, WEFT_COLL_COUNT, 8, WEFT_FP32, 0, "unknown collective 15, known are 0 … 14");
    bad += ask_too_much(comm, WEFT_ALL_GATHER, WEFT_UINT8);
    bad += ask_too_much(comm, WEFT_BROADCAST, WEFT_UINT8);
    bad += ask_too_much(comm, WEFT_BARRIER, WEFT_DTYPE_COUNT);
    return bad + ask_without_room(comm, rank);
}

static void questions_about_calls_that_cannot_be_are_refused(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 2; nranks++) {
        ranks_job_t job = {.nranks = nranks, RANKS_SET("core.net=net-shm"), .work = questions};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_about_calls_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
