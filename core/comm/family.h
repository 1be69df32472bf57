/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A family: what a communicator and all that were split from it share on one rank. It lives as long as
 * the last of them. What is here is set up once and only read afterwards, but for the members. */
#ifndef WEFT_COMM_FAMILY_H
#define WEFT_COMM_FAMILY_H

#include <weft/plugin/algo.h>
#include <weft/plugin/direct.h>
#include <weft/plugin/lanes.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/share.h>
#include <weft/plugin/tuner.h>

#include "core/boot/health.h"
#include "core/exec/nets.h"
#include "core/os/os.h"
#include "core/plan/cost.h"

#define WEFT_ALGOS_MAX 16

typedef struct weft_algo_loaded {
    const weft_loaded_t *loaded;
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
} weft_algo_loaded_t;

struct weft_comm_state;

typedef struct weft_family {
    _Atomic uint32_t references;
    uint32_t nranks, rank;
    weft_config_t *config;
    weft_settings_t settings;
    weft_registry_t *registry;
    weft_boot_t *boot;
    weft_nets_t *nets; /* NULL for one rank */
    weft_algo_loaded_t algos[WEFT_ALGOS_MAX];
    uint32_t nalgos;
    const weft_loaded_t *kernel_loaded, *tuner_loaded;
    const weft_kernel_ops_t *kernel_ops;
    weft_kernel_t *kernel;
    weft_kernel_props_t kernel_props;
    const weft_kernel_lanes_t *kernel_lanes;   /* NULL: it runs no plans */
    const weft_kernel_memory_t *kernel_memory; /* NULL: it computes on host memory */
    const weft_kernel_share_t *kernel_share;   /* NULL: its memory is nobody else's */
    const weft_kernel_direct_t *kernel_direct; /* NULL: adapters cannot use its memory */
    const weft_tuner_ops_t *tuner_ops;
    weft_tuner_t *tuner;
    weft_cost_model_t model; /* equal on all ranks */
    uint32_t slots;
    uint64_t slot_bytes;
    uint32_t channels;   /* most that share a message */
    uint32_t ranks_here; /* on this host */

    weft_os_mutex_t lock; /* guards the list; events of the health channel are served under it */
    struct weft_comm_state *members;
} weft_family_t;

/* setup.c: configuration, plugins, join, agreement, transports; all but the health channel. */
weft_status_t weft_family_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                                 const weft_comm_options_t *options, weft_family_t **family_p);
void weft_family_destroy(weft_family_t *family);

/* family.c */
extern const weft_health_events_t weft_family_events;
/* From add to remove the communicator gets events. */
void weft_family_add(weft_family_t *family, struct weft_comm_state *state);
void weft_family_remove(weft_family_t *family, struct weft_comm_state *state);
void weft_family_take(weft_family_t *family);
/* The last one leaves the control tree and frees everything. */
void weft_family_release(weft_family_t *family);

#endif
