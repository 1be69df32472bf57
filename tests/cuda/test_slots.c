/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots in the memory of devices: which pairs of ranks have them, that everything works on them and
 * without them, when something fails on the way and when a rank dies there. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { COUNT = 10000 };

static const char *const settings[] = {"core.net=net-shm", "core.kernel=kernel-cuda",
                                       ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                       "exec.wait=sleep"};

static int wrong(const char *what, uint32_t rank, weft_status_t status)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    fprintf(stderr, "rank %u: %s: %s: %s\n", rank, what, weft_status_name(status),
            status == WEFT_OK ? "wrong values" : error.text);
    return 1;
}

static int sums(weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    static const float none[COUNT];
    float *in = malloc(sizeof none), *out = malloc(sizeof none);
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = (float)(i % 7 + rank);
    }
    weft_status_t status = weft_all_reduce(in, out, COUNT, WEFT_FP32, WEFT_SUM, comm, NULL);
    int bad = status != WEFT_OK;
    for (uint32_t i = 0; i < COUNT && !bad; i++) {
        bad = out[i] != (float)(i % 7 * n + n * (n - 1) / 2);
    }
    free(in);
    free(out);
    return bad ? wrong("all-reduce", rank, status) : 0;
}

/* Every rank sends to the next. */
static int messages(weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    uint32_t *out = malloc(COUNT * sizeof *out), *in = calloc(COUNT, sizeof *in);
    uint32_t from = (rank + n - 1) % n;
    for (uint32_t i = 0; i < COUNT; i++) {
        out[i] = i * 8 + rank;
    }
    weft_group_start();
    weft_send(out, COUNT, WEFT_UINT32, (rank + 1) % n, comm, NULL);
    weft_recv(in, COUNT, WEFT_UINT32, from, comm, NULL);
    weft_status_t status = weft_group_end();
    int bad = status != WEFT_OK;
    for (uint32_t i = 0; i < COUNT && !bad; i++) {
        bad = in[i] != i * 8 + from;
    }
    free(in);
    free(out);
    return bad ? wrong("message", rank, status) : 0;
}

static int everything(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *child = NULL;
    (void)arg;
    int bad = sums(comm, rank, n) + messages(comm, rank, n);
    weft_status_t status = weft_comm_dup(comm, &child);
    if (status != WEFT_OK) {
        return wrong("dup", rank, status);
    }
    bad += sums(child, rank, n);
    bad += weft_comm_destroy(child) != WEFT_OK;
    return bad + (weft_barrier(comm, NULL) != WEFT_OK);
}

static void reset(void)
{
    fake_cuda.no_peers = false;
    fake_cuda.fails = fake_cuda.kills = NULL;
    fake_cuda.fails_after = 0;
    atomic_store(&fake_cuda.handles, 0);
}

static ranks_job_t job_of(uint32_t n, const char *const *odd)
{
    return (ranks_job_t){.nranks = n,
                         .settings = settings,
                         .settings_count = sizeof settings / sizeof settings[0],
                         .odd = odd,
                         .work = everything};
}

/* Runs all of it with threads; returns how many FIFOs had memory of a device. */
static uint32_t exports_of(uint32_t n, const char *const *odd)
{
    ranks_job_t job = job_of(n, odd);
    assert_int_equal(ranks_run_threads(&job), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    uint32_t handles = atomic_exchange(&fake_cuda.handles, 0);
    return handles;
}

static void pairs_that_reach_each_other_have_slots_on_devices(void **state)
{
    static const char *const other[] = {"kernel-cuda.device=1", NULL};
    (void)state;
    reset();
    assert_true(exports_of(2, NULL) >= 4);
    assert_true(exports_of(4, NULL) >= 12);
    assert_true(exports_of(2, other) >= 4);
    fake_cuda.no_peers = true;
    assert_true(exports_of(2, NULL) >= 4);
    assert_int_equal(exports_of(2, other), 0);
    /* Of four ranks two each have a device. */
    assert_true(exports_of(4, other) >= 2);
}

static void ranks_that_share_nothing_have_the_hosts_slots(void **state)
{
    static const char *const alone[] = {"kernel-cuda.share=no", NULL};
    static const char *const cpu[] = {"core.kernel=kernel-cpu", NULL};
    (void)state;
    reset();
    assert_int_equal(exports_of(2, alone), 0);
    assert_int_equal(exports_of(2, cpu), 0);
    assert_true(exports_of(4, cpu) >= 2);
}

static void what_fails_on_the_way_costs_nothing_but_the_way(void **state)
{
    static const char *const other[] = {"kernel-cuda.device=1", NULL};
    static const char *const calls[] = {"cudaMalloc", "cudaDeviceEnablePeerAccess",
                                        "cudaIpcGetMemHandle", "cudaDeviceGetPCIBusId"};
    (void)state;
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (int after = 0; after < 6; after++) {
            reset();
            fake_cuda.fails = calls[c];
            fake_cuda.fails_after = after;
            fake_cuda.error = c == 0 ? cudaErrorMemoryAllocation : cudaErrorNotSupported;
            assert_true(exports_of(3, other) > 0);
        }
    }
    reset();
}

