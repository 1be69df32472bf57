/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators whose slots lie on devices and are moved by adapters, those of tests/fake-verbs,
 * which reach memory of devices by its dma-buf only: what works on them, who may share a
 * communicator with whom, and what is left when something fails. The adapters' faults are set from
 * outside (FAKE_VERBS), one run for each:
 *   test-cuda-adapters well|refused|cut */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { MOST = 5000, ROUNDS = 40 };

static const char *const settings[] = {
    "core.net=net-ib",    "core.kernel=kernel-cuda",
    "exec.gpudirect=yes", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
    "exec.wait=sleep",    "exec.slots=4",
    "exec.slot_bytes=1K"};

static const char *const cpu[] = {"core.kernel=kernel-cpu", NULL};

/* One rank's buffers. */
typedef struct data {
    int32_t in[MOST], out[MOST];
    void *in_there, *out_there;
} data_t;

static int fails(const char *what, uint32_t rank, weft_status_t status)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    fprintf(stderr, "rank %u: %s: %s: %s\n", rank, what, weft_status_name(status),
            status == WEFT_OK ? "wrong values" : error.text);
    return 1;
}

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 16;
}

/* The host runs what lies on the host, as this device reaches no pageable memory. */
static weft_status_t sum(weft_comm_t *comm, data_t *d, uint64_t count, bool there)
{
    weft_status_t status = there ? weft_mem_copy(comm, d->in_there, d->in, count * 4) : WEFT_OK;
    if (status == WEFT_OK) {
        status = weft_all_reduce(there ? d->in_there : d->in, there ? d->out_there : d->out, count,
                                 WEFT_INT32, WEFT_SUM, comm, NULL);
    }
    return status == WEFT_OK && there ? weft_mem_copy(comm, d->out, d->out_there, count * 4)
                                      : status;
}

/* Each rank draws for itself who runs its part; all draw alike how much is summed. */
static int take_turns(weft_comm_t *comm, uint32_t rank, uint32_t n, data_t *d)
{
    uint32_t of_all = 7, own = rank;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t count =
            next_random(&of_all) % 3 == 0 ? next_random(&of_all) % MOST : next_random(&of_all) % 16;
        bool there = d->in_there != NULL && next_random(&own) % 2 != 0;
        for (uint64_t i = 0; i < count; i++) {
            d->in[i] = (int32_t)(i * 31 + rank + round);
        }
        weft_status_t status = sum(comm, d, count, there);
        bool wrong = status != WEFT_OK;
        for (uint64_t i = 0; i < count && !wrong; i++) {
            wrong = d->out[i] != (int32_t)(n * (i * 31 + round) + n * (n - 1) / 2);
        }
        if (wrong) {
            return fails("all-reduce", rank, status);
        }
    }
    return 0;
}

/* Every rank sends to the next. */
static int messages(weft_comm_t *comm, uint32_t rank, uint32_t n, data_t *d)
{
    uint32_t from = (rank + n - 1) % n;
    for (uint64_t count = 1; count <= MOST; count = count * 17 + 3) {
        for (uint64_t i = 0; i < count; i++) {
            d->in[i] = (int32_t)(i * 8 + rank);
        }
        weft_group_start();
        weft_send(d->in, count, WEFT_INT32, (rank + 1) % n, comm, NULL);
        weft_recv(d->out, count, WEFT_INT32, from, comm, NULL);
        weft_status_t status = weft_group_end();
        bool wrong = status != WEFT_OK;
        for (uint64_t i = 0; i < count && !wrong; i++) {
            wrong = d->out[i] != (int32_t)(i * 8 + from);
        }
        if (wrong) {
            return fails("message", rank, status);
        }
    }
    return 0;
}

static int everything(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    data_t *d = calloc(1, sizeof *d);
    weft_comm_t *child = NULL;
    (void)arg;
    /* Ranks without a device have none of this. */
    if (weft_mem_alloc_device(comm, sizeof d->in, &d->in_there) != WEFT_OK ||
        weft_mem_alloc_device(comm, sizeof d->out, &d->out_there) != WEFT_OK) {
        d->in_there = d->out_there = NULL;
    }
    int wrong = take_turns(comm, rank, n, d) || messages(comm, rank, n, d);
    weft_status_t status = wrong ? WEFT_OK : weft_comm_dup(comm, &child);
    wrong = wrong || status != WEFT_OK || sum(child, d, MOST, false) != WEFT_OK;
    wrong += child != NULL && weft_comm_destroy(child) != WEFT_OK;
    wrong += !wrong && weft_barrier(comm, NULL) != WEFT_OK;
    free(d);
    return wrong;
}

static ranks_job_t job_of(uint32_t n, const char *const *odd)
{
    return (ranks_job_t){.nranks = n,
                         .settings = settings,
                         .settings_count = sizeof settings / sizeof settings[0],
                         .odd = odd,
                         .work = everything};
}

