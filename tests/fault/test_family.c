/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failures in families of communicators: a death fails those that contain the dead rank, everything
 * else fails one communicator only, and the rest goes on. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const shm = "core.net=net-shm";
static const char *const tcp = "core.net=net-socket";

/* The communicator fails within a few seconds, without a call: what the health channel knows. */
static int fails(weft_comm_t *comm, weft_status_t status, int32_t peer, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    double start = ranks_now();
    while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK &&
           ranks_now() - start < 5 * RANKS_SLOWER) {
        usleep(1000);
    }
    if (error.status == status && error.peer == peer && strstr(error.text, words) != NULL) {
        return 1;
    }
    fprintf(stderr, "%s, peer %d: \"%s\", wanted %s, peer %d, \"%s\"\n",
            weft_status_name(error.status), error.peer, error.text, weft_status_name(status), peer,
            words);
    return 0;
}

static int works(weft_comm_t *comm)
{
    uint32_t size = 0, one = 1, sum = 0;
    for (int i = 0; i < 5; i++) {
        if (weft_comm_size(comm, &size) != WEFT_OK ||
            weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) != WEFT_OK ||
            sum != size) {
            return 0;
        }
    }
    return 1;
}

/* All ranks have come here before one goes on to die; that one may be faster than the last
 * reply. */
static void meet(weft_comm_t *comm)
{
    (void)!weft_barrier(comm, NULL);
}

/* Deaths --------------------------------------------------------------------------------------- */

/* A {0,1,2}, B {3,4,5}, C {2,3}, D {5,4}. First rank 4 dies, whose children in the control tree
 * have nobody else, then rank 1, the parent of 3 and 4. */
static int deaths(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *ab = NULL, *c = NULL, *d = NULL;
    (void)n;
    (void)arg;
    int good =
        weft_comm_split(all, rank / 3 == 0, 0, &ab) == WEFT_OK &&
        weft_comm_split(all, rank == 2 || rank == 3 ? 1 : WEFT_COLOR_NONE, 0, &c) == WEFT_OK &&
        weft_comm_split(all, rank >= 4 ? 1 : WEFT_COLOR_NONE, -(int32_t)rank, &d) == WEFT_OK &&
        works(ab) && (c == NULL || works(c)) && (d == NULL || works(d));
    if (!good) {
        return 1;
    }
    meet(all);
    if (rank == 4) {
        kill(getpid(), SIGKILL);
    }
    good = fails(all, WEFT_ERR_PEER_DEAD, 4, "rank 4 of host");
    good = good && (rank < 3 ? works(ab) : fails(ab, WEFT_ERR_PEER_DEAD, 1, "rank 1 of host"));
    good = good && (rank != 5 || fails(d, WEFT_ERR_PEER_DEAD, 1, "rank 1 of host"));
    good = good && (c == NULL || works(c));
    if (rank < 3) {
        meet(ab);
    }
    if (rank == 1) {
        _exit(good ? 0 : 1);
    }
    if (rank < 3) {
        good = good && fails(ab, WEFT_ERR_PEER_DEAD, 1, "rank 1 of host");
    }
    good = good && (c == NULL || works(c));
    /* Ranks 2 and 3 have both lost their way to each other but for the tree that closed the
     * gaps. */
    if (c != NULL) {
        meet(c);
    }
    if (rank == 2) {
        good = good && weft_comm_abort(c) == WEFT_OK;
    } else if (rank == 3) {
        good = good && fails(c, WEFT_ERR_ABORTED, 0, "rank 0 called weft_comm_abort");
    }
    good = weft_comm_destroy(ab) == WEFT_OK && good;
    good = weft_comm_destroy(c) == WEFT_OK && good;
    return weft_comm_destroy(d) != WEFT_OK || !good;
}

static void a_death_fails_the_communicators_that_contain_the_rank(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        ranks_job_t job = {.nranks = 6, RANKS_SET(i % 2 == 0 ? shm : tcp), .work = deaths};
        assert_int_equal(ranks_run_processes(&job, 60, 4), 0);
    }
}

/* Rank 2 dies while the others are on the way into the split or out of it: whoever gets a
 * communicator with it hears of the death, even if it was known before the communicator was
 * made. */
static int death_in_split(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    weft_error_t error = {.size = sizeof error};
    (void)n;
    (void)arg;
    weft_status_t status = weft_comm_dup(all, &child);
    if (rank == 2) {
        kill(getpid(), SIGKILL);
    }
    if (status != WEFT_OK) {
        return status != WEFT_ERR_PEER_DEAD;
    }
    usleep(rank * 3000);
    status = weft_barrier(child, NULL);
    int good = status == WEFT_ERR_PEER_DEAD && weft_comm_error(child, &error) == WEFT_OK &&
               error.peer == 2;
    if (!good) {
        fprintf(stderr, "rank %u: %s, %s\n", rank, weft_status_name(status), error.text);
    }
    return weft_comm_destroy(child) != WEFT_OK || !good;
}

