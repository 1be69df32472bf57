/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin kernel-lanes, for tests: the arithmetic and the interpreter that plugins/kernel-cuda runs
 * on a device, compiled for the host, one thread per block. What runs on a device can so be swept on
 * machines without one. With apart = yes it has memory of its own, which the host cannot touch. */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <weft/plugin/memory.h>
#include <weft/plugin/plugin.h>

#include "plugins/kernel-cuda/lanes_image.h"
#include "tests/device/areas.h"
#include "tests/device/crew.h"

typedef struct kernel_lanes_config {
    bool apart;
} kernel_lanes_config_t;

struct weft_kernel {
    const weft_host_t *host;
    crew_t *crew;
    bool apart;
};

struct weft_lanes_end {
    weft_kernel_t *kernel;
    uint64_t slot_bytes;
    uint64_t next;
    lanes_port_t port;
};

struct weft_lanes_handle {
    weft_kernel_t *kernel;
    const weft_host_t *host;
    lanes_image_t image;
    lanes_launch_t launch;
    lanes_port_t *ports;
    uint8_t *device, *visible;
    uint64_t *vectors;
    uint32_t vectors_room; /* words */
    uint8_t *tmp;
    uint64_t tmp_bytes;
    bool failed; /* the last run: its words are to be cleared */
};

/* Lanes -------------------------------------------------------------------------------------------- */

static void kernel_lanes_block(void *arg, uint32_t lane)
{
    const weft_lanes_handle_t *handle = arg;
    lanes_shared_t shared;
    memset(&shared, 0, sizeof shared);
    lanes_run_launch(&shared, &handle->launch, lane);
}

static void kernel_lanes_free(weft_lanes_handle_t *handle)
{
    const weft_host_t *host = handle->host;
    host->free(host, handle->ports);
    host->free(host, handle->device);
    host->free(host, handle->visible);
    host->free(host, handle->vectors);
    host->free(host, handle->tmp);
    host->free(host, handle);
}

static weft_status_t kernel_lanes_prepare(weft_kernel_t *kernel,
                                          const weft_lanes_program_t *program,
                                          weft_lanes_handle_t **handle_p)
{
    const weft_host_t *host = kernel->host;
    char why[160];
    weft_lanes_handle_t *handle = host->alloc(host, sizeof *handle, 0);
    if (handle == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    handle->host = host;
    handle->kernel = kernel;
    if (!lanes_image_plan(&handle->image, program, why, sizeof why)) {
        host->free(host, handle);
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "kernel-lanes: %s", why);
    }
    handle->device = host->alloc(host, handle->image.device_bytes, 128);
    handle->visible = host->alloc(host, handle->image.visible_bytes, 128);
    handle->ports = host->alloc(host, (lanes_nports(program) + 1) * sizeof *handle->ports, 64);
    if (handle->device == NULL || handle->visible == NULL || handle->ports == NULL) {
        kernel_lanes_free(handle);
        return WEFT_ERR_RESOURCE;
    }
    lanes_image_write(&handle->image, program, handle->device);
    lanes_image_bind(&handle->image, &handle->launch.run, handle->device, handle->visible);
    lanes_image_reset(&handle->image, handle->visible);
    handle->launch.run.ports = handle->ports;
    handle->launch.nruns = 1;
    handle->launch.nblocks = handle->image.nblocks;
    *handle_p = handle;
    return WEFT_OK;
}

/* Grows *memory_p, whose contents do not matter. */
static bool kernel_lanes_room(const weft_host_t *host, void **memory_p, uint64_t have,
                              uint64_t need)
{
    if (need <= have) {
        return true;
    }
    host->free(host, *memory_p);
    *memory_p = host->alloc(host, need, 64);
    return *memory_p != NULL;
}

static const uint64_t *kernel_lanes_vector(uint64_t **to, const uint64_t *from, uint32_t n)
{
    const uint64_t *copy = *to;
    if (from == NULL) {
        return NULL;
    }
    memcpy(*to, from, n * sizeof *from);
    *to += n;
    return copy;
}

