/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues and requests of other threads: every asynchronous operation
 * is told of exactly once, whoever waits, and however it ends. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/completions.h"
#include "tests/support/unit.h"

enum { CALLS = 10000 };

/* Where the transport makes no difference. */
static void run_on_one_net(uint32_t nranks, ranks_work_t work)
{
    static const char *const net = "core.net=net-shm";
    ranks_job_t job = {.nranks = nranks, RANKS_SET(net), .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* One thread's calls: with a queue, or with requests that another thread waits for. */
typedef struct caller {
    weft_comm_t *comm;
    weft_os_mutex_t *lock; /* of the communicator's caller, where two threads use one */
    weft_completion_queue_t *queue;
    uint32_t *values;
    weft_request_t **requests; /* NULL: only the queue */
    _Atomic uint32_t made;
    int wrong;      /* of the thread that calls */
    int wait_wrong; /* of the one that waits */
} caller_t;

static void call_many(void *arg)
{
    caller_t *c = arg;
    for (uintptr_t i = 0; i < CALLS; i++) {
        weft_call_t call = {.size = sizeof call,
                            .request_p = c->requests != NULL ? &c->requests[i] : NULL,
                            .queue = c->queue,
                            .context = &c->values[i]};
        if (c->lock != NULL) {
            weft_os_lock(c->lock);
        }
        c->wrong += weft_all_reduce(&c->values[i], &c->values[i], 1, WEFT_UINT32, WEFT_SUM, c->comm,
                                    &call) != WEFT_OK;
        if (c->lock != NULL) {
            weft_os_unlock(c->lock);
        }
        atomic_store_explicit(&c->made, (uint32_t)i + 1, memory_order_release);
    }
}

static int two_threads(uint32_t rank, weft_comm_t *a, weft_comm_t *b, uint32_t n)
{
    weft_os_mutex_t lock = {0};
    caller_t callers[2] = {{.comm = a}, {.comm = b}};
    weft_os_thread_t *threads[2];
    weft_completion_queue_t *queue = NULL;
    int wrong = 0;
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    for (int t = 0; t < 2; t++) {
        callers[t].queue = queue;
        callers[t].lock = a == b ? &lock : NULL;
        callers[t].values = calloc(CALLS, sizeof(uint32_t));
        for (uint32_t i = 0; i < CALLS; i++) {
            callers[t].values[i] = 1;
        }
        NEED(weft_os_thread_start("caller", call_many, &callers[t], &threads[t]) == WEFT_OK);
    }
    wrong += completions_read(queue, 2 * CALLS, rank, n);
    for (int t = 0; t < 2; t++) {
        weft_os_thread_join(threads[t]);
        wrong += callers[t].wrong;
        free(callers[t].values);
    }
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    return wrong;
}

static int two_threads_on_two_communicators(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    wrong += two_threads(rank, comm, copy, n);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static int two_threads_with_a_lock(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    (void)arg;
    return two_threads(rank, comm, comm, n);
}

static void no_call_of_two_threads_is_lost(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, two_threads_on_two_communicators), 0);
    assert_int_equal(ranks_run_nets(2, two_threads_with_a_lock), 0);
}

/* Another thread waits and tests while this one calls. */
static void wait_many(void *arg)
{
    caller_t *c = arg;
    for (uint32_t i = 0; i < CALLS; i++) {
        while (atomic_load_explicit(&c->made, memory_order_acquire) <= i) {
            weft_os_yield();
        }
        weft_status_t status = WEFT_IN_PROGRESS;
        while (i % 2 == 0 && status == WEFT_IN_PROGRESS) {
            status = weft_request_test(&c->requests[i]);
        }
        status = i % 2 != 0 ? weft_request_wait(&c->requests[i]) : status;
        c->wait_wrong += status != WEFT_OK || c->requests[i] != NULL || c->values[i] != 2;
    }
}

static int call_here_wait_there(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    caller_t c = {.comm = comm};
    weft_os_thread_t *waiter;
    int wrong = 0;
    (void)n;
    (void)arg;
    c.values = calloc(CALLS, sizeof(uint32_t));
    c.requests = calloc(CALLS, sizeof(weft_request_t *));
    for (uint32_t i = 0; i < CALLS; i++) {
        c.values[i] = 1;
    }
    NEED(weft_os_thread_start("waiter", wait_many, &c, &waiter) == WEFT_OK);
    call_many(&c);
    uint32_t one = 1, sum = 0;
    for (int i = 0; i < 20; i++) {
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
        NEED(sum == 2);
    }
    weft_os_thread_join(waiter);
    NEED(c.wrong == 0 && c.wait_wrong == 0);
    free(c.values);
    free(c.requests);
    return wrong;
}

static void another_thread_waits_during_calls(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, call_here_wait_there), 0);
}

