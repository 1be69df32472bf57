/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that disagree, die, leave, stop or come late: every survivor gets a typed error that names
 * the culprit, in bounded time; nothing hangs. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static int says(weft_comm_t *comm, weft_status_t got, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    if (got == wanted && error.status == wanted && strstr(error.text, words) != NULL) {
        return 0;
    }
    fprintf(stderr, "got %s, kept %s \"%s\", wanted %s with \"%s\"\n", weft_status_name(got),
            weft_status_name(error.status), error.text, weft_status_name(wanted), words);
    return 1;
}

/* One field differs on the last rank. */
typedef struct difference {
    const char *field;
    weft_coll_t coll;
    uint64_t count;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
} difference_t;

static const difference_t differences[] = {
    {"collective", WEFT_BROADCAST, 100, WEFT_FP32, WEFT_SUM, 0},
    {"count", WEFT_REDUCE, 101, WEFT_FP32, WEFT_SUM, 0},
    {"count", WEFT_REDUCE, 100000, WEFT_FP32, WEFT_SUM, 0},
    {"data type", WEFT_REDUCE, 100, WEFT_INT32, WEFT_SUM, 0},
    {"operator", WEFT_REDUCE, 100, WEFT_FP32, WEFT_MAX, 0},
    {"root", WEFT_REDUCE, 100, WEFT_FP32, WEFT_SUM, 1},
};

static int differing_call(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const difference_t *d = arg;
    static const difference_t equal = {"", WEFT_REDUCE, 100, WEFT_FP32, WEFT_SUM, 0};
    const difference_t *mine = rank == n - 1 ? d : &equal;
    float *a = calloc(100000, 4), *b = calloc(100000, 4);
    weft_status_t status = weft_barrier(comm, NULL);
    double start = ranks_now();
    if (status != WEFT_OK) {
        return 1;
    }
    /* A rank whose part was sent already notices in a later call. */
    while (status == WEFT_OK && ranks_now() - start < 5) {
        status =
            mine->coll == WEFT_BROADCAST
                ? weft_broadcast(a, b, mine->count, mine->dtype, mine->root, comm, NULL)
                : weft_reduce(a, b, mine->count, mine->dtype, mine->op, mine->root, comm, NULL);
    }
    int bad = says(comm, status, WEFT_ERR_MISMATCH, d->field);
    if (ranks_now() - start > 5) {
        fprintf(stderr, "mismatch took %.1f s\n", ranks_now() - start);
        bad++;
    }
    free(a);
    free(b);
    return bad;
}

static void mismatched_calls(uint32_t nranks, const char *net)
{
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        ranks_job_t job = {.nranks = nranks,
                           RANKS_SET(net),
                           .work = differing_call,
                           .arg = (void *)(uintptr_t)&differences[i]};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void a_mismatched_call_names_both_ranks_and_the_field(void **state)
{
    (void)state;
    mismatched_calls(2, "core.net=net-shm");
    mismatched_calls(4, "core.net=net-shm");
    mismatched_calls(3, "core.net=net-socket");
}

/* Rank 0 splits, the other opens a window: exchanges of the core, whose lengths differ, too. */
static int differing_functions(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static char memory[64];
    weft_comm_t *child = NULL;
    weft_window_t *window = NULL;
    (void)n;
    (void)arg;
    weft_status_t status = rank == 0 ? weft_comm_split(comm, 0, 0, &child)
                                     : weft_window_register(comm, memory, sizeof memory, &window);
    return says(comm, status, WEFT_ERR_MISMATCH, "comm_split or comm_dup ") +
           says(comm, status, WEFT_ERR_MISMATCH, "window_register of window 0 ");
}

static void a_mismatch_of_functions_names_those_that_were_called(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, differing_functions), 0);
}

