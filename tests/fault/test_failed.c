/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator that has failed: calls that need the other ranks return its first error again, and
 * so do questions about them; what concerns this rank alone goes on. */
#include <poll.h>
#include <setjmp.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define FAILS(call) NEED((call) == WEFT_ERR_ABORTED)
#define WORKS(call) NEED((call) == WEFT_OK)

static void add(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    (void)dtype;
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        ((float *)inout)[i] += ((const float *)in)[i];
    }
}

static int collectives_fail(weft_comm_t *comm, uint32_t rank)
{
    static _Thread_local float a[16], b[16];
    const uint64_t counts[2] = {4, 4};
    const weft_blocks_t blocks = {counts, NULL};
    int wrong = 0;
    FAILS(weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL));
    FAILS(weft_reduce_scatter(a, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL));
    FAILS(weft_all_gather(a, b, 4, WEFT_FP32, comm, NULL));
    FAILS(weft_broadcast(a, b, 4, WEFT_FP32, 0, comm, NULL));
    FAILS(weft_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, 0, comm, NULL));
    FAILS(weft_barrier(comm, NULL));
    FAILS(weft_all_to_all(a, b, 4, WEFT_FP32, comm, NULL));
    FAILS(weft_gather(a, b, 4, WEFT_FP32, 0, comm, NULL));
    FAILS(weft_scatter(a, b, 4, WEFT_FP32, 0, comm, NULL));
    FAILS(weft_all_gather_v(a, b, counts, NULL, WEFT_FP32, comm, NULL));
    FAILS(weft_reduce_scatter_v(a, b, counts, NULL, WEFT_FP32, WEFT_SUM, comm, NULL));
    FAILS(weft_all_to_all_v(a, &blocks, b, &blocks, WEFT_FP32, comm, NULL));
    FAILS(weft_gather_v(a, 4, b, &blocks, WEFT_FP32, 0, comm, NULL));
    FAILS(weft_scatter_v(a, &blocks, b, 4, WEFT_FP32, 0, comm, NULL));
    FAILS(weft_send(a, 4, WEFT_FP32, 1 - rank, comm, NULL));
    FAILS(weft_recv(b, 4, WEFT_FP32, 1 - rank, comm, NULL));
    return wrong;
}

static int others_fail(weft_comm_t *comm, uint32_t rank)
{
    char memory[64], text[256];
    double seconds;
    weft_comm_t *child = NULL;
    weft_window_t *window = NULL;
    weft_ticket_t ticket;
    int wrong = 0;
    FAILS(weft_comm_explain(comm, WEFT_ALL_REDUCE, 4, WEFT_FP32, WEFT_SUM, 0, text, sizeof text));
    FAILS(weft_comm_predict(comm, WEFT_ALL_REDUCE, 4, WEFT_FP32, WEFT_SUM, 0, &seconds));
    FAILS(weft_comm_predict(comm, WEFT_SEND_RECV, 4, WEFT_FP32, WEFT_SUM, 1, &seconds));
    FAILS(weft_comm_split(comm, 0, 0, &child));
    FAILS(weft_comm_dup(comm, &child));
    FAILS(weft_window_register(comm, memory, sizeof memory, &window));
    FAILS(weft_comm_ticket(comm, NULL, 1, &ticket));
    FAILS(weft_comm_grow(comm, NULL, 0, &child));
    NEED(child == NULL && window == NULL);
    return wrong;
}

static int memory_works(weft_comm_t *comm, uint32_t rank, float *kept)
{
    float saved[4] = {0};
    void *more = NULL;
    weft_mem_region_t *region = NULL;
    int wrong = 0;
    WORKS(weft_mem_copy(comm, saved, kept, sizeof saved));
    NEED(saved[3] == 7);
    WORKS(weft_mem_alloc(comm, 64, &more));
    NEED(weft_mem_alloc_device(comm, 64, &more) == WEFT_ERR_UNSUPPORTED);
    WORKS(weft_mem_register(comm, saved, sizeof saved, &region));
    WORKS(weft_mem_deregister(comm, region));
    WORKS(weft_mem_free(comm, more));
    WORKS(weft_mem_free(comm, kept));
    return wrong;
}

static int others_work(weft_comm_t *comm, uint32_t rank)
{
    char name[64];
    uint32_t number = 9;
    int fd = -1;
    weft_op_t op;
    int wrong = 0;
    WORKS(weft_op_create(comm, add, NULL, &op));
    WORKS(weft_op_destroy(comm, op));
    /* Its own answer: the window was an operation. */
    NEED(weft_comm_set_channels(comm, 1) == WEFT_ERR_STATE);
    WORKS(weft_comm_set_name(comm, "gone"));
    WORKS(weft_comm_name(comm, name, sizeof name));
    NEED(strcmp(name, "gone") == 0);
    WORKS(weft_comm_rank(comm, &number));
    NEED(number == rank);
    WORKS(weft_comm_size(comm, &number));
    WORKS(weft_comm_missing(comm, NULL, 0, &number));
    WORKS(weft_comm_error_fd(comm, &fd));
    NEED(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1);
    WORKS(weft_comm_abort(comm));
    WORKS(weft_comm_revoke(comm));
    return wrong;
}

