/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions of hosts. One rank of each host has one; those of the same kind are equal, and one
 * of them is sent to all. So what all ranks use is the same bytes, whoever found them and how. */
#include "core/comm/family_hosts.h"

#include <errno.h>
#include <string.h>

#include <weft/plugin/describe.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/exchange.h"
#include "core/plugin/discover.h"
#include "core/plugin/find_graph.h"
#include "core/topo/job_words.h"

uint32_t weft_family_gpu(const weft_family_t *family)
{
    const weft_kernel_ops_t *ops = family->kernel.ops;
    const weft_kernel_describe_t *describe =
        WEFT_HAS(ops, weft_kernel_ops_t, get_extension) && ops->get_extension != NULL
            ? ops->get_extension(family->kernel.instance, WEFT_KERNEL_DESCRIBE)
            : NULL;
    uint32_t count = 0, gpu = WEFT_JOB_NONE;
    if (describe == NULL || describe->count(family->kernel.instance, &count) != WEFT_OK) {
        count = 0;
    }
    for (uint32_t i = 0; gpu == WEFT_JOB_NONE && i < count; i++) {
        weft_kernel_device_t device = {.size = sizeof device};
        if (describe->device(family->kernel.instance, i, &device) == WEFT_OK && device.chosen) {
            gpu = weft_job_address(device.pci);
        }
    }
    return gpu;
}

/* This host ------------------------------------------------------------------------------------ */

static bool family_hosts_names_graphs(const weft_family_t *family)
{
    return family->settings.core.rings[0] != '\0' || family->settings.core.trees[0] != '\0';
}

/* Rings and trees of a machine on which there is something to order, or for which files say
 * them. */
static weft_status_t family_hosts_search(const weft_family_t *family, const weft_machine_t *machine,
                                         const weft_capacities_t *capacities,
                                         weft_job_kind_t **kind_p)
{
    weft_graph_t rings, trees;
    const weft_graph_wanted_t ring = {machine, capacities, WEFT_GRAPH_RING, family->job.nhosts > 1};
    const weft_graph_wanted_t tree = {machine, capacities, WEFT_GRAPH_TREE, family->job.nhosts > 1};
    if (capacities->nparticipants < 2 && !family_hosts_names_graphs(family)) {
        return weft_job_kind_make(machine, capacities, NULL, NULL, kind_p);
    }
    weft_status_t status = weft_find_graph(family->registry, &family->settings, &ring, &rings);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_find_graph(family->registry, &family->settings, &tree, &trees);
    if (status == WEFT_OK) {
        status = weft_job_kind_make(machine, capacities, &rings, &trees, kind_p);
        weft_graph_fini(&trees);
    }
    weft_graph_fini(&rings);
    return status;
}

