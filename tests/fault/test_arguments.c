/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad arguments and bad states: each gets a clear error on the rank that made it, sends nothing,
 * and leaves the communicator usable. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/heard.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const shm_only[] = {"core.net=net-shm"};

static int expect(weft_status_t got, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    if (got == wanted && (wanted == WEFT_OK || strstr(error.text, words) != NULL)) {
        return 0;
    }
    fprintf(stderr, "got %s \"%s\", wanted %s with \"%s\"\n", weft_status_name(got), error.text,
            weft_status_name(wanted), words);
    return 1;
}

static int run_jobs(ranks_work_t work, uint32_t nranks)
{
    ranks_job_t job = {.nranks = nranks, .settings = shm_only, .settings_count = 1, .work = work};
    return ranks_run_threads(&job);
}

static int bad_buffers(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a[64] = {0}, b[64];
    char *odd = (char *)a + 1;
    int bad = 0;
    (void)rank;
    (void)arg;
    bad += expect(weft_all_reduce(NULL, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "send buffer is NULL");
    bad += expect(weft_all_reduce(a, NULL, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "recv buffer is NULL");
    bad += expect(weft_all_reduce(odd, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "not aligned");
    bad += expect(weft_all_reduce(a, a + 1, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "overlap: send is recv -4 bytes; for a call in place it is recv itself");
    bad += expect(weft_all_gather(a + 1, a, 8, WEFT_FP32, comm, NULL), WEFT_ERR_ARG, "overlap");
    bad += expect(weft_reduce_scatter(a, a + 3, 8, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "overlap");
    bad += expect(weft_all_reduce(a, b, UINT64_MAX / 2, WEFT_FP32, WEFT_SUM, comm, NULL),
                  WEFT_ERR_ARG, "overflow");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_DTYPE_COUNT, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "unknown data type");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_OP_COUNT, comm, NULL), WEFT_ERR_ARG,
                  "unknown operator");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_PREMULSUM, comm, NULL), WEFT_ERR_ARG,
                  "scalar");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_BXOR, comm, NULL), WEFT_ERR_ARG,
                  "operator bxor is for integers, the data type is float; to combine the bits of "
                  "floats pass them as uint32");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, &(weft_call_t){.timeout = 1}),
                  WEFT_ERR_ARG, "weft_call_t.size is 0");
    bad +=
        expect(weft_comm_error(comm, &(weft_error_t){.size = 8}), WEFT_ERR_ARG, "error.size is 8");
    bad += expect(weft_broadcast(a, b, 4, WEFT_FP32, n, comm, NULL), WEFT_ERR_ARG,
                  "root 2 is out of range 0 … 1");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm,
                                  &(weft_call_t){.size = sizeof(weft_call_t), .timeout = NAN}),
                  WEFT_ERR_ARG, "weft_all_reduce: weft_call_t.timeout is not a number");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm,
                                  &(weft_call_t){.size = sizeof(weft_call_t), .patience = NAN}),
                  WEFT_ERR_ARG, "weft_all_reduce: weft_call_t.patience is not a number");
    /* Nothing was sent: the communicator still works. */
    const weft_call_t for_ever = {.size = sizeof for_ever, .timeout = INFINITY};
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, &for_ever), WEFT_OK, "");
    return bad;
}

/* Whatever is wrong with the communicator, the call has the name of its function. */
static void calls_have_the_names_of_their_functions(void **state)
{
    float a[4] = {0}, b[4];
    int bad = 0;
    (void)state;
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, NULL, NULL), WEFT_ERR_ARG,
                  "weft_all_reduce: the communicator is NULL");
    bad += expect(weft_send(a, 4, WEFT_FP32, 0, NULL, NULL), WEFT_ERR_ARG,
                  "weft_send: the communicator is NULL");
    bad += expect(weft_recv(a, 4, WEFT_FP32, 0, NULL, NULL), WEFT_ERR_ARG,
                  "weft_recv: the communicator is NULL");
    bad += expect(weft_barrier(NULL, NULL), WEFT_ERR_ARG, "weft_barrier: the communicator is NULL");
    weft_comm_t *comm = NULL;
    const weft_comm_options_t unnamed = {.size = sizeof unnamed, .name = ""};
    bad += expect(weft_comm_init_launcher(NULL, NULL), WEFT_ERR_ARG,
                  "weft_comm_init_launcher: comm_p is NULL");
    bad += expect(weft_comm_init_launcher(&comm, &unnamed), WEFT_ERR_ARG,
                  "weft_comm_init_launcher: the name is empty");
    assert_int_equal(bad, 0);
}