static void wait_for_request(void *arg)
{
    weft_request_t **request = arg;
    weft_request_wait(request);
}

/* Rank 1 sends when rank 0 has made its calls, while another thread waits for the receive. */
static int calls_go_on(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t value = 7, got = 0;
    weft_os_thread_t *waiter;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    (void)n;
    (void)arg;
    if (rank == 0) {
        NEED(weft_recv(&got, 1, WEFT_UINT32, 1, comm, &call) == WEFT_OK);
        NEED(weft_os_thread_start("waiter", wait_for_request, &request, &waiter) == WEFT_OK);
    }
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS); /* the waiter has begun to sleep */
    uint64_t before = weft_os_clock_ns();
    for (int i = 0; i < 200; i++) {
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    NEED(weft_os_clock_ns() - before < 20 * WEFT_NS_PER_S);
    if (rank == 1) {
        NEED(weft_send(&value, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
        return wrong;
    }
    weft_os_thread_join(waiter);
    NEED(request == NULL && got == 7);
    return wrong;
}

static void calls_go_on_while_another_thread_waits(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, calls_go_on), 0);
}

/* Without anybody who waits the operations progress, and the descriptor says when. */
static int only_poll(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0, fd = -1;
    uint32_t one = 1, sum = 0, count = 9;
    weft_completion_t entry;
    weft_completion_queue_t *queue = NULL;
    weft_request_t *request = NULL;
    (void)arg;
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    NEED(weft_completion_queue_fd(queue, &fd) == WEFT_OK);
    weft_call_t call = {
        .size = sizeof call, .queue = queue, .request_p = &request, .context = &sum};
    NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_OK && count == 0);
    NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, &call) == WEFT_OK);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    NEED(poll(&p, 1, 30000) == 1);
    weft_request_t *const told = request;
    NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_OK && count == 1);
    NEED(entry.request == told && entry.context == &sum && entry.status == WEFT_OK && sum == n);
    NEED(poll(&p, 1, 0) == 0);
    NEED(weft_request_test(&request) == WEFT_OK && request == NULL);
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_ERR_STATE);
    return wrong;
}

static void the_descriptor_says_when_nobody_waits(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(1, only_poll), 0);
    assert_int_equal(ranks_run_nets(3, only_poll), 0);
}

/* Each entry is told, whether the request was freed before or is never asked for again. */
static int both_ways(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { SOME = 100 };
    int wrong = 0;
    uint32_t values[SOME];
    weft_completion_queue_t *queue = NULL;
    weft_request_t *requests[SOME] = {NULL};
    (void)arg;
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    for (int i = 0; i < SOME; i++) {
        weft_call_t call = {.size = sizeof call,
                            .queue = queue,
                            .context = &values[i],
                            .request_p = i % 2 == 0 ? &requests[i] : NULL};
        values[i] = 1;
        NEED(weft_all_reduce(&values[i], &values[i], 1, WEFT_UINT32, WEFT_SUM, comm, &call) ==
             WEFT_OK);
    }
    for (int i = 0; i < SOME; i += 4) {
        NEED(weft_request_wait(&requests[i]) == WEFT_OK);
    }
    wrong += completions_read(queue, SOME, rank, n);
    for (int i = 2; i < SOME; i += 4) {
        NEED(weft_request_wait(&requests[i]) == WEFT_OK);
    }
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    return wrong;
}

static void an_operation_has_a_request_and_an_entry(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, both_ways), 0);
}

/* A patient call that is done when it returns has neither request nor entry; rank 1 keeps rank 0
 * waiting for longer than that, every other time. */
static int patience(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { SOME = 20 };
    int wrong = 0;
    uint32_t values[SOME], entered = 0;
    weft_completion_queue_t *queue = NULL;
    (void)arg;
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    for (int i = 0; i < SOME && wrong == 0; i++) {
        weft_request_t *request = (weft_request_t *)&wrong;
        weft_call_t call = {.size = sizeof call,
                            .queue = queue,
                            .context = &values[i],
                            .request_p = &request,
                            .patience = rank == 0 && i % 2 == 0 ? 0.001 : 30};
        values[i] = 1;
        if (rank == 1 && i % 2 == 0) {
            weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
        }
        NEED(weft_all_reduce(&values[i], &values[i], 1, WEFT_UINT32, WEFT_SUM, comm, &call) ==
             WEFT_OK);
        NEED(rank == 1 || i % 2 == 0 || request == NULL);
        NEED(request != NULL || values[i] == n);
        entered += request != NULL;
        NEED(request == NULL || weft_request_wait(&request) == WEFT_OK);
    }
    NEED(rank == 1 ? entered == 0 : entered > 0);
    wrong += completions_read(queue, entered, rank, n);
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    return wrong;
}

