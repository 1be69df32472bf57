/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of the transports and the kernel, of which the worst of all ranks hold for all. */
#include "core/comm/family_figures.h"

#include <string.h>

#include "core/boot/exchange.h"
#include "core/comm/slots.h"
#include "core/exec/slot_store.h"
#include "core/plugin/net_props.h"

typedef struct figures {
    weft_cost_edge_t level[WEFT_LEVELS];
    weft_cost_protocol_t protocol[WEFT_KERNEL_PROTOCOL_COUNT];
    weft_cost_busy_t busy[WEFT_LEVELS];
    double cores;
    double wire;
    double launch;
    double gamma[WEFT_FIGURES_RATES];
    uint64_t slot_bytes;
    uint32_t slots;
    uint32_t depth; /* slots for each slice of a chunk that the deepest algorithm needs */
    uint32_t channels;
    uint32_t rails; /* devices that channels between hosts go round; UINT32_MAX: no such channels */
    uint32_t devices; /* 1: a device reads and writes the slots, which it knows as a plain array */
} figures_t;

static double family_figures_worse(double a, double b)
{
    return a > b ? a : b;
}

static void family_figures_worsen(weft_cost_edge_t *into, const weft_cost_edge_t *edge)
{
    into->alpha = family_figures_worse(into->alpha, edge->alpha);
    into->beta = family_figures_worse(into->beta, edge->beta);
    into->overhead = family_figures_worse(into->overhead, edge->overhead);
    into->together = family_figures_worse(into->together, edge->together);
}

/* What all allow, at what it costs the slowest. */
static void family_figures_worsen_protocols(weft_cost_protocol_t *into,
                                            const weft_cost_protocol_t *protocols)
{
    for (uint32_t p = 0; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
        family_figures_worsen(&into[p].edge, &protocols[p].edge);
        into[p].least = into[p].least > protocols[p].least ? into[p].least : protocols[p].least;
        into[p].most = into[p].most < protocols[p].most ? into[p].most : protocols[p].most;
    }
}

static void family_figures_worsen_busy(weft_cost_busy_t *into, const weft_cost_busy_t *busy)
{
    into->turn = family_figures_worse(into->turn, busy->turn);
    into->slice = family_figures_worse(into->slice, busy->slice);
    into->beta = family_figures_worse(into->beta, busy->beta);
}

/* Devices of one plugin stand in the table as a transport each. */
static uint32_t family_figures_count_devices(const weft_family_t *family,
                                             const weft_loaded_t *loaded)
{
    uint32_t devices = 0;
    for (uint32_t i = 0; i < weft_transports_count(family->transports); i++) {
        devices += weft_transports_get(family->transports, i)->loaded == loaded;
    }
    return devices;
}

/* What was measured of the transport's edges, or else what it says. */
static weft_figures_edge_t family_figures_edge(const weft_family_t *family,
                                               const weft_figures_t *given,
                                               const weft_transport_t *transport,
                                               weft_level_t level)
{
    const weft_net_props_t *p = &transport->props;
    const bool local = level == WEFT_LEVEL_INSIDE;
    const uint64_t told = weft_net_props_overhead(p, local);
    weft_figures_edge_t all = {
        .edge = {.alpha = (double)p->latency_ns * 1e-9,
                 .beta = 1.0 / (double)(weft_net_props_bandwidth(p, local) + 1),
                 .overhead = weft_cost_overhead(p->latency_ns, told)}};
    const weft_figures_edge_t *one =
        weft_figures_find(given, transport->loaded->plugin->name, level);
    if (one != NULL) {
        all.edge.alpha = one->edge.alpha > 0 ? one->edge.alpha : all.edge.alpha;
        all.edge.beta = one->edge.beta > 0 ? one->edge.beta : all.edge.beta;
        all.edge.overhead = one->edge.overhead > 0 ? one->edge.overhead : all.edge.overhead;
        all.busy = one->busy;
        all.wire = one->wire;
    }
    /* Two ends that take as long as the edge does. */
    const weft_figures_settings_t *settings = &family->settings.figures;
    all.busy.turn = all.busy.turn > 0 ? all.busy.turn : settings->turn;
    const double least = family_figures_worse(2e-9 * (double)told, settings->slice);
    all.busy.slice = all.busy.slice > 0 ? all.busy.slice : least;
    all.busy.beta = all.busy.beta > 0 ? all.busy.beta : 2 * all.edge.beta;
    /* A device has its bandwidth once, however many ranks of a host and channels use it. */
    if (level == WEFT_LEVEL_BETWEEN && !(all.wire > 0)) {
        all.wire = all.edge.beta / family_figures_count_devices(family, transport->loaded);
    }
    all.wire = level == WEFT_LEVEL_BETWEEN ? all.wire : 0;
    return all;
}

