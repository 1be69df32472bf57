/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of a plan: a message over an edge costs α + bytes·β, one that follows another without
 * waiting o + bytes·β, combining costs bytes·γ. R. Hockney's model with the reduction term of
 * Thakur, Rabenseifner and Gropp (IJHPCA 2005) and the overhead of LogGP (D. Culler et al., PPoPP
 * 1993; A. Alexandrov et al., SPAA 1995); o is a part of α. A run of one pass finds when every MOVE
 * finishes; passes overlap in a pipeline. α, β and o have a value for each level: inside a host and
 * between hosts. */
#ifndef WEFT_PLAN_COST_H
#define WEFT_PLAN_COST_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

/* How far an edge goes. */
typedef enum weft_level {
    WEFT_LEVEL_INSIDE = 0, /* both ranks are on one host */
    WEFT_LEVEL_BETWEEN = 1
} weft_level_t;

#define WEFT_LEVELS 2

typedef struct weft_cost_edge {
    double alpha;    /* seconds per slice and edge, if the receiver waits for the slice */
    double beta;     /* seconds per byte and edge */
    double overhead; /* seconds per slice and edge of any other slice */
    double together; /* seconds per byte of all channels together, at least; 0: no limit */
} weft_cost_edge_t;

/* What an edge costs where ranks outnumber cores: both ends together, as work of one core. */
typedef struct weft_cost_busy {
    double turn;  /* seconds until a rank that waits for a hop gets a core, per rank of the host */
    double slice; /* seconds per slice */
    double beta;  /* seconds per byte, but for what kernels copy and combine */
} weft_cost_busy_t;

/* What edges between two devices of a host cost by a protocol. Those of SIMPLE are the edges of the
 * level. All 0: no devices meet in memory. */
typedef struct weft_cost_protocol {
    weft_cost_edge_t edge;
    uint64_t least, most; /* bytes of the slices that may travel by it; most 0: none */
} weft_cost_protocol_t;

typedef struct weft_cost_model {
    weft_cost_edge_t level[WEFT_LEVELS];
    weft_cost_protocol_t protocol[WEFT_KERNEL_PROTOCOL_COUNT];
    /* α and o inside a host of a run with several passes or slices, where those of the level hold
     * for one of each only; α 0: they always hold. A device goes through a short run with all
     * threads, through others with a leader. */
    weft_cost_edge_t led;
    weft_cost_busy_t busy[WEFT_LEVELS];
    double gamma;  /* seconds per byte combined or copied */
    double memory; /* … at least, where a call touches more bytes on a host than `cache` */
    double cache;  /* bytes that stay in the caches of a host; 0: all */
    double wire;   /* seconds per byte that enters or leaves a host, all its ranks together;
                    * 0: no limit but that of each edge */
    double launch; /* seconds of a call beside all that its plan does */
    bool at_once;  /* the lanes of a rank run beside each other, as a device's blocks do; a host's
                    * thread goes through them in turns */
} weft_cost_model_t;

/* Work in the units of the model. A transfer counts half at each end, so a rank that sends and
 * receives at once pays for one; a MOVE touches its sources and destinations, a copy counts one. */
typedef struct weft_cost_work {
    double hops[WEFT_LEVELS];     /* messages that are waited for: each costs α; the others o */
    double messages[WEFT_LEVELS]; /* transfers of a message, which may hold several slices */
    double edges[WEFT_LEVELS];    /* slice transfers: each costs β per byte */
    double touched;               /* slices combined or copied: each costs γ per byte */
} weft_cost_work_t;

/* The figures of a plan, per chunk of one slice. The price is linear in α, β, γ, o and the slice
 * length, so one run prices all sizes. */
typedef struct weft_cost {
    weft_cost_work_t fill;    /* on the longest chain of MOVEs of one pass: latency */
    weft_cost_work_t steady;  /* of the busiest rank, per pass: the price of each further slice */
    uint32_t chain;           /* MOVEs on the longest chain */
    uint32_t lanes;           /* of the rank that has most */
    uint64_t link_chunks;     /* chunks per pass over the busiest edge */
    uint64_t link_chunks_min; /* … and over the idlest that is used at all */
    uint64_t total_chunks[WEFT_LEVELS];   /* … and over all edges together */
    uint64_t total_messages[WEFT_LEVELS]; /* … with one slice per chunk */
    uint64_t wire_chunks; /* … that leave, or enter, the host which sends or receives most */
    double total_touched; /* chunks that the MOVEs of all ranks read and write, per pass */
    uint64_t links;       /* edges: pairs of ranks in one direction with at least one queue */
    uint32_t fan;         /* ranks that one rank sends to, or receives from, at most */
    uint32_t packed;      /* chunks that a message holds, at most; 1: none is packed */
} weft_cost_t;

