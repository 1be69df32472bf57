/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of algorithm plugins. An algorithm is a pure function from a collective, a rank, the number
 * of ranks and parameters to a plan. It knows ranks, chunks and steps; it never sees a transport,
 * a buffer or a data type. The plugins plugins/algo-<name> implement it. The core calls it for
 * every rank before it first uses a plan, because the verifier needs the plans of all ranks. */
#ifndef WEFT_PLUGIN_ALGO_H
#define WEFT_PLUGIN_ALGO_H

#include <weft/plugin/plan.h>
#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_algo weft_algo_t; /* plugin instance */

#define WEFT_ALGO_PARAMS_MAX 8 /* parameters of one algorithm */

/* An integer parameter of an algorithm. Tables end with an entry whose name is NULL. */
typedef struct weft_algo_param {
    const char *name;
    const char *help; /* one line: what it does */
    int64_t min, max; /* range, inclusive */
    int64_t value;    /* default */
} weft_algo_param_t;

/* The plan that is asked for. All fields except `rank` are equal on all ranks. */
typedef struct weft_algo_call {
    size_t size;
    weft_coll_t coll;                     /* a base collective: `base` of WEFT_COLL_MAP */
    uint32_t nranks;                      /* at least 2; the core serves a single rank itself */
    uint32_t rank;                        /* rank whose plan emit() writes */
    uint32_t root;                        /* root of a rooted collective; else 0 */
    int64_t params[WEFT_ALGO_PARAMS_MAX]; /* in the order of the table, within the ranges */

    /* Since ABI 1.6: most chunks that a MOVE may pack: as many as blocks of the call fit into a
     * message, but no more than weft_algo_ops_t.pack asked for. 0, 1: the plan must not pack. */
    uint32_t pack;
} weft_algo_call_t;

/* Returns the most chunks that a MOVE of the plan may pack, at least 1. */
static inline uint32_t weft_algo_call_pack(const weft_algo_call_t *call)
{
    return call->size >= offsetof(weft_algo_call_t, pack) + sizeof call->pack && call->pack > 1
               ? call->pack
               : 1;
}

/* Returns the name of a collective for error texts, or "unknown" for other numbers. The string is
 * a constant. */
static inline const char *weft_algo_coll_text(weft_coll_t coll)
{
#define WEFT_COLL_TEXT(value, name, text, reduces, rooted, base) text,
    static const char *const texts[] = {WEFT_COLL_MAP(WEFT_COLL_TEXT)};
#undef WEFT_COLL_TEXT
    return (unsigned)coll < WEFT_COLL_COUNT ? texts[coll] : "unknown";
}

/* Returns 1 if the collective has a root, and 0 otherwise and for other numbers. */
static inline int weft_algo_coll_is_rooted(weft_coll_t coll)
{
#define WEFT_COLL_ROOTED(value, name, text, reduces, rooted, base) rooted,
    static const uint8_t table[] = {WEFT_COLL_MAP(WEFT_COLL_ROOTED)};
#undef WEFT_COLL_ROOTED
    return (unsigned)coll < WEFT_COLL_COUNT && table[coll];
}

/* The way between two devices of a host in the words of nvidia-smi and NCCL, nearest first. */
typedef enum weft_algo_path_class {
    WEFT_ALGO_PATH_SELF,
    WEFT_ALGO_PATH_NV,   /* past PCIe: NVLink, xGMI */
    WEFT_ALGO_PATH_PIX,  /* one bridge at most */
    WEFT_ALGO_PATH_PXB,  /* several bridges, no host bridge */
    WEFT_ALGO_PATH_PHB,  /* one host bridge */
    WEFT_ALGO_PATH_NODE, /* several host bridges of one NUMA node */
    WEFT_ALGO_PATH_SYS,  /* from one NUMA node to another */
    WEFT_ALGO_PATH_UNKNOWN
} weft_algo_path_class_t;

/* Not extended. */
typedef struct weft_algo_path {
    uint16_t bandwidth; /* in units of 100 MB/s, one direction; 0: not known */
    uint8_t path_class; /* weft_algo_path_class_t */
    uint8_t reserved;   /* 0 */
} weft_algo_path_t;

/* What hosts of one kind are like. Not extended. */
typedef struct weft_algo_kind {
    uint64_t id;                   /* equal for equal kinds */
    const weft_algo_path_t *paths; /* between devices a < b: at b(b−1)/2 + a */
    uint32_t ngpus, ndevices;      /* GPUs, which come first, and all: GPUs and NICs */
} weft_algo_kind_t;

#define WEFT_ALGO_NONE UINT32_MAX /* no such kind or device, or not known */

/* Topology of the job. Equal on all ranks; valid during the call. A plugin reads the fields that
 * `size` covers, best by the functions below. */
