/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DRAFT, version 0: this extension changes without notice, and no compatibility is promised. It
 * becomes stable when a second plugin implements it and both have run on devices.
 *
 * Extension "draft.weft.kernel.stream/0" of kernel plugins whose devices have streams. It offers
 * streams, events and graphs to programs that do not use the device's own runtime (weft perf,
 * tests); the core does not need it. The kernel's get_extension() returns a weft_kernel_stream_t. A
 * stream is the device's own handle (cudaStream_t). */
#ifndef WEFT_PLUGIN_DRAFT_STREAM_H
#define WEFT_PLUGIN_DRAFT_STREAM_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_STREAM "draft.weft.kernel.stream/0"

typedef struct weft_kernel_event weft_kernel_event_t; /* a point in a stream */
typedef struct weft_kernel_graph weft_kernel_graph_t; /* an instantiated graph */

/* Errors of all functions: ERR_RESOURCE, ERR_STATE (the capture was invalidated), ERR_SYSTEM.
 * Thread of all functions: [any], but one at a time for one stream. */
typedef struct weft_kernel_stream {
    size_t size;

    /* Creates a stream that does not synchronise with any other. The caller owns it until close().
     * Blocking: briefly. */
    weft_status_t (*open)(weft_kernel_t *kernel, void **stream_p);
    void (*close)(weft_kernel_t *kernel, void *stream);

    /* Waits until the stream has done all its work. Returns IN_PROGRESS if it has not.
     * Blocking: at most `timeout_ns`. */
    weft_status_t (*wait)(weft_kernel_t *kernel, void *stream, uint64_t timeout_ns);

    /* Records an event at the end of the stream. The caller owns the event until event_free().
     * Blocking: no. */
    weft_status_t (*event_record)(weft_kernel_t *kernel, void *stream,
                                  weft_kernel_event_t **event_p);

    /* Stores the time between two events that have completed, in nanoseconds.
     * Blocking: no. */
    weft_status_t (*event_elapsed)(weft_kernel_t *kernel, const weft_kernel_event_t *from,
                                   const weft_kernel_event_t *to, double *ns_p);
    void (*event_free)(weft_kernel_t *kernel, weft_kernel_event_t *event);

    /* Begins to capture the stream: work enqueued from here on goes into a graph and is not done.
     * Blocking: no. */
    weft_status_t (*capture_begin)(weft_kernel_t *kernel, void *stream);

    /* Ends the capture and instantiates the graph. The caller owns it until graph_free().
     * Blocking: briefly. */
    weft_status_t (*capture_end)(weft_kernel_t *kernel, void *stream,
                                 weft_kernel_graph_t **graph_p);

    /* Enqueues all the work of the graph into the stream.
     * Blocking: no. */
    weft_status_t (*graph_launch)(weft_kernel_t *kernel, void *stream, weft_kernel_graph_t *graph);
    void (*graph_free)(weft_kernel_t *kernel, weft_kernel_graph_t *graph);
} weft_kernel_stream_t;

#ifdef __cplusplus
}
#endif
#endif
