/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of plans on the device: its memory, the launch, and what can be seen of it from here. A run is
 * one launch; its state comes back through memory that both see, so nothing here waits for a stream. */
#include "lanes_run.h"

#include <string.h>
#include <time.h>

#include "lanes_image.h"
#include "memory.h"

#define QUIET_NS 2000000u     /* nothing moved for so long: ask whether the device is well */
#define RELEASE_NS 100000000u /* for a run under way to end */

/* A FIFO that is registered for a port. */
typedef struct cuda_fifo {
    uint8_t *at;
    uint64_t bytes;
} cuda_fifo_t;

struct weft_lanes_handle {
    weft_kernel_t *kernel;
    lanes_image_t image;
    lanes_run_t run;
    uint8_t *device, *visible;
    uint8_t *tmp; /* of the device, tmp_bytes */
    uint64_t tmp_bytes;
    uint64_t *vectors, *vectors_there; /* of both; of the device */
    uint64_t vectors_room;             /* words */
    lanes_port_t *staged;              /* the ports as the device has them; seen by both */
    cuda_fifo_t *fifos;                /* one a port */
    weft_lanes_port_t *ports;          /* of the run under way, else NULL */
    cudaStream_t own, stream;          /* the plugin's; that of the run */
    bool aimed;                        /* the device has `staged` */
    bool failed;                       /* the last run: its words are to be cleared */
    uint64_t moved, asked_ns;
};

/* While an application captures a graph, calls of other threads that could break it are refused. Ours
 * cannot: they touch streams of ours, or ask. */
static enum cudaStreamCaptureMode capture_allow(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
    return error == cudaSuccess ? mode : cudaStreamCaptureModeGlobal;
}

static void capture_restore(enum cudaStreamCaptureMode mode)
{
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
    (void)error;
}

/* Memory ------------------------------------------------------------------------------------------- */

/* Ordered on the handle's own stream, as freeing otherwise waits for every kernel of the process. */
static weft_status_t device_take(weft_lanes_handle_t *handle, uint64_t bytes, void **at_p)
{
    cudaError_t error = cudaMallocAsync(at_p, bytes, handle->own);
    error = error == cudaSuccess ? cudaStreamSynchronize(handle->own) : error;
    return error == cudaSuccess ? WEFT_OK
                                : cuda_failed(handle->kernel, error, "allocating device memory");
}

static void device_give(weft_lanes_handle_t *handle, void *at)
{
    cudaError_t error = at != NULL ? cudaFreeAsync(at, handle->own) : cudaSuccess;
    (void)error;
}

static void handle_free(weft_lanes_handle_t *handle)
{
    weft_kernel_t *kernel = handle->kernel;
    for (uint32_t p = 0; handle->fifos != NULL && p < handle->image.program.nports; p++) {
        if (handle->fifos[p].at != NULL) {
            cuda_pages_drop(kernel, handle->fifos[p].at, handle->fifos[p].bytes);
        }
    }
    device_give(handle, handle->device);
    device_give(handle, handle->tmp);
    device_give(handle, handle->vectors_there);
    cuda_visible_give(kernel, handle->visible);
    cuda_visible_give(kernel, handle->vectors);
    cuda_visible_give(kernel, handle->staged);
    if (handle->own != NULL) {
        cudaError_t error = cudaStreamDestroy(handle->own);
        (void)error;
    }
    kernel->host->free(kernel->host, handle->fifos);
    kernel->host->free(kernel->host, handle);
}

/* The program, and zeros behind it. */
static weft_status_t program_upload(weft_lanes_handle_t *handle,
                                    const weft_lanes_program_t *program)
{
    const lanes_image_t *image = &handle->image;
    const weft_host_t *host = handle->kernel->host;
    uint8_t *fixed = host->alloc(host, image->fixed_bytes, 128);
    if (fixed == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    lanes_image_write(image, program, fixed);
    cudaError_t error = cudaMemsetAsync(handle->device, 0, image->device_bytes, handle->own);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(handle->device, fixed, image->fixed_bytes, cudaMemcpyHostToDevice,
                                handle->own);
    }
    error = error == cudaSuccess ? cudaStreamSynchronize(handle->own) : error;
    host->free(host, fixed);
    return error == cudaSuccess
               ? WEFT_OK
               : cuda_failed(handle->kernel, error, "copying a plan to the device");
}

/* Prepare ------------------------------------------------------------------------------------------ */

