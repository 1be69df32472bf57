/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What may be asked of a stream that captures, and done meanwhile: each in a capture of its own,
 * which is of the strictest mode, by a thread that is relaxed, as the plugin is. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

#define SOME ((size_t)4096)
#define NO_DRIVER cudaErrorSharedObjectInitFailed

/* What the calls are given. */
typedef struct inside {
    cudaStream_t stream, other; /* the first one captures */
    cudaEvent_t event, join;
    void *device;
} inside_t;

static cudaError_t inside_is_capturing(inside_t *in)
{
    enum cudaStreamCaptureStatus status;
    unsigned long long number;
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(in->stream, &status, &number, NULL, NULL, NULL, NULL);
#else
    return cudaStreamGetCaptureInfo(in->stream, &status, &number, NULL, NULL, NULL);
#endif
}

static cudaError_t inside_launch(inside_t *in)
{
    const probe_job_t job = {.what = PROBE_NOTHING};
    return probe_launch(&job, 1, 1, in->stream);
}

static cudaError_t inside_copy(inside_t *in)
{
    return cudaMemcpyAsync(in->device, (char *)in->device + SOME / 2, SOME / 2, cudaMemcpyDefault,
                           in->stream);
}

static cudaError_t inside_fork(inside_t *in)
{
    cudaError_t error = cudaEventRecord(in->event, in->stream);
    error = error == cudaSuccess ? cudaStreamWaitEvent(in->other, in->event, 0) : error;
    error = error == cudaSuccess ? cudaEventRecord(in->join, in->other) : error;
    return error == cudaSuccess ? cudaStreamWaitEvent(in->stream, in->join, 0) : error;
}

static cudaError_t inside_attributes(inside_t *in)
{
    struct cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, in->device);
}

static cudaError_t inside_malloc(inside_t *in)
{
    void *memory = NULL;
    (void)in;
    return cudaMalloc(&memory, SOME);
}

static cudaError_t inside_device(inside_t *in)
{
#if CUDART_VERSION >= 12080
    int device = 0;
    return cudaStreamGetDevice(in->stream, &device);
#else
    (void)in;
    return cudaErrorNotSupported;
#endif
}

static cudaError_t inside_id(inside_t *in)
{
    unsigned long long id = 0;
    return cudaStreamGetId(in->stream, &id);
}

static cudaError_t inside_flags(inside_t *in)
{
    unsigned flags = 0;
    return cudaStreamGetFlags(in->stream, &flags);
}

static cudaError_t inside_priority(inside_t *in)
{
    int priority = 0;
    return cudaStreamGetPriority(in->stream, &priority);
}

/* Of the driver, whose errors have the runtime's numbers. */
static cudaError_t inside_context(inside_t *in)
{
    CUcontext context = NULL;
    CUresult (*ask)(CUstream stream, CUcontext * context) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol = library != NULL ? dlsym(library, "cuStreamGetCtx") : NULL;
    memcpy(&ask, &symbol, sizeof symbol); /* ISO C has no cast between them */
    return ask != NULL ? (cudaError_t)ask(in->stream, &context) : NO_DRIVER;
}

static cudaError_t inside_stream_query(inside_t *in)
{
    return cudaStreamQuery(in->stream);
}

static cudaError_t inside_event_query(inside_t *in)
{
    cudaError_t error = cudaEventRecord(in->event, in->stream);
    return error == cudaSuccess ? cudaEventQuery(in->event) : error;
}

static cudaError_t inside_destroy(inside_t *in)
{
    cudaError_t error = cudaStreamDestroy(in->stream);
    in->stream = error == cudaSuccess ? NULL : in->stream;
    return error;
}

static const struct {
    const char *name;
    cudaError_t (*make)(inside_t *in);
    bool needed; /* by calls that are recorded */
} calls[] = {
    {"cudaStreamGetCaptureInfo", inside_is_capturing, true},
    {"a launch", inside_launch, true},
    {"cudaMemcpyAsync", inside_copy, true},
    {"cudaEventRecord and cudaStreamWaitEvent", inside_fork, true},
    {"cudaPointerGetAttributes", inside_attributes, true},
    {"cudaMalloc", inside_malloc, true},
    {"cudaStreamGetDevice", inside_device, false},
    {"cudaStreamGetId", inside_id, false},
    {"cudaStreamGetFlags", inside_flags, false},
    {"cudaStreamGetPriority", inside_priority, false},
    {"cuStreamGetCtx", inside_context, false},
    {"cudaStreamQuery", inside_stream_query, false},
    {"cudaEventQuery of an event in it", inside_event_query, false},
    {"cudaStreamDestroy", inside_destroy, false},
};

static void inside_tell(const char *name, bool needed, cudaError_t error, const char *capture)
{
    char what[96], unit[96];
    const bool good = error == cudaSuccess && capture[0] == '\0';
    snprintf(what, sizeof what, "in a capture: %s", name);
    snprintf(unit, sizeof unit, "%s%s", cudaGetErrorName(error), capture);
    if (error == NO_DRIVER) {
        line_answer(what, "left out", 0, "no libcuda.so.1");
    } else {
        line_answer(what, needed && !good ? "REFUSED" : "ok", error, unit);
    }
}

/* The current device may be another one than that of the stream. */
static void inside_ask(inside_t *in, const char *name, cudaError_t (*make)(inside_t *in),
                       bool needed)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph = NULL;
    PROBE_OK(cudaStreamBeginCapture(in->stream, cudaStreamCaptureModeGlobal));
    PROBE_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    const cudaError_t error = make(in);
    PROBE_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    (void)cudaGetLastError();
    if (in->stream == NULL) {
        inside_tell(name, needed, error, ", the stream is gone");
        return;
    }
    const cudaError_t ended = cudaStreamEndCapture(in->stream, &graph);
    (void)cudaGetLastError();
    inside_tell(name, needed, error, ended == cudaSuccess ? "" : ", the capture is lost");
}

void probe_capture(int unused)
{
    const probe_job_t nothing = {.what = PROBE_NOTHING};
    inside_t in = {.other = probe_stream()};
    int devices = 0;
    (void)unused;
    PROBE_OK(cudaGetDeviceCount(&devices));
    PROBE_OK(cudaMalloc(&in.device, SOME));
    PROBE_OK(cudaEventCreateWithFlags(&in.event, cudaEventDisableTiming));
    PROBE_OK(cudaEventCreateWithFlags(&in.join, cudaEventDisableTiming));
    PROBE_OK(probe_launch(&nothing, 1, 1, NULL));
    PROBE_OK(cudaDeviceSynchronize());
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        in.stream = probe_stream();
        inside_ask(&in, calls[i].name, calls[i].make, calls[i].needed);
    }
    if (devices > 1) {
        PROBE_OK(cudaSetDevice(1));
        in.stream = probe_stream();
        PROBE_OK(cudaSetDevice(0));
        inside_ask(&in, "a launch into a stream of another device", inside_launch, false);
    } else {
        line_answer("in a capture: a launch into a stream of another device", "left out", 0,
                    "one device");
    }
}