/* In each process of its own. */
static int everything_by_handles(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int bad = everything(comm, rank, n, NULL);
    int imported = atomic_load(&fake_cuda.imported);
    if (arg == NULL && imported < 2) {
        fprintf(stderr, "rank %u has opened %d\n", rank, imported);
        bad++;
    }
    return bad;
}

static void processes_have_slots_on_devices(void **state)
{
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    reset();
    job.work = everything_by_handles;
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
}

static int opens_fail(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    fake_cuda.fails = "cudaIpcOpenMemHandle";
    fake_cuda.fails_after = (int)rank;
    fake_cuda.error = cudaErrorMapBufferObjectFailed;
    return everything_by_handles(comm, rank, n, arg);
}

static void processes_whose_handles_are_refused_work_on_the_host(void **state)
{
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    reset();
    job.work = opens_fail;
    job.arg = &job;
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
}

/* Rank 1 dies in that call; the others learn who. */
static int rank_one_dies(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float in[COUNT] = {0}, out[COUNT];
    weft_error_t error = {.size = sizeof error};
    weft_call_t call = {.size = sizeof call, .timeout = 20};
    (void)n;
    fake_cuda.kills = rank == 1 ? arg : NULL;
    weft_status_t status = weft_all_reduce(in, out, COUNT, WEFT_FP32, WEFT_SUM, comm, &call);
    weft_last_error(&error);
    if (status != WEFT_ERR_PEER_DEAD || error.peer != 1 || strstr(error.text, "rank 1") == NULL) {
        fprintf(stderr, "rank %u: %s, rank %d: %s\n", rank, weft_status_name(status), error.peer,
                error.text);
        return 1;
    }
    return 0;
}

static void a_rank_that_dies_in_the_middle_is_named(void **state)
{
    static const char *const calls[] = {"cudaMalloc", "cudaIpcOpenMemHandle",
                                        "cudaDeviceGetPCIBusId"};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        ranks_job_t job = job_of(3, NULL);
        reset();
        job.work = rank_one_dies;
        job.arg = (void *)(uintptr_t)calls[i];
        assert_int_equal(ranks_run_processes(&job, 60, 1), 0);
    }
}

/* Rank 1 dies while the others read its window; they learn who, and their own windows end. */
static int rank_one_dies_under_readers(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { BYTES = 2 << 20 };
    void *in = NULL, *out = NULL;
    weft_window_t *windows[2] = {NULL};
    weft_error_t error = {.size = sizeof error};
    weft_status_t status = weft_mem_alloc_device(comm, BYTES, &in);
    (void)arg;
    status = status == WEFT_OK ? weft_mem_alloc_device(comm, n * BYTES, &out) : status;
    status = status == WEFT_OK ? weft_window_register(comm, in, BYTES, &windows[0]) : status;
    status = status == WEFT_OK ? weft_window_register(comm, out, n * BYTES, &windows[1]) : status;
    for (int i = 0; status == WEFT_OK; i++) {
        weft_request_t *request = NULL;
        weft_call_t call = {.size = sizeof call, .timeout = 20, .request_p = &request};
        status = weft_all_gather(in, out, BYTES, WEFT_UINT8, comm, &call);
        if (rank == 1 && i == 3) {
            raise(SIGKILL);
        }
        status = status == WEFT_OK ? weft_request_wait(&request) : status;
    }
    weft_comm_error(comm, &error);
    int bad = error.status != WEFT_ERR_PEER_DEAD || error.peer != 1;
    bad += weft_window_deregister(comm, windows[0]) != WEFT_OK;
    bad += weft_window_deregister(comm, windows[1]) != WEFT_OK;
    return bad != 0 ? wrong("a dead reader", rank, error.status) : 0;
}

static void a_rank_that_dies_while_others_read_its_window_is_named(void **state)
{
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    job.work = rank_one_dies_under_readers;
    for (int round = 0; round < 3; round++) {
        reset();
        assert_int_equal(ranks_run_processes(&job, 60, 1), 0);
    }
}

/* Buffers of pools in windows: how many other ranks' windows this process then has open. */
typedef struct pools_job {
    enum cudaMemAllocationHandleType types;
    int opened; /* for each other rank and window */
} pools_job_t;

static cudaMemPool_t pool_of(enum cudaMemAllocationHandleType types)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = types};
    cudaMemPool_t pool = NULL;
    props.location.type = cudaMemLocationTypeDevice;
    return cudaMemPoolCreate(&pool, &props) == cudaSuccess ? pool : NULL;
}

