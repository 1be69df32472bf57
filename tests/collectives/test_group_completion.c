/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests and completion queues of groups: see test_completion.c. */
#include <pthread.h>

#include "core/os/os.h"
#include "tests/support/completions.h"
#include "tests/support/heard.h"
#include "tests/support/unit.h"

/* One request for collectives and messages of two communicators. */
static int one_group(weft_comm_t *comm, weft_comm_t *copy, uint32_t rank, uint32_t n,
                     weft_completion_queue_t *queue)
{
    int wrong = 0;
    uint32_t sum[2] = {rank, rank}, out = rank, in = 99, own = rank, count = 0;
    weft_completion_t entry;
    weft_request_t *whole = NULL, *apart = NULL;
    weft_call_t end = {.size = sizeof end, .request_p = &whole, .queue = queue, .context = sum};
    weft_call_t mine = {.size = sizeof mine, .request_p = &apart};
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(&sum[0], &sum[0], 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&sum[1], &sum[1], 1, WEFT_UINT32, WEFT_MAX, copy, NULL) == WEFT_OK);
    NEED(weft_send(&out, 1, WEFT_UINT32, (rank + 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_recv(&in, 1, WEFT_UINT32, (rank + n - 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&own, &own, 1, WEFT_UINT32, WEFT_SUM, comm, &mine) == WEFT_OK);
    NEED(weft_group_end_async(&end) == WEFT_OK);
    if (queue != NULL) {
        NEED(weft_completion_queue_wait(queue, &entry, 1, &count, 30) == WEFT_OK && count == 1);
        NEED(entry.status == WEFT_OK && entry.context == sum && entry.request == whole);
    }
    weft_status_t status;
    while ((status = weft_request_test(&whole)) == WEFT_IN_PROGRESS && rank % 2 == 0) {
    }
    NEED((status == WEFT_IN_PROGRESS ? weft_request_wait(&whole) : status) == WEFT_OK);
    NEED(sum[0] == n * (n - 1) / 2 && sum[1] == n - 1 && in == (rank + n - 1) % n);
    NEED(weft_request_wait(&apart) == WEFT_OK && own == n * (n - 1) / 2);
    return wrong;
}

static int groups(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    weft_comm_t *copy = NULL;
    weft_request_t *request = NULL;
    weft_completion_queue_t *queue = NULL;
    weft_call_t end = {.size = sizeof end, .request_p = &request};
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    for (int i = 0; i < 200 && wrong == 0; i++) {
        wrong += one_group(comm, copy, rank, n, i % 2 == 0 ? queue : NULL);
    }
    NEED(weft_group_start() == WEFT_OK && weft_group_end_async(&end) == WEFT_OK);
    NEED(weft_request_test(&request) == WEFT_OK); /* of nothing */
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static void a_group_has_one_request(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, groups), 0);
    assert_int_equal(ranks_run_nets(3, groups), 0);
}

/* The first failure in the order of the calls, although the other operation fails earlier. */
static int failing_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t one = 1, sum = 0;
    weft_comm_t *a = NULL, *b = NULL;
    weft_request_t *request = NULL;
    weft_call_t end = {.size = sizeof end, .request_p = &request};
    weft_call_t late = {.size = sizeof late, .timeout = 0.4};
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &a) == WEFT_OK && weft_comm_dup(comm, &b) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, a, &late) == WEFT_OK);
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, b, NULL) == WEFT_OK);
        NEED(weft_group_end_async(&end) == WEFT_OK);
        NEED(weft_comm_abort(b) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 1"));
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(a) == WEFT_OK && weft_comm_destroy(b) == WEFT_OK);
    return wrong;
}

static void a_group_tells_its_first_failure(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, failing_group), 0);
}

/* A patient group that is done when its end returns has neither request nor entry, be it of one
 * communicator or of two; rank 1 keeps rank 0 waiting for longer than that, every other time. */
static int one_patient_group(weft_comm_t *comm, weft_comm_t *other, uint32_t rank,
                             uint32_t message[2], const weft_call_t *end)
{
    int wrong = 0;
    uint32_t *value = end->context, peer = 1 - rank;
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(value, value, 1, WEFT_UINT32, WEFT_SUM, other, NULL) == WEFT_OK);
    NEED(weft_send(&message[0], 1, WEFT_UINT32, peer, comm, NULL) == WEFT_OK);
    NEED(weft_recv(&message[1], 1, WEFT_UINT32, peer, comm, NULL) == WEFT_OK);
    NEED(weft_group_end_async(end) == WEFT_OK);
    NEED(*end->request_p != NULL || (*value == 2 && message[1] == rank));
    return wrong;
}