static int late_rank(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a = 1, b;
    weft_call_t call = {.size = sizeof call, .timeout = 0.3};
    (void)n;
    (void)arg;
    if (rank == 1) {
        weft_error_t error = {.size = sizeof error};
        double start = ranks_now();
        while (error.status == WEFT_OK && ranks_now() - start < 10) {
            weft_comm_error(comm, &error);
            usleep(1000);
        }
        return error.status != WEFT_ERR_TIMEOUT;
    }
    double start = ranks_now();
    weft_status_t status = weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, &call);
    double took = ranks_now() - start;
    int bad = took < 0.25 || took > 3;
    if (rank == 0 || status == WEFT_ERR_TIMEOUT) {
        bad += says(comm, status, WEFT_ERR_TIMEOUT, "waits for rank");
    }
    return bad;
}

static void a_missing_call_times_out_and_names_whom_it_waits_for(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, late_rank), 0);
}

static int leaves_early(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a = 1, b;
    (void)arg;
    if (weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == n - 1) {
        return 0;
    }
    double start = ranks_now();
    weft_status_t status = weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
    return says(comm, status, WEFT_ERR_PEER_LEFT, "left the communicator") ||
           ranks_now() - start > 3;
}

static void a_rank_that_left_is_named(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(4, leaves_early), 0);
}

typedef struct last_call {
    uint32_t equal; /* calls before it */
    weft_coll_t coll;
} last_call_t;

/* The last rank names another root in its last call, in which it waits for rank 1. On hosts all
 * others have what they need, and leave: no slice crosses between the two. On devices they may hear
 * of it too. */
static int differs_at_the_end(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const last_call_t *last = arg;
    float a[16] = {1}, b[16];
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < last->equal && status == WEFT_OK; i++) {
        status = weft_all_reduce(a, b, 4, WEFT_FP32, WEFT_SUM, comm, NULL);
    }
    uint32_t root = rank == n - 1 ? 1 : 0;
    double start = ranks_now();
    if (status == WEFT_OK) {
        status = last->coll == WEFT_BROADCAST ? weft_broadcast(a, b, 4, WEFT_FP32, root, comm, NULL)
                                              : weft_scatter(a, b, 4, WEFT_FP32, root, comm, NULL);
    }
    if (rank < n - 1 && status == WEFT_OK) {
        return 0;
    }
    return says(comm, status, WEFT_ERR_MISMATCH, ": root ") || ranks_now() - start > 5;
}

static void a_root_that_differs_in_the_last_call_is_told_when_all_have_left(void **state)
{
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
    static const last_call_t calls[] = {
        {0, WEFT_BROADCAST}, {3, WEFT_BROADCAST}, {3, WEFT_SCATTER}};
    (void)state;
    for (uint32_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
        ranks_job_t job = {.nranks = 4,
                           RANKS_SET(nets[i % 2]),
                           .work = differs_at_the_end,
                           .arg = (void *)(uintptr_t)&calls[i / 2]};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

typedef struct kill_case {
    uint32_t victim;
    unsigned after_us;
} kill_case_t;

static int killed_in_traffic(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const kill_case_t *c = arg;
    enum { ELEMENTS = 50000 };
    float *a = calloc(ELEMENTS, 4), *b = calloc(ELEMENTS, 4);
    (void)n;
    if (rank == c->victim) {
        /* The alarm's default action would be another signal: kill from a thread-free timer. */
        pid_t self = getpid();
        if (fork() == 0) {
            usleep(c->after_us);
            kill(self, SIGKILL);
            _exit(0);
        }
    }
    weft_status_t status = WEFT_OK;
    double last = ranks_now();
    for (int i = 0; status == WEFT_OK; i++) {
        last = ranks_now();
        status = weft_all_reduce(a, b, i % 2 ? 2 : ELEMENTS, WEFT_FP32, WEFT_SUM, comm, NULL);
    }
    double took = ranks_now() - last;
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    int bad = says(comm, status, WEFT_ERR_PEER_DEAD, "");
    if (error.peer != (int32_t)c->victim || error.peer_pid <= 0) {
        fprintf(stderr, "rank %u blames rank %d, rank %u died: %s\n", rank, error.peer, c->victim,
                error.text);
        bad++;
    }
    fprintf(stderr, "rank %u knew of the death of rank %u %.1f ms after its call began\n", rank,
            c->victim, took * 1e3);
    /* 200 ms is the goal on an idle machine; the bound leaves room for sanitizers and loaded
     * cores. */
    if (took > 2) {
        fprintf(stderr, "rank %u took %.3f s to learn of the death\n", rank, took);
        bad++;
    }
    free(a);
    free(b);
    return bad;
}

static void a_killed_rank_is_named_on_all_survivors(void **state)
{
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        kill_case_t c = {.victim = i % 8, .after_us = 5000 + (i * 7919u) % 60000};
        ranks_job_t job = {
            .nranks = 8, RANKS_SET(nets[i % 2]), .work = killed_in_traffic, .arg = &c};
        assert_int_equal(ranks_run_processes(&job, 60, (int)c.victim), 0);
    }
}

/* Whoever has the error ends its process at once, as most programs do. */
static int quit_at_the_error(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static float a[200], b[200];
    weft_status_t status = WEFT_OK;
    (void)n;
    (void)arg;
    for (uint32_t i = 0; status == WEFT_OK; i++) {
        uint64_t count = i == 3 && rank == 1 ? 200 : 100;
        status = weft_all_reduce(a, b, count, WEFT_FP32, WEFT_SUM, comm, NULL);
    }
    int bad = says(comm, status, WEFT_ERR_MISMATCH, "count");
    fflush(stderr);
    _exit(bad);
}

static void who_fails_and_ends_takes_no_cause_with_it(void **state)
{
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        ranks_job_t job = {.nranks = 6, RANKS_SET(nets[i % 2]), .work = quit_at_the_error};
        assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
    }
}