/* Vectors and scratch. */
static weft_status_t kernel_lanes_buffers(weft_lanes_handle_t *handle,
                                          const weft_lanes_call_t *call)
{
    const weft_host_t *host = handle->host;
    const weft_lanes_program_t *program = &handle->image.program;
    uint64_t words = 2 * ((uint64_t)call->nin + call->nout);
    uint64_t tmp = program->channels * program->tmp_chunks * call->cut.chunk * program->elem;
    void *vectors = handle->vectors, *scratch = handle->tmp;
    bool enough = kernel_lanes_room(host, &vectors, handle->vectors_room * 8, words * 8);
    enough = kernel_lanes_room(host, &scratch, handle->tmp_bytes, tmp) && enough;
    handle->vectors = vectors;
    handle->tmp = scratch;
    if (!enough) {
        handle->vectors_room = 0;
        handle->tmp_bytes = 0;
        return WEFT_ERR_RESOURCE;
    }
    handle->vectors_room = words > handle->vectors_room ? (uint32_t)words : handle->vectors_room;
    handle->tmp_bytes = tmp > handle->tmp_bytes ? tmp : handle->tmp_bytes;
    uint64_t *to = handle->vectors;
    lanes_run_t *run = &handle->launch.run;
    run->vectors.in_counts = kernel_lanes_vector(&to, call->vectors.in_counts, call->nin);
    run->vectors.in_displs = kernel_lanes_vector(&to, call->vectors.in_displs, call->nin);
    run->vectors.out_counts = kernel_lanes_vector(&to, call->vectors.out_counts, call->nout);
    run->vectors.out_displs = kernel_lanes_vector(&to, call->vectors.out_displs, call->nout);
    run->tmp = handle->tmp;
    return WEFT_OK;
}

/* With memory of its own the device reaches no other. */
static weft_status_t kernel_lanes_reach(const weft_lanes_handle_t *handle, const char *name,
                                        const void *memory, uint8_t **real_p)
{
    *real_p = areas_real(memory);
    return memory == NULL || !handle->kernel->apart || *real_p != memory
               ? WEFT_OK
               : handle->host->set_error(handle->host, WEFT_ERR_UNSUPPORTED, 0,
                                         "%s %p is host memory", name, memory);
}

/* Where the ports are. */
static weft_status_t kernel_lanes_aim(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    uint64_t least = UINT64_MAX;
    char why[160];
    for (uint32_t i = 0; i < lanes_nports(&handle->image.program); i++) {
        handle->ports[i] = call->ends[i]->port;
        least = call->ends[i]->slot_bytes < least ? call->ends[i]->slot_bytes : least;
    }
    return lanes_image_fits(&handle->image, call, least, why, sizeof why)
               ? WEFT_OK
               : handle->host->set_error(handle->host, WEFT_ERR_ARG, 0, "kernel-lanes: %s", why);
}

/* One run at a time, and at once: there are no streams here. */
static weft_status_t kernel_lanes_start(weft_lanes_queue_t *queue, void *const *stream,
                                        weft_lanes_job_t *jobs, uint32_t njobs)
{
    weft_lanes_handle_t *handle = jobs[0].handle;
    const weft_lanes_call_t *call = jobs[0].call;
    const lanes_image_t *image = &handle->image;
    lanes_run_t *run = &handle->launch.run;
    uint8_t *in, *out;
    (void)queue;
    if (stream != NULL || njobs != 1) {
        return handle->host->set_error(handle->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "kernel-lanes: streams and batches");
    }
    weft_status_t status = kernel_lanes_aim(handle, call);
    status = status == WEFT_OK ? kernel_lanes_reach(handle, "input", call->in, &in) : status;
    status = status == WEFT_OK ? kernel_lanes_reach(handle, "output", call->out, &out) : status;
    status = status == WEFT_OK ? kernel_lanes_buffers(handle, call) : status;
    if (status != WEFT_OK) {
        return status;
    }
    lanes_image_call(run, call);
    run->in = in;
    run->out = out;
    if (handle->failed) {
        memset(handle->device + image->words, 0, image->words_bytes);
        lanes_image_reset(image, handle->visible);
        handle->failed = false;
    }
    jobs[0].run = ++run->number;
    crew_work_t work = {kernel_lanes_block, handle};
    return crew_start(handle->kernel->crew, &work, image->nblocks);
}

