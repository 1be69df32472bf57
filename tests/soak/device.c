/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See device.h. The device is the CUDA runtime of threads of tests/cuda. Whatever fails, the stream
 * ends, and after that the communicator has failed or the numbers are right. */
#include "device.h"

#include <cuda_runtime_api.h>

#include "tests/support/mixed_parts.h"

enum { LAUNCHES = 3 };

const char *const device_kernel = "core.kernel=kernel-cuda";
const char *const device_kernel_path = "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE;

static cudaStream_t stream;
static uint64_t *in, *out;
static const weft_call_t in_stream = {.size = sizeof in_stream, .stream = (void *const *)&stream};

bool device_open(uint64_t most)
{
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
           cudaMalloc((void **)&in, most * sizeof *in) == cudaSuccess &&
           cudaMalloc((void **)&out, most * sizeof *out) == cudaSuccess;
}

void device_close(void)
{
    cudaFree(in);
    cudaFree(out);
    cudaStreamDestroy(stream);
}

static bool went_well(const mixed_t *m, const char *call, cudaError_t error)
{
    if (error != cudaSuccess) {
        m->wrong(m->arg, "%s: %s", call, cudaGetErrorName(error));
    }
    return error == cudaSuccess;
}

static void put(const mixed_t *m, uint64_t count)
{
    went_well(m, "cudaMemcpyAsync",
              cudaMemcpyAsync(in, m->in, count * sizeof *in, cudaMemcpyHostToDevice, stream));
}

static void get(const mixed_t *m, const uint64_t *from, uint64_t count)
{
    went_well(m, "cudaMemcpyAsync",
              cudaMemcpyAsync(m->out, from, count * sizeof *out, cudaMemcpyDeviceToHost, stream));
}

/* Waits for the stream, which ends also where a call has failed. Returns that failure, or a later
 * one. */
static weft_status_t settle(const mixed_t *m, weft_status_t status)
{
    weft_error_t error = {.size = sizeof error};
    went_well(m, "cudaStreamSynchronize", cudaStreamSynchronize(stream));
    if (status == WEFT_OK) {
        status = weft_comm_error(m->comm, &error);
        status = status == WEFT_OK ? error.status : status;
    }
    return status;
}

static weft_status_t sum(const mixed_t *m, uint64_t count)
{
    return weft_all_reduce(in, out, count, WEFT_UINT64, WEFT_SUM, m->comm, &in_stream);
}

/* The stream has several before the first has ended. */
static weft_status_t sums(mixed_t *m, uint64_t count)
{
    weft_status_t status = WEFT_OK;
    mixed_fill(m, count);
    put(m, count);
    for (int i = 0; status == WEFT_OK && i < LAUNCHES; i++) {
        status = sum(m, count);
    }
    get(m, out, count);
    status = settle(m, status);
    mixed_compare_sums(m, status, "all_reduce in a stream", 0, 1, count);
    return status;
}

static weft_status_t around_the_ring(mixed_t *m, uint64_t count, bool sums)
{
    uint32_t to = (m->rank + 1) % m->size, from = (m->rank + m->size - 1) % m->size;
    weft_status_t status = weft_group_start();
    if (status == WEFT_OK) {
        status = weft_send(in, count, WEFT_UINT64, to, m->comm, &in_stream);
        status = status == WEFT_OK ? weft_recv(out, count, WEFT_UINT64, from, m->comm, &in_stream)
                                   : status;
        status = status == WEFT_OK && sums ? weft_all_reduce(in, out + count, count, WEFT_UINT64,
                                                             WEFT_SUM, m->comm, &in_stream)
                                           : status;
        weft_status_t ended = weft_group_end();
        status = status == WEFT_OK ? ended : status;
    }
    return status;
}

static weft_status_t ring(mixed_t *m, uint64_t count)
{
    uint32_t from = (m->rank + m->size - 1) % m->size;
    mixed_fill(m, count);
    put(m, count);
    weft_status_t status = around_the_ring(m, count, false);
    get(m, out, count);
    status = settle(m, status);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!mixed_is_right(m, "recv in a stream", i, mixed_number(m->seat[from], m->step, i))) {
            break;
        }
    }
    return status;
}

