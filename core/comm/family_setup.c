/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing what a family shares: configuration, plugins, join, agreement, instances,
 * transports. */
#include "core/comm/family_setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/agreement.h"
#include "core/boot/exchange.h"
#include "core/boot/fixed_id.h"
#include "core/boot/join.h"
#include "core/exec/slot_store.h"

/* Agreement ------------------------------------------------------------------------------------ */

typedef struct agree_text {
    char *text;
    size_t used, room;
    bool full;
    const weft_registry_t *registry;
} agree_text_t;

static void family_setup_agree_add(agree_text_t *a, const char *key, const char *value)
{
    int need = snprintf(a->text + a->used, a->room - a->used, "%s=%s\n", key, value);
    if (need < 0 || (size_t)need >= a->room - a->used) {
        a->full = true;
        return;
    }
    a->used += (size_t)need;
}

/* Returns the name of the kernel's arithmetic; kernels of one arithmetic give the same bits.
 * NULL: its own. */
static const char *family_arithmetic_of(const weft_loaded_t *kernel)
{
    const weft_kernel_ops_t *ops = kernel->plugin->ops;
    return WEFT_HAS(ops, weft_kernel_ops_t, arithmetic) ? ops->arithmetic : NULL;
}

/* True for options that may differ between ranks: those of a kernel that may differ itself, or
 * that is listed and not used. */
static bool family_option_is_free(const agree_text_t *a, const char *section)
{
    const weft_loaded_t *kernel;
    for (uint32_t i = 0; (kernel = weft_registry_get(a->registry, WEFT_KIND_KERNEL, i)) != NULL;
         i++) {
        if (strcmp(kernel->plugin->name, section) == 0) {
            return i > 0 || family_arithmetic_of(kernel) != NULL;
        }
    }
    return false;
}

static void family_setup_agree_option(void *arg, const char *section, const weft_option_t *option,
                                      const char *value, const char *origin)
{
    char key[192];
    (void)origin;
    if ((option->flags & WEFT_OPTION_LOCAL) == 0 && !family_option_is_free(arg, section)) {
        snprintf(key, sizeof key, "%s.%s", section, option->name);
        family_setup_agree_add(arg, key, value);
    }
}

static void family_setup_agree_kernel(agree_text_t *a)
{
    char own[160];
    const weft_loaded_t *kernel = weft_registry_get(a->registry, WEFT_KIND_KERNEL, 0);
    if (kernel != NULL) {
        const char *name = family_arithmetic_of(kernel);
        snprintf(own, sizeof own, "that of %s %s", kernel->plugin->name, kernel->plugin->version);
        family_setup_agree_add(a, "the arithmetic of core.kernel", name != NULL ? name : own);
    }
}

static void family_setup_agree_plugins(agree_text_t *a)
{
    for (int kind = WEFT_KIND_NET; kind <= WEFT_KIND_TUNER; kind++) {
        const weft_loaded_t *loaded;
        for (uint32_t i = 0;
             kind != WEFT_KIND_KERNEL &&
             (loaded = weft_registry_get(a->registry, (weft_plugin_kind_t)kind, i)) != NULL;
             i++) {
            char key[128], value[128];
            snprintf(key, sizeof key, "plugin %s", loaded->plugin->name);
            snprintf(value, sizeof value, "%s abi %u.%u", loaded->plugin->version,
                     loaded->plugin->abi_major, loaded->plugin->abi_minor);
            family_setup_agree_add(a, key, value);
        }
    }
}

static weft_status_t family_setup_agree(weft_family_t *family)
{
    agree_text_t a = {.room = 64u << 10, .registry = family->registry};
    a.text = weft_os_alloc(a.room, 0);
    if (a.text == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare configurations");
    }
    family_setup_agree_add(&a, "weft", weft_version());
    family_setup_agree_plugins(&a);
    family_setup_agree_kernel(&a);
    weft_config_each(family->config, family_setup_agree_option, &a);
    weft_status_t status = a.full ? weft_fail(WEFT_ERR_RESOURCE, 0, "the configuration is too long")
                                  : weft_boot_agree(family->boot, a.text);
    weft_os_free(a.text);
    return status;
}

/* Instances ------------------------------------------------------------------------------------ */

/* Adds to the plugin's error where the configuration lists the plugin. */
static weft_status_t family_name_listing(const weft_family_t *family, const weft_loaded_t *loaded,
                                         weft_status_t status)
{
    weft_error_t *error = weft_error_record();
    size_t at = strnlen(error->text, sizeof error->text);
    snprintf(error->text + at, sizeof error->text - at, " (%s is listed in [core] algo, %s)",
             loaded->plugin->name, weft_config_origin(family->config, "core", "algo"));
    return status;
}