static void a_death_around_a_split_is_heard_in_the_child(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        ranks_job_t job = {.nranks = 4, RANKS_SET(i % 2 == 0 ? shm : tcp), .work = death_in_split};
        assert_int_equal(ranks_run_processes(&job, 60, 2), 0);
    }
}

/* One communicator only ------------------------------------------------------------------------ */

static int aborted(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *one = NULL, *other = NULL;
    (void)arg;
    /* Reversed: the rank that aborts is the last of the child. */
    int good = weft_comm_split(all, 0, -(int32_t)rank, &one) == WEFT_OK &&
               weft_comm_dup(all, &other) == WEFT_OK && works(one) && works(all);
    if (rank == 0) {
        good = good && weft_comm_abort(one) == WEFT_OK;
    }
    char words[64];
    snprintf(words, sizeof words, "rank %u called weft_comm_abort", n - 1);
    good = good && fails(one, WEFT_ERR_ABORTED, (int32_t)n - 1, words) &&
           weft_barrier(one, NULL) == WEFT_ERR_ABORTED && works(other) && works(all);
    weft_comm_t *next = NULL;
    good = good && weft_comm_dup(one, &next) == WEFT_ERR_ABORTED && next == NULL &&
           weft_comm_split(all, 1, 0, &next) == WEFT_OK && works(next);
    good = weft_comm_destroy(next) == WEFT_OK && good;
    good = weft_comm_destroy(one) == WEFT_OK && good;
    return weft_comm_destroy(other) != WEFT_OK || !good;
}

static void an_abort_of_a_child_leaves_its_family_usable(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(4, aborted), 0);
}

static int mismatched(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *pair = NULL;
    char a[16] = "", b[16];
    (void)n;
    (void)arg;
    int good = weft_comm_split(all, (int32_t)(rank / 2), 0, &pair) == WEFT_OK && works(pair);
    if (rank < 2) {
        uint64_t count = rank == 0 ? 8 : 9;
        good = good &&
               weft_all_reduce(a, b, count, WEFT_UINT8, WEFT_SUM, pair, NULL) == WEFT_ERR_MISMATCH;
    } else {
        good = good && works(pair);
    }
    good = works(all) && good;
    return weft_comm_destroy(pair) != WEFT_OK || !good;
}

static void a_mismatch_fails_its_communicator_only(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(4, mismatched), 0);
}

/* `arg`: whether the child was used before. */
static int left(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    int good = weft_comm_split(all, 0, -(int32_t)rank, &child) == WEFT_OK &&
               (!*(const int *)arg || works(child)) && works(all);
    if (rank == n - 1) {
        good = weft_comm_destroy(child) == WEFT_OK && good;
        return !works(all) || !good;
    }
    /* The one that left was rank 0 of the child. */
    weft_error_t error = {.size = sizeof error};
    weft_status_t status = weft_barrier(child, NULL);
    good = good && status == WEFT_ERR_PEER_LEFT && weft_comm_error(child, &error) == WEFT_OK &&
           error.peer == 0 && strstr(error.text, "rank 0 left the communicator") != NULL;
    if (!good) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
    }
    good = weft_comm_destroy(child) == WEFT_OK && good;
    return !works(all) || !good;
}