/* A question that is asked wrongly does not take the place of what it asks for. */
static void the_last_error_outlives_a_wrong_question(void **state)
{
    weft_error_t small = {.size = 8};
    (void)state;
    assert_int_equal(weft_barrier(NULL, NULL), WEFT_ERR_ARG);
    assert_int_equal(weft_last_error(&small), WEFT_ERR_ARG);
    assert_int_equal(weft_last_error(NULL), WEFT_ERR_ARG);
    assert_int_equal(expect(WEFT_ERR_ARG, WEFT_ERR_ARG, "weft_barrier: the communicator"), 0);
}

static void times_that_are_no_numbers_are_refused(void **state)
{
    weft_completion_queue_t *queue = NULL;
    weft_completion_t entry;
    weft_request_t *request = NULL;
    uint32_t count = 9;
    (void)state;
    assert_int_equal(weft_completion_queue_create(&queue), WEFT_OK);
    int bad = expect(weft_completion_queue_wait(queue, &entry, 1, &count, NAN), WEFT_ERR_ARG,
                     "weft_completion_queue_wait: timeout is not a number");
    assert_int_equal(count, 9);
    bad += expect(weft_request_wait_for(&request, NAN), WEFT_ERR_ARG,
                  "weft_request_wait_for: seconds is not a number");
    const weft_call_t end = {.size = sizeof end, .request_p = &request, .patience = NAN};
    assert_int_equal(weft_group_start(), WEFT_OK);
    bad += expect(weft_group_end_async(&end), WEFT_ERR_ARG,
                  "weft_group_end_async: weft_call_t.patience is not a number");
    assert_int_equal(weft_group_end(), WEFT_OK);
    assert_int_equal(weft_completion_queue_destroy(queue), WEFT_OK);
    assert_int_equal(bad, 0);
}

static void more_ranks_than_a_job_has_are_refused(void **state)
{
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    (void)state;
    assert_int_equal(weft_unique_id_create(&id, NULL), WEFT_OK);
    assert_int_equal(expect(weft_comm_init_rank(&comm, 4000000000u, &id, 0, NULL), WEFT_ERR_ARG,
                            "4000000000 ranks are too many, a job has at most 1048576"),
                     0);
}

static void bad_buffers_are_refused_and_nothing_is_lost(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(bad_buffers, 2), 0);
}

static void add_nothing(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    (void)inout;
    (void)in;
    (void)count;
    (void)dtype;
    (void)arg;
}

