/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreeing and shrinking that end on one rank before they are decided, and are called anew
 * there. */
#include <pthread.h>

#include "core/comm/consensus_records.h"
#include "core/comm/handle.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { BITS_A = 1, BITS_B = 6 }; /* of two decisions; their bit-and is that of none */

typedef struct vote {
    pthread_t thread;
    weft_comm_t *comm, *made;
    uint64_t bits; /* 0: it shrinks */
    weft_status_t status;
} vote_t;

static void *cast(void *arg)
{
    vote_t *v = arg;
    v->status = v->bits != 0 ? weft_comm_agree(v->comm, &v->bits)
                             : weft_comm_shrink(v->comm, NULL, 0, &v->made);
    return NULL;
}

typedef struct look {
    uint32_t consensuses; /* of the communicator, that were begun here … */
    bool awaited;         /* … and a thread waits for one */
} look_t;

static void look_at_records(weft_comm_state_t *state, void *arg)
{
    look_t *look = arg;
    weft_family_t *family = state->self.family;
    weft_os_lock(&family->lock);
    for (const weft_consensus_record_t *r = family->survival.records; r != NULL; r = r->next) {
        look->consensuses += r->comm_id == state->self.id;
        look->awaited |= r->comm_id == state->self.id && r->awaited;
    }
    weft_os_unlock(&family->lock);
}

/* Begins a vote in another thread. True when it waits in its consensus of that number. */
static bool wait_in(vote_t *v, weft_comm_t *comm, uint64_t bits, uint32_t consensus)
{
    look_t look = {.awaited = false};
    uint64_t until = weft_os_deadline(20);
    *v = (vote_t){.comm = comm, .bits = bits};
    if (pthread_create(&v->thread, NULL, cast, v) != 0) {
        return false;
    }
    while ((!look.awaited || look.consensuses < consensus) && weft_os_clock_ns() < until) {
        weft_os_yield();
        look = (look_t){.awaited = false};
        (void)weft_handle_visit(comm, "test", look_at_records, &look);
    }
    return look.awaited && look.consensuses == consensus;
}

/* Aborts the communicator under the vote. */
static bool give_up(vote_t *v)
{
    bool aborted = weft_comm_abort(v->comm) == WEFT_OK;
    pthread_join(v->thread, NULL);
    return aborted && v->status == WEFT_ERR_ABORTED && v->made == NULL;
}

static bool agree(weft_comm_t *comm, uint64_t bits)
{
    uint64_t value = bits;
    return weft_comm_agree(comm, &value) == WEFT_OK && value == bits;
}

/* A call that is another decision than the one that was given up. */
static bool is_refused(weft_comm_t *comm, uint64_t bits)
{
    uint64_t value = bits;
    return weft_comm_agree(comm, &value) == WEFT_ERR_STATE && value == bits &&
           ranks_error_says(WEFT_ERR_STATE, "gave up a call with bits 0x1");
}

/* Rank `quits` gives up decision A and makes it anew, when the others have it or before; then all
 * make decision B. */
static int agree_anew(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t quits = i % n;
        bool comes_last = i < n;
        weft_comm_t *copy = NULL;
        vote_t v;
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(rank != quits || (wait_in(&v, copy, BITS_A, 1) && give_up(&v)));
        NEED(rank != quits || is_refused(copy, BITS_B));
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED((comes_last && rank == quits) || agree(copy, BITS_A));
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(!comes_last || rank != quits || agree(copy, BITS_A));
        NEED(agree(copy, BITS_B));
        NEED(weft_comm_destroy(copy) == WEFT_OK);
    }
    return wrong;
}

/* Rank 0 gives up before anybody has come, and shrinks again. */
static int shrink_anew(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    weft_comm_t *copy = NULL, *child = NULL;
    vote_t v;
    (void)arg;
    (void)n;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(rank != 0 || (wait_in(&v, copy, 0, 1) && give_up(&v)));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    for (int i = 0; i < 2; i++) {
        NEED(weft_comm_shrink(copy, NULL, 0, &child) == WEFT_OK);
        NEED(weft_barrier(child, NULL) == WEFT_OK && weft_comm_destroy(child) == WEFT_OK);
    }
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

/* Rank 0 gives up when its end of the new communicator counts. All come out of the call with it,
 * and it has failed on all. */
static int give_up_an_end(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    weft_comm_t *copy = NULL, *child = NULL, *rest = NULL;
    vote_t v;
    (void)arg;
    (void)n;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(rank != 1 || (wait_in(&v, copy, 0, 1) && give_up(&v)));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(rank != 0 || (wait_in(&v, copy, 0, 2) && give_up(&v)));
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_comm_shrink(copy, NULL, 0, &child) == WEFT_OK);
    NEED(weft_barrier(child, NULL) == WEFT_ERR_ABORTED);
    NEED(weft_comm_shrink(child, NULL, 0, &rest) == WEFT_OK);
    NEED(weft_barrier(rest, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(rest) == WEFT_OK && weft_comm_destroy(child) == WEFT_OK);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static void run(uint32_t n, ranks_work_t work)
{
    static const char *const settings[] = {"core.net=net-shm", "boot.init_timeout=60"};
    ranks_job_t job = {.nranks = n, .settings = settings, .settings_count = 2, .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void a_vote_that_was_given_up_is_no_other_vote(void **state)
{
    (void)state;
    run(3, agree_anew);
}

static void a_shrink_that_was_given_up_goes_on(void **state)
{
    (void)state;
    run(3, shrink_anew);
}

static void a_communicator_whose_end_was_given_up_has_failed(void **state)
{
    (void)state;
    run(2, give_up_an_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vote_that_was_given_up_is_no_other_vote),
        cmocka_unit_test(a_shrink_that_was_given_up_goes_on),
        cmocka_unit_test(a_communicator_whose_end_was_given_up_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
