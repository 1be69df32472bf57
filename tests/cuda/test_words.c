/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of FIFOs whose slots lie on devices: between two devices no slice is read from the
 * host's memory, and each polls its own; hosts and devices take turns at both ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/sums.h"
#include "tests/support/unit.h"

enum { COUNT = 5000, SLOT_BYTES = 1024, ROUNDS = 8, SLICES = ROUNDS * COUNT * 4 / SLOT_BYTES };

static const char *const settings[] = {"core.net=net-shm",
                                       "core.kernel=kernel-cuda",
                                       ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                       "exec.wait=sleep",
                                       "exec.slots=4",
                                       "exec.slot_bytes=1K"};

enum { SETTINGS = sizeof settings / sizeof settings[0], MORE = 3 };

static const char *const other[] = {"kernel-cuda.device=1", NULL};

static ranks_job_t job_of(uint32_t n, const char *const *odd, ranks_work_t work)
{
    return (ranks_job_t){
        .nranks = n, .settings = settings, .settings_count = SETTINGS, .odd = odd, .work = work};
}

static const char *const protocols[] = {"kernel-cuda.protocol=auto", "kernel-cuda.protocol=ll",
                                        "kernel-cuda.protocol=ll128",
                                        "kernel-cuda.protocol=simple"};

/* The job with one more setting, in *all, and as many lanes for every length. */
static ranks_job_t *with(ranks_job_t *job, const char *all[SETTINGS + MORE], const char *setting)
{
    memcpy(all, settings, sizeof settings);
    all[SETTINGS] = setting;
    all[SETTINGS + 1] = "plan.algo=algo-flat";
    all[SETTINGS + 2] = "plan.channels=1";
    job->settings = all;
    job->settings_count = SETTINGS + MORE;
    return job;
}

/* Counting ------------------------------------------------------------------------------------- */

/* Of *arg elements, or COUNT. */
static int sum_large(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t count = arg != NULL ? *(const uint32_t *)arg : COUNT;
    int32_t *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);
    int wrong = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool same = true;
        for (uint32_t i = 0; i < count; i++) {
            in[i] = sums_value(rank, round, i);
        }
        NEED(weft_all_reduce(in, out, count, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
        for (uint32_t i = 0; i < count; i++) {
            same = same && out[i] == sums_all(n, round, i);
        }
        NEED(same);
    }
    free(in);
    free(out);
    return wrong;
}

static void count_reads(uint32_t n, const char *const *odd)
{
    ranks_job_t job = job_of(n, odd, sum_large);
    atomic_store(&fake_cuda.reads_own, 0);
    atomic_store(&fake_cuda.reads_apart, 0);
    atomic_store(&fake_cuda.reads_host, 0);
    atomic_store(&fake_cuda.glances, 0);
    atomic_store(&fake_cuda.seeks, 0);
    fake_cuda.counts = true;
    const int wrong = ranks_run_threads(&job);
    fake_cuda.counts = false;
    assert_int_equal(wrong, 0);
}

static void expect_own_words(void)
{
    assert_int_equal(atomic_load(&fake_cuda.reads_host), 0);
    assert_int_equal(atomic_load(&fake_cuda.reads_apart), 0);
    assert_true(atomic_load(&fake_cuda.reads_own) > SLICES);
    /* Who waits for long looks whether the peer runs on the host. */
    assert_true(atomic_load(&fake_cuda.glances) <= atomic_load(&fake_cuda.reads_own) / 16);
    /* Nor is the number of a run's first slice, as no host moves any. */
    assert_int_equal(atomic_load(&fake_cuda.seeks), 0);
}

static void between_devices_no_slice_is_read_from_the_host(void **state)
{
    (void)state;
    count_reads(2, NULL);
    expect_own_words();
    count_reads(2, other);
    expect_own_words();
    count_reads(3, other);
    expect_own_words();
}

