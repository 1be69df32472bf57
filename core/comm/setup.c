/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing a communicator: configuration, plugins, join, agreement, instances, health. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/comm.h"

/* Agreement ---------------------------------------------------------------------------------------- */

typedef struct agree_text {
    char *text;
    size_t used, room;
    bool full;
} agree_text_t;

static void agree_add(agree_text_t *a, const char *key, const char *value)
{
    int need = snprintf(a->text + a->used, a->room - a->used, "%s=%s\n", key, value);
    if (need < 0 || (size_t)need >= a->room - a->used) {
        a->full = true;
        return;
    }
    a->used += (size_t)need;
}

static void agree_option(void *arg, const char *section, const weft_option_t *option,
                         const char *value, const char *origin)
{
    char key[192];
    (void)origin;
    if ((option->flags & WEFT_OPTION_LOCAL) == 0) {
        snprintf(key, sizeof key, "%s.%s", section, option->name);
        agree_add(arg, key, value);
    }
}

static void agree_plugins(agree_text_t *a, const weft_registry_t *registry)
{
    for (int kind = WEFT_KIND_NET; kind <= WEFT_KIND_TUNER; kind++) {
        const weft_loaded_t *loaded;
        for (uint32_t i = 0;
             (loaded = weft_registry_get(registry, (weft_plugin_kind_t)kind, i)) != NULL; i++) {
            char key[128], value[128];
            snprintf(key, sizeof key, "plugin %s", loaded->plugin->name);
            snprintf(value, sizeof value, "%s abi %u.%u", loaded->plugin->version,
                     loaded->plugin->abi_major, loaded->plugin->abi_minor);
            agree_add(a, key, value);
        }
    }
}

static weft_status_t agree(weft_comm_state_t *state)
{
    agree_text_t a = {.room = 64u << 10};
    a.text = weft_os_alloc(a.room, 0);
    if (a.text == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare configurations");
    }
    agree_add(&a, "weft", weft_version());
    agree_plugins(&a, state->registry);
    weft_config_each(state->config, agree_option, &a);
    weft_status_t status = a.full ? weft_fail(WEFT_ERR_RESOURCE, 0, "the configuration is too long")
                                  : weft_boot_agree(state->boot, a.text);
    weft_os_free(a.text);
    return status;
}

/* Instances ---------------------------------------------------------------------------------------- */

static weft_status_t create_algos(weft_comm_state_t *state)
{
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(state->registry, WEFT_KIND_ALGO, i)) != NULL;
         i++) {
        if (i == WEFT_ALGOS_MAX) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %d algorithms are listed",
                             WEFT_ALGOS_MAX);
        }
        weft_algo_loaded_t *algo = &state->algos[i];
        algo->loaded = loaded;
        algo->ops = loaded->plugin->ops;
        weft_status_t status = algo->ops->create(loaded->host, loaded->config, &algo->algo);
        if (status != WEFT_OK) {
            return status;
        }
        state->nalgos = i + 1;
    }
    weft_comm_offer_algos(state);
    return WEFT_OK;
}

static weft_status_t need_one(const weft_comm_state_t *state, weft_plugin_kind_t kind,
                              const char *what, const weft_loaded_t **loaded_p)
{
    *loaded_p = weft_registry_get(state->registry, kind, 0);
    if (*loaded_p == NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no %s plugin is listed in [core] %s", what, what);
    }
    return WEFT_OK;
}

static weft_status_t create_instances(weft_comm_state_t *state)
{
    weft_status_t status = need_one(state, WEFT_KIND_KERNEL, "kernel", &state->kernel_loaded);
    if (status == WEFT_OK) {
        status = need_one(state, WEFT_KIND_TUNER, "tuner", &state->tuner_loaded);
    }
    if (status != WEFT_OK) {
        return status;
    }
    state->kernel_ops = state->kernel_loaded->plugin->ops;
    state->tuner_ops = state->tuner_loaded->plugin->ops;
    status = state->kernel_ops->create(state->kernel_loaded->host, state->kernel_loaded->config,
                                       &state->kernel);
    if (status == WEFT_OK) {
        state->kernel_props.size = sizeof state->kernel_props;
        status = state->kernel_ops->props(state->kernel, &state->kernel_props);
    }
    if (status == WEFT_OK) {
        status = state->tuner_ops->create(state->tuner_loaded->host, state->tuner_loaded->config,
                                          &state->tuner);
    }
    return status == WEFT_OK ? create_algos(state) : status;
}

