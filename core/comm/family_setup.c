/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a family, step by step: configuration, beginning of the join, plugins, the rest of
 * the join, agreement, instances, transports. */
#include "core/comm/family_setup.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/exchange.h"
#include "core/boot/fixed_id.h"
#include "core/boot/health.h"
#include "core/boot/join.h"
#include "core/comm/consensus_records.h"
#include "core/comm/family_agreement.h"
#include "core/comm/family_board.h"
#include "core/comm/family_figures.h"
#include "core/comm/family_job.h"
#include "core/comm/family_plugins.h"
#include "core/topo/job_orders.h"

/* Addresses ------------------------------------------------------------------------------------ */

static void family_combine_layouts(void *into, const void *from)
{
    weft_connect_layout_t *a = into;
    const weft_connect_layout_t *b = from;
    for (uint32_t i = 0; i < WEFT_TRANSPORTS_MAX; i++) {
        a->bytes[i] = b->bytes[i] > a->bytes[i] ? b->bytes[i] : a->bytes[i];
    }
}

/* A host whose rings and chains are known says which NICs they use. */
static void family_tell_ways(weft_family_t *family)
{
    const weft_job_t *job = &family->job;
    weft_link_ways_t ways = {.host = job->host};
    for (uint32_t i = 0; i < job->topo.nrings && i < WEFT_PLAN_WAY_ORDERS; i++) {
        for (uint32_t leaves = 0; leaves < 2; leaves++) {
            ways.ring[i][leaves] = weft_job_nic(job, family->rank, true, i, leaves != 0);
        }
    }
    for (uint32_t i = 0; i < job->topo.nchains && i < WEFT_PLAN_WAY_ORDERS; i++) {
        ways.chain[i] = weft_job_nic(job, family->rank, false, i, true);
    }
    if (job->topo.nrings + job->topo.nchains > 0) {
        weft_transports_set_ways(family->transports, &ways);
    }
}

/* Every rank gets the addresses of all; `bytes` is their length for one rank. */
static weft_status_t family_exchange_addresses(weft_family_t *family, size_t bytes,
                                               uint32_t *used_p)
{
    uint8_t *mine = weft_os_alloc(bytes, 0);
    uint8_t *all = weft_os_alloc(family->nranks * bytes, 0);
    weft_status_t status = WEFT_OK;
    if (mine == NULL || all == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate addresses");
        weft_os_free(all);
        goto out;
    }
    weft_transports_connect_info(family->transports, mine);
    status = weft_boot_all_gather(family->boot, "transport addresses", mine, bytes, all);
    if (status == WEFT_OK) {
        status = weft_transports_choose(family->transports, all, used_p);
    } else {
        weft_os_free(all);
    }
out:
    weft_os_free(mine);
    return status;
}

static weft_status_t family_connect_peers(weft_family_t *family)
{
    uint32_t used = 0;
    size_t bytes = 0;
    weft_status_t status =
        weft_transports_create(family->registry, family->nranks, family->rank, &family->transports);
    if (status != WEFT_OK) {
        return status;
    }
    weft_connect_layout_t layout = weft_transports_own_layout(family->transports);
    status = weft_boot_all_reduce(family->boot, "lengths of addresses", &layout, sizeof layout,
                                  family_combine_layouts);
    if (status == WEFT_OK) {
        status = weft_transports_set_layout(family->transports, &layout, &bytes);
    }
    if (status == WEFT_OK) {
        status = family_exchange_addresses(family, bytes, &used);
        family_tell_ways(family);
    }
    return status == WEFT_OK ? weft_family_exchange_figures(family, used) : status;
}

/* Life ----------------------------------------------------------------------------------------- */

static uint32_t family_count_here(const weft_family_t *family)
{
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    uint32_t here = 0;
    for (uint32_t r = 0; r < family->nranks; r++) {
        here += peers[r].host == peers[family->rank].host;
    }
    return here;
}

static weft_status_t family_configure(weft_family_t *family, const weft_comm_options_t *options,
                                      const weft_config_t *like)
{
    weft_status_t status = like != NULL ? weft_config_copy(like, &family->config)
                                        : weft_config_load(options, &family->config);
    if (status == WEFT_OK) {
        status = weft_settings_read(family->config, &family->settings);
    }
    if (status == WEFT_OK) {
        weft_log_set_level((weft_log_level_t)family->settings.core.log);
        weft_log_set_timed(family->settings.core.log_time);
        status = weft_flight_open(&family->survival.flight, family->settings.core.flight,
                                  family->nranks, family->rank);
    }
    return status;
}