weft_kernel_path_t weft_family_device_path(const weft_family_t *family, uint32_t peer)
{
    const weft_family_kernel_t *kernel = &family->kernel;
    uint32_t index = weft_transports_index(family->transports, peer);
    return kernel->lanes != NULL && index < weft_transports_count(family->transports) &&
                   weft_transports_get(family->transports, index)->map != NULL
               ? weft_device_path(&family->job, kernel->share != NULL, family->rank, peer)
               : WEFT_KERNEL_PATH_COUNT;
}

/* Between devices that meet in memory, what the kernel says of their path. Other ranks of a host
 * have no protocols. */
static void family_figures_see_devices(const weft_family_t *family, const weft_figures_t *given,
                                       uint32_t peer, weft_cost_edge_t *edge, figures_t *f)
{
    const weft_family_kernel_t *kernel = &family->kernel;
    const weft_device_costs_t costs = {kernel->loaded->plugin->name, &kernel->props, given};
    weft_kernel_path_t path = weft_family_device_path(family, peer);
    weft_cost_protocol_t protocols[WEFT_KERNEL_PROTOCOL_COUNT] = {{.most = 0}};
    if (path != WEFT_KERNEL_PATH_COUNT) {
        weft_device_edge(&costs, path, WEFT_KERNEL_PROTOCOL_SIMPLE, edge);
        weft_device_protocols(&costs, path, protocols);
    }
    if (weft_cost_level(family->job.host, family->rank, peer) == WEFT_LEVEL_INSIDE) {
        family_figures_worsen_protocols(f->protocol, protocols);
    }
}

/* Each peer counts at its level, by the transport that serves it. */
static void family_figures_add_peers(const weft_family_t *family, const weft_figures_t *given,
                                     figures_t *f)
{
    for (uint32_t peer = 0; peer < family->nranks; peer++) {
        uint32_t index = weft_transports_index(family->transports, peer);
        if (peer == family->rank || index >= weft_transports_count(family->transports)) {
            continue;
        }
        weft_level_t level = weft_cost_level(family->job.host, family->rank, peer);
        const weft_transport_t *transport = weft_transports_get(family->transports, index);
        weft_figures_edge_t edge = family_figures_edge(family, given, transport, level);
        family_figures_see_devices(family, given, peer, &edge.edge, f);
        family_figures_worsen(&f->level[level], &edge.edge);
        family_figures_worsen_busy(&f->busy[level], &edge.busy);
        if (level == WEFT_LEVEL_BETWEEN) {
            uint32_t rails = family_figures_count_devices(family, transport->loaded);
            f->rails = rails < f->rails ? rails : f->rails;
        }
        f->wire = family_figures_worse(f->wire, edge.wire);
    }
}

/* Cores that the ranks of a host have together. Those of devices are as many as their blocks. */
static double family_figures_cores(const weft_family_t *family)
{
    double told = family->settings.figures.cores;
    return told > 0 ? told : family->kernel.lanes != NULL ? family->nranks : family->job.cores;
}

/* Collects this rank's figures over the transports that it uses. */
static figures_t family_figures_own(const weft_family_t *family, const weft_figures_t *given,
                                    uint32_t used)
{
    figures_t f = {.slots = 2,
                   .slot_bytes = WEFT_LINE,
                   .channels = family->kernel.props.channels,
                   .rails = UINT32_MAX,
                   .cores = family_figures_cores(family),
                   .launch = given->kernel.launch > 0
                                 ? given->kernel.launch
                                 : (double)family->kernel.props.launch_ns * 1e-9,
                   .devices = family->kernel.lanes != NULL || family->kernel.memory != NULL};
    for (uint32_t p = 0; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
        f.protocol[p].most = UINT64_MAX; /* whoever has no peer on its host leaves it to others */
    }
    for (uint32_t i = 0; i < weft_transports_count(family->transports); i++) {
        const weft_net_props_t *p = &weft_transports_get(family->transports, i)->props;
        if ((used >> i & 1) == 0) {
            continue;
        }
        f.slots = p->slots > f.slots ? p->slots : f.slots;
        f.slot_bytes = p->slot_bytes > f.slot_bytes ? p->slot_bytes : f.slot_bytes;
    }
    for (uint32_t i = 0; i < family->algos.count; i++) {
        uint32_t depth = family->algos.list[i].depth;
        f.depth = depth > f.depth ? depth : f.depth;
    }
    for (uint32_t i = 0; i < WEFT_FIGURES_RATES; i++) {
        double measured = given->kernel.gamma[i];
        f.gamma[i] = measured > 0 ? measured : 1.0 / (double)(family->kernel.props.bandwidth + 1);
    }
    f.gamma[WEFT_FIGURES_MEMORY] = given->kernel.gamma[WEFT_FIGURES_MEMORY];
    family_figures_add_peers(family, given, &f);
    return f;
}