/* Each bad call has the numbers of the call before it, which was good. */
static int good_and_then_bad(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a[64] = {0}, b[64], factor = 2;
    const weft_call_t scaled = {.size = sizeof scaled, .scalar = &factor};
    weft_op_t op;
    int bad = 0;
    (void)arg;
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_OK, "");
    bad += expect(weft_all_reduce(NULL, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "send buffer is NULL, 16 bytes");
    bad += expect(weft_all_reduce(a, a + 1, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_ERR_ARG,
                  "overlap");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, &(weft_call_t){.timeout = 1}),
                  WEFT_ERR_ARG, "weft_call_t.size is 0");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_PREMULSUM, comm, &scaled), WEFT_OK, "");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_PREMULSUM, comm, NULL), WEFT_ERR_ARG,
                  "scalar");
    bad += expect(weft_op_create(comm, add_nothing, NULL, &op), WEFT_OK, "");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, op, comm, NULL), WEFT_OK, "");
    bad += expect(weft_op_destroy(comm, op), WEFT_OK, "");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, op, comm, NULL), WEFT_ERR_ARG,
                  "unknown operator");
    /* Only the root has a buffer of all blocks, and it is another rank each time. */
    for (uint32_t root = 0; root < n; root++) {
        bad += expect(weft_gather(a, rank == root ? b : NULL, 4, WEFT_FP32, root, comm, NULL),
                      WEFT_OK, "");
    }
    bad += expect(weft_gather(NULL, b, 4, WEFT_FP32, n - 1, comm, NULL), WEFT_ERR_ARG,
                  "send buffer is NULL, 16 bytes");
    bad += expect(rank == 0 ? weft_send(a, 4, WEFT_FP32, 1, comm, NULL)
                            : weft_recv(b, 4, WEFT_FP32, 0, comm, NULL),
                  WEFT_OK, "");
    bad += expect(weft_send(NULL, 4, WEFT_FP32, 1 - rank, comm, NULL), WEFT_ERR_ARG, "is NULL, 16");
    bad += expect(weft_recv(NULL, 4, WEFT_FP32, 1 - rank, comm, NULL), WEFT_ERR_ARG, "is NULL, 16");
    bad +=
        expect(weft_send(a, 4, WEFT_FP32, n, comm, NULL), WEFT_ERR_ARG, "peer 2 is out of range");
    bad += expect(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_OK, "");
    return bad;
}

static void what_was_good_before_is_looked_at_again(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(good_and_then_bad, 2), 0);
}

static void null_and_stale_handles_are_errors(void **state)
{
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = shm_only, .settings_count = 1};
    (void)state;
    assert_int_equal(weft_barrier(NULL, NULL), WEFT_ERR_ARG);
    assert_int_equal(weft_unique_id_create(NULL, NULL), WEFT_ERR_ARG);
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_unique_id_check(&id), WEFT_OK);
    assert_int_equal(weft_unique_id_check(NULL), WEFT_ERR_ARG);
    weft_unique_id_t damaged = id;
    damaged.bytes[WEFT_UNIQUE_ID_BYTES / 2] ^= 1;
    assert_int_equal(weft_unique_id_check(&damaged), WEFT_ERR_ARG);
    assert_int_equal(weft_comm_init_rank(NULL, 1, &id, 0, &options), WEFT_ERR_ARG);
    assert_int_equal(weft_comm_init_rank(&comm, 1, NULL, 0, &options), WEFT_ERR_ARG);
    assert_int_equal(weft_comm_init_rank(&comm, 1, &id, 1, &options), WEFT_ERR_ARG);
    assert_int_equal(weft_comm_init_rank(&comm, 0, &id, 0, &options), WEFT_ERR_ARG);
    assert_int_equal(weft_comm_init_rank(&comm, 1, &id, 0, &options), WEFT_OK);
    assert_int_equal(weft_comm_destroy(comm), WEFT_OK);
    assert_int_equal(weft_comm_destroy(comm), WEFT_ERR_STATE);
    assert_int_equal(weft_barrier(comm, NULL), WEFT_ERR_STATE);
    assert_int_equal(weft_comm_abort(comm), WEFT_ERR_STATE);
    assert_int_equal(weft_comm_destroy(NULL), WEFT_OK);
}

/* weft_call_t as it was before scalar_read; what follows it in memory is not ours. */
static void a_program_of_an_older_version_still_calls(weft_comm_t *comm)
{
    int32_t in = 5, out = 0, scalar = 2;
    struct {
        weft_call_t call;
        uint32_t other;
    } old = {.call = {.size = offsetof(weft_call_t, scalar_read), .scalar = &scalar}};
    old.call.scalar_read = 77;
    assert_int_equal(weft_all_reduce(&in, &out, 1, WEFT_INT32, WEFT_PREMULSUM, comm, &old.call),
                     WEFT_OK);
    assert_int_equal(out, 10);
    old.call.size = sizeof old.call;
    assert_int_equal(weft_all_reduce(&in, &out, 1, WEFT_INT32, WEFT_PREMULSUM, comm, &old.call),
                     WEFT_ERR_ARG);
}

