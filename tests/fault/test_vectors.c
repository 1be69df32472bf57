/* SPDX-License-Identifier: BSD-3-Clause
 *
 * V-forms whose ranks disagree about a length: every rank gets ERR_MISMATCH, and the text names two
 * ranks that disagree and what each of them says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { RANKS = 3, BLOCK = 120, ROOM = RANKS * 2 * BLOCK };

/* Rank `rank` says `count` for block `block` of its vector, where all others say 120. */
typedef struct difference {
    weft_coll_t coll;
    uint32_t rank, block;
    uint64_t count;
    uint64_t makes_up; /* block whose length changes by as much the other way; RANKS: none */
    const char *words[4];
} difference_t;

static const difference_t differences[] = {
    {WEFT_ALL_TO_ALL_V, 0, 1, 100, RANKS, {"rank 0", "rank 1", "100", "120"}},
    {WEFT_ALL_TO_ALL_V, 2, 0, 0, RANKS, {"rank 0", "rank 2", "count", "120"}},
    {WEFT_ALL_GATHER_V, 2, 1, 100, RANKS, {"rank 2", "(there)", "340", "360"}},
    {WEFT_ALL_GATHER_V, 0, 1, 100, 2, {"rank 0", "(there)", "vectors of counts", ""}},
    {WEFT_REDUCE_SCATTER_V, 1, 2, 100, RANKS, {"rank 1", "(there)", "340", "360"}},
    {WEFT_REDUCE_SCATTER_V, 1, 2, 100, 0, {"rank 1", "(there)", "vectors of counts", ""}},
    {WEFT_GATHER_V, 1, 1, 100, RANKS, {"rank 0", "rank 1", "100", "120"}},
    {WEFT_SCATTER_V, 2, 2, 100, RANKS, {"rank 0", "rank 2", "100", "120"}},
};

static weft_status_t call(const difference_t *d, const uint64_t *counts, uint32_t rank,
                          weft_comm_t *comm)
{
    static const uint64_t equal[RANKS] = {BLOCK, BLOCK, BLOCK};
    static const weft_blocks_t even = {equal, NULL};
    const weft_blocks_t mine = {counts, NULL};
    int32_t *a = calloc(ROOM, sizeof *a);
    int32_t *b = calloc(ROOM, sizeof *b);
    weft_status_t status;
    switch (d->coll) {
    case WEFT_ALL_GATHER_V:
        status = weft_all_gather_v(a, b, counts, NULL, WEFT_INT32, comm, NULL);
        break;
    case WEFT_REDUCE_SCATTER_V:
        status = weft_reduce_scatter_v(a, b, counts, NULL, WEFT_INT32, WEFT_SUM, comm, NULL);
        break;
    case WEFT_ALL_TO_ALL_V:
        status = weft_all_to_all_v(a, &mine, b, &even, WEFT_INT32, comm, NULL);
        break;
    case WEFT_GATHER_V:
        status = weft_gather_v(a, counts[rank], b, &even, WEFT_INT32, 0, comm, NULL);
        break;
    default:
        status = weft_scatter_v(a, &even, b, counts[rank], WEFT_INT32, 0, comm, NULL);
    }
    free(a);
    free(b);
    return status;
}

static int check_words(const difference_t *d, weft_comm_t *comm, weft_status_t status,
                       uint32_t rank)
{
    weft_error_t error = {.size = sizeof error};
    int bad = status != WEFT_ERR_MISMATCH;
    weft_comm_error(comm, &error);
    for (int i = 0; i < 4; i++) {
        bad += strstr(error.text, d->words[i]) == NULL;
    }
    if (bad != 0) {
        fprintf(stderr, "%s, rank %u: %s \"%s\", wanted ERR_MISMATCH with %s, %s, %s, %s\n",
                weft_coll_name(d->coll), rank, weft_status_name(status), error.text, d->words[0],
                d->words[1], d->words[2], d->words[3]);
    }
    return bad;
}

static int differing(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const difference_t *d = arg;
    uint64_t counts[RANKS] = {BLOCK, BLOCK, BLOCK};
    (void)n;
    if (rank == d->rank) {
        counts[d->block] = d->count;
        if (d->makes_up < RANKS) {
            counts[d->makes_up] += BLOCK - d->count;
        }
    }
    weft_status_t status = weft_barrier(comm, NULL);
    /* The others may have found the difference before this rank has left the barrier. */
    if (status != WEFT_OK && status != WEFT_ERR_MISMATCH) {
        return 1;
    }
    /* A rank whose part was done already notices in a later call. */
    double start = ranks_now();
    while (status == WEFT_OK && ranks_now() - start < 10) {
        status = call(d, counts, rank, comm);
    }
    return check_words(d, comm, status, rank);
}