/* The configuration cannot be used, so this rank cannot join: the others are told over a connection
 * with defaults, if that does not take long. A fixed id would have to be opened first. */
static void family_tell_misconfigured(const weft_family_t *family, const weft_unique_id_t *id)
{
    const weft_boot_settings_t defaults = {.init_timeout = 0.5};
    weft_error_t kept = *weft_error_record();
    weft_join_t *join = NULL;
    if (family->nranks > 1 && !weft_id_is_fixed(id) &&
        weft_join_begin(&defaults, family->nranks, id, family->rank, &join) == WEFT_OK) {
        *weft_error_record() = kept;
        weft_join_abandon(join);
    }
    *weft_error_record() = kept;
}

/* Joins around the loading of plugins, which takes most of the time: from the beginning of the join
 * on the others hear of this rank's death, and of a plugin that it does not find. */
static weft_status_t family_join_and_load(weft_family_t *family, const weft_unique_id_t *id)
{
    weft_unique_id_t opened;
    weft_join_t *join = NULL;
    const weft_boot_settings_t *settings = &family->settings.boot;
    weft_status_t status = weft_fixed_id_open(settings, family->nranks, family->rank, id, &opened);
    if (status == WEFT_OK) {
        status = weft_join_begin(settings, family->nranks, &opened, family->rank, &join);
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_registry_load(family->config, &family->settings, false, &family->registry);
    if (status != WEFT_OK) {
        weft_error_t kept = *weft_error_record();
        weft_join_abandon(join);
        *weft_error_record() = kept;
        return status;
    }
    return weft_join_complete(join, &family->boot);
}

static weft_status_t family_agree(weft_family_t *family)
{
    family->here = (weft_family_here_t){
        .ranks = family_count_here(family), .sharers = 1, .cpus = weft_os_cpus()};
    if (family->nranks == 1) {
        return WEFT_OK;
    }
    weft_registry_set_key(family->registry, weft_boot_key(family->boot));
    uint32_t maker = weft_family_board_maker(family);
    if (maker == family->rank) {
        weft_family_make_board(family);
    }
    weft_status_t status = weft_family_agree(family);
    if (status == WEFT_OK && maker != family->rank && maker < family->nranks) {
        weft_family_find_board(family, maker);
    }
    return status;
}

static void family_destroy(weft_family_t *family)
{
    /* The health thread reads the list of members: it ends first. */
    weft_boot_leave(family->boot);
    weft_transports_destroy(family->transports);
    weft_job_fini(&family->job);
    weft_family_destroy_plugins(family);
    weft_proof_board_close(family->proofs);
    weft_os_host_memory_close(&family->proof_memory);
    weft_registry_destroy(family->registry);
    weft_config_destroy(family->config);
    weft_consensus_forget(&family->survival);
    weft_flight_close(&family->survival.flight);
    weft_os_free(family);
}

weft_status_t weft_family_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                                 const weft_comm_options_t *options, const weft_config_t *like,
                                 const weft_health_callbacks_t *events, weft_family_t **family_p)
{
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    if (family == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    family->nranks = nranks;
    family->rank = rank;
    atomic_init(&family->references, 1);
    weft_status_t status = weft_consensus_prepare(&family->survival, nranks);
    status = status == WEFT_OK ? family_configure(family, options, like) : status;
    if (status != WEFT_OK) {
        family_tell_misconfigured(family, id);
    } else {
        status = family_join_and_load(family, id);
    }
    if (status == WEFT_OK) {
        status = family_agree(family);
    }
    if (status == WEFT_OK) {
        status = weft_family_create_plugins(family);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = weft_family_agree_on_job(family);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = weft_family_share_device(family);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = weft_health_prepare(family->boot, events, family);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = family_connect_peers(family);
    }
    if (status != WEFT_OK) {
        weft_error_t kept = *weft_error_record();
        if (family->boot != NULL) {
            weft_boot_give_up(family->boot);
        }
        family_destroy(family);
        *weft_error_record() = kept;
        return status;
    }
    weft_flight_join(&family->survival.flight);
    *family_p = family;
    return WEFT_OK;
}

void weft_family_release(weft_family_t *family)
{
    if (atomic_fetch_sub_explicit(&family->references, 1, memory_order_acq_rel) == 1) {
        family_destroy(family);
    }
}

void weft_family_leave(weft_family_t *family)
{
    if (atomic_load_explicit(&family->references, memory_order_acquire) == 1) {
        weft_health_leave_family(family->boot);
    }
}
