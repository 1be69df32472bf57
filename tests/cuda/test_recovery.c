/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shrinking while runs are in streams and windows are open: the device stops, the stream goes on,
 * and a new communicator works in the same stream with the same memory. */
#include <stdio.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

enum { COUNT = STREAMS_COUNT, BYTES = COUNT * 4, ROUNDS = 5 };

#ifdef WEFT_TSAN
#define SHARE "no"
#else
#define SHARE "yes"
#endif

static const char *const settings[] = {
    "core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-shm",
    "exec.op_timeout=60s", "kernel-cuda.share=" SHARE};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

static weft_status_t sum(weft_comm_t *comm, const int32_t *in, int32_t *out,
                         const weft_call_t *call)
{
    return weft_all_reduce(in, out, COUNT, WEFT_INT32, WEFT_SUM, comm, call);
}

/* Rank 0 has a run in its stream for which rank 1 never comes, and revokes. Returns how long its
 * stream then took to end. */
static uint64_t revoke_under_way(weft_comm_t *comm, uint32_t rank, const int32_t *in, int32_t *out,
                                 const weft_call_t *call, int *wrong_p)
{
    uint64_t start = 0;
    int wrong = 0;
    streams_meet();
    if (rank == 0) {
        NEED(sum(comm, in, out, call) == WEFT_OK);
        weft_os_sleep_ns(20 * WEFT_NS_PER_MS); /* so that the device has begun */
        start = weft_os_clock_ns();
        NEED(weft_comm_revoke(comm) == WEFT_OK);
        NEED(cudaStreamSynchronize(*(cudaStream_t const *)call->stream) == cudaSuccess);
        start = weft_os_clock_ns() - start;
    }
    NEED(streams_failed(comm, WEFT_ERR_REVOKED, "rank 0 called weft_comm_revoke"));
    NEED(sum(comm, in, out, call) == WEFT_ERR_REVOKED);
    *wrong_p += wrong;
    return start;
}

/* A window of the old communicator is refused by the new one, and closed with its own. */
static int shrink_in_a_stream(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    cudaStream_t stream;
    weft_call_t call = {.size = sizeof call, .stream = (void *const *)&stream};
    int32_t *in, *out, host[COUNT];
    uint64_t *least = arg, took;
    int wrong = 0;
    (void)n;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    for (int round = 0; round < ROUNDS && wrong == 0; round++) {
        weft_window_t *window = NULL;
        weft_comm_t *own = NULL, *child = NULL;
        NEED(weft_comm_dup(comm, &own) == WEFT_OK);
        NEED(weft_mem_alloc_device(own, BYTES, (void **)&in) == WEFT_OK);
        NEED(weft_mem_alloc_device(own, BYTES, (void **)&out) == WEFT_OK);
        NEED(weft_window_register(own, in, BYTES, &window) == WEFT_OK);
        NEED(sum(own, in, out, NULL) == WEFT_OK && weft_barrier(own, NULL) == WEFT_OK);
        took = revoke_under_way(own, rank, in, out, &call, &wrong);
        if (rank == 0 && took < *least) {
            *least = took;
        }
        NEED(weft_comm_shrink(own, NULL, 0, &child) == WEFT_OK);
        NEED(weft_window_deregister(child, window) < 0);
        NEED(weft_comm_destroy(own) == WEFT_OK);
        /* Memory and window went with it; the stream is the program's. */
        NEED(weft_mem_alloc_device(child, BYTES, (void **)&in) == WEFT_OK);
        NEED(weft_mem_alloc_device(child, BYTES, (void **)&out) == WEFT_OK);
        NEED(weft_window_register(child, in, BYTES, &window) == WEFT_OK);
        streams_fill(host, rank, round);
        NEED(cudaMemcpyAsync(in, host, BYTES, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        NEED(sum(child, in, out, &call) == WEFT_OK);
        NEED(cudaMemcpyAsync(host, out, BYTES, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
        NEED(cudaStreamSynchronize(stream) == cudaSuccess);
        NEED(streams_is_sum(host, 2, round));
        NEED(weft_comm_destroy(child) == WEFT_OK);
    }
    NEED(cudaStreamDestroy(stream) == cudaSuccess);
    return wrong;
}

static void a_run_is_stopped_and_the_stream_goes_on(void **state)
{
    uint64_t least = UINT64_MAX;
    (void)state;
    assert_int_equal(ranks_run_threads(&(ranks_job_t){.nranks = 2,
                                                      .settings = settings,
                                                      .settings_count = SETTINGS,
                                                      .work = shrink_in_a_stream,
                                                      .arg = &least}),
                     0);
    print_message("the stream ended %.1f ms after the revocation, at best\n", (double)least / 1e6);
    assert_true(least < 100 * WEFT_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_stopped_and_the_stream_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