/* Links and what all ranks must know equally -------------------------------------------------------- */

typedef struct shared_facts {
    double alpha, beta, gamma;
    uint64_t slot_bytes;
    uint32_t slots;
    uint32_t reserved;
} shared_facts_t;

static uint32_t power_of_two(uint32_t n)
{
    uint32_t p = 2;
    while (p < n && p < 64) {
        p *= 2;
    }
    return p;
}

/* This rank's figures over the transports it uses. */
static shared_facts_t own_facts(const weft_comm_state_t *state, uint32_t used)
{
    shared_facts_t f = {.gamma = 1.0 / (double)(state->kernel_props.bandwidth + 1),
                        .slots = 2,
                        .slot_bytes = WEFT_LINE};
    for (uint32_t i = 0; i < weft_links_nets(state->links); i++) {
        const weft_net_props_t *p = &weft_links_net(state->links, i)->props;
        if ((used >> i & 1) == 0) {
            continue;
        }
        double alpha = (double)p->latency_ns * 1e-9;
        double beta = 1.0 / (double)(p->bandwidth + 1);
        f.alpha = alpha > f.alpha ? alpha : f.alpha;
        f.beta = beta > f.beta ? beta : f.beta;
        f.slots = p->slots > f.slots ? p->slots : f.slots;
        f.slot_bytes = p->slot_bytes > f.slot_bytes ? p->slot_bytes : f.slot_bytes;
    }
    return f;
}

/* The slowest rank's figures hold for all, so that all decide alike. */
static shared_facts_t join_facts(const shared_facts_t *all, uint32_t nranks)
{
    shared_facts_t f = all[0];
    for (uint32_t r = 1; r < nranks; r++) {
        f.alpha = all[r].alpha > f.alpha ? all[r].alpha : f.alpha;
        f.beta = all[r].beta > f.beta ? all[r].beta : f.beta;
        f.gamma = all[r].gamma > f.gamma ? all[r].gamma : f.gamma;
        f.slots = all[r].slots > f.slots ? all[r].slots : f.slots;
        f.slot_bytes = all[r].slot_bytes > f.slot_bytes ? all[r].slot_bytes : f.slot_bytes;
    }
    return f;
}

static void take_facts(weft_comm_state_t *state, const shared_facts_t *f)
{
    const weft_exec_settings_t *exec = &state->settings.exec;
    uint64_t bytes = exec->slot_bytes > 0 ? exec->slot_bytes : f->slot_bytes;
    state->model = (weft_cost_model_t){.alpha = f->alpha, .beta = f->beta, .gamma = f->gamma};
    state->slots = power_of_two(exec->slots > 0 ? (uint32_t)exec->slots : f->slots);
    state->slot_bytes = (bytes + WEFT_LINE - 1) / WEFT_LINE * WEFT_LINE;
    weft_links_slots(state->links, state->slots, state->slot_bytes);
}

static weft_status_t exchange_facts(weft_comm_state_t *state, uint32_t used)
{
    shared_facts_t mine = own_facts(state, used);
    shared_facts_t *all = weft_os_alloc(state->nranks * sizeof *all, 0);
    if (all == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare transports");
    }
    weft_status_t status =
        weft_boot_all_gather(state->boot, "transport figures", &mine, sizeof mine, all);
    if (status == WEFT_OK) {
        shared_facts_t f = join_facts(all, state->nranks);
        take_facts(state, &f);
    }
    weft_os_free(all);
    return status;
}

static weft_status_t connect_peers(weft_comm_state_t *state)
{
    weft_links_setup_t setup = {.registry = state->registry,
                                .nranks = state->nranks,
                                .rank = state->rank,
                                .comm_id = state->id};
    uint8_t card[WEFT_LINKS_CARD];
    uint32_t used = 0;
    uint8_t *cards = weft_os_alloc(state->nranks * WEFT_LINKS_CARD, 0);
    if (cards == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate addresses");
    }
    weft_status_t status = weft_links_create(&setup, &state->links);
    if (status == WEFT_OK) {
        weft_links_card(state->links, card);
        status = weft_boot_all_gather(state->boot, "transport addresses", card, sizeof card, cards);
    }
    if (status == WEFT_OK) {
        status = weft_links_peers(state->links, cards, &used);
    }
    weft_os_free(cards);
    return status == WEFT_OK ? exchange_facts(state, used) : status;
}

