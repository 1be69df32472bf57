/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A family: what a communicator shares on one rank with all communicators that were split from it.
 * It lives as long as the last of them. Everything here is set up once (family_setup.h) and only
 * read afterwards, except the list of members. */
#ifndef WEFT_COMM_FAMILY_H
#define WEFT_COMM_FAMILY_H

#include <stdatomic.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/draft/gpudirect.h>
#include <weft/plugin/draft/lanes.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/draft/ipc.h>
#include <weft/plugin/tuner.h>

#include "core/boot/health.h"
#include "core/comm/figures.h"
#include "core/comm/flight.h"
#include "core/comm/wanted_table.h"
#include "core/exec/combiner.h"
#include "core/exec/transports.h"
#include "core/os/os.h"
#include "core/os/os_host_memory.h"
#include "core/plan/cost.h"
#include "core/plan/proof_board.h"
#include "core/plan/sub.h"
#include "core/topo/job.h"

#define WEFT_ALGOS_MAX 16

/* One loaded algorithm. */
typedef struct weft_algo_loaded {
    const weft_loaded_t *loaded;
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
    uint32_t depth; /* slots that a port needs for each slice of a chunk; at least 1 */
} weft_algo_loaded_t;

#define WEFT_VARIANTS_MAX 64 /* one bit each in weft_candidates_t */

/* An algorithm with its parameters. */
typedef struct weft_algo_variant {
    const weft_algo_loaded_t *algo;
    int64_t params[WEFT_ALGO_PARAMS_MAX];
    char label[160];  /* "algo-x", or "algo-x:depth=2" where the tuner asks for parameters */
    const char *text; /* "depth=2", of the label; "" */
} weft_algo_variant_t;

/* The algorithms, in the order of the configuration. */
typedef struct weft_family_algos {
    weft_algo_loaded_t list[WEFT_ALGOS_MAX];
    uint32_t count;
    weft_algo_variant_t variants[WEFT_VARIANTS_MAX]; /* first the list's, as configured */
    uint32_t nvariants;
    const weft_algo_variant_t *forced; /* by [plan] algo; NULL: the tuner chooses */
    weft_plan_finder_t finder; /* over the list, for plans that contain plans of other algorithms */
    _Atomic uint32_t told[WEFT_COLL_COUNT]; /* bit per algorithm: users know that it was refused */
} weft_family_algos_t;

/* The kernel, and the extensions that it answers to. */
typedef struct weft_family_kernel {
    const weft_loaded_t *loaded;
    const weft_kernel_ops_t *ops;
    weft_kernel_t *instance;
    weft_kernel_props_t props;
    weft_combiner_t copy; /* of bytes of host memory; fn NULL: it has no such function */
    const weft_kernel_lanes_t *lanes;      /* NULL: it does not run plans */
    const weft_kernel_memory_t *memory;    /* NULL: it computes on host memory */
    const weft_kernel_ipc_t *share;        /* NULL: its memory cannot be exported */
    const weft_kernel_gpudirect_t *direct; /* NULL: adapters cannot use its memory */
    uint32_t stripes; /* most of a message between two ranks (stripes.h), equal on all of them */
    uint64_t channel_bytes; /* least part of a collective worth a channel, equal on all */
} weft_family_kernel_t;

typedef struct weft_family_tuner {
    const weft_loaded_t *loaded;
    const weft_tuner_ops_t *ops;
    weft_tuner_t *instance;
} weft_family_tuner_t;

struct weft_comm_state;

/* How often this rank has called something that its members alone do, by a key for who they are. */
typedef struct weft_family_attempt {
    struct weft_family_attempt *next;
    uint64_t key;
    uint64_t attempts;
} weft_family_attempt_t;

/* The membership of one communicator; embedded in its state. */
typedef struct weft_family_member {
    struct weft_family_member *next;
    struct weft_comm_state *state;
    uint64_t comm_id;
    bool revoked;                    /* this rank has revoked it, or heard that another one has */
    weft_family_attempt_t *attempts; /* of calls on it */
} weft_family_member_t;

/* The communicators of this rank, and what their peers want. */
typedef struct weft_family_members {
    weft_family_member_t *first;
    weft_wanted_table_t wanted;
} weft_family_members_t;

struct weft_consensus_record;
struct weft_side_call;

/* What outlives communicators: see consensus_records.h. */
typedef struct weft_family_survival {
    struct weft_consensus_record *records; /* the newest first */
    uint8_t *gone;        /* per rank of the family: it died or left; NULL for one rank */
    weft_flight_t flight; /* has a lock of its own */
    struct weft_side_call *side_calls; /* of threads that are inside one: side_calls.h */
} weft_family_survival_t;

/* The ranks of this machine, with this one. */
typedef struct weft_family_here {
    uint32_t ranks;
    uint32_t sharers; /* of them, those bound to the CPUs that this one is bound to; and … */
    uint32_t cpus;    /* … how many of these it may use at once */
} weft_family_here_t;

typedef struct weft_family {
    _Atomic uint32_t references;
    uint32_t nranks, rank;
    weft_config_t *config;
    weft_settings_t settings;
    weft_registry_t *registry;
    weft_boot_t *boot;
    weft_job_t job;                /* nothing for one rank */
    weft_transports_t *transports; /* NULL for one rank */
    weft_family_algos_t algos;
    weft_family_kernel_t kernel;
    weft_family_tuner_t tuner;
    weft_os_host_memory_t proof_memory;
    weft_proof_board_t *proofs; /* of this host's processes; NULL: none */
    weft_cost_model_t model;    /* equal on all ranks, as are the next six */
    double gamma[WEFT_FIGURES_RATES];
    uint32_t slots;
    uint64_t slot_bytes;
    uint64_t small_bytes; /* of slots for small payloads; 0: some rank's device uses the slots */
    double cores;         /* that the ranks of a host may use: see core/topo/job.h */
    uint32_t channels;    /* most that share a collective */
    weft_family_here_t here;
    weft_os_mutex_t lock; /* guards the rest; the health channel delivers its events under it */
    weft_family_members_t members;
    weft_family_survival_t survival;
} weft_family_t;

/* Adds a reference; weft_family_release() in family_setup.h drops it. */
void weft_family_retain(weft_family_t *family);

/* From add to remove the communicator receives events of the health channel. After remove() no
 * other thread uses `member`, and what it counted is forgotten. Removing a communicator that was
 * not added is legal. */
void weft_family_add(weft_family_t *family, weft_family_member_t *member);
void weft_family_remove(weft_family_t *family, weft_family_member_t *member);

/* Returns in *attempt_p how often this rank has called this on the communicator with `key` before.
 * ERR_RESOURCE. */
weft_status_t weft_family_count_attempt(weft_family_t *family, weft_family_member_t *member,
                                        uint64_t key, uint64_t *attempt_p);
/* Takes the last count of `key` on communicator comm_id back, if that is still there: the next call
 * has the same number. */
void weft_family_discount_attempt(weft_family_t *family, uint64_t comm_id, uint64_t key);

/* Returns the member with that id, or NULL. The caller holds family->lock. */
struct weft_comm_state *weft_family_find(const weft_family_t *family, uint64_t comm_id);

#endif