static weft_status_t kernel_lanes_poll(weft_lanes_handle_t *handle, uint64_t run,
                                       weft_lanes_state_t *state)
{
    weft_status_t status = lanes_image_look(&handle->image, handle->visible, run, state);
    handle->failed = handle->failed || (status != WEFT_IN_PROGRESS && status != WEFT_OK);
    return status;
}

static void kernel_lanes_abort(weft_lanes_handle_t *handle)
{
    handle->failed = true;
    lanes_image_abort(&handle->image, handle->visible);
}

static void kernel_lanes_release(weft_lanes_handle_t *handle)
{
    static const struct timespec nap = {.tv_nsec = 100000};
    weft_lanes_state_t state = {.size = sizeof state};
    if (handle == NULL) {
        return;
    }
    kernel_lanes_abort(handle);
    while (kernel_lanes_poll(handle, handle->launch.run.number, &state) == WEFT_IN_PROGRESS) {
        nanosleep(&nap, NULL);
    }
    kernel_lanes_free(handle);
}

static weft_status_t kernel_lanes_end_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                           weft_lanes_end_t **end_p)
{
    const weft_host_t *host = kernel->host;
    char why[160];
    weft_lanes_end_t *end = host->alloc(host, sizeof *end, 64);
    if (end == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    end->kernel = kernel;
    end->slot_bytes = port->slot_bytes;
    if (!lanes_image_port(&end->port, port, &end->next, why, sizeof why)) {
        host->free(host, end);
        return host->set_error(host, WEFT_ERR_ARG, 0, "kernel-lanes: %s", why);
    }
    *end_p = end;
    return WEFT_OK;
}

static void kernel_lanes_end_close(weft_lanes_end_t *end)
{
    if (end != NULL) {
        end->kernel->host->free(end->kernel->host, end);
    }
}

static uint64_t kernel_lanes_end_next(const weft_lanes_end_t *end)
{
    return end->next;
}

static void kernel_lanes_end_seek(weft_lanes_end_t *end, uint64_t next)
{
    end->next = next;
}

static weft_status_t kernel_lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p)
{
    *queue_p = (weft_lanes_queue_t *)kernel;
    return WEFT_OK;
}

static void kernel_lanes_queue_close(weft_lanes_queue_t *queue)
{
    (void)queue;
}

static const weft_kernel_lanes_t kernel_lanes_extension = {
    .size = sizeof(weft_kernel_lanes_t),
    .prepare = kernel_lanes_prepare,
    .end_open = kernel_lanes_end_open,
    .end_close = kernel_lanes_end_close,
    .end_next = kernel_lanes_end_next,
    .end_seek = kernel_lanes_end_seek,
    .queue_open = kernel_lanes_queue_open,
    .queue_close = kernel_lanes_queue_close,
    .start = kernel_lanes_start,
    .poll = kernel_lanes_poll,
    .abort = kernel_lanes_abort,
    .release = kernel_lanes_release,
};

/* Combinations ------------------------------------------------------------------------------------- */

static void combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c)
{
    weft_combine_t there = *c;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        there.src[i] = areas_real(c->src[i]);
    }
    for (uint32_t i = 0; i < c->ndst; i++) {
        there.dst[i] = areas_real(c->dst[i]);
    }
    cuda_combine(dtype, op, &there, 0, 1);
}

#include "plugins/kernel-cuda/functions.inc"