static void a_patient_call_that_is_done_is_not_entered(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, patience), 0);
}

/* How an operation ends that rank 1 never joins. */
typedef enum ending { ABORTED, DESTROYED, TIMED_OUT } ending_t;

static int end_badly(weft_comm_t *comm, uint32_t rank, ending_t ending)
{
    int wrong = 0;
    uint32_t value = 1, sum = 0, count = 0;
    weft_comm_t *child = NULL;
    weft_completion_t entry = {.status = WEFT_OK};
    weft_completion_queue_t *queue = NULL;
    weft_request_t *request = NULL;
    NEED(weft_comm_dup(comm, &child) == WEFT_OK);
    NEED(weft_completion_queue_create(&queue) == WEFT_OK);
    weft_call_t call = {.size = sizeof call, .queue = queue, .timeout = 0.3};
    if (rank == 0) {
        NEED(weft_all_reduce(&value, &sum, 1, WEFT_UINT32, WEFT_SUM, child, &call) == WEFT_OK);
        call.request_p = &request;
        NEED(weft_all_reduce(&value, &sum, 1, WEFT_UINT32, WEFT_SUM, child, &call) == WEFT_OK);
        NEED(ending != ABORTED || weft_comm_abort(child) == WEFT_OK);
        NEED(ending != DESTROYED || weft_comm_destroy(child) == WEFT_OK);
        weft_status_t expected = ending == ABORTED ? WEFT_ERR_ABORTED : WEFT_ERR_TIMEOUT;
        for (int i = 0; i < 2; i++) {
            NEED(weft_completion_queue_wait(queue, &entry, 1, &count, 30) == WEFT_OK && count == 1);
            NEED(entry.status == expected);
            NEED(ranks_error_says(expected, ending == ABORTED ? "weft_comm_abort" : "rank 1"));
        }
        NEED(weft_request_wait(&request) == expected && request == NULL);
        NEED(ranks_error_says(expected, "rank"));
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED((rank == 0 && ending == DESTROYED) || weft_comm_destroy(child) == WEFT_OK);
    NEED(weft_completion_queue_destroy(queue) == WEFT_OK);
    return wrong;
}

static int bad_endings(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    (void)n;
    (void)arg;
    return end_badly(comm, rank, ABORTED) + end_badly(comm, rank, DESTROYED) +
           end_badly(comm, rank, TIMED_OUT);
}

static void failures_aborts_and_ends_are_told_too(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, bad_endings), 0);
}

static int refusals(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t one = 1, count;
    weft_completion_t entry;
    weft_request_t *request = NULL;
    weft_call_t end = {.size = sizeof end};
    weft_completion_queue_t *gone = NULL;
    (void)n;
    (void)arg;
    NEED(weft_group_end_async(&end) == WEFT_ERR_ARG);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_group_end_async(&end) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "neither request_p nor queue"));
    end.request_p = &request;
    end.timeout = 1;
    NEED(weft_group_end_async(&end) == WEFT_ERR_ARG);
    end.timeout = 0;
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_group_end_async(&end) == WEFT_ERR_STATE);
    NEED(weft_group_end() == WEFT_OK && weft_group_end() == WEFT_OK);

    NEED(weft_completion_queue_create(&gone) == WEFT_OK);
    NEED(weft_completion_queue_wait(gone, &entry, 1, &count, 0) == WEFT_OK && count == 0);
    NEED(weft_completion_queue_wait(gone, &entry, 0, &count, 0) == WEFT_ERR_ARG);
    NEED(weft_completion_queue_poll(gone, NULL, 1, &count) == WEFT_ERR_ARG);
    NEED(weft_completion_queue_destroy(gone) == WEFT_OK);
    end.queue = gone;
    NEED(weft_all_reduce(&one, &one, 1, WEFT_UINT32, WEFT_SUM, comm, &end) == WEFT_ERR_STATE);
    NEED(request == NULL);
    NEED(weft_completion_queue_destroy(gone) == WEFT_ERR_STATE);
    NEED(weft_completion_queue_create(NULL) == WEFT_ERR_ARG);
    NEED(weft_completion_queue_destroy(NULL) == WEFT_OK);
    return wrong;
}