/* All lanes must be on the device at once: they wait for each other. */
static weft_status_t lanes_fit(weft_kernel_t *kernel, uint32_t nlanes)
{
    int blocks = 0;
    cudaError_t error = cuda_launch_lanes_most(kernel->threads, &blocks);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "asking how many lanes the device holds");
    }
    uint64_t most = (uint64_t)blocks * (uint64_t)kernel->processors;
    return nlanes <= most
               ? WEFT_OK
               : kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                         "a plan of %u lanes: CUDA device %d holds %llu blocks of "
                                         "%u threads at once",
                                         nlanes, kernel->device, (unsigned long long)most,
                                         kernel->threads);
}

static weft_status_t handle_fill(weft_lanes_handle_t *handle, const weft_lanes_program_t *program)
{
    weft_kernel_t *kernel = handle->kernel;
    const lanes_image_t *image = &handle->image;
    void *device = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&handle->own, cudaStreamNonBlocking);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making a stream");
    }
    handle->fifos =
        kernel->host->alloc(kernel->host, (program->nports + 1) * sizeof *handle->fifos, 0);
    handle->visible = cuda_visible_take(kernel, image->visible_bytes);
    handle->staged = cuda_visible_take(kernel, (program->nports + 1) * sizeof *handle->staged);
    if (handle->fifos == NULL || handle->visible == NULL || handle->staged == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = device_take(handle, image->device_bytes, &device);
    handle->device = device;
    status = status == WEFT_OK ? program_upload(handle, program) : status;
    lanes_image_bind(image, &handle->run, handle->device, handle->visible);
    return status;
}

static weft_status_t handle_make(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                                 weft_lanes_handle_t **handle_p)
{
    char why[160];
    weft_status_t status = lanes_fit(kernel, program->nlanes);
    if (status != WEFT_OK) {
        return status;
    }
    weft_lanes_handle_t *handle = kernel->host->alloc(kernel->host, sizeof *handle, 0);
    if (handle == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    handle->kernel = kernel;
    if (!lanes_image_plan(&handle->image, program, why, sizeof why)) {
        kernel->host->free(kernel->host, handle);
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "kernel-cuda cannot run this plan: %s", why);
    }
    status = handle_fill(handle, program);
    if (status != WEFT_OK) {
        handle_free(handle);
        return status;
    }
    *handle_p = handle;
    return WEFT_OK;
}

static weft_status_t lanes_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                                   weft_lanes_handle_t **handle_p)
{
    int previous = -1;
    if (!kernel->same) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "CUDA device %d sees registered host memory at another "
                                       "address; plans run on the host",
                                       kernel->device);
    }
    cudaError_t error = cuda_device_enter(kernel, &previous);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making the device current");
    }
    enum cudaStreamCaptureMode mode = capture_allow();
    weft_status_t status = handle_make(kernel, program, handle_p);
    capture_restore(mode);
    cuda_device_leave(previous);
    return status;
}

/* Start -------------------------------------------------------------------------------------------- */

static weft_status_t buffers_check(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    weft_status_t status = WEFT_OK;
    bool some = call->cut.count > 0 || call->nin > 0 || call->nout > 0;
    if (some && call->in != NULL) {
        status = cuda_reach(handle->kernel, call->in, "input");
    }
    if (some && call->out != NULL && status == WEFT_OK) {
        status = cuda_reach(handle->kernel, call->out, "output");
    }
    handle->run.in = call->in;
    handle->run.out = call->out;
    return status;
}

static weft_status_t scratch_check(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    const weft_lanes_program_t *program = &handle->image.program;
    uint64_t bytes = (uint64_t)program->tmp_chunks * call->cut.chunk * program->elem;
    void *tmp = NULL;
    if (bytes <= handle->tmp_bytes) {
        return WEFT_OK;
    }
    device_give(handle, handle->tmp);
    handle->tmp = NULL;
    handle->tmp_bytes = 0;
    weft_status_t status = device_take(handle, bytes, &tmp);
    if (status == WEFT_OK) {
        handle->tmp = tmp;
        handle->tmp_bytes = bytes;
    }
    handle->run.tmp = handle->tmp;
    return status;
}