static bool gathers(weft_comm_t *comm, uint32_t rank, uint32_t n, void *in, void *out)
{
    static uint32_t values[8 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = i * 8 + rank;
    }
    bool right =
        cudaMemcpy(in, values, COUNT * sizeof values[0], cudaMemcpyDefault) == cudaSuccess &&
        cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess &&
        weft_all_gather(in, out, COUNT, WEFT_UINT32, comm, NULL) == WEFT_OK &&
        cudaMemcpy(values, out, n * COUNT * sizeof values[0], cudaMemcpyDefault) == cudaSuccess;
    for (uint32_t i = 0; right && i < n * COUNT; i++) {
        right = values[i] == i % COUNT * 8 + i / COUNT;
    }
    return right;
}

/* Each frees its memory as soon as its windows have ended: the runtime ends a process that does so
 * while another one has it open. */
static int windows_of_pools(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const pools_job_t *job = arg;
    const size_t bytes = COUNT * sizeof(uint32_t);
    cudaMemPool_t pool = pool_of(job->types);
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        void *in = NULL, *out = NULL;
        weft_window_t *windows[2] = {NULL};
        NEED(cudaMallocFromPoolAsync(&in, bytes, pool, cudaStreamPerThread) == cudaSuccess);
        NEED(cudaMallocFromPoolAsync(&out, n * bytes, pool, cudaStreamPerThread) == cudaSuccess);
        NEED(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
        const int before = atomic_load(&fake_cuda.imported);
        NEED(weft_window_register(comm, in, bytes, &windows[0]) == WEFT_OK);
        NEED(weft_window_register(comm, out, n * bytes, &windows[1]) == WEFT_OK);
        /* The first time there are slots besides. */
        NEED(round == 0 ||
             atomic_load(&fake_cuda.imported) - before == 2 * job->opened * (int)(n - 1));
        NEED(gathers(comm, rank, n, in, out));
        NEED(weft_window_deregister(comm, windows[0]) == WEFT_OK);
        NEED(weft_window_deregister(comm, windows[1]) == WEFT_OK);
        NEED(cudaFreeAsync(in, cudaStreamPerThread) == cudaSuccess);
        NEED(cudaFreeAsync(out, cudaStreamPerThread) == cudaSuccess);
    }
    NEED(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
    NEED(cudaMemPoolDestroy(pool) == cudaSuccess);
    return wrong;
}

static void processes_read_windows_of_pools_that_were_made_for_them(void **state)
{
    pools_job_t shared = {cudaMemHandleTypePosixFileDescriptor, 1}, private = {0};
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    reset();
    job.work = windows_of_pools;
    job.arg = &shared;
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
    job.arg = &private;
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
}

enum { COMINGS = 48 };

/* Communicators that come and go do not pile up memory, whoever leaves first. */
static int comes_and_goes(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int *held = arg;
    int bad = 0;
    for (int round = 0; round < COMINGS && !bad; round++) {
        weft_comm_t *child = NULL;
        bad = weft_comm_dup(comm, &child) != WEFT_OK || sums(child, rank, n) != 0;
        bad += weft_comm_destroy(child) != WEFT_OK || weft_barrier(comm, NULL) != WEFT_OK;
        if (rank == 0) {
            held[round] = atomic_load(&fake_cuda.allocated);
        }
        bad += weft_barrier(comm, NULL) != WEFT_OK;
    }
    return bad;
}

static void communicators_that_come_and_go_reuse_memory(void **state)
{
    int held[COMINGS] = {0}, most[2] = {0};
    ranks_job_t job = job_of(3, NULL);
    (void)state;
    reset();
    job.work = comes_and_goes;
    job.arg = held;
    assert_int_equal(ranks_run_threads(&job), 0);
    /* How much waits for a peer that is late differs from round to round; a leak grows. */
    for (int round = 0; round < COMINGS; round++) {
        int *half = &most[2 * round / COMINGS];
        *half = held[round] > *half ? held[round] : *half;
    }
    if (most[1] > most[0] + 12) {
        fail_msg("at most %d allocations in the first half, %d later", most[0], most[1]);
    }
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: no threads before a fork. */
        cmocka_unit_test(processes_have_slots_on_devices),
        cmocka_unit_test(processes_whose_handles_are_refused_work_on_the_host),
        cmocka_unit_test(a_rank_that_dies_in_the_middle_is_named),
        cmocka_unit_test(a_rank_that_dies_while_others_read_its_window_is_named),
        cmocka_unit_test(processes_read_windows_of_pools_that_were_made_for_them),
        cmocka_unit_test(pairs_that_reach_each_other_have_slots_on_devices),
        cmocka_unit_test(ranks_that_share_nothing_have_the_hosts_slots),
        cmocka_unit_test(what_fails_on_the_way_costs_nothing_but_the_way),
        cmocka_unit_test(communicators_that_come_and_go_reuse_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