static void wrong_uses_are_refused(void **state)
{
    (void)state;
    run_on_one_net(2, refusals);
}

/* A request outlives its communicator. */
static int outlive(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    uint32_t sum = 1;
    weft_comm_t *copy = NULL;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_all_reduce(&sum, &sum, 1, WEFT_UINT32, WEFT_SUM, copy, &call) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_request_wait(&request) == WEFT_OK && request == NULL && sum == n);
    return wrong;
}

static void a_request_outlives_its_communicator(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, outlive), 0);
}

/* The progress thread ends with the last communicator that needs it, while another rank may start
 * the next one. */
static int come_and_go(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)rank;
    (void)arg;
    for (int i = 0; i < 400 && wrong == 0; i++) {
        uint32_t sum = 1;
        weft_comm_t *copy = NULL;
        weft_request_t *request = NULL;
        weft_call_t call = {.size = sizeof call, .request_p = &request};
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(weft_all_reduce(&sum, &sum, 1, WEFT_UINT32, WEFT_SUM, copy, &call) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_OK && sum == n);
        NEED(weft_comm_destroy(copy) == WEFT_OK);
    }
    return wrong;
}

static void progress_threads_come_and_go(void **state)
{
    (void)state;
    run_on_one_net(4, come_and_go);
}

/* An operator of communicator `comm` waits in the progress thread until rank 0 has made calls
 * elsewhere. */
static struct {
    _Atomic int entered, released, gave_up;
} operator_state;

static void add_when_released(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                              void *arg)
{
    uint64_t until = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    (void)dtype;
    (void)arg;
    atomic_store(&operator_state.entered, 1);
    while (!atomic_load(&operator_state.released)) {
        if (weft_os_clock_ns() > until) {
            atomic_store(&operator_state.gave_up, 1);
            break;
        }
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    for (uint64_t i = 0; i < count; i++) {
        ((uint32_t *)inout)[i] += ((const uint32_t *)in)[i];
    }
}

/* First calls and goodbyes of a communicator of one rank. */
static int visit_elsewhere(uint32_t rank)
{
    int wrong = 0;
    uint32_t one = 1, sum = 0;
    weft_unique_id_t id;
    weft_comm_t *alone = NULL;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    NEED(weft_unique_id_create(&id, NULL) == WEFT_OK);
    NEED(weft_comm_init_rank(&alone, 1, &id, 0, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, alone, &call) == WEFT_OK);
    NEED(weft_request_wait(&request) == WEFT_OK && sum == 1);
    NEED(weft_comm_destroy(alone) == WEFT_OK);
    return wrong;
}

/* Rank 0 calls first, so its operator is not called before rank 1's call: in the progress
 * thread. */
static int operator_waits(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    _Atomic int *called = arg;
    int wrong = 0;
    uint32_t value = 1;
    weft_op_t op;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    NEED(weft_op_create(comm, add_when_released, NULL, &op) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    while (rank == 1 && !atomic_load(called)) {
        weft_os_yield();
    }
    NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, op, comm, &call) == WEFT_OK);
    if (rank == 0) {
        atomic_store(called, 1);
        while (!atomic_load(&operator_state.entered)) {
            weft_os_yield();
        }
        wrong += visit_elsewhere(rank);
        NEED(!atomic_load(&operator_state.gave_up));
        atomic_store(&operator_state.released, 1);
    }
    NEED(weft_request_wait(&request) == WEFT_OK && value == n);
    NEED(weft_op_destroy(comm, op) == WEFT_OK);
    return wrong;
}

static void an_operator_holds_up_its_own_communicator_only(void **state)
{
    _Atomic int called = 0;
    ranks_job_t job = {.nranks = 2, .work = operator_waits, .arg = &called};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_of_two_threads_is_lost),
        cmocka_unit_test(another_thread_waits_during_calls),
        cmocka_unit_test(calls_go_on_while_another_thread_waits),
        cmocka_unit_test(the_descriptor_says_when_nobody_waits),
        cmocka_unit_test(an_operation_has_a_request_and_an_entry),
        cmocka_unit_test(a_patient_call_that_is_done_is_not_entered),
        cmocka_unit_test(failures_aborts_and_ends_are_told_too),
        cmocka_unit_test(wrong_uses_are_refused),
        cmocka_unit_test(a_request_outlives_its_communicator),
        cmocka_unit_test(progress_threads_come_and_go),
        cmocka_unit_test(an_operator_holds_up_its_own_communicator_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