static void run(const char *net)
{
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        const char *settings[] = {net, "core.algo=algo-ring algo-direct"};
        ranks_job_t job = {.nranks = RANKS,
                           .settings = settings,
                           .settings_count = 2,
                           .work = differing,
                           .arg = (void *)(uintptr_t)&differences[i]};
        if (ranks_run_threads(&job) != 0) {
            fail_msg("%s, difference %zu, %s", net, i, weft_coll_name(differences[i].coll));
        }
    }
}

/* Where a slice shows the difference, and not a question over the control tree, which knows the
 * sums alone, the block is named. That comes first where ranks do not wait long. */
static void the_block_that_differs_is_named(void **state)
{
    static const difference_t blocks[] = {
        {WEFT_ALL_GATHER_V, 2, 1, 100, RANKS, {"rank 2", ": block 1 has ", "100", "120"}},
        {WEFT_REDUCE_SCATTER_V, 1, 2, 100, RANKS, {"rank 1", ": block 2 has ", "100", "120"}}};
    static const char *const settings[] = {"core.net=net-shm", "core.algo=algo-ring algo-direct"};
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        ranks_job_t job = {.nranks = RANKS,
                           .settings = settings,
                           .settings_count = 2,
                           .work = differing,
                           .arg = (void *)(uintptr_t)&blocks[i]};
        int tries = 20;
        while (ranks_run_threads(&job) != 0 && --tries > 0) {
        }
        assert_true(tries > 0);
    }
}

static void lengths_that_differ_are_named_over_shared_memory(void **state)
{
    (void)state;
    run("core.net=net-shm");
}

static void lengths_that_differ_are_named_over_sockets(void **state)
{
    (void)state;
    run("core.net=net-socket");
}

/* Ranks 0 and 1 are a host, and rank 0 passes on what rank 1 has for rank 2; so it stands for rank
 * 1. */
static void lengths_that_differ_past_a_rank_that_does_not_know_them_are_named(void **state)
{
    static const difference_t passed = {
        WEFT_ALL_TO_ALL_V, 1, 2, 100, RANKS, {"rank 0", "rank 2", "100", "120"}};
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const char *settings[] = {nets[i], "core.algo=algo-ring algo-direct algo-hier",
                                  "algo-hier.group=2", "plan.algo=algo-hier"};
        ranks_job_t job = {.nranks = RANKS,
                           .settings = settings,
                           .settings_count = 4,
                           .work = differing,
                           .arg = (void *)(uintptr_t)&passed};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static int own_block(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint64_t counts[RANKS] = {4, 4, 4};
    const uint64_t overlap[RANKS] = {0, 2, 8};
    const weft_blocks_t blocks = {counts, NULL};
    int32_t a[16] = {0};
    int32_t b[16] = {0};
    int bad = 0;
    (void)n;
    (void)arg;
    if (rank == 0) {
        bad += weft_gather_v(a, 3, b, &blocks, WEFT_INT32, 0, comm, NULL) != WEFT_ERR_ARG;
    }
    bad += weft_all_gather_v(a, b, counts, overlap, WEFT_INT32, comm, NULL) != WEFT_ERR_ARG;
    bad += weft_all_gather_v(a, b, NULL, NULL, WEFT_INT32, comm, NULL) != WEFT_ERR_ARG;
    /* Nothing was sent: the communicator is as it was. */
    return bad + (weft_all_gather_v(a, b, counts, NULL, WEFT_INT32, comm, NULL) != WEFT_OK);
}

static void vectors_that_are_wrong_by_themselves_are_argument_errors(void **state)
{
    const char *settings[] = {"core.net=net-shm", "core.algo=algo-ring algo-direct"};
    ranks_job_t job = {
        .nranks = RANKS, .settings = settings, .settings_count = 2, .work = own_block};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_that_differs_is_named),
        cmocka_unit_test(lengths_that_differ_are_named_over_shared_memory),
        cmocka_unit_test(lengths_that_differ_are_named_over_sockets),
        cmocka_unit_test(lengths_that_differ_past_a_rank_that_does_not_know_them_are_named),
        cmocka_unit_test(vectors_that_are_wrong_by_themselves_are_argument_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