/* So the count is one that can tell. */
static void slots_of_the_host_are_read_there(void **state)
{
    static const char *const alone[] = {"kernel-cuda.share=no", NULL};
    (void)state;
    count_reads(2, alone);
    assert_true(atomic_load(&fake_cuda.reads_host) > SLICES);
    assert_int_equal(atomic_load(&fake_cuda.reads_own), 0);
    assert_int_equal(atomic_load(&fake_cuda.reads_apart), 0);
}

/* Fences --------------------------------------------------------------------------------------- */

static uint32_t fences_where(const char *const *odd, const char *figure, const char *protocol,
                             uint32_t count)
{
    ranks_job_t job = job_of(2, odd, sum_large);
    const char *all[SETTINGS + MORE + 1];
    job.arg = &count;
    atomic_store(&fake_cuda.fences, 0);
    fake_cuda.counts = true;
    with(&job, all, protocol);
    all[job.settings_count] = figure;
    job.settings_count += figure != NULL;
    assert_int_equal(ranks_run_threads(&job), 0);
    fake_cuda.counts = false;
    return atomic_load(&fake_cuda.fences);
}

static uint32_t fences_of(const char *protocol, uint32_t count)
{
    return fences_where(NULL, NULL, protocol, count);
}

/* Those of the runs' ends remain. */
static void flagged_slices_have_no_fence(void **state)
{
    (void)state;
    const uint32_t ends = fences_of("kernel-cuda.protocol=simple", 8);
    assert_true(ends >= 2 * ROUNDS);
    for (uint32_t p = 0; p < 3; p++) {
        assert_int_equal(fences_of(protocols[p], 8), ends);
        assert_int_equal(fences_of(protocols[p], COUNT), ends);
    }
    /* Each slice of both ranks has one to be told and one to be released, and one behind what was
     * found. */
    assert_true(fences_of("kernel-cuda.protocol=simple", COUNT) >= ends + 5 * SLICES);
}

static uint32_t holds_of(const char *rule)
{
    ranks_job_t job = job_of(2, NULL, sum_large);
    const char *all[SETTINGS + MORE];
    uint32_t count = COUNT;
    job.arg = &count;
    atomic_store(&fake_cuda.holds, 0);
    fake_cuda.counts = true;
    assert_int_equal(ranks_run_threads(with(&job, all, rule)), 0);
    fake_cuda.counts = false;
    return atomic_load(&fake_cuda.holds);
}

/* A slice of a chunk is told while the next one is copied, if that is there. The last one of a
 * chunk is told at once, and so is one that needs no fence. */
static void slices_through_slots_are_told_while_the_next_one_is_copied(void **state)
{
    (void)state;
    const uint32_t most = 2 * 2 * SLICES; /* sent and received by two ranks */
    const uint32_t held = holds_of("tuner.rule=any: algo-flat slices=3 protocol=simple force");
    assert_true(held > 0 && held <= most);
    assert_int_equal(holds_of("tuner.rule=any: algo-flat slices=1 protocol=simple force"), 0);
    assert_int_equal(holds_of("tuner.rule=any: algo-flat slices=3 protocol=ll force"), 0);
}

/* One rank that allows slots only is enough, as are figures by which they cost least. */
static void the_protocol_is_that_of_all_ranks_and_of_the_figures(void **state)
{
    static const char *const simple[] = {"kernel-cuda.protocol=simple", NULL};
    (void)state;
    const uint32_t ends = fences_of("kernel-cuda.protocol=simple", 8);
    assert_true(fences_where(simple, NULL, "kernel-cuda.protocol=auto", COUNT) >= ends + SLICES);
    assert_true(fences_where(simple, NULL, "kernel-cuda.protocol=ll", COUNT) >= ends + SLICES);
    assert_true(
        fences_where(NULL, "figures.edge=kernel-cuda same latency=1ns overhead=1ns bandwidth=9TB/s",
                     "kernel-cuda.protocol=auto", COUNT) >= ends + SLICES);
    /* Slow words leave lines; what is forced is so whatever it costs. */
    const char *const slow = "figures.edge=kernel-cuda same ll latency=1ms overhead=1ms";
    assert_int_equal(fences_where(NULL, slow, "kernel-cuda.protocol=auto", COUNT), ends);
    assert_int_equal(fences_where(NULL, slow, "kernel-cuda.protocol=ll", COUNT), ends);
}