static int ranks_that_live_go_on(weft_comm_t *comm, uint32_t rank)
{
    static const uint32_t both[] = {0, 1};
    weft_comm_t *group = NULL, *shrunk = NULL;
    uint64_t bits = rank + 1;
    int wrong = 0;
    WORKS(weft_comm_agree(comm, &bits));
    NEED(bits == 0);
    WORKS(weft_comm_create_group(comm, both, 2, 0, &group));
    WORKS(weft_barrier(group, NULL));
    WORKS(weft_comm_shrink(comm, NULL, 0, &shrunk));
    WORKS(weft_barrier(shrunk, NULL));
    WORKS(weft_comm_destroy(group));
    WORKS(weft_comm_destroy(shrunk));
    return wrong;
}

static int use_after_failure(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    weft_window_t *window = NULL;
    weft_error_t error = {.size = sizeof error};
    void *kept = NULL;
    int fd = -1, wrong = 0;
    (void)n;
    (void)arg;
    WORKS(weft_comm_dup(comm, &copy));
    WORKS(weft_mem_alloc(copy, 4 * sizeof(float), &kept));
    ((float *)kept)[3] = 7;
    WORKS(weft_window_register(copy, kept, 4 * sizeof(float), &window));
    WORKS(weft_barrier(comm, NULL));
    WORKS(weft_comm_error_fd(copy, &fd));
    if (rank == 0) {
        WORKS(weft_comm_abort(copy));
    }
    NEED(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10000) == 1);
    wrong += collectives_fail(copy, rank) + others_fail(copy, rank);
    WORKS(weft_window_deregister(copy, window));
    wrong += memory_works(copy, rank, kept) + others_work(copy, rank);
    wrong += ranks_that_live_go_on(copy, rank);
    WORKS(weft_comm_error(copy, &error));
    NEED(error.status == WEFT_ERR_ABORTED && error.peer == 0);
    WORKS(weft_comm_destroy(copy));
    return wrong;
}

static void what_needs_other_ranks_fails_again_and_the_rest_goes_on(void **state)
{
    static const char *const settings[] = {"core.net=net-shm", "core.kernel=kernel-cpu"};
    ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 2, .work = use_after_failure};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

static _Thread_local jmp_buf outside;

static void leave(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *leaves)
{
    add(inout, in, count, dtype, NULL);
    if (*(bool *)leaves) {
        longjmp(outside, 1);
    }
}

/* As an exception does, or pthread_cancel(). Other communicators of the family go on. */
static int leave_a_call(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    static _Thread_local float a[16], b[16];
    bool leaves = rank == 0;
    weft_comm_t *left = NULL;
    weft_op_t op = WEFT_SUM;
    volatile int wrong = 0;
    (void)nranks;
    (void)arg;
    WORKS(weft_comm_dup(comm, &left));
    WORKS(weft_op_create(left, leave, &leaves, &op));
    if (setjmp(outside) == 0) {
        const weft_status_t status = weft_all_reduce(a, b, 16, WEFT_FP32, op, left, NULL);
        NEED(rank != 0 && (status == WEFT_OK || status == WEFT_ERR_ABORTED));
    } else {
        NEED(weft_barrier(left, NULL) == WEFT_ERR_STATE);
        NEED(ranks_error_says(WEFT_ERR_STATE, "leave calls by their return"));
        WORKS(weft_comm_abort(left));
    }
    WORKS(weft_barrier(comm, NULL));
    if (rank == 0) {
        NEED(weft_comm_destroy(left) == WEFT_ERR_STATE);
    } else {
        FAILS(weft_barrier(left, NULL));
        WORKS(weft_comm_destroy(left));
    }
    WORKS(weft_all_reduce(a, b, 16, WEFT_FP32, WEFT_SUM, comm, NULL));
    return wrong;
}

static void a_call_that_is_left_keeps_its_communicator(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, leave_a_call), 0);
}

/* The descriptor is readable after a failure, also if it is asked for then, and one per rank. */
static int show_failure(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    struct pollfd before = {.fd = -1, .events = POLLIN}, after = before;
    uint64_t bits = 1;
    int wrong = 0;
    (void)n, (void)arg;
    if (rank != 1) {
        NEED(weft_comm_error_fd(comm, &before.fd) == WEFT_OK && poll(&before, 1, 0) == 0);
    }
    /* A barrier could be ended by what follows. */
    NEED(weft_comm_agree(comm, &bits) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_comm_revoke(comm) == WEFT_OK);
    }
    if (rank != 1) {
        NEED(poll(&before, 1, 20000) == 1 && poll(&before, 1, 0) == 1);
    } else {
        NEED(weft_barrier(comm, NULL) == WEFT_ERR_REVOKED);
    }
    NEED(weft_comm_error_fd(comm, &after.fd) == WEFT_OK && poll(&after, 1, 0) == 1);
    NEED(rank == 1 || after.fd == before.fd);
    return wrong;
}

static void a_descriptor_tells_of_a_failure(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(3, show_failure), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_other_ranks_fails_again_and_the_rest_goes_on),
        cmocka_unit_test(a_call_that_is_left_keeps_its_communicator),
        cmocka_unit_test(a_descriptor_tells_of_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
