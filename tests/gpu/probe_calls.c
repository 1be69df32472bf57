/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which calls of the runtime wait for a kernel that waits, as those of other ranks of the process
 * do. The plugin keeps such calls away from running plans (decisions 69 and 76); those that it
 * needs beside them must not wait. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

#define SOME ((size_t)2 << 20)
#define MUCH ((size_t)512 << 20)
#define LONG_US 500e3 /* what has not returned by then waits */

/* What the calls are given. */
typedef struct beside {
    cudaError_t (*make)(struct beside *beside);
    cudaStream_t stream, gone;
    cudaEvent_t event;
    void *device, *pinned, *registered, *plain, *pooled;
    _Atomic bool returned;
    cudaError_t error;
    double us;
} beside_t;

static cudaError_t call_malloc(beside_t *b)
{
    return cudaMalloc(&b->device, SOME);
}

static cudaError_t call_malloc_much(beside_t *b)
{
    return cudaMalloc(&b->device, MUCH);
}

static cudaError_t call_host_alloc(beside_t *b)
{
    return cudaHostAlloc(&b->pinned, SOME, cudaHostAllocPortable | cudaHostAllocMapped);
}

static cudaError_t call_register(beside_t *b)
{
    return cudaHostRegister(b->plain, SOME, cudaHostRegisterPortable | cudaHostRegisterMapped);
}

static cudaError_t call_malloc_async(beside_t *b)
{
    cudaError_t error = cudaMallocAsync(&b->pooled, SOME, b->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(b->stream) : error;
}

static cudaError_t call_memset(beside_t *b)
{
    cudaError_t error = cudaMemsetAsync(b->device, 0, SOME, b->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(b->stream) : error;
}

static cudaError_t call_copy(beside_t *b)
{
    cudaError_t error = cudaMemcpyAsync(b->device, b->plain, SOME, cudaMemcpyDefault, b->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(b->stream) : error;
}

static cudaError_t call_stream(beside_t *b)
{
    return cudaStreamCreateWithFlags(&b->gone, cudaStreamNonBlocking);
}

static cudaError_t call_event(beside_t *b)
{
    cudaError_t error = cudaEventRecord(b->event, b->stream);
    return error == cudaSuccess ? cudaEventSynchronize(b->event) : error;
}

static cudaError_t call_launch(beside_t *b)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    cudaError_t error = probe_launch(&job, 1, 1, b->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(b->stream) : error;
}

static cudaError_t call_launch_late(beside_t *b)
{
    return probe_launch_late(b->stream);
}

static cudaError_t call_load_late(beside_t *b)
{
    (void)b;
    return probe_load_late();
}

static cudaError_t call_handle(beside_t *b)
{
    cudaIpcMemHandle_t handle;
    return cudaIpcGetMemHandle(&handle, b->device);
}

static cudaError_t call_attributes(beside_t *b)
{
    struct cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, b->device);
}

static cudaError_t call_graph(beside_t *b)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaError_t error = cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeRelaxed);
    error = error == cudaSuccess ? probe_launch(&job, 1, 1, b->stream) : error;
    error = error == cudaSuccess ? cudaStreamEndCapture(b->stream, &graph) : error;
    return error == cudaSuccess ? cudaGraphInstantiate(&exec, graph, 0) : error;
}

static cudaError_t call_free_async(beside_t *b)
{
    cudaError_t error = cudaFreeAsync(b->pooled, b->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(b->stream) : error;
}

static cudaError_t call_stream_destroy(beside_t *b)
{
    return cudaStreamDestroy(b->gone);
}

static cudaError_t call_free(beside_t *b)
{
    return cudaFree(b->device);
}

static cudaError_t call_unregister(beside_t *b)
{
    return cudaHostUnregister(b->registered);
}

static cudaError_t call_free_host(beside_t *b)
{
    return cudaFreeHost(b->pinned);
}

static void *free_elsewhere(void *arg)
{
    beside_t *b = arg;
    cudaError_t error = cudaFree(b->device);
    (void)error;
    return NULL;
}

static cudaError_t call_launch_beside_free(beside_t *b)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    pthread_t thread;
    pthread_create(&thread, NULL, free_elsewhere, b);
    pthread_detach(thread);
    usleep(100000);
    return probe_launch(&job, 1, 1, b->stream);
}

