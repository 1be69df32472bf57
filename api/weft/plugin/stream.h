/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.stream/1" of kernel plugins whose devices have streams: what a program that is
 * written without the device's own runtime (weft perf, tests) needs of them. get_extension() of the
 * kernel answers with a weft_kernel_stream_t. A stream is the device's own handle (cudaStream_t). */
#ifndef WEFT_PLUGIN_STREAM_H
#define WEFT_PLUGIN_STREAM_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_STREAM "weft.kernel.stream/1"

typedef struct weft_kernel_mark weft_kernel_mark_t; /* a point in a stream (CUDA: event) */
typedef struct weft_kernel_recording weft_kernel_recording_t; /* (CUDA: instantiated graph) */

/* Failures of all: ERR_RESOURCE, ERR_STATE (a recording that was spoilt), ERR_SYSTEM. Thread: [any], but
 * one at a time for one stream. */
typedef struct weft_kernel_stream {
    size_t size;
    /* What: makes a stream, which waits for no other. Ownership: the caller's, until close(). */
    weft_status_t (*open)(weft_kernel_t *kernel, void **stream_p);
    void (*close)(weft_kernel_t *kernel, void *stream);
    /* What: waits until the stream has done everything, at most `timeout_ns`; IN_PROGRESS: it has not. */
    weft_status_t (*wait)(weft_kernel_t *kernel, void *stream, uint64_t timeout_ns);
    /* What: notes a point; the time between two points that have been passed, in nanoseconds. */
    weft_status_t (*mark)(weft_kernel_t *kernel, void *stream, weft_kernel_mark_t **mark_p);
    weft_status_t (*between)(weft_kernel_t *kernel, const weft_kernel_mark_t *from,
                             const weft_kernel_mark_t *to, double *ns_p);
    void (*mark_free)(weft_kernel_t *kernel, weft_kernel_mark_t *mark);
    /* What: records what is put into the stream in place of doing it; ends that; does it all. */
    weft_status_t (*record_begin)(weft_kernel_t *kernel, void *stream);
    weft_status_t (*record_end)(weft_kernel_t *kernel, void *stream,
                                weft_kernel_recording_t **recording_p);
    weft_status_t (*replay)(weft_kernel_t *kernel, void *stream,
                            weft_kernel_recording_t *recording);
    void (*recording_free)(weft_kernel_t *kernel, weft_kernel_recording_t *recording);
} weft_kernel_stream_t;

#ifdef __cplusplus
}
#endif
#endif
