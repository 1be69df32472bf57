/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mistakes that programs bring along from elsewhere: the addresses that MPI has for calls in place,
 * queues that are gone, memory that is freed too early, groups without an end. */
#include <stdatomic.h>
#include <stdio.h>

#include "tests/support/heard.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const shm_only[] = {"core.net=net-shm", "boot.init_timeout=2"};

static int run_jobs(ranks_work_t work, uint32_t nranks)
{
    ranks_job_t job = {.nranks = nranks, .settings = shm_only, .settings_count = 2, .work = work};
    return ranks_run_threads(&job);
}

/* What MPI_IN_PLACE is in Open MPI and in MPICH. Bytes are aligned at any address. */
static int in_place_as_in_mpi(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    void *const one = (void *)(uintptr_t)1, *const last = (void *)UINTPTR_MAX; /* NOLINT */
    char a[64] = {0}, words[96];
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_all_reduce(one, a, 4, WEFT_UINT8, WEFT_SUM, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_all_reduce: the send buffer 0x1 is no memory; if "
                                        "MPI_IN_PLACE is meant: in place send is recv itself"));
    NEED(weft_all_reduce(last, a, 4, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "is no memory; if MPI_IN_PLACE is meant"));
    NEED(weft_broadcast(a, one, 1, WEFT_UINT8, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_broadcast: the recv buffer 0x1 is no memory"));
    NEED(weft_all_gather(last, a, 8, WEFT_UINT8, comm, NULL) == WEFT_ERR_ARG);
    snprintf(words, sizeof words, rank == 0 ? "send is recv itself" : "send is recv +%u bytes",
             8 * rank);
    NEED(ranks_error_says(WEFT_ERR_ARG, words));
    NEED(weft_recv(one, 4, WEFT_UINT8, 1 - rank, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_recv: the recv buffer 0x1 is no memory"));
    NEED(weft_window_register_local(comm, a, sizeof a, &window) == WEFT_OK);
    NEED(weft_put_signal(one, 4, WEFT_UINT8, 1 - rank, window, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_put_signal: the send buffer 0x1 is no memory"));
    /* Buffers of nothing may be anywhere. */
    NEED(weft_all_reduce(one, last, 0, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK);
    return wrong;
}

static void addresses_that_mpi_has_for_in_place_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(in_place_as_in_mpi, 2), 0);
}

static weft_completion_queue_t *destroyed_queue(void)
{
    weft_completion_queue_t *queue = NULL;
    return weft_completion_queue_create(&queue) == WEFT_OK &&
                   weft_completion_queue_destroy(queue) == WEFT_OK
               ? queue
               : NULL;
}

static void refusals_of_a_queue_name_the_call(void **state)
{
    weft_completion_queue_t *const queue = destroyed_queue();
    weft_completion_t entry;
    uint32_t count = 0, rank = 0;
    int wrong = 0, fd = -1;
    (void)state;
    NEED(weft_completion_queue_wake(NULL) == WEFT_ERR_ARG);
    NEED(
        ranks_error_says(WEFT_ERR_ARG, "weft_completion_queue_wake: the completion queue is NULL"));
    NEED(weft_completion_queue_destroy(queue) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE,
                          "weft_completion_queue_destroy: the completion queue was destroyed"));
    NEED(weft_completion_queue_poll(queue, &entry, 1, &count) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE,
                          "weft_completion_queue_poll: the completion queue was destroyed"));
    NEED(weft_completion_queue_wait(queue, &entry, 1, &count, 1) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE,
                          "weft_completion_queue_wait: the completion queue was destroyed"));
    NEED(weft_completion_queue_fd(queue, &fd) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE,
                          "weft_completion_queue_fd: the completion queue was destroyed"));
    assert_int_equal(wrong, 0);
}

