/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frame of an algorithm plugin whose instances keep no state but their options: the four operations
 * of weft_algo_ops_t over a constant table of collectives. Header only; a plugin that includes it
 * refers to no symbol outside itself. A plugin with state of its own fills weft_algo_ops_t by hand
 * (algo.h).
 *
 * The plugin writes a table of collectives, a frame around it, a create() of one line that hands
 * the frame to weft_algo_frame_create(), and an operations table:
 *
 *     static weft_status_t ring_create(const weft_host_t *host, const void *config,
 *                                      weft_algo_t **algo_p)
 *     {
 *         return weft_algo_frame_create(&ring_frame, host, config, algo_p);
 *     }
 *
 *     static const weft_algo_ops_t ring_ops = {.size = sizeof ring_ops,
 *                                              .create = ring_create,
 *                                              .destroy = weft_algo_frame_destroy,
 *                                              .supports = weft_algo_frame_supports,
 *                                              .emit = weft_algo_frame_emit}; */
#ifndef WEFT_SDK_ALGO_FRAME_H
#define WEFT_SDK_ALGO_FRAME_H

#include <stdio.h>

#include <weft/plugin/algo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of one emit(). Valid during the call. */
typedef struct weft_algo_frame_job {
    const weft_host_t *host;
    const void *config; /* the plugin's options */
    const weft_algo_call_t *call;
    const weft_algo_topo_t *topo;
    weft_plan_builder_t *builder;
} weft_algo_frame_job_t;

/* One collective that the plugin serves. */
typedef struct weft_algo_frame_coll {
    weft_coll_t coll;

    /* Writes the plan of call->rank. Set this one if the call is all that the plan depends on. */
    void (*plan)(const weft_algo_call_t *call, weft_plan_builder_t *builder);

    /* Writes the plan of call->rank. Set this one, and leave plan NULL, if the plan depends on
     * options or hosts, or needs memory. Failure: as weft_algo_ops_t.emit. */
    weft_status_t (*emit)(const weft_algo_frame_job_t *job);

    /* Optional: refuses calls that the options rule out. Returns: OK, or ERR_UNSUPPORTED with the
     * reason set. */
    weft_status_t (*check)(const weft_algo_t *algo, const weft_algo_call_t *call);
} weft_algo_frame_coll_t;

/* The constant part of a plugin. */
typedef struct weft_algo_frame {
    const char *name;                    /* of the plugin; begins the texts of errors */
    const weft_algo_frame_coll_t *colls; /* each collective once */
    uint32_t ncolls;
    /* The options of an instance made without any. NULL: the plugin has none. */
    const void *defaults;
} weft_algo_frame_t;

/* An instance. */
struct weft_algo {
    const weft_host_t *host;
    const weft_algo_frame_t *frame;
    const void *config; /* the core's, valid until destroy() */
};

/* Makes an instance. The plugin's create() calls it. Failure: ERR_RESOURCE. Blocks: no. Thread:
 * [any]. */
static inline weft_status_t weft_algo_frame_create(const weft_algo_frame_t *frame,
                                                   const weft_host_t *host, const void *config,
                                                   weft_algo_t **algo_p)
{
    weft_algo_t *algo = (weft_algo_t *)host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    algo->frame = frame;
    algo->config = config != NULL ? config : frame->defaults;
    *algo_p = algo;
    return WEFT_OK;
}

/* For weft_algo_ops_t.destroy. */
static inline void weft_algo_frame_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

/* Finds a collective in the plugin's table. Failure: NULL. Thread: [any]. */
static inline const weft_algo_frame_coll_t *weft_algo_frame_find(const weft_algo_frame_t *frame,
                                                                 weft_coll_t coll)
{
    for (uint32_t i = 0; i < frame->ncolls; i++) {
        if (frame->colls[i].coll == coll) {
            return &frame->colls[i];
        }
    }
    return NULL;
}

/* Records that the plugin has no plan for the call, and which ones it has. Returns
 * ERR_UNSUPPORTED. */
static inline weft_status_t weft_algo_frame_refuse(const weft_algo_t *algo,
                                                   const weft_algo_call_t *call)
{
    const weft_algo_frame_t *frame = algo->frame;
    char names[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < frame->ncolls && used < sizeof names; i++) {
        const char *before = i == 0 ? "" : i + 1 == frame->ncolls ? " and " : ", ";
        int written = snprintf(names + used, sizeof names - used, "%s%s", before,
                               weft_algo_coll_text(frame->colls[i].coll));
        used += written > 0 ? (size_t)written : 0;
    }
    return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                 "%s has no plan for %s; it has plans for %s", frame->name,
                                 weft_algo_coll_text(call->coll), names);
}

/* For weft_algo_ops_t.supports. */
static inline weft_status_t weft_algo_frame_supports(weft_algo_t *algo,
                                                     const weft_algo_call_t *call)
{
    const weft_algo_frame_coll_t *coll = weft_algo_frame_find(algo->frame, call->coll);
    if (coll == NULL) {
        return weft_algo_frame_refuse(algo, call);
    }
    return coll->check != NULL ? coll->check(algo, call) : WEFT_OK;
}

/* For weft_algo_ops_t.emit. */
static inline weft_status_t weft_algo_frame_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                                 const weft_algo_topo_t *topo,
                                                 weft_plan_builder_t *builder)
{
    weft_algo_frame_job_t job = {algo->host, algo->config, call, topo, builder};
    weft_status_t status = weft_algo_frame_supports(algo, call);
    if (status != WEFT_OK) {
        return status;
    }
    const weft_algo_frame_coll_t *coll = weft_algo_frame_find(algo->frame, call->coll);
    if (coll->emit != NULL) {
        return coll->emit(&job);
    }
    coll->plan(call, builder);
    return WEFT_OK;
}

#ifdef __cplusplus
}
#endif
#endif