static weft_status_t vectors_room(weft_lanes_handle_t *handle, uint64_t words)
{
    weft_kernel_t *kernel = handle->kernel;
    void *there = NULL;
    if (words <= handle->vectors_room) {
        return WEFT_OK;
    }
    cuda_visible_give(kernel, handle->vectors);
    device_give(handle, handle->vectors_there);
    handle->vectors_there = NULL;
    handle->vectors_room = 0;
    handle->vectors = cuda_visible_take(kernel, words * sizeof(uint64_t));
    if (handle->vectors == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = device_take(handle, words * sizeof(uint64_t), &there);
    if (status == WEFT_OK) {
        handle->vectors_there = there;
        handle->vectors_room = words;
    }
    return status;
}

/* Copies one vector behind the others; NULL stays NULL. */
static const uint64_t *vector_put(weft_lanes_handle_t *handle, uint64_t *used,
                                  const uint64_t *vector, uint32_t n)
{
    if (vector == NULL) {
        return NULL;
    }
    memcpy(handle->vectors + *used, vector, n * sizeof *vector);
    const uint64_t *there = handle->vectors_there + *used;
    *used += n;
    return there;
}

static weft_status_t vectors_take(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    const weft_lanes_vectors_t *v = &call->vectors;
    weft_lanes_vectors_t *mine = &handle->run.vectors;
    uint64_t used = 0;
    *mine = (weft_lanes_vectors_t){.in_counts = NULL};
    if (v->in_counts == NULL && v->out_counts == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = vectors_room(handle, 2 * ((uint64_t)call->nin + call->nout));
    if (status != WEFT_OK) {
        return status;
    }
    mine->in_counts = vector_put(handle, &used, v->in_counts, call->nin);
    mine->in_displs = vector_put(handle, &used, v->in_displs, call->nin);
    mine->out_counts = vector_put(handle, &used, v->out_counts, call->nout);
    mine->out_displs = vector_put(handle, &used, v->out_displs, call->nout);
    cudaError_t error =
        cudaMemcpyAsync(handle->vectors_there, handle->vectors, used * sizeof(uint64_t),
                        cudaMemcpyHostToDevice, handle->stream);
    return error == cudaSuccess
               ? WEFT_OK
               : cuda_failed(handle->kernel, error, "copying counts to the device");
}

/* Registers FIFOs that are new, and tells the device where they are. */
static weft_status_t ports_aim(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    weft_kernel_t *kernel = handle->kernel;
    const uint32_t nports = handle->image.program.nports;
    for (uint32_t p = 0; p < nports; p++) {
        cuda_fifo_t *fifo = &handle->fifos[p];
        const weft_lanes_port_t *port = &call->ports[p];
        if (fifo->at == port->fifo && fifo->bytes == port->fifo_bytes) {
            continue;
        }
        weft_status_t status = cuda_pages_take(kernel, port->fifo, port->fifo_bytes);
        if (status != WEFT_OK) {
            return status;
        }
        if (fifo->at != NULL) {
            cuda_pages_drop(kernel, fifo->at, fifo->bytes);
        }
        *fifo = (cuda_fifo_t){.at = port->fifo, .bytes = port->fifo_bytes};
        lanes_image_port(&handle->staged[p], port, port->fifo);
        handle->aimed = false;
    }
    if (handle->aimed || nports == 0) {
        return WEFT_OK;
    }
    cudaError_t error =
        cudaMemcpyAsync(handle->device + handle->image.ports, handle->staged,
                        nports * sizeof *handle->staged, cudaMemcpyHostToDevice, handle->stream);
    handle->aimed = error == cudaSuccess;
    return handle->aimed ? WEFT_OK : cuda_failed(kernel, error, "copying ports to the device");
}

static weft_status_t run_launch(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    weft_kernel_t *kernel = handle->kernel;
    cudaError_t error = cudaSuccess;
    if (handle->failed) {
        error = cudaMemsetAsync(handle->device + handle->image.words, 0, handle->image.words_bytes,
                                handle->stream);
    }
    if (error == cudaSuccess) {
        lanes_image_call(&handle->run, call);
        lanes_image_reset(&handle->image, handle->visible, call->ports);
        error = cuda_launch_lanes(&handle->run, kernel->threads, handle->stream);
    }
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "starting a plan");
    }
    handle->failed = false;
    handle->ports = call->ports;
    handle->moved = 0;
    handle->asked_ns = kernel->host->clock_ns(kernel->host);
    return WEFT_OK;
}

static weft_status_t run_start(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    weft_kernel_t *kernel = handle->kernel;
    char why[160];
    if (!lanes_image_fits(&handle->image, call, why, sizeof why)) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0, "%s", why);
    }
    handle->stream = call->stream != NULL ? (cudaStream_t)call->stream : handle->own;
    weft_status_t status = buffers_check(handle, call);
    status = status == WEFT_OK ? scratch_check(handle, call) : status;
    status = status == WEFT_OK ? vectors_take(handle, call) : status;
    status = status == WEFT_OK ? ports_aim(handle, call) : status;
    return status == WEFT_OK ? run_launch(handle, call) : status;
}