/* All of it works; returns for how many ports memory was given to an adapter. */
static uint32_t dmabufs_of(uint32_t n, const char *const *odd)
{
    ranks_job_t job = job_of(n, odd);
    atomic_store(&fake_cuda.dmabufs, 0);
    atomic_store(&fake_cuda.flushes, 0);
    assert_int_equal(ranks_run_threads(&job), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    return atomic_load(&fake_cuda.dmabufs);
}

static int setup(void **state)
{
    (void)state;
    fake_cuda.not_pageable = true;
    fake_cuda.late = fake_cuda.no_dmabuf = fake_cuda.no_direct = false;
    fake_cuda.fails = NULL;
    fake_cuda.fails_after = 0;
    return 0;
}

/* Well ----------------------------------------------------------------------------------------- */

static void hosts_and_devices_take_turns(void **state)
{
    (void)state;
    assert_true(dmabufs_of(2, NULL) >= 4);
    assert_int_equal(atomic_load(&fake_cuda.flushes), 0);
    assert_true(dmabufs_of(3, NULL) >= 12);
}

static void what_came_is_flushed_where_it_is_late(void **state)
{
    (void)state;
    fake_cuda.late = true;
    assert_true(dmabufs_of(2, NULL) >= 4);
    assert_true(atomic_load(&fake_cuda.flushes) > 0);
}

static void ranks_with_and_without_share_a_communicator(void **state)
{
    static const char *const no[] = {"exec.gpudirect=no", NULL};
    (void)state;
    assert_true(dmabufs_of(3, cpu) >= 4);
    assert_true(dmabufs_of(3, no) >= 4);
}

static void nobody_has_them_unasked(void **state)
{
    static const char *const automatic[] = {"exec.gpudirect=auto", NULL};
    (void)state;
    uint32_t both = dmabufs_of(2, NULL);
    /* Fake adapters are nowhere on the bus: of two ranks the odd one does not know that they are
     * near. */
    assert_int_equal(2 * dmabufs_of(2, automatic), both);
    fake_cuda.no_direct = true;
    assert_int_equal(dmabufs_of(2, NULL), 0);
}

static void what_the_driver_refuses_leaves_slots_on_the_host(void **state)
{
    static const char *const calls[] = {"cuMemGetHandleForAddressRange", "cudaGetDriverEntryPoint"};
    (void)state;
    fake_cuda.no_dmabuf = true;
    assert_int_equal(dmabufs_of(2, NULL), 0);
    for (int i = 0; i < 2; i++) {
        for (int after = 0; after < 5; after += 2) {
            setup(state);
            fake_cuda.fails = calls[i];
            fake_cuda.fails_after = after;
            fake_cuda.error = cudaErrorUnknown;
            assert_true(dmabufs_of(2, NULL) > 0);
        }
    }
}

/* Every rank learns of it: the device of one is lost. */
static int ends(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    data_t *d = calloc(1, sizeof *d);
    weft_status_t status = WEFT_OK;
    (void)n;
    (void)arg;
    for (uint32_t i = 0; i < 100000 && status == WEFT_OK; i++) {
        status = sum(comm, d, i % 2 ? MOST : 3, false);
    }
    free(d);
    return status == WEFT_OK ? fails("no failure", rank, status) : 0;
}

static void a_flush_that_fails_ends_the_communicator(void **state)
{
    for (int after = 0; after < 40; after += 20) {
        ranks_job_t job = job_of(3, NULL);
        setup(state);
        fake_cuda.late = true;
        fake_cuda.error = cudaErrorIllegalAddress;
        fake_cuda.fails_after = after;
        fake_cuda.fails = "cudaDeviceFlushGPUDirectRDMAWrites";
        job.work = ends;
        assert_int_equal(ranks_run_threads(&job), 0);
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    }
}

/* Adapters with faults ------------------------------------------------------------------------- */

static void what_an_adapter_refuses_leaves_slots_on_the_host(void **state)
{
    (void)state;
    assert_true(dmabufs_of(3, NULL) >= 12);
}

static int is_cut(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_error_t error = {.size = sizeof error};
    double begun = ranks_now();
    int wrong = ends(comm, rank, n, arg);
    weft_comm_error(comm, &error);
    if (error.peer < 0 || ranks_now() - begun > 15 ||
        (error.status != WEFT_ERR_LINK && error.status != WEFT_ERR_PEER_DEAD)) {
        wrong += fails("not cut", rank, error.status);
    }
    return wrong;
}

static void a_link_that_is_cut_is_named(void **state)
{
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    job.work = is_cut;
    assert_int_equal(ranks_run_threads(&job), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
}

#define CASE(test) cmocka_unit_test_setup(test, setup)

int main(int argc, char **argv)
{
    const struct CMUnitTest well[] = {
        CASE(hosts_and_devices_take_turns),
        CASE(what_came_is_flushed_where_it_is_late),
        CASE(ranks_with_and_without_share_a_communicator),
        CASE(nobody_has_them_unasked),
        CASE(what_the_driver_refuses_leaves_slots_on_the_host),
        CASE(a_flush_that_fails_ends_the_communicator),
    };
    const struct CMUnitTest refused[] = {CASE(what_an_adapter_refuses_leaves_slots_on_the_host)};
    const struct CMUnitTest cut[] = {CASE(a_link_that_is_cut_is_named)};
    const char *faults = argc > 1 ? argv[1] : "";
    if (strcmp(faults, "well") == 0) {
        return cmocka_run_group_tests(well, NULL, NULL);
    }
    return strcmp(faults, "refused") == 0 ? cmocka_run_group_tests(refused, NULL, NULL)
                                          : cmocka_run_group_tests(cut, NULL, NULL);
}
