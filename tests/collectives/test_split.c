/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators out of communicators: who becomes a member, in which order, what they share, and
 * many of them in use at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/ranks.h"
#include "tests/support/unit.h"

#define MOST 8u
#define SIBLINGS 8u

static const char *const all_nets[] = {"core.net=net-shm", "core.net=net-socket",
                                       "core.net=net-shm net-socket"};
static const char *const *nets = all_nets;
static int nnets = sizeof all_nets / sizeof all_nets[0];

/* Ranks in two domains of shared memory where the next transport joins them. */
static uint32_t domains(const char *net)
{
    return strchr(net, ' ') != NULL ? 2 : 0;
}

static void run(uint32_t nranks, ranks_work_t work)
{
    for (int i = 0; i < nnets; i++) {
        ranks_job_t job = {
            .nranks = nranks, RANKS_SET(nets[i]), .domains = domains(nets[i]), .work = work};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

/* The members of `comm` are the ranks `expected` of its parent, in this order. */
static int has_members(weft_comm_t *comm, uint32_t me, const uint32_t *expected, uint32_t count)
{
    uint32_t size = 0, rank = 0, all[MOST] = {0};
    if (comm == NULL || weft_comm_size(comm, &size) != WEFT_OK || size != count ||
        weft_comm_rank(comm, &rank) != WEFT_OK || expected[rank] != me) {
        fprintf(stderr, "rank %u is rank %u of %u\n", me, rank, size);
        return 0;
    }
    return weft_all_gather(&me, all, 1, WEFT_UINT32, comm, NULL) == WEFT_OK &&
           memcmp(all, expected, count * sizeof *all) == 0;
}

/* Every kind of plan once, with a sum that only the members can make. */
static int works(weft_comm_t *comm)
{
    uint32_t rank, size;
    double in[1000], out[1000];
    if (weft_comm_rank(comm, &rank) != WEFT_OK || weft_comm_size(comm, &size) != WEFT_OK) {
        return 0;
    }
    for (int i = 0; i < 1000; i++) {
        in[i] = (double)rank + i;
    }
    if (weft_all_reduce(in, out, 1000, WEFT_FP64, WEFT_SUM, comm, NULL) != WEFT_OK ||
        weft_broadcast(in, in, 10, WEFT_FP64, size - 1, comm, NULL) != WEFT_OK ||
        weft_barrier(comm, NULL) != WEFT_OK) {
        return 0;
    }
    for (int i = 0; i < 1000; i++) {
        if (out[i] != size * (size - 1) / 2.0 + (double)size * i) {
            return 0;
        }
    }
    return in[0] == size - 1;
}

static int colors_and_keys(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const int32_t colors[] = {7, 0, 7, WEFT_COLOR_NONE, 7, 0}, keys[] = {5, 1, -3, 0, 5, -1};
    static const uint32_t sevens[] = {2, 0, 4}, zeros[] = {5, 1};
    weft_comm_t *child = comm;
    (void)n;
    (void)arg;
    if (weft_comm_split(comm, colors[rank], keys[rank], &child) != WEFT_OK) {
        return 1;
    }
    if (colors[rank] == WEFT_COLOR_NONE) {
        return child != NULL || !works(comm);
    }
    int good = colors[rank] == 7 ? has_members(child, rank, sevens, 3)
                                 : has_members(child, rank, zeros, 2);
    good = good && works(child) && works(comm);
    return weft_comm_destroy(child) != WEFT_OK || !good;
}

static void ranks_are_grouped_by_color_and_ordered_by_key(void **state)
{
    (void)state;
    run(6, colors_and_keys);
}

static int alone(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL, *grandchild = NULL;
    (void)n;
    (void)arg;
    int good = weft_comm_split(comm, (int32_t)rank, 0, &child) == WEFT_OK &&
               has_members(child, rank, &rank, 1) && works(child) &&
               weft_comm_dup(child, &grandchild) == WEFT_OK && works(grandchild);
    good = weft_comm_destroy(child) == WEFT_OK && works(grandchild) && good;
    return weft_comm_destroy(grandchild) != WEFT_OK || !works(comm) || !good;
}

static void one_rank_may_be_a_communicator(void **state)
{
    (void)state;
    run(3, alone);
    run(1, alone);
}

/* Halves, quarters, pairs turned round; all in use, then ended in an order of the test's choice. */
static int nested(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const unsigned order = *(const unsigned *)arg;
    weft_comm_t *c[4] = {NULL};
    uint32_t half[4], pair[2];
    for (uint32_t i = 0; i < n / 2; i++) {
        half[i] = rank / (n / 2) * (n / 2) + i;
    }
    pair[0] = rank | 1;
    pair[1] = rank & ~1u;
    int good = weft_comm_dup(comm, &c[0]) == WEFT_OK &&
               weft_comm_split(c[0], (int32_t)(rank / (n / 2)), 0, &c[1]) == WEFT_OK &&
               weft_comm_split(c[1], (int32_t)(rank / 2), -(int32_t)rank, &c[2]) == WEFT_OK &&
               weft_comm_dup(c[2], &c[3]) == WEFT_OK && has_members(c[1], rank, half, n / 2) &&
               has_members(c[2], rank, pair, 2) && has_members(c[3], rank, pair, 2);
    for (int i = 0; i < 4 && good; i++) {
        good = works(c[i]);
    }
    for (unsigned i = 0, left = 4, code = order; i < 4; i++, code /= left--) {
        unsigned at = code % left, k = 0;
        while (c[k] == NULL || at-- > 0) {
            k++;
        }
        good = weft_comm_destroy(c[k]) == WEFT_OK && good;
        c[k] = NULL;
        for (k = 0; k < 4; k++) {
            good = (c[k] == NULL || works(c[k])) && good;
        }
    }
    return !good || !works(comm);
}

static void parents_and_children_end_in_any_order(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 24; order++) {
        ranks_job_t job = {
            .nranks = 4, RANKS_SET(nets[order % (unsigned)nnets]), .work = nested, .arg = &order};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

/* The first communicator ends first, the child works on alone, with ranks that leave the family
 * while others go on: they are inner nodes of the control tree. */
static int orphan(const weft_unique_id_t *id, uint32_t rank, uint32_t n, const char *net)
{
    weft_comm_t *first = NULL, *child = NULL;
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = &net, .settings_count = 1};
    int32_t color = rank < 2 ? WEFT_COLOR_NONE : 1;
    int good = weft_comm_init_rank(&first, n, id, rank, &options) == WEFT_OK &&
               weft_comm_split(first, color, 0, &child) == WEFT_OK;
    good = weft_comm_destroy(first) == WEFT_OK && good;
    for (int i = 0; i < 200 && good && child != NULL; i++) {
        good = works(child);
    }
    return weft_comm_destroy(child) != WEFT_OK || !good;
}

typedef struct orphan_arg {
    const weft_unique_id_t *id;
    const char *net;
    uint32_t rank, n;
    int failed;
} orphan_arg_t;

static void *orphan_main(void *arg)
{
    orphan_arg_t *a = arg;
    a->failed = orphan(a->id, a->rank, a->n, a->net);
    return NULL;
}

static void a_child_outlives_the_first_communicator(void **state)
{
    (void)state;
    for (int i = 0; i < nnets && i < 2; i++) {
        pthread_t threads[6];
        orphan_arg_t args[6];
        weft_unique_id_t id;
        weft_comm_options_t options = {.size = sizeof options, .config = "/dev/null"};
        assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
        for (uint32_t r = 0; r < 6; r++) {
            args[r] = (orphan_arg_t){.id = &id, .net = nets[i], .rank = r, .n = 6};
            assert_int_equal(pthread_create(&threads[r], NULL, orphan_main, &args[r]), 0);
        }
        for (uint32_t r = 0; r < 6; r++) {
            pthread_join(threads[r], NULL);
            assert_int_equal(args[r].failed, 0);
        }
    }
}

/* All siblings at once ------------------------------------------------------------------------- */

typedef struct user {
    weft_comm_t *comm;
    int good;
    pthread_t thread;
} user_t;

static void *use(void *arg)
{
    user_t *user = arg;
    user->good = 1;
    for (int i = 0; i < 20 && user->good; i++) {
        user->good = works(user->comm);
    }
    return NULL;
}

static int siblings(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    user_t users[SIBLINGS];
    int good = 1;
    (void)arg;
    for (uint32_t i = 0; i < SIBLINGS; i++) {
        /* Another order of ranks in each, so that threads accept for one another. */
        int32_t key = (int32_t)((rank + i) % n);
        users[i].comm = NULL;
        good = good && weft_comm_split(comm, 0, i % 2 == 0 ? key : -key, &users[i].comm) == WEFT_OK;
    }
    for (uint32_t i = 0; i < SIBLINGS && good; i++) {
        if (pthread_create(&users[i].thread, NULL, use, &users[i]) != 0) {
            abort();
        }
    }
    int used = good;
    for (uint32_t i = 0; i < SIBLINGS && used; i++) {
        pthread_join(users[i].thread, NULL);
        good = good && users[i].good;
    }
    for (uint32_t i = 0; i < SIBLINGS; i++) {
        good = weft_comm_destroy(users[i].comm) == WEFT_OK && good;
    }
    return !good || !works(comm);
}

static void all_siblings_work_at_once_from_threads(void **state)
{
    (void)state;
    run(4, siblings);
}

static void all_siblings_work_at_once_in_processes(void **state)
{
    (void)state;
    for (int i = 0; i < nnets; i++) {
        ranks_job_t job = {
            .nranks = 4, RANKS_SET(nets[i]), .domains = domains(nets[i]), .work = siblings};
        assert_int_equal(ranks_run_processes(&job, 100, -1), 0);
    }
}

/* Asynchronous calls on all siblings, one thread, waited for in another order on each rank. */
static int asynchronous(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *c[SIBLINGS] = {NULL};
    weft_request_t *requests[SIBLINGS] = {NULL};
    float in[100], out[SIBLINGS][100];
    int good = 1;
    (void)arg;
    for (uint32_t i = 0; i < SIBLINGS; i++) {
        good = good && weft_comm_dup(comm, &c[i]) == WEFT_OK;
    }
    for (int i = 0; i < 100; i++) {
        in[i] = (float)i;
    }
    for (uint32_t k = 0; k < SIBLINGS && good; k++) {
        uint32_t i = (k + rank) % SIBLINGS;
        weft_call_t call = {.size = sizeof call, .request_p = &requests[i]};
        good = weft_all_reduce(in, out[i], 100, WEFT_FP32, WEFT_SUM, c[i], &call) == WEFT_OK;
    }
    for (uint32_t k = 0; k < SIBLINGS && good; k++) {
        uint32_t i = (k * 3 + rank) % SIBLINGS;
        good = weft_request_wait(&requests[i]) == WEFT_OK && out[i][99] == 99.0f * (float)n;
    }
    for (uint32_t i = 0; i < SIBLINGS; i++) {
        good = weft_comm_destroy(c[i]) == WEFT_OK && good;
    }
    return !good;
}

static void asynchronous_calls_on_siblings_need_no_order(void **state)
{
    (void)state;
    run(4, asynchronous);
}

/* Bad calls ------------------------------------------------------------------------------------ */

static int refused(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = comm;
    weft_error_t error = {.size = sizeof error};
    (void)rank;
    (void)n;
    (void)arg;
    int good = weft_comm_split(comm, -2, 0, &child) == WEFT_ERR_ARG && child == comm &&
               weft_last_error(&error) == WEFT_OK && strstr(error.text, "color -2") != NULL &&
               weft_comm_split(comm, 0, 0, NULL) == WEFT_ERR_ARG &&
               weft_comm_dup(NULL, &child) == WEFT_ERR_ARG && child == comm && works(comm);
    return !good;
}

static void bad_arguments_leave_the_communicator_as_it_was(void **state)
{
    (void)state;
    run(2, refused);
}

/* One rank splits, the other gathers as many bytes. */
static int mixed_up(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    char mine[16] = "", all[32];
    weft_error_t error = {.size = sizeof error};
    (void)n;
    (void)arg;
    weft_status_t status = rank == 0 ? weft_comm_split(comm, 0, 0, &child)
                                     : weft_all_gather(mine, all, 16, WEFT_UINT8, comm, NULL);
    int good = status == WEFT_ERR_MISMATCH && child == NULL &&
               weft_comm_error(comm, &error) == WEFT_OK &&
               strstr(error.text, "comm_split") != NULL && strstr(error.text, "all_gather") != NULL;
    return !good;
}

static void a_rank_that_calls_something_else_is_found(void **state)
{
    (void)state;
    run(2, mixed_up);
}

/* Over the transports that are named, as settings, or over all. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        nets = (const char *const *)argv + 1;
        nnets = argc - 1;
    }
    const struct CMUnitTest tests[] = {
        /* First: TSan allows no threads after a fork with threads. */
        cmocka_unit_test(all_siblings_work_at_once_in_processes),
        cmocka_unit_test(ranks_are_grouped_by_color_and_ordered_by_key),
        cmocka_unit_test(one_rank_may_be_a_communicator),
        cmocka_unit_test(parents_and_children_end_in_any_order),
        cmocka_unit_test(a_child_outlives_the_first_communicator),
        cmocka_unit_test(all_siblings_work_at_once_from_threads),
        cmocka_unit_test(asynchronous_calls_on_siblings_need_no_order),
        cmocka_unit_test(bad_arguments_leave_the_communicator_as_it_was),
        cmocka_unit_test(a_rank_that_calls_something_else_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