static void a_rank_that_left_a_child_is_still_in_the_parent(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        int used = i / 2;
        ranks_job_t job = {
            .nranks = 3, RANKS_SET(i % 2 == 0 ? shm : tcp), .work = left, .arg = &used};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

/* Order ---------------------------------------------------------------------------------------- */

static uint64_t id_of(weft_comm_t *comm, char *text)
{
    weft_error_t error = {.size = sizeof error};
    double start = ranks_now();
    while (error.status == WEFT_OK && ranks_now() - start < 5) {
        weft_comm_error(comm, &error);
    }
    memcpy(text, error.text, sizeof error.text);
    return error.comm_id;
}

static int names(const char *text, const char *name, uint64_t id)
{
    char place[64];
    snprintf(place, sizeof place, "communicator %s (%016" PRIx64 ")", name, id);
    return strstr(text, place) != NULL;
}

static int crossed(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *x = NULL, *y = NULL;
    char text_x[512] = "", text_y[512] = "";
    (void)n;
    (void)arg;
    int good = weft_comm_dup(all, &x) == WEFT_OK && weft_comm_dup(all, &y) == WEFT_OK &&
               weft_comm_set_name(x, "data") == WEFT_OK &&
               weft_comm_set_name(y, "tensor") == WEFT_OK;
    double start = ranks_now();
    weft_status_t status = weft_barrier(rank == 0 ? x : y, NULL);
    good = good && status == WEFT_ERR_TIMEOUT && ranks_now() - start < 4;
    uint64_t id_x = id_of(x, text_x), id_y = id_of(y, text_y);
    good = good && names(text_x, "data", id_x) && names(text_x, "tensor", id_y) &&
           names(text_y, "data", id_x) && names(text_y, "tensor", id_y) &&
           strstr(text_x, "one order on all ranks") != NULL;
    if (!good) {
        fprintf(stderr, "%s: %s; %s\n", weft_status_name(status), text_x, text_y);
    }
    good = weft_comm_destroy(x) == WEFT_OK && works(all) && good;
    return weft_comm_destroy(y) != WEFT_OK || !good;
}

static void opposite_order_of_two_communicators_is_named(void **state)
{
    static const char *const settings[][2] = {{"core.net=net-shm", "exec.op_timeout=2"},
                                              {"core.net=net-socket", "exec.op_timeout=2"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ranks_job_t job = {
            .nranks = 2, .settings = settings[i], .settings_count = 2, .work = crossed};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static int absent(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    (void)n;
    (void)arg;
    if (rank == 1) {
        return !fails(all, WEFT_ERR_TIMEOUT, 1, "(comm_split or comm_dup)");
    }
    return weft_comm_dup(all, &child) != WEFT_ERR_TIMEOUT || child != NULL;
}

static void a_rank_that_does_not_come_to_a_split_is_named(void **state)
{
    static const char *const settings[] = {"core.net=net-shm", RANKS_SOON};
    ranks_job_t job = {.nranks = 2, .settings = settings, .settings_count = 2, .work = absent};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* Connections ---------------------------------------------------------------------------------- */

/* Rank 0 connects for y while rank 1 accepts for x, then looks away for longer than a transport
 * keeps an unfinished handshake. */
static int looks_away(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *x = NULL, *y = NULL;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    (void)n;
    (void)arg;
    int good = weft_comm_dup(all, &x) == WEFT_OK && weft_comm_dup(all, &y) == WEFT_OK;
    if (rank == 0) {
        good = good && weft_barrier(y, &call) == WEFT_OK && weft_barrier(x, NULL) == WEFT_OK &&
               weft_request_wait(&request) == WEFT_OK;
    } else {
        good = good && weft_barrier(x, NULL) == WEFT_OK;
        usleep(2500 * 1000);
    }
    good = good && (rank == 0 || weft_barrier(y, NULL) == WEFT_OK) && works(x) && works(y);
    good = weft_comm_destroy(x) == WEFT_OK && good;
    return weft_comm_destroy(y) != WEFT_OK || !good;
}

static void a_connection_for_another_communicator_waits_or_is_repeated(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, looks_away), 0);
}

/* The root of a broadcast is done and gone before the other has looked. */
static int hurried(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *x = NULL, *y = NULL;
    weft_request_t *request = NULL;
    uint32_t value = rank == 0 ? 4711 : 0;
    (void)n;
    (void)arg;
    int good = weft_comm_dup(all, &x) == WEFT_OK && weft_comm_dup(all, &y) == WEFT_OK;
    if (rank == 0) {
        weft_call_t call = {.size = sizeof call, .request_p = &request};
        good = good && weft_broadcast(&value, &value, 1, WEFT_UINT32, 0, y, &call) == WEFT_OK &&
               weft_barrier(x, NULL) == WEFT_OK && weft_barrier(x, NULL) == WEFT_OK;
        if (weft_request_test(&request) == WEFT_IN_PROGRESS) {
            good = weft_request_wait(&request) == WEFT_OK && good;
        }
    } else {
        good = good && weft_barrier(x, NULL) == WEFT_OK && weft_barrier(x, NULL) == WEFT_OK;
        usleep(100 * 1000);
        good = good && weft_broadcast(&value, &value, 1, WEFT_UINT32, 0, y, NULL) == WEFT_OK &&
               value == 4711;
    }
    good = weft_comm_destroy(y) == WEFT_OK && good;
    return weft_comm_destroy(x) != WEFT_OK || !good;
}

static void what_a_rank_sent_before_it_left_arrives(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        ranks_job_t job = {.nranks = 2, RANKS_SET(i % 2 == 0 ? shm : tcp), .work = hurried};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: TSan allows no threads after a fork with threads. */
        cmocka_unit_test(a_death_fails_the_communicators_that_contain_the_rank),
        cmocka_unit_test(a_death_around_a_split_is_heard_in_the_child),
        cmocka_unit_test(an_abort_of_a_child_leaves_its_family_usable),
        cmocka_unit_test(a_mismatch_fails_its_communicator_only),
        cmocka_unit_test(a_rank_that_left_a_child_is_still_in_the_parent),
        cmocka_unit_test(opposite_order_of_two_communicators_is_named),
        cmocka_unit_test(a_rank_that_does_not_come_to_a_split_is_named),
        cmocka_unit_test(a_connection_for_another_communicator_waits_or_is_repeated),
        cmocka_unit_test(what_a_rank_sent_before_it_left_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