/* Finds an algorithm by name, for plans that use the plans of other algorithms. */
static weft_status_t family_find_algo(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                                      weft_algo_t **algo_p)
{
    const weft_family_algos_t *algos = arg;
    const char *names[WEFT_ALGOS_MAX];
    for (uint32_t i = 0; i < algos->count; i++) {
        const weft_algo_loaded_t *algo = &algos->list[i];
        names[i] = algo->loaded->plugin->name;
        if (strcmp(names[i], name) == 0) {
            *ops_p = algo->ops;
            *algo_p = algo->algo;
            return WEFT_OK;
        }
    }
    return weft_plan_no_algo(name, names, algos->count);
}

static weft_status_t family_create_algos(weft_family_t *family)
{
    const weft_loaded_t *loaded;
    family->algos.finder = (weft_plan_finder_t){.find = family_find_algo, .arg = &family->algos};
    for (uint32_t i = 0; (loaded = weft_registry_get(family->registry, WEFT_KIND_ALGO, i)) != NULL;
         i++) {
        if (i == WEFT_ALGOS_MAX) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %d algorithms are listed",
                             WEFT_ALGOS_MAX);
        }
        weft_algo_loaded_t *algo = &family->algos.list[i];
        algo->loaded = loaded;
        algo->ops = loaded->plugin->ops;
        weft_status_t status = algo->ops->create(loaded->host, loaded->config, &algo->algo);
        if (status != WEFT_OK) {
            return family_name_listing(family, loaded, status);
        }
        family->algos.count = i + 1;
    }
    return WEFT_OK;
}

static weft_status_t family_need_one(const weft_family_t *family, weft_plugin_kind_t kind,
                                     const char *what, const weft_loaded_t **loaded_p)
{
    *loaded_p = weft_registry_get(family->registry, kind, 0);
    if (*loaded_p == NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no %s plugin is listed in [core] %s", what, what);
    }
    return WEFT_OK;
}

static weft_status_t family_create_instances(weft_family_t *family)
{
    weft_status_t status =
        family_need_one(family, WEFT_KIND_KERNEL, "kernel", &family->kernel.loaded);
    if (status == WEFT_OK) {
        status = family_need_one(family, WEFT_KIND_TUNER, "tuner", &family->tuner.loaded);
    }
    if (status != WEFT_OK) {
        return status;
    }
    family->kernel.ops = family->kernel.loaded->plugin->ops;
    family->tuner.ops = family->tuner.loaded->plugin->ops;
    status = family->kernel.ops->create(family->kernel.loaded->host, family->kernel.loaded->config,
                                        &family->kernel.instance);
    if (status == WEFT_OK) {
        family->kernel.props.size = sizeof family->kernel.props;
        status = family->kernel.ops->props(family->kernel.instance, &family->kernel.props);
    }
    if (status == WEFT_OK && WEFT_HAS(family->kernel.ops, weft_kernel_ops_t, get_extension)) {
        family->kernel.lanes =
            family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_LANES);
        family->kernel.memory =
            family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_MEMORY);
        /* Host code moves payloads that lie on a device by the kernel's copy function. */
        if (family->kernel.memory != NULL) {
            family->kernel.share =
                family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_IPC);
            family->kernel.direct =
                family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_GPUDIRECT);
        }
    }
    if (status == WEFT_OK) {
        status = family->tuner.ops->create(family->tuner.loaded->host, family->tuner.loaded->config,
                                           &family->tuner.instance);
    }
    return status == WEFT_OK ? family_create_algos(family) : status;
}

/* Links, and figures that all ranks must know equally ------------------------------------------ */

typedef struct shared_facts {
    double alpha, beta, gamma, overhead;
    uint64_t slot_bytes;
    uint32_t slots;
    uint32_t channels;
    uint32_t cores;
    uint32_t devices; /* 1: a device reads and writes the slots, which it knows as a plain array */
} shared_facts_t;

static uint32_t family_power_of_two(uint32_t n)
{
    uint32_t p = 2;
    while (p < n && p < 64) {
        p *= 2;
    }
    return p;
}

/* Collects this rank's figures over the transports that it uses. */
static shared_facts_t family_own_facts(const weft_family_t *family, uint32_t used)
{
    shared_facts_t f = {.gamma = 1.0 / (double)(family->kernel.props.bandwidth + 1),
                        .slots = 2,
                        .slot_bytes = WEFT_LINE,
                        .channels = family->kernel.props.channels,
                        .cores = weft_os_cpus(),
                        .devices = family->kernel.lanes != NULL || family->kernel.memory != NULL};
    for (uint32_t i = 0; i < weft_transports_count(family->transports); i++) {
        const weft_net_props_t *p = &weft_transports_get(family->transports, i)->props;
        if ((used >> i & 1) == 0) {
            continue;
        }
        double alpha = (double)p->latency_ns * 1e-9;
        double beta = 1.0 / (double)(p->bandwidth + 1);
        double overhead = weft_cost_overhead(p->latency_ns, p->overhead_ns);
        f.alpha = alpha > f.alpha ? alpha : f.alpha;
        f.overhead = overhead > f.overhead ? overhead : f.overhead;
        f.beta = beta > f.beta ? beta : f.beta;
        f.slots = p->slots > f.slots ? p->slots : f.slots;
        f.slot_bytes = p->slot_bytes > f.slot_bytes ? p->slot_bytes : f.slot_bytes;
    }
    return f;
}

