/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators that only their members make, and which ranks an operation waited for in vain. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { RANKS = 5 };

static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
static const char *const soon[] = {"core.net=net-shm", RANKS_SOON};

static void run_with(uint32_t nranks, ranks_work_t work, const char *const *settings,
                     uint32_t count)
{
    ranks_job_t job = {
        .nranks = nranks, .settings = settings, .settings_count = count, .work = work};
    assert_int_equal(ranks_run_both(&job), 0);
}

static void run(uint32_t nranks, ranks_work_t work)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        run_with(nranks, work, &nets[i], 1);
    }
}

static int error_says(const weft_error_t *error, weft_status_t status, const char *words)
{
    if (error->status == status && strstr(error->text, words) != NULL) {
        return 1;
    }
    fprintf(stderr, "%s: %s; wanted %s with \"%s\"\n", weft_status_name(error->status), error->text,
            weft_status_name(status), words);
    return 0;
}

static int last_error_says(weft_status_t status, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    return weft_last_error(&error) == WEFT_OK && error_says(&error, status, words);
}

/* True if the communicator has the ranks of the parent, in their order. */
static int has_members(weft_comm_t *child, uint32_t rank, const uint32_t *ranks, uint32_t count)
{
    uint32_t mine = RANKS, size = 0, all[RANKS] = {0};
    int wrong = 0;
    NEED(weft_comm_rank(child, &mine) == WEFT_OK && weft_comm_size(child, &size) == WEFT_OK);
    NEED(size == count && mine < count && ranks[mine] == rank);
    NEED(weft_all_gather(&rank, all, 1, WEFT_UINT32, child, NULL) == WEFT_OK);
    NEED(memcmp(all, ranks, count * sizeof *all) == 0);
    return wrong == 0;
}