typedef struct weft_algo_topo {
    size_t size;
    uint32_t nhosts;      /* number of hosts */
    const uint32_t *host; /* nranks entries: the host of each rank, 0 to nhosts-1 */

    /* Since ABI 1.2. */

    /* Levels at which the ranks are parted, from outside in: those that the site gives (racks,
     * switches), hosts, NUMA islands. Ranks of one group are in one group of every level further
     * out. A level that parts the ranks as another one does, that does not part them, or that
     * parts each rank from each other is left out; the hosts never are. 0: not known. */
    uint32_t nlevels;
    uint32_t host_level;          /* the level of the hosts */
    const uint32_t *ngroups;      /* nlevels entries: groups of the level */
    const uint32_t *const *group; /* nlevels entries: nranks groups, 0 to ngroups-1 */

    /* nranks ranks in an order in which neighbours are near: the groups of each level together,
     * otherwise by rank. NULL: the order of ranks has this property. */
    const uint32_t *order;
    const uint32_t *position; /* of each rank in `order`; NULL as `order` is */

    const uint32_t *rails; /* nhosts entries: NICs of the host, 0: not known. NULL: of all hosts */

    /* Since ABI 1.3. */

    /* Orders of all ranks that together use what the hosts have: every wire between their devices
     * and every NIC, each by devices near to it. Each has the ranks of a host together, and the
     * hosts as they stand in `order`. nrings rings, for which the last rank is followed by the
     * first; nchains chains, for trees whose hosts are joined by their first ranks. Those of one
     * kind share the data evenly. 0: nothing is known that is better than `order`. */
    uint32_t nrings, nchains;
    const uint32_t *const *ring;           /* nrings entries: nranks ranks */
    const uint32_t *const *ring_position;  /* nrings entries: of each rank in the ring */
    const uint32_t *const *chain;          /* nchains entries */
    const uint32_t *const *chain_position; /* nchains entries */

    /* Kinds of hosts; NULL: nothing is known. */
    const weft_algo_kind_t *kinds;
    const uint32_t *kind;   /* nhosts entries: of `kinds`, or WEFT_ALGO_NONE */
    const uint32_t *device; /* nranks entries: the GPU of the rank, or WEFT_ALGO_NONE */
} weft_algo_topo_t;

/* Returns 1 if the topology tells levels and order. */
static inline int weft_algo_topo_has_levels(const weft_algo_topo_t *topo)
{
    return topo->size >= offsetof(weft_algo_topo_t, rails) + sizeof topo->rails &&
           topo->nlevels > 0;
}

/* Returns the rank at a position of the order in which neighbours are near. */
static inline uint32_t weft_algo_topo_rank(const weft_algo_topo_t *topo, uint32_t position)
{
    return weft_algo_topo_has_levels(topo) && topo->order != NULL ? topo->order[position]
                                                                  : position;
}

/* Returns the position of a rank in that order. */
static inline uint32_t weft_algo_topo_position(const weft_algo_topo_t *topo, uint32_t rank)
{
    return weft_algo_topo_has_levels(topo) && topo->position != NULL ? topo->position[rank] : rank;
}

/* Returns how far two ranks are from each other: 0 for a rank and itself, 1 if they share a group
 * of the innermost level, one more for every level at which they are parted. */
static inline uint32_t weft_algo_topo_distance(const weft_algo_topo_t *topo, uint32_t a, uint32_t b)
{
    uint32_t distance = a != b ? 1 : 0;
    if (!weft_algo_topo_has_levels(topo)) {
        return distance + (topo->host != NULL && topo->host[a] != topo->host[b] ? 1 : 0);
    }
    for (uint32_t level = 0; level < topo->nlevels; level++) {
        distance += topo->group[level][a] != topo->group[level][b] ? 1 : 0;
    }
    return distance;
}

/* Returns 1 if the topology has the fields of ABI 1.3. */
static inline int weft_algo_topo_has_rings(const weft_algo_topo_t *topo)
{
    return topo->size >= offsetof(weft_algo_topo_t, device) + sizeof topo->device;
}

/* Returns how many rings there are, at least 1: without others the one in `order`. */
static inline uint32_t weft_algo_topo_nrings(const weft_algo_topo_t *topo)
{
    return weft_algo_topo_has_rings(topo) && topo->nrings > 0 ? topo->nrings : 1;
}

/* Returns the rank at a position of a ring. */
static inline uint32_t weft_algo_topo_ring_rank(const weft_algo_topo_t *topo, uint32_t ring,
                                                uint32_t position)
{
    return weft_algo_topo_has_rings(topo) && topo->nrings > 0 ? topo->ring[ring][position]
                                                              : weft_algo_topo_rank(topo, position);
}

/* Returns the position of a rank in a ring. */
static inline uint32_t weft_algo_topo_ring_position(const weft_algo_topo_t *topo, uint32_t ring,
                                                    uint32_t rank)
{
    return weft_algo_topo_has_rings(topo) && topo->nrings > 0 ? topo->ring_position[ring][rank]
                                                              : weft_algo_topo_position(topo, rank);
}