/* The slowest rank's figures hold for all, so that all decide alike. */
static void family_combine_facts(void *into, const void *from)
{
    shared_facts_t *f = into;
    const shared_facts_t *g = from;
    f->alpha = g->alpha > f->alpha ? g->alpha : f->alpha;
    f->beta = g->beta > f->beta ? g->beta : f->beta;
    f->gamma = g->gamma > f->gamma ? g->gamma : f->gamma;
    f->overhead = g->overhead > f->overhead ? g->overhead : f->overhead;
    f->slots = g->slots > f->slots ? g->slots : f->slots;
    f->slot_bytes = g->slot_bytes > f->slot_bytes ? g->slot_bytes : f->slot_bytes;
    f->channels = g->channels < f->channels ? g->channels : f->channels;
    f->cores = g->cores < f->cores ? g->cores : f->cores;
    f->devices |= g->devices;
}

static uint32_t family_channels_of(const weft_family_t *family, const shared_facts_t *f)
{
    int64_t wanted = family->settings.plan.channels;
    uint32_t channels = wanted > 0 ? (uint32_t)wanted : f->channels;
    return channels == 0 ? 1 : channels > WEFT_CHANNELS_MAX ? WEFT_CHANNELS_MAX : channels;
}

static void family_take_facts(weft_family_t *family, const shared_facts_t *f)
{
    const weft_exec_settings_t *exec = &family->settings.exec;
    uint64_t bytes = exec->slot_bytes > 0 ? exec->slot_bytes : f->slot_bytes;
    family->model = (weft_cost_model_t){
        .alpha = f->alpha, .beta = f->beta, .gamma = f->gamma, .overhead = f->overhead};
    family->slots = family_power_of_two(exec->slots > 0 ? (uint32_t)exec->slots : f->slots);
    family->slot_bytes = (bytes + WEFT_LINE - 1) / WEFT_LINE * WEFT_LINE;
    family->channels = family_channels_of(family, f);
    bool small = f->devices == 0 && family->slot_bytes > WEFT_SLOT_SMALL;
    family->small_bytes = small ? WEFT_SLOT_SMALL : 0;
    family->cores = f->cores > 0 ? f->cores : 1;
}

static weft_status_t family_exchange_facts(weft_family_t *family, uint32_t used)
{
    shared_facts_t facts = family_own_facts(family, used);
    weft_status_t status = weft_boot_all_reduce(family->boot, "transport figures", &facts,
                                                sizeof facts, family_combine_facts);
    if (status == WEFT_OK) {
        family_take_facts(family, &facts);
    }
    return status;
}