static int call_into_old_queue(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    char a[4] = {0}, b[4];
    const weft_call_t call = {.size = sizeof call, .queue = destroyed_queue()};
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_all_reduce(a, b, 4, WEFT_INT8, WEFT_SUM, comm, &call) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE, "weft_all_reduce: the completion queue was destroyed"));
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(a, b, 4, WEFT_INT8, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(weft_group_end_async(&call) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE,
                          "weft_group_end_async: the completion queue was destroyed"));
    NEED(weft_all_reduce(a, b, 4, WEFT_INT8, WEFT_SUM, comm, NULL) == WEFT_OK);
    return wrong;
}

static void calls_into_a_queue_that_is_gone_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(call_into_old_queue, 2), 0);
}

static int register_nothing(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    char a[4];
    weft_mem_region_t *region = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_mem_register(comm, NULL, 4, &region) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_mem_register: memory is NULL"));
    NEED(weft_mem_register(comm, a, 0, &region) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_mem_register: bytes is 0"));
    NEED(weft_mem_register(comm, a, 4, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_mem_register: region_p is NULL"));
    return wrong;
}

static void what_is_missing_of_a_region_is_named(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(register_nothing, 1), 0);
}

/* Each waits for the other one, which waits in another group. Who gives up first leaves that group,
 * which the other one may hear before its own time is up. */
static int group_in_two_orders(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t ranks[2] = {rank, 1 - rank};
    atomic_int *timeouts = arg;
    weft_comm_t *child = NULL;
    char words[96];
    int wrong = 0;
    (void)n;
    snprintf(words, sizeof words, "with these ranks in this order and tag 7 within 2 s: rank %u",
             1 - rank);
    if (weft_comm_create_group(comm, ranks, 2, 7, &child) == WEFT_ERR_TIMEOUT) {
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, words));
        atomic_fetch_add(timeouts, 1);
    } else {
        NEED(ranks_error_says(WEFT_ERR_PEER_LEFT, "weft_comm_create_group"));
    }
    return wrong;
}

static void the_order_of_a_group_is_among_what_may_differ(void **state)
{
    atomic_int timeouts = 0;
    ranks_job_t job = {.nranks = 2,
                       .settings = shm_only,
                       .settings_count = 2,
                       .work = group_in_two_orders,
                       .arg = &timeouts};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
    assert_in_range(atomic_load(&timeouts), 1, 2);
}

/* A receive of which the message has not come, then a collective that the other rank has not
 * begun. */
static int free_in_use(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 1 << 18 };
    weft_request_t *request = NULL;
    const weft_call_t later = {.size = sizeof later, .request_p = &request};
    void *memory = NULL;
    char token = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_mem_alloc(comm, COUNT, &memory) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_recv((char *)memory + COUNT - 1, 1, WEFT_INT8, 1, comm, &later) == WEFT_OK);
        NEED(weft_mem_free(comm, memory) == WEFT_ERR_STATE);
        NEED(ranks_error_says(WEFT_ERR_STATE, "is in use by a weft_recv that is not complete"));
        NEED(weft_send(&token, 1, WEFT_INT8, 1, comm, NULL) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_OK);
        NEED(weft_all_reduce(memory, memory, COUNT, WEFT_INT8, WEFT_SUM, comm, &later) == WEFT_OK);
        NEED(weft_mem_free(comm, memory) == WEFT_ERR_STATE);
        NEED(ranks_error_says(WEFT_ERR_STATE,
                              "is in use by a weft_all_reduce that is not complete"));
        NEED(weft_send(&token, 1, WEFT_INT8, 1, comm, NULL) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_OK);
    } else {
        NEED(weft_recv(&token, 1, WEFT_INT8, 0, comm, NULL) == WEFT_OK);
        NEED(weft_send(&token, 1, WEFT_INT8, 0, comm, NULL) == WEFT_OK);
        NEED(weft_recv(&token, 1, WEFT_INT8, 0, comm, NULL) == WEFT_OK);
        NEED(weft_all_reduce(memory, memory, COUNT, WEFT_INT8, WEFT_SUM, comm, NULL) == WEFT_OK);
    }
    NEED(weft_mem_free(comm, memory) == WEFT_OK);
    return wrong;
}