static void one_rank_copies(void **state)
{
    int32_t in[4] = {1, -2, 3, 4}, out[4] = {0};
    int32_t scalar = 3;
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = shm_only, .settings_count = 1};
    weft_call_t call = {.size = sizeof call, .scalar = &scalar};
    (void)state;
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_comm_init_rank(&comm, 1, &id, 0, &options), WEFT_OK);
    assert_int_equal(weft_all_reduce(in, out, 4, WEFT_INT32, WEFT_AVG, comm, NULL), WEFT_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(weft_all_reduce(in, out, 4, WEFT_INT32, WEFT_PREMULSUM, comm, &call), WEFT_OK);
    assert_int_equal(out[1], -6);
    assert_int_equal(weft_all_gather(in, out, 4, WEFT_INT32, comm, NULL), WEFT_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(weft_barrier(comm, NULL), WEFT_OK);
    a_program_of_an_older_version_still_calls(comm);
    assert_int_equal(weft_comm_destroy(comm), WEFT_OK);
}

static int fork_inside(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a = 1, b;
    (void)arg;
    (void)n;
    int bad = 0;
    if (rank == 0) {
        pid_t child = fork();
        if (child == 0) {
            weft_error_t error = {.size = sizeof error};
            int ok =
                weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_ERR_STATE &&
                weft_comm_abort(comm) == WEFT_ERR_STATE &&
                weft_comm_error(comm, &error) == WEFT_ERR_STATE &&
                weft_comm_destroy(comm) == WEFT_ERR_STATE;
            _exit(ok ? 0 : 1);
        }
        int status = 1;
        waitpid(child, &status, 0);
        bad = status != 0;
    }
    return bad + expect(weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_OK, "");
}

static void a_forked_child_may_not_use_the_communicator(void **state)
{
    ranks_job_t job = {.nranks = 2, .settings = shm_only, .settings_count = 1, .work = fork_inside};
    (void)state;
    assert_int_equal(ranks_run_processes(&job, 30, -1), 0);
}

typedef struct second_user {
    weft_comm_t *comm;
    _Atomic int started, refused;
} second_user_t;

/* Calls when the first thread has long been inside; again later in case it was not. */
static void *call_as_second(void *arg)
{
    second_user_t *user = arg;
    char text[64];
    weft_status_t status = WEFT_OK;
    while (atomic_load(&user->started) == 0) {
        usleep(1000);
    }
    while (status != WEFT_ERR_STATE) {
        usleep(50000);
        status = weft_comm_explain(user->comm, WEFT_BARRIER, 0, WEFT_UINT8, WEFT_SUM, 0, text,
                                   sizeof text);
    }
    atomic_store(&user->refused, 1);
    weft_comm_abort(user->comm);
    return NULL;
}

/* Rank 0 waits for rank 1, which never calls; a second thread of rank 0 must be refused
 * meanwhile. */
static int two_threads(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    pthread_t thread;
    second_user_t user = {.comm = comm};
    float a = 1, b;
    (void)n;
    (void)arg;
    if (rank == 1) {
        weft_error_t error = {.size = sizeof error};
        do {
            weft_comm_error(comm, &error);
            usleep(1000);
        } while (error.status == WEFT_OK);
        return error.status != WEFT_ERR_ABORTED || error.peer != 0;
    }
    if (pthread_create(&thread, NULL, call_as_second, &user) != 0) {
        return 1;
    }
    atomic_store(&user.started, 1);
    weft_status_t status = weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
    pthread_join(thread, NULL);
    return status != WEFT_ERR_ABORTED || atomic_load(&user.refused) != 1;
}

static void a_second_thread_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(two_threads, 2), 0);
}