static void family_combine_layouts(void *into, const void *from)
{
    weft_connect_layout_t *a = into;
    const weft_connect_layout_t *b = from;
    for (uint32_t i = 0; i < WEFT_TRANSPORTS_MAX; i++) {
        a->bytes[i] = b->bytes[i] > a->bytes[i] ? b->bytes[i] : a->bytes[i];
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
    weft_status_t status =
        weft_transports_create(family->registry, family->nranks, family->rank, &family->transports);
    if (status != WEFT_OK) {
        return status;
    }
    weft_connect_layout_t layout = weft_transports_own_layout(family->transports);
    status = weft_boot_all_reduce(family->boot, "lengths of addresses", &layout, sizeof layout,
                                  family_combine_layouts);
    if (status == WEFT_OK) {
        size_t bytes = weft_transports_set_layout(family->transports, &layout);
        status = family_exchange_addresses(family, bytes, &used);
    }
    return status == WEFT_OK ? family_exchange_facts(family, used) : status;
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

/* The lowest rank of this host makes the board. Returns it; nranks: there is one process only, which
 * needs none. */
static uint32_t family_board_maker(const weft_family_t *family)
{
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    const weft_boot_peer_t *me = &peers[family->rank];
    uint32_t maker = family->nranks;
    bool several = false;
    for (uint32_t r = 0; r < family->nranks; r++) {
        if (peers[r].host == me->host) {
            maker = r < maker ? r : maker;
            several = several || peers[r].pid != me->pid;
        }
    }
    return several ? maker : family->nranks;
}

static void family_board_name(const weft_family_t *family, char name[64])
{
    snprintf(name, 64, "weft-proofs-%016" PRIx64, weft_boot_comm_id(family->boot));
}

/* Before all ranks meet in the agreement. Without a board every process proves for itself. */
static void family_make_board(weft_family_t *family)
{
    char name[64];
    family_board_name(family, name);
    if (weft_os_host_memory_create(name, WEFT_PROOF_BOARD_BYTES, &family->proof_memory) !=
            WEFT_OK ||
        weft_proof_board_init(family->proof_memory.memory, WEFT_PROOF_BOARD_BYTES,
                              &family->proofs) != WEFT_OK) {
        weft_log(WEFT_LOG_DEBUG, "plan", "proofs are not shared: %s", weft_error_record()->text);
    }
}

/* After they met. */
static void family_find_board(weft_family_t *family, uint32_t maker)
{
    char name[64];
    int32_t pid = weft_boot_peers(family->boot)[maker].pid;
    family_board_name(family, name);
    if (weft_os_host_memory_find(pid, name, WEFT_PROOF_BOARD_BYTES, &family->proof_memory)) {
        family->proofs = weft_proof_board_at(family->proof_memory.memory, WEFT_PROOF_BOARD_BYTES);
    }
    if (family->proofs == NULL) {
        weft_log(WEFT_LOG_DEBUG, "plan", "proofs are not shared: none are found with pid %d", pid);
    }
}

static weft_status_t family_load(weft_family_t *family, const weft_comm_options_t *options)
{
    weft_status_t status = weft_config_load(options, &family->config);
    if (status == WEFT_OK) {
        status = weft_settings_read(family->config, &family->settings);
    }
    if (status == WEFT_OK) {
        weft_log_set_level((weft_log_level_t)family->settings.core.log);
        status = weft_registry_load(family->config, &family->settings, &family->registry);
    }
    return status;
}

static weft_status_t family_join(weft_family_t *family, const weft_unique_id_t *id)
{
    weft_unique_id_t opened;
    const weft_boot_settings_t *settings = &family->settings.boot;
    weft_status_t status = weft_fixed_id_open(settings, family->nranks, family->rank, id, &opened);
    if (status == WEFT_OK) {
        status = weft_boot_join(settings, family->nranks, &opened, family->rank, &family->boot);
    }
    if (status != WEFT_OK) {
        return status;
    }
    family->ranks_here = family_count_here(family);
    if (family->nranks == 1) {
        return WEFT_OK;
    }
    weft_registry_set_key(family->registry, weft_boot_key(family->boot));
    uint32_t maker = family_board_maker(family);
    if (maker == family->rank) {
        family_make_board(family);
    }
    status = family_setup_agree(family);
    if (status == WEFT_OK && maker != family->rank && maker < family->nranks) {
        family_find_board(family, maker);
    }
    return status;
}

static void family_destroy_instances(weft_family_t *family)
{
    for (uint32_t i = 0; i < family->algos.count; i++) {
        family->algos.list[i].ops->destroy(family->algos.list[i].algo);
    }
    if (family->tuner.instance != NULL) {
        family->tuner.ops->destroy(family->tuner.instance);
    }
    if (family->kernel.instance != NULL) {
        family->kernel.ops->destroy(family->kernel.instance);
    }
}

static void family_destroy(weft_family_t *family)
{
    /* The health thread reads the list of members: it ends first. */
    weft_boot_leave(family->boot);
    weft_transports_destroy(family->transports);
    family_destroy_instances(family);
    weft_proof_board_close(family->proofs);
    weft_os_host_memory_close(&family->proof_memory);
    weft_registry_destroy(family->registry);
    weft_config_destroy(family->config);
    while (family->creations != NULL) {
        weft_family_creation_t *creation = family->creations;
        family->creations = creation->next;
        weft_os_free(creation);
    }
    weft_os_free(family);
}

weft_status_t weft_family_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                                 const weft_comm_options_t *options, weft_family_t **family_p)
{
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    if (family == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    family->nranks = nranks;
    family->rank = rank;
    atomic_init(&family->references, 1);
    weft_status_t status = family_load(family, options);
    if (status == WEFT_OK) {
        status = family_join(family, id);
    }
    if (status == WEFT_OK) {
        status = family_create_instances(family);
    }
    if (status == WEFT_OK && nranks > 1) {
        status = family_connect_peers(family);
    }
    if (status != WEFT_OK) {
        weft_error_t kept = *weft_error_record();
        family_destroy(family);
        *weft_error_record() = kept;
        return status;
    }
    *family_p = family;
    return WEFT_OK;
}

void weft_family_release(weft_family_t *family)
{
    if (atomic_fetch_sub_explicit(&family->references, 1, memory_order_acq_rel) == 1) {
        weft_health_leave_family(family->boot);
        family_destroy(family);
    }
}
