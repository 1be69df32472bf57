/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin kernel-cuda: arithmetic on the memory of CUDA devices, and plans that they run
 * themselves. Holds the descriptor and the life of the instance. */
#include <stdio.h>
#include <string.h>

#include "cuda_buffers.h"
#include "cuda_combine.h"
#include "cuda_describe.h"
#include "cuda_device.h"
#include "cuda_edges.h"
#include "cuda_gpudirect.h"
#include "cuda_instance.h"
#include "cuda_ipc.h"
#include "cuda_kept.h"
#include "cuda_memory.h"
#include "cuda_side.h"
#include "cuda_streams.h"
#include "lanes_queue.h"
#include "lanes_run.h"
#include "launch.h"

/* Bandwidth of one block for the cost model, in which the slowest rank counts: a presumption. */
#define CUDA_BANDWIDTH 30000000000u
#define CUDA_CHANNELS_PRESUMED 32u /* of a rank that has a device of its own, and a large one */

static const weft_option_t cuda_options[] = {
    {.name = "device",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(cuda_config_t, device),
     .value = "auto",
     .help =
         "CUDA device by number; modulo:N counts around where there are fewer; auto takes the one "
         "that is current where the communicator is made",
     .flags = WEFT_OPTION_LOCAL},
    {.name = "threads",
     .type = WEFT_OPT_INT,
     .offset = offsetof(cuda_config_t, threads),
     .value = "512",
     .help = "threads of the block that runs a lane, of which 32 lead and do not copy; a multiple "
             "of 32",
     .min = 64,
     .max = CUDA_THREADS_MAX,
     .flags = WEFT_OPTION_LOCAL},
    {.name = "channels",
     .type = WEFT_OPT_INT,
     .offset = offsetof(cuda_config_t, channels),
     .value = "0",
     .help =
         "copies of a plan that share a large message, each with blocks of its own; the least of "
         "all ranks counts; 0: where ranks of the job share a device, all that it holds, at most "
         "64 "
         "each; else a quarter of it, at most 32",
     .min = 0,
     .max = 128,
     .flags = WEFT_OPTION_LOCAL},
    {.name = "share",
     .type = WEFT_OPT_BOOL,
     .offset = offsetof(cuda_config_t, share),
     .value = "yes",
     .help = "slots between ranks of one host lie in the receiver's device where the sender's can "
             "write there; no: in memory of the host",
     .flags = WEFT_OPTION_LOCAL},
    {.name = "whole",
     .type = WEFT_OPT_BOOL,
     .offset = offsetof(cuda_config_t, whole),
     .value = "yes",
     .help =
         "plans in which each rank sends to each other one move a whole chunk at once where all "
         "ranks' buffers lie in windows; no: slices, as through slots; one rank that says no "
         "is enough",
     .flags = WEFT_OPTION_LOCAL},
    {.name = "protocol",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(cuda_config_t, protocol),
     .value = "auto",
     .help =
         "how payloads travel between two devices: ll with a flag in each 16 bytes, up to 8 KiB; "
         "ll128 in each 128 bytes, up to 64 KiB, where device and NVLink keep these whole, else as "
         "ll; simple through slots, behind fences, as all longer ones do; auto: what the cost "
         "model says; used if all ranks allow it",
     .choices = "auto|ll|ll128|simple", /* cuda_protocol_t */
     .flags = WEFT_OPTION_LOCAL},
    {.name = NULL},
};

static cuda_travel_t cuda_travel(const cuda_config_t *settings)
{
    return (cuda_travel_t){.share = settings->share,
                           .whole = settings->whole,
                           .protocol = (cuda_protocol_t)settings->protocol};
}

