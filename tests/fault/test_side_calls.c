/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that wait for other ranks without having the communicator: agreeing, shrinking, making a
 * communicator of some ranks. Another thread ends them, and is refused what it must not do beside
 * them. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/comm/handle.h"
#include "core/comm/side_calls.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* The deadline of such a call lies far behind the end of the wait for it. */
static const char *const settings[] = {"core.net=net-shm", "boot.init_timeout=60"};

typedef enum kind { AGREE, SHRINK, CREATE_GROUP, KINDS } kind_t;

static const char *const names[KINDS] = {"weft_comm_agree", "weft_comm_shrink",
                                         "weft_comm_create_group"};

/* A thread that is inside such a call, and what came of it. */
typedef struct inside {
    pthread_t thread;
    kind_t kind;
    weft_comm_t *comm, *made;
    uint64_t bits;
    weft_status_t status;
    weft_error_t error;
    _Atomic bool is_over;
} inside_t;

static void *call(void *arg)
{
    static const uint32_t all[] = {0, 1, 2};
    inside_t *t = arg;
    uint32_t n = 0;
    t->bits = 7;
    (void)weft_comm_size(t->comm, &n);
    t->status = t->kind == AGREE    ? weft_comm_agree(t->comm, &t->bits)
                : t->kind == SHRINK ? weft_comm_shrink(t->comm, NULL, 0, &t->made)
                                    : weft_comm_create_group(t->comm, all, n, 0, &t->made);
    t->error.size = sizeof t->error;
    (void)weft_last_error(&t->error);
    atomic_store(&t->is_over, true);
    return NULL;
}

static void look_inside(weft_comm_state_t *state, void *arg)
{
    weft_family_t *family = state->self.family;
    weft_os_lock(&family->lock);
    for (const weft_side_call_t *c = family->survival.side_calls; c != NULL; c = c->next) {
        *(bool *)arg |= c->comm_id == state->self.id;
    }
    weft_os_unlock(&family->lock);
}

/* Returns when the thread is inside its call, or through it. */
static bool begin(inside_t *t, kind_t kind, weft_comm_t *comm)
{
    bool is_inside = false;
    uint64_t until = weft_os_deadline(20);
    *t = (inside_t){.kind = kind, .comm = comm};
    if (pthread_create(&t->thread, NULL, call, t) != 0) {
        return false;
    }
    while (!is_inside && !atomic_load(&t->is_over) && weft_os_clock_ns() < until) {
        weft_os_yield();
        (void)weft_handle_visit(comm, "test", look_inside, &is_inside);
    }
    return is_inside || atomic_load(&t->is_over);
}