/* Life --------------------------------------------------------------------------------------------- */

static weft_status_t allocate(uint32_t nranks, uint32_t rank, weft_comm_state_t **state_p)
{
    weft_comm_state_t *state = weft_os_alloc(sizeof *state, 0);
    if (state == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    state->nranks = nranks;
    state->rank = rank;
    state->fork_generation = weft_os_fork_generation();
    weft_error_clear(&state->failure);
    state->host_of = weft_os_alloc(nranks * sizeof *state->host_of, 0);
    state->one_host = weft_os_alloc(nranks * sizeof *state->one_host, 0);
    state->left_at = weft_os_alloc(nranks * sizeof *state->left_at, 0);
    state->met_at = weft_os_alloc(nranks * sizeof *state->met_at, 0);
    if (state->host_of == NULL || state->one_host == NULL || state->left_at == NULL ||
        state->met_at == NULL) {
        weft_comm_free(state);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         nranks);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        atomic_init(&state->left_at[r], UINT64_MAX);
    }
    *state_p = state;
    return WEFT_OK;
}

static uint32_t take_hosts(weft_comm_state_t *state)
{
    const weft_boot_peer_t *peers = weft_boot_peers(state->boot);
    uint32_t here = 0;
    for (uint32_t r = 0; r < state->nranks; r++) {
        state->host_of[r] = peers[r].host;
        here += peers[r].host == peers[state->rank].host;
    }
    state->nhosts = weft_boot_hosts(state->boot);
    return here;
}

static weft_status_t load(weft_comm_state_t *state, const weft_options_t *options)
{
    weft_status_t status = weft_config_load(options, &state->config);
    if (status == WEFT_OK) {
        status = weft_settings_read(state->config, &state->settings);
    }
    if (status == WEFT_OK) {
        weft_log_set_level((weft_log_level_t)state->settings.core.log);
        status = weft_registry_load(state->config, &state->settings, &state->registry);
    }
    return status;
}

static weft_status_t join(weft_comm_state_t *state, const weft_unique_id_t *id)
{
    weft_status_t status =
        weft_boot_join(&state->settings.boot, state->nranks, id, state->rank, &state->boot);
    if (status != WEFT_OK) {
        return status;
    }
    state->id = weft_boot_comm_id(state->boot);
    weft_waiter_init(&state->waiter, &state->settings.exec, take_hosts(state));
    if (state->nranks == 1) {
        return WEFT_OK;
    }
    weft_registry_set_key(state->registry, weft_boot_key(state->boot));
    return agree(state);
}

weft_status_t weft_comm_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                               const weft_options_t *options, weft_comm_state_t **state_p)
{
    weft_comm_state_t *state = NULL;
    weft_status_t status = allocate(nranks, rank, &state);
    if (status != WEFT_OK) {
        return status;
    }
    status = load(state, options);
    if (status == WEFT_OK) {
        status = join(state, id);
    }
    if (status == WEFT_OK) {
        status = create_instances(state);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = connect_peers(state);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = weft_health_start(state->boot, &weft_comm_events, state);
    }
    if (status != WEFT_OK) {
        weft_error_t kept = *weft_error_record();
        weft_comm_free(state);
        *weft_error_record() = kept;
        return status;
    }
    *state_p = state;
    return WEFT_OK;
}

static void free_instances(weft_comm_state_t *state)
{
    for (uint32_t i = 0; i < state->nalgos; i++) {
        state->algos[i].ops->destroy(state->algos[i].algo);
    }
    if (state->tuner != NULL) {
        state->tuner_ops->destroy(state->tuner);
    }
    if (state->kernel != NULL) {
        state->kernel_ops->destroy(state->kernel);
    }
}

void weft_comm_free(weft_comm_state_t *state)
{
    /* The health thread reads the state: it ends first. */
    weft_boot_leave(state->boot);
    for (uint32_t i = 0; i < WEFT_PROGRAMS; i++) {
        weft_prepared_free(state->prepared[i]);
    }
    weft_comm_free_memory(state);
    weft_links_destroy(state->links);
    free_instances(state);
    weft_registry_destroy(state->registry);
    weft_config_destroy(state->config);
    weft_os_pages_free(state->staging, state->staging_bytes);
    weft_os_free(state->host_of);
    weft_os_free(state->one_host);
    weft_p2p_close(state);
    weft_os_free((void *)state->left_at);
    weft_os_free((void *)state->met_at);
    weft_os_free(state);
}