/* The stream waits for the host. */
static weft_status_t host_wait(mixed_t *m, uint64_t count)
{
    uint64_t each = count / 2 + 1;
    mixed_fill(m, each);
    put(m, each);
    weft_status_t status = around_the_ring(m, each, true);
    get(m, out + each, each);
    status = settle(m, status);
    mixed_compare_sums(m, status, "all_reduce in a group in a stream", 0, 1, each);
    return status;
}

static weft_status_t launch(const mixed_t *m, cudaGraph_t graph)
{
    cudaGraphExec_t replayed = NULL;
    if (!went_well(m, "cudaGraphInstantiate", cudaGraphInstantiate(&replayed, graph, 0))) {
        return WEFT_ERR_SYSTEM;
    }
    for (int i = 0; i < LAUNCHES; i++) {
        went_well(m, "cudaGraphLaunch", cudaGraphLaunch(replayed, stream));
    }
    weft_status_t status = settle(m, WEFT_OK);
    went_well(m, "cudaGraphExecDestroy", cudaGraphExecDestroy(replayed));
    return status;
}

/* Where the call is refused, because the communicator has failed, the graph is launched without
 * it. */
static weft_status_t replays(mixed_t *m, uint64_t count)
{
    cudaGraph_t graph = NULL;
    mixed_fill(m, count);
    if (!went_well(m, "cudaStreamBeginCapture",
                   cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) {
        return WEFT_ERR_SYSTEM;
    }
    put(m, count);
    weft_status_t status = sum(m, count);
    get(m, out, count);
    if (!went_well(m, "cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph))) {
        return WEFT_ERR_SYSTEM;
    }
    weft_status_t launched = launch(m, graph);
    status = status == WEFT_OK ? launched : status;
    mixed_compare_sums(m, status, "all_reduce from a graph", 0, 1, count);
    went_well(m, "cudaGraphDestroy", cudaGraphDestroy(graph));
    return status;
}

static weft_status_t window(mixed_t *m, uint64_t count)
{
    weft_window_t *opened = NULL;
    mixed_fill(m, count);
    put(m, count);
    weft_status_t status = weft_window_register(m->comm, in, count * sizeof *in, &opened);
    if (status != WEFT_OK) {
        return settle(m, status);
    }
    status = sum(m, count);
    get(m, out, count);
    status = settle(m, status);
    mixed_compare_sums(m, status, "all_reduce of a window in a stream", 0, 1, count);
    weft_status_t ended = weft_window_deregister(m->comm, opened);
    return status == WEFT_OK ? ended : status;
}

/* Without a stream. */
static weft_status_t memory(mixed_t *m, uint64_t count)
{
    uint64_t *own = NULL, bytes = count * sizeof *own;
    mixed_fill(m, count);
    weft_status_t status = weft_mem_alloc_device(m->comm, bytes, (void **)&own);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_mem_copy(m->comm, own, m->in, bytes);
    status = status == WEFT_OK
                 ? weft_all_reduce(own, own, count, WEFT_UINT64, WEFT_SUM, m->comm, NULL)
                 : status;
    status = status == WEFT_OK ? weft_mem_copy(m->comm, m->out, own, bytes) : status;
    mixed_compare_sums(m, status, "all_reduce of memory of a device", 0, 1, count);
    if (weft_mem_free(m->comm, own) != WEFT_OK) {
        m->wrong(m->arg, "weft_mem_free");
    }
    return status;
}

static weft_status_t (*const calls[])(mixed_t *, uint64_t) = {sums,    ring,   host_wait,
                                                              replays, window, memory};
const uint32_t device_calls = sizeof calls / sizeof calls[0];

weft_status_t device_call(mixed_t *m, uint32_t number, uint64_t count)
{
    return calls[number % device_calls](m, count);
}