/* The same of chains. */
static inline uint32_t weft_algo_topo_nchains(const weft_algo_topo_t *topo)
{
    return weft_algo_topo_has_rings(topo) && topo->nchains > 0 ? topo->nchains : 1;
}

static inline uint32_t weft_algo_topo_chain_rank(const weft_algo_topo_t *topo, uint32_t chain,
                                                 uint32_t position)
{
    return weft_algo_topo_has_rings(topo) && topo->nchains > 0
               ? topo->chain[chain][position]
               : weft_algo_topo_rank(topo, position);
}

static inline uint32_t weft_algo_topo_chain_position(const weft_algo_topo_t *topo, uint32_t chain,
                                                     uint32_t rank)
{
    return weft_algo_topo_has_rings(topo) && topo->nchains > 0
               ? topo->chain_position[chain][rank]
               : weft_algo_topo_position(topo, rank);
}

/* Returns the way between two devices of hosts of a kind. */
static inline weft_algo_path_t weft_algo_kind_path(const weft_algo_kind_t *kind, uint32_t a,
                                                   uint32_t b)
{
    weft_algo_path_t self = {0, WEFT_ALGO_PATH_SELF, 0};
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return low == high ? self : kind->paths[(size_t)high * (high - 1) / 2 + low];
}

/* Returns the way between the GPUs of two ranks; UNKNOWN if they are on different hosts, or one has
 * no GPU that is known. */
static inline weft_algo_path_t weft_algo_topo_path(const weft_algo_topo_t *topo, uint32_t a,
                                                   uint32_t b)
{
    weft_algo_path_t unknown = {0, WEFT_ALGO_PATH_UNKNOWN, 0};
    if (!weft_algo_topo_has_rings(topo) || topo->kinds == NULL || topo->device == NULL ||
        topo->host[a] != topo->host[b] || topo->kind[topo->host[a]] == WEFT_ALGO_NONE ||
        topo->device[a] == WEFT_ALGO_NONE || topo->device[b] == WEFT_ALGO_NONE) {
        return unknown;
    }
    return weft_algo_kind_path(&topo->kinds[topo->kind[topo->host[a]]], topo->device[a],
                               topo->device[b]);
}

typedef struct weft_algo_ops {
    size_t size;

    /* As weft_net_ops_t.create and destroy. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_algo_t **algo_p);
    void (*destroy)(weft_algo_t *algo);

    /* Tells whether the algorithm can serve the call. The parameters may be unset.
     * Errors: ERR_UNSUPPORTED with the reason recorded.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*supports)(weft_algo_t *algo, const weft_algo_call_t *call);

    /* Writes the plan of call->rank with `builder`. Equal arguments give equal plans. The core
     * reports mistakes made with the builder itself, so the emitter need not check each call.
     * Errors: ERR_UNSUPPORTED (the topology does not allow the call; then on all ranks alike), or
     * any error.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*emit)(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *topo, weft_plan_builder_t *builder);

    /* Optional: the parameters, a constant table of at most WEFT_ALGO_PARAMS_MAX entries. */
    const weft_algo_param_t *params;

    /* Optional: as weft_net_ops_t.get_extension. */
    const void *(*get_extension)(weft_algo_t *algo, const char *name);

    /* Optional: returns a number that changes whenever emit() would write other plans for a reason
     * outside of the call, the topology and the plugin's options, such as the contents of a file.
     * The core keeps one verified plan per stamp.
     * Blocking: no. Thread: [any]. */
    uint64_t (*stamp)(weft_algo_t *algo);

    /* Optional: returns the slots that a port needs for each slice of a chunk, the most of all
     * plans that emit() may write; 1 without it. More than 1 if a lane sends several chunks before
     * its peer takes the first, as counted steps of MSCCL programs do. Where exec.slots is not set,
     * the core gives all ports of the job slots for two slices, at most 64, and makes the slots
     * smaller in turn. No call has more slices than its ports have slots for. Called once, when the
     * job starts. All ranks go by the greatest answer.
     * Blocking: no. Thread: [any]. */
    uint32_t (*depth)(weft_algo_t *algo);

    /* Optional, since ABI 1.6: returns the most chunks that a MOVE of the call's plan would pack if
     * they fit into a message; 1 without it. The core then asks emit() for plans that pack as many
     * as fit (weft_algo_call_t.pack), and for some that do not: where blocks are long or have
     * lengths of their own, and on devices that run plans. The answer depends on the call except
     * its `rank` and `pack`, and on the plugin's options.
     * Blocking: no. Thread: [any]. */
    uint32_t (*pack)(weft_algo_t *algo, const weft_algo_call_t *call);
} weft_algo_ops_t;

#ifdef __cplusplus
}
#endif
#endif