static int requests(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 16, ELEMENTS = 4096 };
    static _Thread_local float in[COUNT][ELEMENTS], out[COUNT][ELEMENTS];
    weft_request_t *request[COUNT] = {NULL};
    int bad = 0;
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        weft_call_t call = {.size = sizeof call, .request_p = &request[i]};
        for (int j = 0; j < ELEMENTS; j++) {
            in[i][j] = (float)((int)rank + i + j % 5);
        }
        bad += expect(weft_all_reduce(in[i], out[i], ELEMENTS, WEFT_FP32, WEFT_SUM, comm, &call),
                      WEFT_OK, "");
    }
    for (int i = COUNT; i-- > 0;) {
        weft_status_t status = WEFT_IN_PROGRESS;
        while (i % 2 == 0 && status == WEFT_IN_PROGRESS) {
            status = weft_request_test(&request[i]);
        }
        if (i % 2 != 0) {
            status = weft_request_wait(&request[i]);
        }
        bad += status != WEFT_OK || request[i] != NULL;
        float rank_sum = (float)(n * (n - 1) / 2);
        for (int j = 0; j < ELEMENTS; j++) {
            bad += out[i][j] != rank_sum + (float)n * (float)(i + j % 5);
        }
    }
    return bad;
}

static void asynchronous_calls_finish_in_any_order_of_waiting(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(requests, 3), 0);
}

static int memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    void *a = NULL, *b = NULL, *c = NULL;
    weft_mem_region_t *region = NULL;
    int bad = 0;
    (void)rank;
    (void)n;
    (void)arg;
    bad += expect(weft_mem_alloc(comm, 1 << 20, &a), WEFT_OK, "");
    bad += expect(weft_mem_alloc(comm, 0, &b), WEFT_OK, "");
    /* More than the host has: an error, and no process that the system ends. */
    bad += expect(weft_mem_alloc(comm, UINT64_C(1) << 45, &c), WEFT_ERR_RESOURCE,
                  "weft_mem_alloc: 35184372088832 bytes wanted, and ");
    bad += expect(weft_mem_register(comm, a, 1 << 20, &region), WEFT_OK, "");
    bad += expect(weft_all_reduce(a, a, 1 << 18, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_OK, "");
    bad += expect(weft_mem_deregister(comm, region), WEFT_OK, "");
    bad += expect(weft_mem_deregister(comm, region), WEFT_ERR_ARG, "ended before");
    bad += expect(weft_mem_free(comm, (char *)a + 64), WEFT_ERR_ARG, "was not allocated");
    bad += expect(weft_mem_free(comm, a), WEFT_OK, "");
    bad += expect(weft_mem_free(comm, NULL), WEFT_OK, "");
    return bad; /* b is freed with the communicator */
}

/* Lengths of less than nothing, as a wrong subtraction gives them. */
static int wrapping_memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    char bytes[64] = {0};
    weft_mem_region_t *region = NULL;
    weft_window_t *window = NULL;
    const uint64_t most = UINT64_MAX - 8;
    int bad = 0;
    (void)rank;
    (void)n;
    (void)arg;
    bad += expect(weft_mem_register(comm, bytes, UINT64_MAX, &region), WEFT_ERR_ARG,
                  "weft_mem_register: the memory wraps around the address space");
    bad += expect(weft_mem_copy(comm, bytes + 32, bytes, most), WEFT_ERR_ARG,
                  "weft_mem_copy: dst wraps around the address space");
    bad += expect(weft_mem_copy(comm, bytes, bytes + 32, most), WEFT_ERR_ARG,
                  "weft_mem_copy: dst wraps around the address space");
    /* dst ends just below the end of the address space, src does not. */
    bad += expect(weft_mem_copy(comm, (void *)(uintptr_t)4096, bytes, UINT64_MAX - 8192),
                  WEFT_ERR_ARG, "weft_mem_copy: src wraps around the address space");
    bad += expect(weft_window_register(comm, bytes, UINT64_MAX, &window), WEFT_ERR_ARG,
                  "weft_window_register: the memory wraps around the address space");
    bad += expect(weft_mem_copy(comm, bytes, bytes + 8, 9), WEFT_ERR_ARG, "overlap");
    bad += expect(weft_mem_copy(comm, bytes, bytes + 8, 8), WEFT_OK, "");
    bad += expect(weft_mem_copy(comm, NULL, NULL, 0), WEFT_OK, "");
    return bad + (region != NULL || window != NULL);
}

static void memory_that_wraps_around_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(wrapping_memory, 1), 0);
}

static void memory_is_allocated_registered_and_freed(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(memory, 2), 0);
}