static int group_patience(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { SOME = 20 };
    int wrong = 0;
    uint32_t values[SOME], entered = 0;
    weft_comm_t *copy = NULL;
    weft_completion_queue_t *queue = NULL;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    for (int i = 0; i < SOME && wrong == 0; i++) {
        weft_request_t *request = (weft_request_t *)&wrong;
        weft_call_t end = {.size = sizeof end,
                           .queue = queue,
                           .context = &values[i],
                           .request_p = &request,
                           .patience = rank == 0 && i % 2 == 0 ? 0.001 : 30};
        uint32_t message[2] = {1 - rank, 9};
        values[i] = 1;
        if (rank == 1 && i % 2 == 0) {
            weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
        }
        wrong += one_patient_group(comm, i % 4 < 2 ? comm : copy, rank, message, &end);
        NEED(rank == 1 || i % 2 == 0 || request == NULL);
        entered += request != NULL;
        NEED(request == NULL || weft_request_wait(&request) == WEFT_OK);
    }
    NEED(rank == 1 ? entered == 0 : entered > 0);
    wrong += completions_read(queue, entered, rank, n);
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

/* The end of a patient group that fails has its own status, and leaves nothing behind. */
static int group_patience_fails(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t value = 1, count = 0;
    weft_comm_t *copy = NULL;
    weft_completion_t entry;
    weft_completion_queue_t *queue = NULL;
    weft_request_t *request = (weft_request_t *)&wrong;
    weft_call_t late = {.size = sizeof late, .timeout = 0.2};
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    weft_call_t end = {.size = sizeof end, .queue = queue, .request_p = &request, .patience = 30};
    if (rank == 0) {
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, WEFT_SUM, copy, &late) == WEFT_OK);
        NEED(weft_group_end_async(&end) == WEFT_ERR_TIMEOUT && request == NULL);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 1"));
        NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_OK && count == 0);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static void a_patient_group_that_is_done_is_not_entered(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, group_patience), 0);
    assert_int_equal(ranks_run_nets(2, group_patience_fails), 0);
}

/* A request that a helper began in an open group, with a variable of its own. */
static weft_request_t *begin_for_caller(weft_comm_t *comm, weft_request_t **variable,
                                        uint32_t *value)
{
    weft_call_t call = {.size = sizeof call, .request_p = variable};
    return weft_all_reduce(value, value, 1, WEFT_UINT32, WEFT_SUM, comm, &call) == WEFT_OK
               ? *variable
               : NULL;
}

/* What a group that failed leaves behind: it ended with `status`. `variable` held the request
 * once. */
static int group_has_failed(weft_request_t *request, weft_request_t *const *variable,
                            weft_completion_queue_t *queue, weft_status_t status, uint32_t rank)
{
    int wrong = 0;
    uint32_t count = 0;
    weft_completion_t entry = {.status = WEFT_OK};
    NEED(*variable == (const weft_request_t *)variable);
    NEED(weft_request_test(&request) == status && request == NULL);
    NEED(ranks_error_says(status, status == WEFT_ERR_ARG ? "is NULL" : "was destroyed"));
    NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_OK && count == 1);
    NEED(entry.status == status && entry.context == queue);
    NEED(ranks_error_says(status, status == WEFT_ERR_ARG ? "is NULL" : "was destroyed"));
    return wrong;
}

/* The pointer to a request is an output of the call: the end of a group that fails does not write
 * there any more, and the request can be waited for wherever it is. */