/* Joins the thread. False: it did not end within `seconds` with that status. */
static bool ends(inside_t *t, double seconds, weft_status_t status)
{
    uint64_t until = weft_os_deadline(seconds * RANKS_SLOWER);
    while (!atomic_load(&t->is_over) && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    bool in_time = atomic_load(&t->is_over);
    pthread_join(t->thread, NULL);
    if (!in_time || t->status != status) {
        fprintf(stderr, "%s: %s%s, wanted %s: %s\n", names[t->kind], weft_status_name(t->status),
                in_time ? "" : " too late", weft_status_name(status), t->error.text);
    }
    return in_time && t->status == status;
}

/* Rank 0 ends its own call, in which nobody meets it, and leaves. */
static int end_early(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL, *rest = NULL;
    inside_t t;
    int wrong = 0;
    (void)arg;
    for (int i = 0; i < 2 * KINDS; i++) {
        bool aborts = i < KINDS;
        kind_t kind = (kind_t)(i % KINDS);
        weft_status_t status = aborts ? WEFT_ERR_ABORTED : WEFT_ERR_REVOKED;
        if (!aborts && kind != CREATE_GROUP) {
            continue;
        }
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        if (rank == 0) {
            NEED(begin(&t, kind, copy));
            NEED((aborts ? weft_comm_abort(copy) : weft_comm_revoke(copy)) == WEFT_OK);
            NEED(ends(&t, 20, status) && t.made == NULL && t.bits == 7);
            NEED(strstr(t.error.text, aborts ? "rank 0 called weft_comm_abort"
                                             : "rank 0 called weft_comm_revoke") != NULL);
            NEED(t.error.peer == 0 && t.error.rank == 0);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        if (rank != 0) {
            NEED(weft_barrier(copy, NULL) == status);
        }
        NEED(rank != 0 || weft_comm_destroy(copy) == WEFT_OK);
        /* The others go on without it. */
        if (rank != 0) {
            NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK);
            NEED(weft_comm_destroy(copy) == WEFT_OK && weft_barrier(rest, NULL) == WEFT_OK);
            NEED(weft_comm_destroy(rest) == WEFT_OK);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK && n == 3);
    }
    return wrong;
}

static void run(uint32_t n, ranks_work_t work)
{
    ranks_job_t job = {.nranks = n, .settings = settings, .settings_count = 2, .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void aborting_ends_calls_beside_the_communicator(void **state)
{
    (void)state;
    run(3, end_early);
}

/* Rank 0 leaves a call in which rank 1 is already: it hears that, or goes on without rank 0. */
static int end_among_others(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    inside_t t;
    int wrong = 0;
    (void)arg;
    for (int kind = 0; kind < KINDS; kind++) {
        weft_comm_t *copy = NULL, *child = NULL;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        if (rank < 2) {
            NEED(begin(&t, (kind_t)kind, copy));
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        if (rank == 0) {
            NEED(weft_comm_abort(copy) == WEFT_OK);
            NEED(ends(&t, 20, WEFT_ERR_ABORTED) && weft_comm_destroy(copy) == WEFT_OK);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        if (rank == 2) {
            NEED(kind == CREATE_GROUP || begin(&t, (kind_t)kind, copy));
        }
        if (kind == CREATE_GROUP && rank == 1) {
            NEED(ends(&t, 20, WEFT_ERR_ABORTED));
            NEED(strstr(t.error.text, "rank 0 called weft_comm_abort on the parent") != NULL);
            NEED(t.error.peer == 0);
        } else if (kind != CREATE_GROUP && rank > 0) {
            NEED(ends(&t, 20, WEFT_OK));
            child = t.made;
            NEED(kind == AGREE || weft_barrier(child, NULL) == WEFT_OK);
            NEED(weft_comm_destroy(child) == WEFT_OK);
        }
        NEED(rank == 0 || weft_comm_destroy(copy) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK && n == 3);
    }
    return wrong;
}

static void the_others_go_on_without_who_aborts(void **state)
{
    (void)state;
    run(3, end_among_others);
}

/* Rank 0 waits for others to make a group; one of them revokes the parent instead, as whoever goes
 * on without somebody does, and all meet in the shrink. In the second round rank 0 has the parent
 * no more. */
static int revoke_for_others(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t all[] = {0, 1, 2};
    inside_t t;
    int wrong = 0;
    (void)arg;
    for (int destroys = 0; destroys < 2; destroys++) {
        weft_comm_t *copy = NULL, *rest = NULL, *group = NULL;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(rank != 0 || begin(&t, CREATE_GROUP, copy));
        NEED(rank != 0 || !destroys || weft_comm_destroy(copy) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(rank != 1 || weft_comm_revoke(copy) == WEFT_OK);
        if (rank == 0) {
            NEED(ends(&t, 20, WEFT_ERR_REVOKED) && t.made == NULL);
            NEED(strstr(t.error.text, "rank 1 called weft_comm_revoke on the parent") != NULL);
            NEED(t.error.peer == 1 && t.error.rank == 0);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        /* The creation is over on all; the next one goes on, as on any parent that has failed. */
        if (!destroys) {
            NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK);
            NEED(weft_barrier(rest, NULL) == WEFT_OK);
            NEED(rank == 0 || weft_comm_create_group(copy, all, n, 0, &group) == WEFT_ERR_REVOKED);
            NEED(weft_comm_create_group(copy, all, n, 0, &group) == WEFT_OK);
            NEED(weft_barrier(group, NULL) == WEFT_OK);
            NEED(weft_comm_destroy(group) == WEFT_OK && weft_comm_destroy(rest) == WEFT_OK);
        }
        NEED((rank == 0 && destroys) || weft_comm_destroy(copy) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    return wrong;
}

static void a_revoke_of_another_rank_ends_a_group(void **state)
{
    (void)state;
    run(3, revoke_for_others);
}

/* Fails a communicator by itself: its ranks disagree. */
static bool disagree(weft_comm_t *comm, uint32_t rank)
{
    uint32_t in[2] = {1, 1}, out[2];
    return weft_all_reduce(in, out, 1 + rank % 2, WEFT_UINT32, WEFT_SUM, comm, NULL) ==
           WEFT_ERR_MISMATCH;
}

/* The same with a parent that had failed before: the revoke is no news to it, but to rank 0. */
static int revoke_what_has_failed(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    inside_t t;
    int wrong = 0;
    (void)arg;
    for (int destroys = 0; destroys < 2; destroys++) {
        weft_comm_t *copy = NULL, *rest = NULL;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK && n == 3);
        NEED(disagree(copy, rank));
        NEED(rank != 0 || begin(&t, CREATE_GROUP, copy));
        NEED(rank != 0 || !destroys || weft_comm_destroy(copy) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(rank != 1 || weft_comm_revoke(copy) == WEFT_OK);
        if (rank == 0) {
            NEED(ends(&t, 20, WEFT_ERR_REVOKED) && t.made == NULL);
            NEED(strstr(t.error.text, "rank 1 called weft_comm_revoke on the parent") != NULL);
            NEED(t.error.peer == 1 && t.error.rank == 0);
        }
        if (!destroys) {
            NEED(weft_comm_shrink(copy, NULL, 0, &rest) == WEFT_OK);
            NEED(weft_barrier(rest, NULL) == WEFT_OK && weft_comm_destroy(rest) == WEFT_OK);
        }
        NEED((rank == 0 && destroys) || weft_comm_destroy(copy) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    return wrong;
}

static void a_revoke_of_what_has_failed_ends_a_group_too(void **state)
{
    (void)state;
    run(3, revoke_what_has_failed);
}

/* Everybody revokes, and then makes a group of it on purpose: the others' revokes come late. */
static int group_behind_a_revoke(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t all[] = {0, 1, 2};
    int wrong = 0;
    (void)arg;
    for (int i = 0; i < 40; i++) {
        weft_comm_t *copy = NULL, *group = NULL;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(i % 2 == 0 || disagree(copy, rank));
        NEED(weft_comm_revoke(copy) == WEFT_OK);
        NEED(weft_comm_create_group(copy, all, n, 0, &group) == WEFT_OK);
        NEED(weft_barrier(group, NULL) == WEFT_OK && weft_comm_destroy(group) == WEFT_OK);
        NEED(weft_comm_destroy(copy) == WEFT_OK);
    }
    return wrong;
}

static void groups_are_made_behind_a_revoke(void **state)
{
    (void)state;
    run(3, group_behind_a_revoke);
}

/* Votes outlive a revoke, and all come to their end. */
static int vote_over_revoke(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    inside_t t;
    int wrong = 0;
    (void)arg;
    (void)n;
    for (int kind = AGREE; kind <= SHRINK; kind++) {
        weft_comm_t *copy = NULL;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        if (rank == 0) {
            NEED(begin(&t, (kind_t)kind, copy) && weft_comm_revoke(copy) == WEFT_OK);
        }
        NEED(rank == 0 || weft_barrier(copy, NULL) == WEFT_ERR_REVOKED);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(rank == 0 || begin(&t, (kind_t)kind, copy));
        NEED(ends(&t, 20, WEFT_OK) && t.bits == 7);
        NEED(kind == AGREE || weft_barrier(t.made, NULL) == WEFT_OK);
        NEED(weft_comm_destroy(t.made) == WEFT_OK && weft_comm_destroy(copy) == WEFT_OK);
    }
    return wrong;
}

static void votes_outlive_a_revoke(void **state)
{
    (void)state;
    run(2, vote_over_revoke);
}

/* A second thread of rank 0 may not vote, and may not destroy what the first one votes in. Whatever
 * else it calls goes on, and the vote is as if nothing had been. */
static int vote_alone(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint64_t bits = 5;
    uint32_t sum = 0, one = 1;
    weft_comm_t *made = NULL;
    inside_t t;
    int wrong = 0;
    (void)arg;
    for (int kind = AGREE; kind <= SHRINK; kind++) {
        if (rank == 0) {
            NEED(begin(&t, (kind_t)kind, comm));
            NEED(weft_comm_agree(comm, &bits) == WEFT_ERR_STATE && bits == 5);
            NEED(ranks_error_says(WEFT_ERR_STATE, "another thread is inside"));
            NEED(ranks_error_says(WEFT_ERR_STATE, names[kind]));
            NEED(weft_comm_shrink(comm, NULL, 0, &made) == WEFT_ERR_STATE && made == NULL);
            NEED(weft_comm_destroy(comm) == WEFT_ERR_STATE);
            NEED(ranks_error_says(WEFT_ERR_STATE, "another thread is inside"));
        }
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
        NEED(sum == n && (rank == 0 || begin(&t, (kind_t)kind, comm)));
        NEED(ends(&t, 20, WEFT_OK) && t.bits == 7);
        NEED(kind == AGREE || weft_barrier(t.made, NULL) == WEFT_OK);
        NEED(weft_comm_destroy(t.made) == WEFT_OK);
    }
    bits = rank;
    NEED(weft_comm_agree(comm, &bits) == WEFT_OK && bits == 0);
    return wrong;
}

static void one_thread_votes_at_a_time(void **state)
{
    (void)state;
    run(2, vote_alone);
}

/* A group needs its parent at its beginning only. */
static int destroy_the_parent(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    inside_t t;
    int wrong = 0;
    (void)arg;
    (void)n;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(rank != 0 || (begin(&t, CREATE_GROUP, copy) && weft_comm_destroy(copy) == WEFT_OK));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(rank == 0 || begin(&t, CREATE_GROUP, copy));
    NEED(ends(&t, 20, WEFT_OK) && weft_barrier(t.made, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(t.made) == WEFT_OK);
    NEED(rank == 0 || weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static void a_group_outlives_its_parent(void **state)
{
    (void)state;
    run(2, destroy_the_parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aborting_ends_calls_beside_the_communicator),
        cmocka_unit_test(the_others_go_on_without_who_aborts),
        cmocka_unit_test(a_revoke_of_another_rank_ends_a_group),
        cmocka_unit_test(a_revoke_of_what_has_failed_ends_a_group_too),
        cmocka_unit_test(groups_are_made_behind_a_revoke),
        cmocka_unit_test(votes_outlive_a_revoke),
        cmocka_unit_test(one_thread_votes_at_a_time),
        cmocka_unit_test(a_group_outlives_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