static void *abort_later(void *arg)
{
    usleep(50000);
    weft_comm_abort(arg);
    return NULL;
}

static int aborted(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a = 1, b;
    pthread_t thread;
    double start = ranks_now();
    (void)n;
    (void)arg;
    if (rank == 0) {
        /* Never joins the operation: the others wait until the abort. */
        if (pthread_create(&thread, NULL, abort_later, comm) != 0) {
            return 1;
        }
        pthread_join(thread, NULL);
        return 0;
    }
    weft_status_t status = weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
    return says(comm, status, WEFT_ERR_ABORTED, "rank 0 called weft_comm_abort") ||
           ranks_now() - start > 1.05;
}

static void an_abort_ends_the_calls_of_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(4, aborted), 0);
}

static int own_abort(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float a = 1, b;
    pthread_t thread;
    (void)n;
    (void)arg;
    if (rank != 0) {
        weft_error_t error = {.size = sizeof error};
        while (error.status == WEFT_OK) {
            weft_comm_error(comm, &error);
            usleep(1000);
        }
        return error.status != WEFT_ERR_ABORTED;
    }
    double start = ranks_now();
    if (pthread_create(&thread, NULL, abort_later, comm) != 0) {
        return 1;
    }
    weft_status_t status = weft_all_reduce(&a, &b, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
    pthread_join(thread, NULL);
    return says(comm, status, WEFT_ERR_ABORTED, "weft_comm_abort") || ranks_now() - start > 1.05;
}

static void an_abort_from_another_thread_ends_the_call(void **state)
{
    const char *net = "core.net=net-shm";
    ranks_job_t job = {.nranks = 2, RANKS_SET(net), .work = own_abort};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: TSan allows no threads after a fork with threads. */
        cmocka_unit_test(a_killed_rank_is_named_on_all_survivors),
        cmocka_unit_test(who_fails_and_ends_takes_no_cause_with_it),
        cmocka_unit_test(a_mismatched_call_names_both_ranks_and_the_field),
        cmocka_unit_test(a_mismatch_of_functions_names_those_that_were_called),
        cmocka_unit_test(a_missing_call_times_out_and_names_whom_it_waits_for),
        cmocka_unit_test(a_rank_that_left_is_named),
        cmocka_unit_test(a_root_that_differs_in_the_last_call_is_told_when_all_have_left),
        cmocka_unit_test(an_abort_ends_the_calls_of_all_ranks),
        cmocka_unit_test(an_abort_from_another_thread_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