static weft_status_t lanes_start(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    int previous = -1;
    cudaError_t error = cuda_device_enter(handle->kernel, &previous);
    if (error != cudaSuccess) {
        return cuda_failed(handle->kernel, error, "making the device current");
    }
    enum cudaStreamCaptureMode mode = capture_allow();
    weft_status_t status = run_start(handle, call);
    capture_restore(mode);
    cuda_device_leave(previous);
    return status;
}

/* Poll --------------------------------------------------------------------------------------------- */

static weft_status_t run_look(weft_lanes_handle_t *handle, weft_lanes_state_t *state)
{
    weft_status_t status = lanes_image_look(&handle->image, handle->visible, handle->ports, state);
    if (status != WEFT_IN_PROGRESS) {
        handle->ports = NULL;
        handle->failed = status != WEFT_OK;
    }
    return status;
}

/* A device that fails tells only its stream. */
static weft_status_t stream_ask(weft_lanes_handle_t *handle, weft_lanes_state_t *state)
{
    enum cudaStreamCaptureMode mode = capture_allow();
    cudaError_t error = cudaStreamQuery(handle->stream);
    capture_restore(mode);
    if (error == cudaErrorNotReady) {
        return WEFT_IN_PROGRESS;
    }
    /* It may have ended since the last look. */
    weft_status_t status = run_look(handle, state);
    if (status != WEFT_IN_PROGRESS) {
        return status;
    }
    handle->ports = NULL;
    handle->failed = true;
    if (error != cudaSuccess) {
        return cuda_failed(handle->kernel, error, "running a plan");
    }
    return handle->kernel->host->set_error(handle->kernel->host, WEFT_ERR_SYSTEM, 0,
                                           "CUDA device %d ended a plan without its last word",
                                           handle->kernel->device);
}

static weft_status_t lanes_poll(weft_lanes_handle_t *handle, weft_lanes_state_t *state)
{
    const weft_host_t *host = handle->kernel->host;
    if (handle->ports == NULL) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "no run of this plan is under way");
    }
    weft_status_t status = run_look(handle, state);
    if (status != WEFT_IN_PROGRESS) {
        return status;
    }
    uint64_t now = host->clock_ns(host);
    if (state->moved != handle->moved) {
        handle->moved = state->moved;
        handle->asked_ns = now;
    } else if (now - handle->asked_ns > QUIET_NS) {
        handle->asked_ns = now;
        return stream_ask(handle, state);
    }
    return WEFT_IN_PROGRESS;
}

/* End ---------------------------------------------------------------------------------------------- */

static void lanes_abort(weft_lanes_handle_t *handle)
{
    if (handle->ports != NULL) {
        lanes_image_abort(&handle->image, handle->visible);
    }
}

static bool run_end(weft_lanes_handle_t *handle)
{
    const weft_host_t *host = handle->kernel->host;
    const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t begin = host->clock_ns(host);
    lanes_abort(handle);
    while (handle->ports != NULL && host->clock_ns(host) - begin < RELEASE_NS) {
        weft_lanes_state_t state = {.size = sizeof state};
        if (lanes_poll(handle, &state) == WEFT_IN_PROGRESS) {
            nanosleep(&nap, NULL);
        }
    }
    return handle->ports == NULL;
}

static void lanes_release(weft_lanes_handle_t *handle)
{
    int previous = -1;
    if (handle == NULL) {
        return;
    }
    weft_kernel_t *kernel = handle->kernel;
    if (!run_end(handle)) {
        /* It may wait behind work of the application; what it will touch cannot be freed. */
        kernel->host->log(kernel->host, WEFT_LOG_WARN,
                          "a plan on CUDA device %d does not end; its memory is left to it",
                          kernel->device);
        return;
    }
    if (cuda_device_enter(kernel, &previous) == cudaSuccess) {
        enum cudaStreamCaptureMode mode = capture_allow();
        handle_free(handle);
        capture_restore(mode);
        cuda_device_leave(previous);
    }
}

const weft_kernel_lanes_t cuda_lanes = {
    .size = sizeof(weft_kernel_lanes_t),
    .prepare = lanes_prepare,
    .start = lanes_start,
    .poll = lanes_poll,
    .abort = lanes_abort,
    .release = lanes_release,
};