static int only_members_call(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t some[] = {4, 1, 3}, alone[] = {2};
    weft_comm_t *child = NULL, *again = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == 4 || rank == 1 || rank == 3) {
        NEED(weft_comm_create_group(comm, some, 3, 0, &child) == WEFT_OK);
        NEED(has_members(child, rank, some, 3));
        NEED(weft_comm_create_group(comm, some, 3, 0, &again) == WEFT_OK);
        NEED(has_members(again, rank, some, 3) && has_members(child, rank, some, 3));
        NEED(weft_comm_destroy(child) == WEFT_OK && weft_comm_destroy(again) == WEFT_OK);
    } else if (rank == 2) {
        NEED(weft_comm_create_group(comm, alone, 1, 0, &child) == WEFT_OK);
        NEED(has_members(child, rank, alone, 1));
        NEED(weft_comm_destroy(child) == WEFT_OK);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void only_members_make_a_communicator(void **state)
{
    (void)state;
    run(RANKS, only_members_call);
}

/* Groups of groups, and pairs that overlap in a ring: each rank makes the lower pair first. */
static int groups_overlap(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *pair[2] = {NULL, NULL}, *half = NULL, *inner = NULL;
    int wrong = 0;
    (void)arg;
    for (uint32_t first = 0; first < n; first++) {
        const uint32_t ranks[] = {first, (first + 1) % n};
        if (rank == ranks[0] || rank == ranks[1]) {
            weft_comm_t **mine = &pair[rank == ranks[0] ? 0 : 1];
            NEED(weft_comm_create_group(comm, ranks, 2, first, mine) == WEFT_OK);
            NEED(has_members(*mine, rank, ranks, 2));
        }
    }
    const uint32_t low[] = {0, 1, 2}, inside[] = {2, 0};
    if (rank < 3) {
        NEED(weft_comm_create_group(comm, low, 3, 77, &half) == WEFT_OK);
    }
    if (rank == 0 || rank == 2) {
        NEED(weft_comm_create_group(half, inside, 2, 77, &inner) == WEFT_OK);
        NEED(has_members(inner, rank, inside, 2));
        NEED(weft_comm_destroy(inner) == WEFT_OK);
    }
    NEED(half == NULL || weft_comm_destroy(half) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(pair[0]) == WEFT_OK && weft_comm_destroy(pair[1]) == WEFT_OK);
    return wrong;
}

static void groups_may_overlap(void **state)
{
    (void)state;
    run(RANKS, groups_overlap);
}

typedef struct maker {
    weft_comm_t *parent;
    uint32_t rank, tag;
    int wrong;
} maker_t;

static void make_some(void *arg)
{
    maker_t *maker = arg;
    static const uint32_t ranks[] = {0, 1, 2};
    for (int i = 0; i < 10; i++) {
        weft_comm_t *child = NULL;
        maker->wrong +=
            weft_comm_create_group(maker->parent, ranks, 3, maker->tag, &child) != WEFT_OK ||
            !has_members(child, maker->rank, ranks, 3) || weft_comm_destroy(child) != WEFT_OK;
    }
}

/* Threads with tags of their own make communicators of the same ranks, while the parent is used. */
static int threads_make_groups(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    maker_t makers[3];
    weft_os_thread_t *threads[3];
    int wrong = 0;
    (void)n;
    (void)arg;
    for (uint32_t t = 0; t < 3; t++) {
        makers[t] = (maker_t){.parent = comm, .rank = rank, .tag = (t + rank) % 3};
        NEED(weft_os_thread_start("maker", make_some, &makers[t], &threads[t]) == WEFT_OK);
    }
    for (int i = 0; i < 50; i++) {
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    for (int t = 0; t < 3; t++) {
        weft_os_thread_join(threads[t]);
        NEED(makers[t].wrong == 0);
    }
    return wrong;
}

static void threads_make_groups_at_once(void **state)
{
    (void)state;
    run(3, threads_make_groups);
}

/* Ranks 1 and 3 do not come. The others learn it, may try again, and the parent goes on. */
static int members_are_missing(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t ranks[] = {3, 2, 1, 0, 4};
    weft_comm_t *child = NULL;
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank != 1 && rank != 3) {
        NEED(weft_comm_create_group(comm, ranks, RANKS, 5, &child) == WEFT_ERR_TIMEOUT);
        NEED(child == NULL && weft_last_error(&error) == WEFT_OK);
        NEED(error.peer == 1 || error.peer == 3);
        NEED(strstr(error.text, "in the new communicator") != NULL
                 ? error_says(&error, WEFT_ERR_TIMEOUT, "missing are ranks 0, 2")
                 : error_says(
                       &error, WEFT_ERR_TIMEOUT,
                       "2 of 5 members did not call it with these ranks in this order and tag 5 "
                       "within " RANKS_SOON_S " s: ranks 3, 1"));
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == 1 || rank == 3) { /* the others have given up */
        NEED(weft_comm_create_group(comm, ranks, RANKS, 5, &child) == WEFT_ERR_TIMEOUT);
        NEED(last_error_says(WEFT_ERR_TIMEOUT, "in the new communicator"));
    }
    NEED(weft_comm_create_group(comm, ranks, RANKS, 5, &child) == WEFT_OK);
    NEED(has_members(child, rank, ranks, RANKS));
    NEED(weft_comm_destroy(child) == WEFT_OK);
    return wrong;
}

static void missing_members_are_named(void **state)
{
    (void)state;
    run_with(RANKS, members_are_missing, soon, 2);
}

static int wrong_arguments(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t beyond[] = {0, 1, 7}, twice[] = {0, 1, 0}, other[] = {1 - rank}, both[] = {0, 1};
    weft_comm_t *child = NULL, *copy = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_create_group(comm, beyond, 3, 0, &child) == WEFT_ERR_ARG);
    NEED(last_error_says(WEFT_ERR_ARG, "ranks[2] is 7, out of range 0 … 1"));
    NEED(weft_comm_create_group(comm, twice, 3, 0, &child) == WEFT_ERR_ARG);
    NEED(last_error_says(WEFT_ERR_ARG, "rank 0 is given twice"));
    NEED(weft_comm_create_group(comm, other, 1, 0, &child) == WEFT_ERR_ARG);
    NEED(last_error_says(WEFT_ERR_ARG, "is not one of the 1 ranks given"));
    NEED(weft_comm_create_group(comm, both, 0, 0, &child) == WEFT_ERR_ARG);
    NEED(weft_comm_create_group(comm, NULL, 2, 0, &child) == WEFT_ERR_ARG);
    NEED(weft_comm_create_group(comm, both, 2, 0, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_create_group(NULL, both, 2, 0, &child) == WEFT_ERR_ARG);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_comm_create_group(comm, both, 2, 0, &child) == WEFT_ERR_STATE);
    NEED(weft_group_end() == WEFT_ERR_STATE);
    NEED(child == NULL && weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_comm_create_group(copy, both, 2, 0, &child) == WEFT_ERR_STATE);
    NEED(child == NULL && weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    ranks_job_t job = {.nranks = 2, .settings = nets, .settings_count = 1, .work = wrong_arguments};
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* Rank 1 dies, or aborts the parent and stays away: the others go on without it. Named all the
 * same, it fails what they would make. */
static int survivors_go_on(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t some[] = {0, 2, 3, 4}, all[] = {0, 1, 2, 3, 4};
    const weft_status_t cause = arg != NULL ? WEFT_ERR_PEER_DEAD : WEFT_ERR_ABORTED;
    weft_comm_t *child = NULL, *again = NULL;
    int wrong = 0;
    (void)n;
    if (rank == 1 && arg != NULL) {
        raise(SIGKILL);
    }
    if (rank == 1) {
        NEED(weft_comm_abort(comm) == WEFT_OK);
        return wrong;
    }
    NEED(weft_barrier(comm, NULL) == cause);
    if (arg != NULL) {
        NEED(weft_comm_create_group(comm, all, RANKS, 0, &child) == WEFT_ERR_PEER_DEAD);
        NEED(child == NULL && last_error_says(WEFT_ERR_PEER_DEAD, "rank 1"));
    }
    NEED(weft_comm_create_group(comm, some, 4, 0, &child) == WEFT_OK);
    NEED(child != NULL && has_members(child, rank, some, 4));
    NEED(weft_comm_split(child, (int32_t)(rank % 2), 0, &again) == WEFT_OK);
    NEED(weft_barrier(again, NULL) == WEFT_OK && weft_comm_destroy(again) == WEFT_OK);
    NEED(weft_comm_destroy(child) == WEFT_OK);
    return wrong;
}

static void survivors_of_a_failure_make_a_communicator(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = RANKS, RANKS_SET(nets[i]), .work = survivors_go_on};
        assert_int_equal(ranks_run_threads(&job), 0);
#ifndef __SANITIZE_THREAD__
        static int dies;
        job.arg = &dies;
        assert_int_equal(ranks_run_processes(&job, 120, 1), 0);
#endif
    }
}

