/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of the transports and the kernel, of which the worst of all ranks hold for all. */
#include "core/comm/family_figures.h"

#include "core/boot/exchange.h"
#include "core/exec/slot_store.h"

typedef struct figures {
    double alpha, beta, gamma, overhead;
    uint64_t slot_bytes;
    uint32_t slots;
    uint32_t channels;
    uint32_t cores;
    uint32_t devices; /* 1: a device reads and writes the slots, which it knows as a plain array */
} figures_t;

static uint32_t family_figures_power_of_two(uint32_t n)
{
    uint32_t p = 2;
    while (p < n && p < 64) {
        p *= 2;
    }
    return p;
}

/* Collects this rank's figures over the transports that it uses. */
static figures_t family_figures_own(const weft_family_t *family, uint32_t used)
{
    figures_t f = {.gamma = 1.0 / (double)(family->kernel.props.bandwidth + 1),
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
static void family_figures_combine(void *into, const void *from)
{
    figures_t *f = into;
    const figures_t *g = from;
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

static uint32_t family_figures_channels(const weft_family_t *family, const figures_t *f)
{
    int64_t wanted = family->settings.plan.channels;
    uint32_t channels = wanted > 0 ? (uint32_t)wanted : f->channels;
    return channels == 0 ? 1 : channels > WEFT_CHANNELS_MAX ? WEFT_CHANNELS_MAX : channels;
}

static void family_figures_take(weft_family_t *family, const figures_t *f)
{
    const weft_exec_settings_t *exec = &family->settings.exec;
    uint64_t bytes = exec->slot_bytes > 0 ? exec->slot_bytes : f->slot_bytes;
    family->model = (weft_cost_model_t){
        .alpha = f->alpha, .beta = f->beta, .gamma = f->gamma, .overhead = f->overhead};
    family->slots = family_figures_power_of_two(exec->slots > 0 ? (uint32_t)exec->slots : f->slots);
    family->slot_bytes = (bytes + WEFT_LINE - 1) / WEFT_LINE * WEFT_LINE;
    family->channels = family_figures_channels(family, f);
    bool small = f->devices == 0 && family->slot_bytes > WEFT_SLOT_SMALL;
    family->small_bytes = small ? WEFT_SLOT_SMALL : 0;
    family->cores = f->cores > 0 ? f->cores : 1;
}

weft_status_t weft_family_exchange_figures(weft_family_t *family, uint32_t used)
{
    figures_t figures = family_figures_own(family, used);
    weft_status_t status = weft_boot_all_reduce(family->boot, "transport figures", &figures,
                                                sizeof figures, family_figures_combine);
    if (status == WEFT_OK) {
        family_figures_take(family, &figures);
    }
    return status;
}