/* The slowest rank's figures hold for all, so that all decide alike. */
static void family_figures_combine(void *into, const void *from)
{
    figures_t *f = into;
    const figures_t *g = from;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        family_figures_worsen(&f->level[l], &g->level[l]);
        family_figures_worsen_busy(&f->busy[l], &g->busy[l]);
    }
    family_figures_worsen_protocols(f->protocol, g->protocol);
    for (uint32_t i = 0; i < WEFT_FIGURES_RATES; i++) {
        f->gamma[i] = family_figures_worse(f->gamma[i], g->gamma[i]);
    }
    f->wire = family_figures_worse(f->wire, g->wire);
    f->launch = family_figures_worse(f->launch, g->launch);
    f->slots = g->slots > f->slots ? g->slots : f->slots;
    f->slot_bytes = g->slot_bytes > f->slot_bytes ? g->slot_bytes : f->slot_bytes;
    f->depth = g->depth > f->depth ? g->depth : f->depth;
    f->channels = g->channels < f->channels ? g->channels : f->channels;
    f->rails = g->rails < f->rails ? g->rails : f->rails;
    f->cores = g->cores < f->cores ? g->cores : f->cores;
    f->devices |= g->devices;
}

static uint32_t family_figures_channels(const weft_family_t *family, const figures_t *f)
{
    int64_t wanted = family->settings.plan.channels;
    uint32_t rails = f->rails == UINT32_MAX ? 1 : f->rails;
    uint32_t channels = wanted > 0 ? (uint32_t)wanted : f->channels > rails ? f->channels : rails;
    return channels == 0 ? 1 : channels > WEFT_CHANNELS_MAX ? WEFT_CHANNELS_MAX : channels;
}

/* Kernels whose devices run plans ask for channels. There a channel is a block of threads, which
 * costs little beside a message: measured on an H200, docs/decisions/0124. */
static uint64_t family_figures_channel_bytes(const weft_family_t *family, const figures_t *f)
{
    const uint64_t wanted = family->settings.plan.channel_bytes;
    return wanted > 0                           ? wanted
           : f->devices != 0 && f->channels > 1 ? WEFT_CHANNEL_BYTES_DEVICE
                                                : WEFT_CHANNEL_BYTES;
}

/* Only devices share a message among several: the host's threads would do one slice after another.
 * Where a rank has no device there is one, unless the user says otherwise. */
static uint32_t family_figures_stripes(const weft_family_t *family, const figures_t *f)
{
    return f->devices == 0 || (f->channels <= 1 && family->settings.plan.channels <= 0)
               ? 1
               : family->channels;
}

static void family_figures_take_slots(weft_family_t *family, const figures_t *f)
{
    const weft_slots_t asked = {.count = f->slots, .bytes = f->slot_bytes};
    const weft_slots_t slots = weft_slots_choose(&family->settings.exec, asked, f->depth);
    family->slots = slots.count;
    family->slot_bytes = slots.bytes;
}

static void family_figures_take(weft_family_t *family, const figures_t *f)
{
    family->model = (weft_cost_model_t){.level = {f->level[0], f->level[1]},
                                        .busy = {f->busy[0], f->busy[1]},
                                        .gamma = f->gamma[WEFT_FP32],
                                        .memory = f->gamma[WEFT_FIGURES_MEMORY],
                                        .cache = (double)family->settings.figures.cache,
                                        .wire = f->wire,
                                        .launch = f->launch,
                                        .at_once = f->devices != 0};
    memcpy(family->model.protocol, f->protocol, sizeof family->model.protocol);
    memcpy(family->gamma, f->gamma, sizeof family->gamma);
    family_figures_take_slots(family, f);
    family->channels = family_figures_channels(family, f);
    family->kernel.channel_bytes = family_figures_channel_bytes(family, f);
    family->kernel.stripes = family_figures_stripes(family, f);
    bool small = f->devices == 0 && family->slot_bytes > WEFT_SLOT_SMALL;
    family->small_bytes = small ? WEFT_SLOT_SMALL : 0;
    family->cores = f->cores;
}

weft_status_t weft_family_exchange_figures(weft_family_t *family, uint32_t used)
{
    weft_figures_t given;
    const weft_figures_settings_t *settings = &family->settings.figures;
    const weft_figures_names_t names = {family->registry, family->config};
    weft_status_t status = weft_figures_read(settings->edge, settings->kernel,
                                             family->kernel.loaded->plugin->name, &names, &given);
    if (status != WEFT_OK) {
        return status;
    }
    figures_t figures = family_figures_own(family, &given, used);
    status = weft_boot_all_reduce(family->boot, "transport figures", &figures, sizeof figures,
                                  family_figures_combine);
    if (status == WEFT_OK) {
        family_figures_take(family, &figures);
    }
    return status;
}