/* Taking turns --------------------------------------------------------------------------------- */

/* A rank's buffers, on the device and on the host. */
typedef struct buffers {
    weft_comm_t *comm;
    int32_t *host[2], *device[2];
    uint32_t random;
} buffers_t;

static bool draw(buffers_t *b)
{
    b->random = b->random * 1664525u + 1013904223u;
    return (b->random >> 20 & 1) != 0;
}

/* An all-reduce, or a message to the next rank, for which each rank draws who runs it: runs on
 * plain memory of the host stay there. */
static int take_turn(buffers_t *b, uint32_t rank, uint32_t n, uint32_t round)
{
    static const uint32_t counts[] = {1, 8, 9, 100, COUNT};
    const uint32_t count = counts[round % 5];
    const bool on_device = draw(b), messages = round % 3 == 2;
    int32_t *in = on_device ? b->device[0] : b->host[0];
    int32_t *out = on_device ? b->device[1] : b->host[1];
    int wrong = 0;
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        b->host[0][i] = sums_value(rank, round, i);
    }
    NEED(!on_device || weft_mem_copy(b->comm, in, b->host[0], count * 4) == WEFT_OK);
    if (messages) {
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_send(in, count, WEFT_INT32, (rank + 1) % n, b->comm, NULL) == WEFT_OK);
        NEED(weft_recv(out, count, WEFT_INT32, (rank + n - 1) % n, b->comm, NULL) == WEFT_OK);
        NEED(weft_group_end() == WEFT_OK);
    } else {
        NEED(weft_all_reduce(in, out, count, WEFT_INT32, WEFT_SUM, b->comm, NULL) == WEFT_OK);
    }
    NEED(!on_device || weft_mem_copy(b->comm, b->host[1], out, count * 4) == WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        int32_t wanted =
            messages ? sums_value((rank + n - 1) % n, round, i) : sums_all(n, round, i);
        same = same && b->host[1][i] == wanted;
    }
    NEED(same);
    return wrong;
}

static int take_turns(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    buffers_t b = {.comm = comm, .random = rank + 1};
    int wrong = 0;
    (void)arg;
    for (int i = 0; i < 2; i++) {
        b.host[i] = malloc(COUNT * sizeof(int32_t));
        NEED(weft_mem_alloc_device(comm, COUNT * sizeof(int32_t), (void **)&b.device[i]) ==
             WEFT_OK);
    }
    for (uint32_t round = 0; round < 60 && wrong == 0; round++) {
        wrong += take_turn(&b, rank, n, round);
    }
    for (int i = 0; i < 2; i++) {
        free(b.host[i]);
        NEED(weft_mem_free(comm, b.device[i]) == WEFT_OK);
    }
    return wrong;
}

static void hosts_and_devices_take_turns_at_both_ends(void **state)
{
    (void)state;
    fake_cuda.not_pageable = fake_cuda.reorders = true;
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t n = 2; n <= 3; n++) {
            ranks_job_t job = job_of(n, n == 3 ? other : NULL, take_turns);
            const char *all[SETTINGS + MORE];
            assert_int_equal(ranks_run_threads(with(&job, all, protocols[p])), 0);
        }
    }
    fake_cuda.not_pageable = fake_cuda.reorders = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_devices_no_slice_is_read_from_the_host),
        cmocka_unit_test(slots_of_the_host_are_read_there),
        cmocka_unit_test(flagged_slices_have_no_fence),
        cmocka_unit_test(slices_through_slots_are_told_while_the_next_one_is_copied),
        cmocka_unit_test(the_protocol_is_that_of_all_ranks_and_of_the_figures),
        cmocka_unit_test(hosts_and_devices_take_turns_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
