/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of algorithm plugins: pure functions from (collective, rank, number of ranks, parameters) to a
 * plan. An algorithm speaks of ranks, chunks and steps; it never sees a transport, a buffer or a
 * data type. Implemented by plugins/algo-<name>; called by the core before a plan shape is first
 * used, for every rank (the verifier needs them all). */
#ifndef WEFT_PLUGIN_ALGO_H
#define WEFT_PLUGIN_ALGO_H

#include <weft/plugin/plan.h>
#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_algo weft_algo_t; /* plugin instance */

#define WEFT_ALGO_PARAMS_MAX 8

/* One integer parameter of an algorithm. Tables end with an entry whose name is NULL. */
typedef struct weft_algo_param {
    const char *name;
    const char *help;
    int64_t min, max; /* inclusive */
    int64_t value;    /* default */
} weft_algo_param_t;

/* What is to be done. Equal on all ranks, but for `rank`. */
typedef struct weft_algo_call {
    size_t size;
    weft_coll_t coll;                     /* a shape: see WEFT_COLL_MAP */
    uint32_t nranks;                      /* at least 2: the core serves one rank alone */
    uint32_t rank;                        /* whose plan emit() writes */
    uint32_t root;                        /* rooted collectives; else 0 */
    int64_t params[WEFT_ALGO_PARAMS_MAX]; /* in the order of the table, inside the ranges */
} weft_algo_call_t;

/* What: name of a collective for messages, "unknown" for other numbers. Ownership: constant. */
static inline const char *weft_algo_coll_text(weft_coll_t coll)
{
#define WEFT_COLL_TEXT(value, name, text, reduces, rooted, shape) text,
    static const char *const texts[] = {WEFT_COLL_MAP(WEFT_COLL_TEXT)};
#undef WEFT_COLL_TEXT
    return (unsigned)coll < WEFT_COLL_COUNT ? texts[coll] : "unknown";
}

/* What is known of the job. Equal on all ranks; valid during the call. */
typedef struct weft_algo_topo {
    size_t size;
    uint32_t nhosts;
    const uint32_t *host; /* nranks entries: number of the host of each rank, 0 … nhosts−1 */
} weft_algo_topo_t;

typedef struct weft_algo_ops {
    size_t size;

    /* As weft_net_ops_t.create and destroy. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_algo_t **algo_p);
    void (*destroy)(weft_algo_t *algo);

    /* What: says whether the algorithm can serve the call (params may be unset). Returns: OK, or
     * ERR_UNSUPPORTED with the reason set. Thread: [any]. */
    weft_status_t (*supports)(weft_algo_t *algo, const weft_algo_call_t *call);

    /* What: writes the plan of call->rank. The same arguments always give the same plan. Failure:
     * ERR_UNSUPPORTED on all ranks alike if it is the topo that does not allow the call; any, error
     * set; mistakes made with the builder are found by the core. Blocks: no. Thread: [any]. */
    weft_status_t (*emit)(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *topo, weft_plan_builder_t *builder);

    /* Optional: parameters, a constant table of at most WEFT_ALGO_PARAMS_MAX entries. */
    const weft_algo_param_t *params;

    /* Optional: as weft_net_ops_t.get_extension. */
    const void *(*get_extension)(weft_algo_t *algo, const char *name);

    /* Optional: a number that changes whenever emit() would write other plans for a reason that is
     * neither in the call, nor in the topo, nor in the plugin's options: the contents of a file it
     * read, say. Proofs are kept per stamp. Blocks: no. Thread: [any]. */
    uint64_t (*stamp)(weft_algo_t *algo);
} weft_algo_ops_t;

#ifdef __cplusplus
}
#endif
#endif