static int group_fails(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t value = rank;
    weft_comm_t *copy = NULL;
    weft_completion_queue_t *queue = NULL;
    (void)n;
    (void)arg;
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    weft_call_t queued = {.size = sizeof queued, .queue = queue, .context = queue};
    for (int async = 0; async < 4; async++) {
        weft_request_t *variable = NULL, *whole = (weft_request_t *)&value;
        weft_call_t end = {.size = sizeof end, .request_p = &whole};
        weft_status_t status = async < 2 ? WEFT_ERR_ARG : WEFT_ERR_STATE;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(weft_group_start() == WEFT_OK);
        weft_request_t *request = begin_for_caller(copy, &variable, &value);
        variable = (weft_request_t *)&variable;
        NEED(weft_barrier(copy, &queued) == WEFT_OK && weft_barrier(copy, NULL) == WEFT_OK);
        if (status == WEFT_ERR_ARG) {
            NEED(weft_all_reduce(&value, NULL, 1, WEFT_UINT32, WEFT_SUM, copy, NULL) == status);
        } else {
            NEED(weft_comm_destroy(copy) == WEFT_OK);
        }
        NEED((async % 2 == 0 ? weft_group_end() : weft_group_end_async(&end)) == status);
        NEED(whole == (weft_request_t *)&value && value == rank);
        wrong += group_has_failed(request, &variable, queue, status, rank);
        NEED(status != WEFT_ERR_ARG || weft_barrier(copy, NULL) == WEFT_OK);
        NEED(status != WEFT_ERR_ARG || weft_comm_destroy(copy) == WEFT_OK);
    }
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    return wrong;
}

static void requests_of_a_group_that_fails_end_with_its_error(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, group_fails), 0);
}

/* A thread that ends with an open group, and what it used. */
typedef struct careless {
    weft_comm_t *comm;
    weft_op_t op;
    weft_completion_queue_t *queue;
    weft_request_t *request;
    uint32_t rank;
    uint32_t value;
    int wrong;
} careless_t;

static void *leave_group_open(void *arg)
{
    careless_t *c = arg;
    uint32_t rank = c->rank;
    int wrong = 0;
    weft_call_t kept = {.size = sizeof kept, .request_p = &c->request};
    weft_call_t queued = {.size = sizeof queued, .queue = c->queue};
    NEED(weft_group_start() == WEFT_OK && weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(&c->value, &c->value, 1, WEFT_UINT32, c->op, c->comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&c->value, &c->value, 1, WEFT_UINT32, c->op, c->comm, &kept) == WEFT_OK);
    NEED(weft_all_reduce(&c->value, &c->value, 1, WEFT_UINT32, c->op, c->comm, &queued) == WEFT_OK);
    c->wrong = wrong;
    return NULL;
}

static void combine_nothing(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                            void *arg)
{
    (void)inout;
    (void)in;
    (void)count;
    (void)dtype;
    (void)arg;
}

static int group_left_open(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t count = 0;
    pthread_t thread;
    weft_completion_t entry = {.status = WEFT_OK};
    careless_t c = {.rank = rank, .value = rank};
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &c.comm) == WEFT_OK);
    NEED(weft_op_create(c.comm, combine_nothing, NULL, &c.op) == WEFT_OK);
    NEED(weft_completion_queue_create(&c.queue) == WEFT_OK);
    NEED(pthread_create(&thread, NULL, leave_group_open, &c) == 0);
    NEED(pthread_join(thread, NULL) == 0 && c.wrong == 0);
    NEED(weft_op_destroy(c.comm, c.op) == WEFT_OK);
    NEED(weft_request_wait(&c.request) == WEFT_ERR_STATE && c.request == NULL);
    NEED(ranks_error_says(WEFT_ERR_STATE, "ended without weft_group_end()"));
    NEED(weft_completion_queue_poll(c.queue, &entry, 1, &count) == WEFT_OK && count == 1);
    NEED(entry.status == WEFT_ERR_STATE);
    NEED(weft_completion_queue_destroy(c.queue) == WEFT_OK);
    NEED(weft_barrier(c.comm, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(c.comm) == WEFT_OK);
    return wrong;
}

static void a_thread_that_ends_drops_its_open_group(void **state)
{
    (void)state;
    heard_begin();
    assert_int_equal(ranks_run_nets(2, group_left_open), 0);
    const char *text = heard_end(); /* two ranks, over two transports */
    assert_int_equal(heard_count(text, "ended with an open group, whose 3 calls are dropped"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_has_one_request),
        cmocka_unit_test(a_group_tells_its_first_failure),
        cmocka_unit_test(a_patient_group_that_is_done_is_not_entered),
        cmocka_unit_test(requests_of_a_group_that_fails_end_with_its_error),
        cmocka_unit_test(a_thread_that_ends_drops_its_open_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
