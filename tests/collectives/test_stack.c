/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls in threads with little stack. weft.h asks for 64 KiB; here are 48, so that there is some
 * left. */
#include <pthread.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define STACK (48u << 10)
#define COUNT 65536

typedef struct caller {
    weft_comm_t *comm;
    uint32_t rank;
    int wrong;
} caller_t;

static void *call(void *arg)
{
    static float send[2][COUNT], recv[2][COUNT];
    static char text[2][4096];
    caller_t *caller = arg;
    weft_comm_t *comm = caller->comm, *part = NULL, *rest = NULL;
    uint32_t rank = caller->rank, other = 1 - rank;
    float *out = send[rank], *in = recv[rank];
    int wrong = 0;
    NEED(weft_all_reduce(out, in, COUNT, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(weft_all_to_all(out, in, COUNT / 2, WEFT_FP32, comm, NULL) == WEFT_OK);
    NEED(weft_reduce_scatter(out, in, 7, WEFT_FP32, WEFT_MAX, comm, NULL) == WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(out, 9, WEFT_FP32, other, comm, NULL) == WEFT_OK);
    NEED(weft_recv(in, 9, WEFT_FP32, other, comm, NULL) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_comm_explain(comm, WEFT_BROADCAST, 8, WEFT_FP32, WEFT_SUM, 0, text[rank],
                           sizeof text[rank]) == WEFT_OK);
    NEED(weft_comm_split(comm, 0, 0, &part) == WEFT_OK);
    weft_comm_destroy(part);
    NEED(weft_comm_shrink(comm, NULL, 0, &rest) == WEFT_OK);
    weft_comm_destroy(rest);
    weft_status_t status =
        rank == 0 ? weft_barrier(comm, NULL) : weft_broadcast(out, in, 3, WEFT_FP32, 0, comm, NULL);
    NEED(status == WEFT_ERR_MISMATCH);
    caller->wrong = wrong;
    return NULL;
}

static int call_in_a_thread(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    caller_t caller = {.comm = comm, .rank = rank, .wrong = 1};
    pthread_attr_t attr;
    pthread_t thread;
    int wrong = 0;
    (void)arg;
    (void)nranks;
    pthread_attr_init(&attr);
    NEED(pthread_attr_setstacksize(&attr, STACK) == 0);
    NEED(pthread_create(&thread, &attr, call, &caller) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return wrong + caller.wrong;
}

static void a_little_stack_is_enough(void **state)
{
    static const char *const settings[] = {"core.net=net-shm net-socket"};
    const ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 1, .work = call_in_a_thread};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_little_stack_is_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