/* The failure of a communicator may be told by another rank. */
static weft_error_t wait_for_failure(weft_comm_t *comm)
{
    weft_error_t error = {.size = sizeof error};
    uint64_t until = weft_os_clock_ns() + 20 * WEFT_NS_PER_S;
    while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK &&
           weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return error;
}

/* Ranks 1 and 3 do not come to a barrier: all get the words and the list, they themselves too. */
static int barrier_without_some(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    uint32_t missing[2] = {99, 99}, count = 99;
    weft_error_t error;
    weft_call_t call = {.size = sizeof call, .timeout = 0.5 * RANKS_SLOWER};
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_barrier(copy, NULL) == WEFT_OK);
    NEED(weft_comm_missing(copy, NULL, 0, &count) == WEFT_OK && count == 0);
    if (rank != 1 && rank != 3) {
        NEED(weft_barrier(copy, &call) == WEFT_ERR_TIMEOUT);
    }
    error = wait_for_failure(copy);
    NEED(error_says(&error, WEFT_ERR_TIMEOUT, "; missing are ranks 1, 3"));
    NEED(weft_comm_missing(copy, missing, 1, &count) == WEFT_OK);
    NEED(count == 2 && missing[0] == 1 && missing[1] == 99);
    NEED(weft_comm_missing(copy, missing, 2, &count) == WEFT_OK);
    NEED(count == 2 && missing[1] == 3);
    NEED(weft_comm_missing(copy, NULL, 1, &count) == WEFT_ERR_ARG);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(weft_comm_missing(copy, NULL, 0, &count) == WEFT_ERR_STATE);
    return wrong;
}

static void ranks_missing_at_a_barrier_are_listed(void **state)
{
    (void)state;
    run(RANKS, barrier_without_some);
}

/* Predictions: more bytes take longer, and what has no model says so. */
static int predictions(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    double small = -1, large = -1, none = -1;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_predict(comm, WEFT_ALL_REDUCE, 2, WEFT_FP32, WEFT_SUM, 0, &small) == WEFT_OK);
    NEED(weft_comm_predict(comm, WEFT_ALL_REDUCE, 1 << 24, WEFT_FP32, WEFT_SUM, 0, &large) ==
         WEFT_OK);
    NEED(small > 0 && small < 0.1 && large > 4 * small && large < 100);
    NEED(weft_comm_predict(comm, WEFT_SEND_RECV, 2, WEFT_FP32, WEFT_SUM, 0, &small) == WEFT_OK);
    NEED(weft_comm_predict(comm, WEFT_SEND_RECV, 1 << 24, WEFT_FP32, WEFT_SUM, 0, &large) ==
         WEFT_OK);
    NEED(small > 0 && small < 0.1 && large > 4 * small && large < 100);
    NEED(weft_comm_predict(comm, WEFT_ALL_TO_ALL_V, 2, WEFT_FP32, WEFT_SUM, 0, &none) ==
         WEFT_ERR_UNSUPPORTED);
    NEED(weft_comm_predict(comm, WEFT_REDUCE, 2, WEFT_FP32, WEFT_SUM, n, &none) == WEFT_ERR_ARG);
    NEED(weft_comm_predict(comm, WEFT_REDUCE, 2, WEFT_FP32, WEFT_SUM, 0, NULL) == WEFT_ERR_ARG);
    NEED(none == -1);
    return wrong;
}