/* What the ranks of one host share. */
typedef struct weft_cost_crowd {
    double ranks; /* of the communicator on the fullest host */
    double cores; /* that they have together */
    double part;  /* of all ranks of the communicator */
} weft_cost_crowd_t;

/* Returns a model in which all edges cost the same, also of a busy core. */
weft_cost_model_t weft_cost_uniform(double alpha, double beta, double gamma, double overhead);

/* Returns the sum over the levels. */
static inline double weft_cost_sum(const double by_level[WEFT_LEVELS])
{
    return by_level[WEFT_LEVEL_INSIDE] + by_level[WEFT_LEVEL_BETWEEN];
}

/* Returns the level of the edge between two ranks. host NULL: all ranks are on one host. */
static inline weft_level_t weft_cost_level(const uint32_t *host, uint32_t a, uint32_t b)
{
    return host == NULL || host[a] == host[b] ? WEFT_LEVEL_INSIDE : WEFT_LEVEL_BETWEEN;
}

/* Returns the overhead in seconds, at most the latency. overhead_ns 0: the transport does not say;
 * a quarter of the latency is assumed. */
double weft_cost_overhead(uint64_t latency_ns, uint64_t overhead_ns);

/* Returns the seconds for a block of `bytes` cut into k chunks of `slices` slices of at most
 * `slice_bytes`, in as many passes as that takes. The first slice costs the fill, or the work of
 * the busiest rank if that is more; each other slice costs the work of the busiest rank. Each
 * further lane of a host begins an overhead later. */
double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes);

/* Returns the least seconds that the same call costs where ranks outnumber cores, 0 where they do
 * not: then what counts is not the longest chain but the work of all ranks together. Every hop of
 * the chain costs each rank a turn on a core in every pass, every slice its two ends, wherever it
 * is, and every byte that a MOVE reads or writes. */
double weft_cost_crowd_time(const weft_cost_t *cost, const weft_cost_model_t *model,
                            const weft_cost_crowd_t *crowd, uint64_t bytes, uint32_t k,
                            uint32_t slices, uint64_t slice_bytes);

/* Returns the least seconds that the wires of the busiest host need for a block of `bytes` in k
 * chunks, however many channels share them. */
double weft_cost_wire_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                           uint32_t k);

/* Lengths of slices up to which flagged words, then flagged lines cost least. */
typedef struct weft_cost_limits {
    uint32_t words, lines;
} weft_cost_limits_t;

/* Returns whether slices of `bytes` bytes may travel by the protocol. */
bool weft_cost_may_travel(const weft_cost_model_t *model, weft_kernel_protocol_t protocol,
                          uint64_t bytes);

/* Makes the edges inside a host those of the protocol. */
void weft_cost_travel(weft_cost_model_t *model, weft_kernel_protocol_t protocol);

/* Returns the protocol that costs least for one slice of `bytes` bytes. */
weft_kernel_protocol_t weft_cost_protocol(const weft_cost_model_t *model, uint64_t bytes);

/* Returns what weft_cost_protocol() comes to. */
weft_cost_limits_t weft_cost_limits(const weft_cost_model_t *model);

/* Makes each edge as slow as it is for one of `channels` that are in use at once. */
void weft_cost_share(weft_cost_model_t *model, uint32_t channels);

/* Returns γ for a block of `bytes` in k chunks: what the ranks of a host touch stays in its caches
 * or does not. */
double weft_cost_gamma(const weft_cost_t *cost, const weft_cost_model_t *model,
                       const weft_cost_crowd_t *crowd, uint64_t bytes, uint32_t k);

/* Returns what making the links of a plan adds to each of the calls that are likely to follow. */
double weft_cost_links(const weft_cost_t *cost, const weft_cost_crowd_t *crowd);

#endif