static weft_status_t kernel_lanes_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                         weft_combine_fn_t *fn_p)
{
    if ((unsigned)dtype >= WEFT_DTYPE_COUNT || (unsigned)op >= WEFT_OP_COUNT) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "kernel-lanes: data type %u with operator %u",
                                       (unsigned)dtype, (unsigned)op);
    }
    *fn_p = functions[dtype][op];
    return WEFT_OK;
}

/* Memory ------------------------------------------------------------------------------------------- */

static weft_status_t kernel_lanes_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    void *memory = areas_take(bytes);
    if (memory == NULL) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_RESOURCE, 0,
                                       "kernel-lanes: no area of %llu bytes",
                                       (unsigned long long)bytes);
    }
    *memory_p = memory;
    return WEFT_OK;
}

static void kernel_lanes_give(weft_kernel_t *kernel, void *memory)
{
    (void)kernel;
    areas_give(memory);
}

static weft_status_t kernel_lanes_copy(weft_kernel_t *kernel, void *dst, const void *src,
                                       uint64_t bytes)
{
    (void)kernel;
    memmove(areas_real(dst), areas_real(src), bytes);
    return WEFT_OK;
}

static const weft_kernel_memory_t kernel_lanes_memory = {.size = sizeof(weft_kernel_memory_t),
                                                         .alloc = kernel_lanes_alloc,
                                                         .free = kernel_lanes_give,
                                                         .copy = kernel_lanes_copy};

/* The plugin --------------------------------------------------------------------------------------- */

static void kernel_lanes_destroy(weft_kernel_t *kernel)
{
    if (kernel != NULL) {
        crew_destroy(kernel->crew);
        kernel->host->free(kernel->host, kernel);
    }
}

static weft_status_t kernel_lanes_create(const weft_host_t *host, const void *config,
                                         weft_kernel_t **kernel_p)
{
    weft_kernel_t *kernel = host->alloc(host, sizeof *kernel, 0);
    if (kernel == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    kernel->host = host;
    kernel->apart = ((const kernel_lanes_config_t *)config)->apart;
    kernel->crew = crew_create(host);
    if (kernel->crew == NULL) {
        kernel_lanes_destroy(kernel);
        return WEFT_ERR_RESOURCE;
    }
    *kernel_p = kernel;
    return WEFT_OK;
}

static weft_status_t kernel_lanes_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    weft_kernel_props_t mine = {.size = props->size,
                                .memory_kind = kernel->apart ? WEFT_MEMORY_CUDA : WEFT_MEMORY_HOST,
                                .variant = "lanes",
                                .bandwidth = 2000000000u};
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

static const void *kernel_lanes_get_extension(weft_kernel_t *kernel, const char *name)
{
    if (kernel->apart && strcmp(name, WEFT_KERNEL_MEMORY) == 0) {
        return &kernel_lanes_memory;
    }
    return strcmp(name, WEFT_KERNEL_LANES) == 0 ? &kernel_lanes_extension : NULL;
}

static const weft_kernel_ops_t kernel_lanes_ops = {
    .size = sizeof(weft_kernel_ops_t),
    .create = kernel_lanes_create,
    .destroy = kernel_lanes_destroy,
    .props = kernel_lanes_props,
    .select = kernel_lanes_select,
    .get_extension = kernel_lanes_get_extension,
    .arithmetic = WEFT_ARITHMETIC,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_option_t options[] = {
        {"apart", WEFT_OPT_BOOL, offsetof(kernel_lanes_config_t, apart), "no",
         "memory of its own, which the host cannot touch", NULL, 0, 0, 0, 0},
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
    };
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_KERNEL_MAJOR,
        .abi_minor = WEFT_ABI_KERNEL_MINOR,
        .size = sizeof(weft_plugin_t),
        .kind = WEFT_KIND_KERNEL,
        .name = "kernel-lanes",
        .version = "1",
        .help = "the device interpreter on host threads, for tests",
        .options = options,
        .config_size = sizeof(kernel_lanes_config_t),
        .ops = &kernel_lanes_ops,
    };
    return &plugin;
}