static void predictions_are_seconds(void **state)
{
    (void)state;
    run(1, predictions);
    run(3, predictions);
}

/* Memory of no communicator serves calls, and outlives all communicators. */
static int use_memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 100000 };
    void *memory = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_mem_alloc(NULL, COUNT * sizeof(uint32_t), &memory) == WEFT_OK);
    uint32_t *values = memory;
    NEED(values != NULL && values[0] == 0 && values[COUNT - 1] == 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = i;
    }
    NEED(weft_all_reduce(values, values, COUNT, WEFT_UINT32, WEFT_BXOR, comm, NULL) == WEFT_OK);
    NEED(values[COUNT - 1] == (n % 2 != 0 ? COUNT - 1 : 0));
    NEED(weft_mem_free(comm, memory) == WEFT_ERR_ARG);
    NEED(weft_mem_free(NULL, memory) == WEFT_OK && weft_mem_free(NULL, memory) == WEFT_ERR_ARG);
    NEED(weft_mem_free(NULL, NULL) == WEFT_OK);
    NEED(weft_mem_alloc(NULL, 1, NULL) == WEFT_ERR_ARG);
    return wrong;
}

static void memory_needs_no_communicator(void **state)
{
    void *memory = NULL;
    (void)state;
    assert_int_equal(weft_mem_alloc(NULL, 0, &memory), WEFT_OK);
    run(2, use_memory);
    run(3, use_memory);
    assert_int_equal(((uint8_t *)memory)[0], 0);
    assert_int_equal(weft_mem_free(NULL, memory), WEFT_OK);
}

/* Returns the id of the communicator, which is in its error, and destroys it. */
static uint64_t end_and_get_id(weft_comm_t *comm)
{
    weft_error_t error = {.size = sizeof error};
    (void)weft_comm_abort(comm);
    (void)weft_comm_error(comm, &error);
    (void)weft_comm_destroy(comm);
    return error.comm_id;
}

/* A split by colour 1 as the first operation, and a group of rank 1 with tag 0. Then shrinks
 * without rank 0, and without anybody: their calls of other kinds and members have the same numbers
 * in the same order. */
static int make_children_of_all_kinds(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    const uint32_t zero = 0, one = 1;
    weft_comm_t *children[4] = {NULL};
    uint64_t ids[4] = {0};
    int wrong = 0;
    (void)nranks;
    (void)arg;
    NEED(weft_comm_split(comm, 1, 0, &children[0]) == WEFT_OK);
    if (rank == 1) {
        NEED(weft_comm_create_group(comm, &one, 1, 0, &children[1]) == WEFT_OK);
    }
    if (rank != 0) {
        NEED(weft_comm_shrink(comm, &zero, 1, &children[2]) == WEFT_OK);
    }
    NEED(weft_comm_shrink(comm, NULL, 0, &children[3]) == WEFT_OK);
    NEED(weft_barrier(children[3], NULL) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK); /* all are through the other: it may be aborted */
    for (int i = 0; i < 4; i++) {
        ids[i] = children[i] != NULL ? end_and_get_id(children[i]) : 0;
        for (int j = 0; j < i; j++) {
            NEED(ids[i] == 0 || ids[i] != ids[j]);
        }
    }
    return wrong;
}

static void children_have_ids_of_their_own(void **state)
{
    (void)state;
    run_with(4, make_children_of_all_kinds, nets, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_members_make_a_communicator),
        cmocka_unit_test(groups_may_overlap),
        cmocka_unit_test(threads_make_groups_at_once),
        cmocka_unit_test(missing_members_are_named),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(survivors_of_a_failure_make_a_communicator),
        cmocka_unit_test(ranks_missing_at_a_barrier_are_listed),
        cmocka_unit_test(predictions_are_seconds),
        cmocka_unit_test(children_have_ids_of_their_own),
        cmocka_unit_test(memory_needs_no_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