static int free_in_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    void *used = NULL, *unused = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_mem_alloc(comm, 4096, &used) == WEFT_OK);
    NEED(weft_mem_alloc(comm, 4096, &unused) == WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(used, used, 4096, WEFT_INT8, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(weft_mem_free(comm, used) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE, "is in use by a weft_all_reduce that is not complete"));
    NEED(weft_mem_free(comm, unused) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_mem_free(comm, used) == WEFT_OK);
    return wrong;
}

static void memory_in_use_is_not_freed(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(free_in_use, 2), 0);
    assert_int_equal(run_jobs(free_in_group, 2), 0);
}

static int destroy_inside_a_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    char a = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_all_reduce(&a, &a, 1, WEFT_INT8, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&a, &a, 1, WEFT_INT8, WEFT_SUM, copy, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_group_end() == WEFT_ERR_STATE);
    return wrong;
}

/* Who forgets the end of a group has nothing else that tells it. */
static void calls_of_a_group_that_is_forgotten_are_told(void **state)
{
    (void)state;
    heard_begin();
    const int wrong = run_jobs(destroy_inside_a_group, 1);
    const char *text = heard_end();
    assert_int_equal(wrong, 0);
    assert_int_equal(heard_count(text, "weft_comm_destroy: 1 call on this communicator is dropped, "
                                       "of a group that is open: call weft_group_end() first"),
                     1);
}

static int signal_nobody(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)arg;
    NEED(weft_signal(n, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_signal: peer 1 is out of range"));
    return wrong;
}

static void a_signal_has_the_name_of_its_call(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(signal_nobody, 1), 0);
}

/* An id that was made with the options of nobody: its process waits for the ranks longer than they
 * do. */
static void who_waits_alone_is_told_what_for(void **state)
{
    static const char *const longer[] = {"boot.init_timeout=4"}, *const here[] = {
                                                                     "boot.init_timeout=1"};
    weft_comm_options_t options = {.size = sizeof options, .settings = longer, .settings_count = 1};
    const uint32_t rank = 0;
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    int wrong = 0;
    (void)state;
    NEED(weft_unique_id_create(&id, &options) == WEFT_OK);
    options.settings = here;
    NEED(weft_comm_init_rank(&comm, 2, &id, rank, &options) == WEFT_ERR_TIMEOUT);
    NEED(ranks_error_says(WEFT_ERR_TIMEOUT,
                          "the process that made the unique id has not said before init_timeout "
                          "that all 2 ranks have joined: it waits for the others with an "
                          "init_timeout of its own, or does not run"));
    assert_int_equal(wrong, 0);
}

/* source_p is weft_recv()'s. */
static int wait_with_source(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t source = 77;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .source_p = &source};
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_signal(1 - rank, comm, &call) == WEFT_OK);
    NEED(weft_signal(1 - rank, comm, &call) == WEFT_OK);
    NEED(weft_wait_signal(1 - rank, 1, comm, &call) == WEFT_OK);
    call.request_p = &request;
    NEED(weft_wait_signal(1 - rank, 1, comm, &call) == WEFT_OK);
    NEED(weft_request_wait(&request) == WEFT_OK);
    NEED(source == 77);
    return wrong;
}

static void a_wait_ignores_what_is_for_receives(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(wait_with_source, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_mpi_has_for_in_place_are_refused),
        cmocka_unit_test(refusals_of_a_queue_name_the_call),
        cmocka_unit_test(calls_into_a_queue_that_is_gone_are_refused),
        cmocka_unit_test(what_is_missing_of_a_region_is_named),
        cmocka_unit_test(memory_in_use_is_not_freed),
        cmocka_unit_test(calls_of_a_group_that_is_forgotten_are_told),
        cmocka_unit_test(a_signal_has_the_name_of_its_call),
        cmocka_unit_test(a_wait_ignores_what_is_for_receives),
        cmocka_unit_test(who_waits_alone_is_told_what_for),
        cmocka_unit_test(the_order_of_a_group_is_among_what_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