static const struct {
    const char *name;
    cudaError_t (*make)(beside_t *beside);
    bool needed; /* beside running plans */
} calls[] = {
    {"a launch in another stream, and wait", call_launch, true},
    {"cudaEventRecord, and wait", call_event, true},
    {"cudaPointerGetAttributes", call_attributes, true},
    {"cudaMemsetAsync, and wait", call_memset, true},
    {"capture and instantiation of a graph", call_graph, true},
    {"cudaMemcpyAsync of plain memory, and wait", call_copy, false},
    {"cudaMalloc of 2 MiB", call_malloc, false},
    {"cudaMalloc of 512 MiB", call_malloc_much, false},
    {"cudaMallocAsync, and wait", call_malloc_async, false},
    {"cudaHostAlloc", call_host_alloc, false},
    {"cudaHostRegister", call_register, false},
    {"cudaStreamCreate", call_stream, false},
    {"the first launch of a kernel", call_launch_late, false},
    {"cudaFuncGetAttributes of a kernel that is not loaded", call_load_late, false},
    {"cudaIpcGetMemHandle", call_handle, false},
    {"cudaFreeAsync, and wait", call_free_async, false},
    {"cudaStreamDestroy", call_stream_destroy, false},
    {"cudaFree", call_free, false},
    {"cudaHostUnregister", call_unregister, false},
    {"cudaFreeHost", call_free_host, false},
    {"a launch while another thread frees", call_launch_beside_free, false},
};

const char *probe_call_name(int number)
{
    return number < (int)(sizeof calls / sizeof calls[0]) ? calls[number].name : NULL;
}

static void *call_thread(void *arg)
{
    beside_t *b = arg;
    const double begin = probe_us();
    b->error = b->make(b);
    b->us = probe_us() - begin;
    atomic_store(&b->returned, true);
    return NULL;
}

static void *page(void)
{
    return mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void beside_open(beside_t *b)
{
    b->stream = probe_stream();
    b->gone = probe_stream();
    b->plain = page();
    b->registered = page();
    PROBE_OK(cudaEventCreateWithFlags(&b->event, cudaEventDisableTiming));
    PROBE_OK(cudaMalloc(&b->device, SOME));
    PROBE_OK(cudaHostAlloc(&b->pinned, SOME, cudaHostAllocDefault));
    PROBE_OK(cudaHostRegister(b->registered, SOME, cudaHostRegisterMapped));
    PROBE_OK(cudaMallocAsync(&b->pooled, SOME, b->stream));
    PROBE_OK(call_launch(b));
    PROBE_OK(cudaDeviceSynchronize());
}

void probe_call(int number)
{
    char what[96];
    probe_words_t *words = probe_words();
    beside_t b = {.make = calls[number].make};
    pthread_t thread;
    beside_open(&b);
    probe_wait_begin(words, probe_stream());
    pthread_create(&thread, NULL, call_thread, &b);
    for (double end = probe_us() + LONG_US; !atomic_load(&b.returned) && probe_us() < end;) {
        usleep(100);
    }
    const bool waits = !atomic_load(&b.returned);
    probe_wait_end(words);
    pthread_join(thread, NULL);
    snprintf(what, sizeof what, "beside a kernel that waits: %s", calls[number].name);
    line_answer(what,
                b.error != cudaSuccess          ? cudaGetErrorName(b.error)
                : waits && calls[number].needed ? "WAITS"
                                                : "ok",
                b.us, waits ? "us, waits for it" : "us");
}