/* Describes the machine of this rank, which is the first of its host. */
static weft_status_t family_hosts_look(const weft_family_t *family, weft_job_kind_t **kind_p,
                                       weft_job_word_t *word)
{
    weft_machine_t machine;
    weft_capacities_t capacities;
    uint64_t began = weft_os_clock_ns();
    weft_status_t status = WEFT_OK;
    if (family->settings.core.machine[0] == '\0') {
        status = weft_registry_load_late(family->registry, family->config, &family->settings);
    }
    if (status == WEFT_OK) {
        status = weft_discover(family->registry, family->config, &family->settings, &machine);
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_capacities_init(&capacities, &machine);
    if (status == WEFT_OK) {
        status = family_hosts_search(family, &machine, &capacities, kind_p);
        weft_capacities_fini(&capacities);
    }
    if (status == WEFT_OK) {
        (*kind_p)->imagined = family->settings.core.machine[0] != '\0';
        *word = weft_job_word(&family->job, family->job.host[family->rank], &machine, *kind_p);
        weft_log(WEFT_LOG_DEBUG, "topo",
                 "machine %s from %s: %u GPUs, %u NICs, %u rings and %u trees, found in %.1f ms",
                 machine.name, machine.source, machine.ngpus, machine.ndevices - machine.ngpus,
                 (*kind_p)->rings.nchannels, (*kind_p)->trees.nchannels,
                 (double)(weft_os_clock_ns() - began) * 1e-6);
    }
    weft_machine_fini(&machine);
    return status;
}

/* All hosts ------------------------------------------------------------------------------------ */

static void family_hosts_combine(void *into, const void *from)
{
    uint8_t *a = into;
    const uint8_t *b = from;
    for (size_t i = 0; i < WEFT_BOOT_REDUCE_MOST; i++) {
        a[i] |= b[i];
    }
}

/* All get the description from the rank that has it: the others combine it with nothing. */
static weft_status_t family_hosts_share_parts(weft_family_t *family, uint8_t *kind, size_t bytes)
{
    uint8_t part[WEFT_BOOT_REDUCE_MOST];
    weft_status_t status = WEFT_OK;
    for (size_t at = 0; status == WEFT_OK && at < bytes; at += sizeof part) {
        size_t left = bytes - at < sizeof part ? bytes - at : sizeof part;
        memset(part, 0, sizeof part);
        memcpy(part, kind + at, left);
        status = weft_boot_all_reduce(family->boot, "kinds of hosts", part, sizeof part,
                                      family_hosts_combine);
        memcpy(kind + at, part, left);
    }
    return status;
}

/* `own` is this rank's description or NULL. That of rank 0 goes down the tree at once. */
static weft_status_t family_hosts_share(weft_family_t *family, const weft_job_word_t *words,
                                        uint32_t number, const weft_job_kind_t *own)
{
    weft_job_t *job = &family->job;
    uint32_t holder = weft_job_kind_rank(job, number);
    size_t bytes = words[holder].bytes;
    bool likely = bytes >= sizeof(weft_job_kind_t) && bytes <= WEFT_JOB_KIND_BYTES_MAX;
    weft_job_kind_t *kind = likely ? weft_os_alloc(bytes, 0) : NULL;
    if (kind == NULL) {
        return weft_fail(likely ? WEFT_ERR_RESOURCE : WEFT_ERR_PROTO, likely ? ENOMEM : 0,
                         "no memory for the description of a host, %zu bytes by rank %u", bytes,
                         holder);
    }
    job->kinds[number] = kind;
    if (holder == family->rank) {
        memcpy(kind, own, bytes);
    }
    weft_status_t status;
    if (holder == 0) {
        size_t sent = bytes;
        status = weft_boot_broadcast(family->boot, "kind of host", kind, bytes, &sent);
        bytes = sent;
    } else {
        status = family_hosts_share_parts(family, (uint8_t *)kind, bytes);
    }
    return status == WEFT_OK ? weft_job_kind_check(kind, bytes) : status;
}

static weft_status_t family_hosts_exchange(weft_family_t *family, const weft_job_word_t *word,
                                           const weft_job_kind_t *own, weft_job_word_t *words)
{
    weft_job_t *job = &family->job;
    weft_status_t status =
        weft_boot_all_gather(family->boot, "words of hosts", word, sizeof *word, words);
    if (status == WEFT_OK) {
        status = weft_job_take_words(job, words);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < job->nkinds; i++) {
        status = family_hosts_share(family, words, i, own);
    }
    return status == WEFT_OK ? weft_job_find_devices(job, words) : status;
}

weft_status_t weft_family_describe_hosts(weft_family_t *family)
{
    weft_job_t *job = &family->job;
    weft_job_word_t word = {.kind = 0};
    weft_job_kind_t *own = NULL;
    if (!weft_job_needs_kinds(job)) {
        return WEFT_OK;
    }
    weft_job_word_t *words = weft_os_alloc(job->nranks * sizeof *words, 0);
    weft_status_t status = words == NULL
                               ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                                           "no memory for the hosts of %u ranks", job->nranks)
                               : WEFT_OK;
    if (status == WEFT_OK && job->first[job->host[family->rank]] == family->rank) {
        status = family_hosts_look(family, &own, &word);
    }
    if (status == WEFT_OK) {
        status = family_hosts_exchange(family, &word, own, words);
    }
    weft_os_free(own);
    weft_os_free(words);
    return status;
}