static weft_status_t cuda_create(const weft_host_t *host, const void *config,
                                 weft_kernel_t **kernel_p)
{
    const cuda_config_t *settings = config;
    weft_kernel_t *kernel = host->alloc(host, sizeof *kernel, 0);
    if (kernel == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    kernel->host = host;
    kernel->threads = (uint32_t)settings->threads / 32 * 32;
    kernel->travel = cuda_travel(settings);
    weft_status_t status = cuda_device_open(kernel, settings);
    if (status != WEFT_OK) {
        host->free(host, kernel);
        return status;
    }
    pthread_mutex_init(&kernel->lock, NULL);
    pthread_mutex_init(&kernel->order, NULL);
    pthread_mutex_init(&kernel->seeks.lock, NULL);
    cuda_side_open(&kernel->side, kernel->device);
    host->log(host, WEFT_LOG_DEBUG, "CUDA device %d, compute capability %d.%d, %d processors",
              kernel->device, kernel->facts.major, kernel->facts.minor, kernel->facts.processors);
    *kernel_p = kernel;
    return WEFT_OK;
}

static void cuda_destroy(weft_kernel_t *kernel)
{
    cuda_context_t saved;
    if (kernel == NULL) {
        return;
    }
    kernel->host->log(kernel->host, WEFT_LOG_DEBUG,
                      "CUDA device %d: %llu launches of plans, %llu runs", kernel->device,
                      (unsigned long long)kernel->counts.launches,
                      (unsigned long long)kernel->counts.runs);
    /* Nothing is there to close unless a plan was prepared. */
    if ((kernel->ranges != NULL || kernel->blocks != NULL || kernel->pool != NULL ||
         kernel->pool_stream != NULL) &&
        cuda_context_enter(&kernel->contexts, kernel->device, &saved) == cudaSuccess) {
        lanes_queues_close(kernel);
        cuda_memory_close(kernel);
        cuda_context_leave(&saved);
    }
    cuda_buffers_close(kernel);
    cuda_ipc_close(kernel);
    cuda_side_close(&kernel->side, &kernel->contexts);
    cuda_kept_end(kernel);
    cuda_device_close(kernel);
    pthread_mutex_destroy(&kernel->seeks.lock);
    pthread_mutex_destroy(&kernel->order);
    pthread_mutex_destroy(&kernel->lock);
    kernel->host->free(kernel->host, kernel);
}

static weft_status_t cuda_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    weft_kernel_props_t mine = {
        .size = props->size,
        .memory_kind = WEFT_MEMORY_CUDA,
        .bandwidth = CUDA_BANDWIDTH,
        .channels = kernel->channels.count,
    };
    cuda_edges_fill(&kernel->travel, kernel->facts.memory_bandwidth, &mine);
    snprintf(mine.variant, sizeof mine.variant, "sm_%d%d", kernel->facts.major,
             kernel->facts.minor);
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

/* A device of a hundred and more processors, of memory that is no limit. */
static void cuda_presume(const void *config, weft_kernel_props_t *props)
{
    const cuda_config_t *settings = config;
    const cuda_travel_t travel = cuda_travel(settings);
    weft_kernel_props_t some = {
        .size = props->size,
        .memory_kind = WEFT_MEMORY_CUDA,
        .variant = "presumed",
        .bandwidth = CUDA_BANDWIDTH,
        .channels = settings->channels > 0 ? (uint32_t)settings->channels : CUDA_CHANNELS_PRESUMED,
    };
    cuda_edges_fill(&travel, 0, &some);
    memcpy(props, &some, props->size < sizeof some ? props->size : sizeof some);
}

static weft_status_t cuda_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                 weft_combine_fn_t *fn_p)
{
    weft_combine_fn_t fn = cuda_combine_function(dtype, op);
    if (fn == NULL) {
        return kernel->host->set_error(
            kernel->host, WEFT_ERR_UNSUPPORTED, 0,
            "data type %u with operator %u: kernel-cuda knows data types "
            "below %u and operators below %u, on bits for integers",
            (unsigned)dtype, (unsigned)op, (unsigned)WEFT_DTYPE_COUNT, (unsigned)WEFT_OP_COUNT);
    }
    *fn_p = fn;
    return WEFT_OK;
}

static const void *cuda_extension(weft_kernel_t *kernel, const char *name)
{
    if (strcmp(name, WEFT_KERNEL_MEMORY) == 0) {
        return &cuda_buffers;
    }
    if (strcmp(name, WEFT_KERNEL_DESCRIBE) == 0) {
        return &cuda_describe;
    }
    if (strcmp(name, WEFT_KERNEL_IPC) == 0) {
        return kernel->travel.share ? &cuda_ipc : NULL;
    }
    if (strcmp(name, WEFT_KERNEL_STREAM) == 0) {
        return &cuda_streams;
    }
    if (strcmp(name, WEFT_KERNEL_GPUDIRECT) == 0) {
        return &cuda_gpudirect;
    }
    return strcmp(name, WEFT_KERNEL_LANES) == 0 ? &cuda_lanes : NULL;
}

static const weft_kernel_ops_t cuda_ops = {
    .size = sizeof(weft_kernel_ops_t),
    .create = cuda_create,
    .destroy = cuda_destroy,
    .props = cuda_props,
    .select = cuda_select,
    .get_extension = cuda_extension,
    .arithmetic = WEFT_ARITHMETIC,
    .presume = cuda_presume,
    .combine_status = cuda_combine_status,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_KERNEL_MAJOR,
        .abi_minor = WEFT_ABI_KERNEL_MINOR,
        .size = sizeof(weft_plugin_t),
        .kind = WEFT_KIND_KERNEL,
        .name = "kernel-cuda",
        .version = "1",
        .help = "arithmetic and plans on CUDA devices",
        .options = cuda_options,
        .config_size = sizeof(cuda_config_t),
        .ops = &cuda_ops,
    };
    return &plugin;
}