/* The block that a rank has for itself has two lengths, and they differ. */
static int own_blocks(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a[64] = {0}, b[64];
    uint64_t counts[2] = {4, 4}, odd[2] = {4, 4};
    const weft_blocks_t even = {counts, NULL}, other = {odd, NULL};
    int bad = 0;
    (void)n;
    (void)arg;
    odd[rank] = 5;
    bad += expect(weft_all_to_all_v(a, &other, b, &even, WEFT_FP32, comm, NULL), WEFT_ERR_ARG,
                  "sends itself 5 elements and receives 4");
    bad += expect(weft_gather_v(a, 4, b, &other, WEFT_FP32, rank, comm, NULL), WEFT_ERR_ARG,
                  "sends itself 4 elements and receives 5");
    bad += expect(weft_scatter_v(a, &other, b, 4, WEFT_FP32, rank, comm, NULL), WEFT_ERR_ARG,
                  "sends itself 5 elements and receives 4");
    bad += expect(weft_all_to_all_v(a, &even, b, &even, WEFT_FP32, comm, NULL), WEFT_OK, "");
    return bad;
}

/* A place in blocks that lie far off, or one upon the other. */
static int places_of_blocks(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float data[64] = {0}, other[64];
    uint64_t counts[2] = {8, 8}, far[2] = {0, UINT64_C(1) << 61}, upon[2] = {0, 7},
             apart[2] = {8, 0};
    (void)n;
    (void)arg;
    int bad =
        expect(weft_all_gather_v(data, other, counts, far, WEFT_FP64, comm, NULL), WEFT_ERR_ARG,
               "block 1 of 8 elements of 8 bytes at 2305843009213693952 overflows");
    bad += expect(weft_reduce_scatter_v(data, data + upon[rank], counts, upon, WEFT_FP32, WEFT_SUM,
                                        comm, NULL),
                  WEFT_ERR_ARG, "take the place of send block");
    bad += expect(weft_reduce_scatter_v(data, other, counts, upon, WEFT_FP32, WEFT_SUM, comm, NULL),
                  WEFT_OK, "");
    return bad + expect(weft_reduce_scatter_v(data, data + apart[rank], counts, apart, WEFT_FP32,
                                              WEFT_SUM, comm, NULL),
                        WEFT_OK, "");
}

static void places_of_blocks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(places_of_blocks, 2), 0);
}

static void own_blocks_of_two_lengths_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run_jobs(own_blocks, 2), 0);
}

static void a_start_that_fails_is_told_in_one_line(void **state)
{
    weft_comm_t *comm = NULL;
    weft_comm_options_t options = {.size = sizeof options, .config = "/nowhere/weft.ini"};
    (void)state;
    heard_begin();
    weft_status_t status = weft_comm_init_launcher(&comm, &options);
    assert_int_equal(heard_count(heard_end(), "/nowhere/weft.ini"), 1);
    assert_int_equal(status, WEFT_ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: TSan allows no threads after a fork with threads. */
        cmocka_unit_test(a_forked_child_may_not_use_the_communicator),
        cmocka_unit_test(calls_have_the_names_of_their_functions),
        cmocka_unit_test(the_last_error_outlives_a_wrong_question),
        cmocka_unit_test(times_that_are_no_numbers_are_refused),
        cmocka_unit_test(more_ranks_than_a_job_has_are_refused),
        cmocka_unit_test(bad_buffers_are_refused_and_nothing_is_lost),
        cmocka_unit_test(what_was_good_before_is_looked_at_again),
        cmocka_unit_test(own_blocks_of_two_lengths_are_refused),
        cmocka_unit_test(places_of_blocks_that_cannot_be_are_refused),
        cmocka_unit_test(null_and_stale_handles_are_errors),
        cmocka_unit_test(one_rank_copies),
        cmocka_unit_test(a_start_that_fails_is_told_in_one_line),
        cmocka_unit_test(a_second_thread_is_refused),
        cmocka_unit_test(asynchronous_calls_finish_in_any_order_of_waiting),
        cmocka_unit_test(memory_is_allocated_registered_and_freed),
        cmocka_unit_test(memory_that_wraps_around_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
