/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange behind the job. Every rank tells all others what it alone knows: its network
 * namespace, its NUMA node, its device. With that all know the hosts, which are described then. */
#include "core/comm/family_job.h"

#include <errno.h>
#include <string.h>

#include <weft/sdk/host_identity.h>

#include "core/base/error.h"
#include "core/boot/exchange.h"
#include "core/comm/family_hosts.h"
#include "core/os/os_numa.h"
#include "core/os/os_quota.h"
#include "core/plan/hash.h"
#include "core/plan/topo_view.h"
#include "core/topo/job_orders.h"

/* What this rank knows before the exchange. */
typedef struct family_own {
    weft_job_rank_t rank;
    weft_site_t *site; /* NULL: no topology file */
} family_own_t;

/* The network namespace of this process; 0: not known. */
static uint64_t family_job_space(void)
{
    uint8_t identity[WEFT_HOST_IDENTITY_BYTES];
    uint64_t space = 0;
    (void)weft_host_identity_read(identity);
    memcpy(&space, identity + sizeof identity - sizeof space, sizeof space);
    return space;
}

/* Tells apart the sets of CPUs that ranks are bound to, and the quotas that they share: containers
 * with fewer CPUs than they see have some each. */
static uint32_t family_job_bound(void)
{
    weft_os_cpu_set_t set;
    const weft_os_quota_t quota = weft_os_quota_here();
    uint64_t hash = WEFT_HASH_START;
    uint32_t cpus = 0;
    weft_os_thread_cpus(&set);
    for (uint32_t i = 0; i < WEFT_OS_CPU_SET_MAX / 64; i++) {
        hash = weft_hash_add(hash, set.word[i]);
        cpus += (uint32_t)__builtin_popcountll(set.word[i]);
    }
    if (quota.cpus > 0 && quota.cpus < cpus) {
        hash = weft_hash_add(hash, quota.group);
    }
    return (uint32_t)(hash >> 32);
}

static uint16_t family_job_cpus(void)
{
    const uint32_t cpus = weft_os_cpus();
    return cpus < UINT16_MAX ? (uint16_t)cpus : UINT16_MAX;
}

static bool family_job_imagines(const weft_core_settings_t *settings)
{
    return settings->machine[0] != '\0' || settings->rings[0] != '\0' || settings->trees[0] != '\0';
}

static weft_status_t family_job_look(const weft_family_t *family, family_own_t *own)
{
    const char *path = family->settings.core.topology;
    weft_os_numa_t numa = weft_os_numa_here();
    own->rank =
        (weft_job_rank_t){.space = family_job_space(),
                          .node = numa.node == WEFT_OS_NODE_NONE ? WEFT_JOB_NONE : numa.node,
                          .gpu = weft_family_gpu(family),
                          .cpus = family_job_cpus(),
                          .imagines = family_job_imagines(&family->settings.core),
                          .bound = family_job_bound()};
    if (path == NULL || path[0] == '\0') {
        return WEFT_OK;
    }
    weft_status_t status = weft_site_read(path, &own->site);
    own->rank.site = status == WEFT_OK ? weft_site_hash(own->site) : 0;
    return status;
}

/* Every rank gets what each told, and all make the same job of it. */
static weft_status_t family_job_gather(weft_family_t *family, const family_own_t *own)
{
    uint32_t n = family->nranks;
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    weft_job_rank_t *ranks = weft_os_alloc(n * sizeof *ranks, 0);
    uint32_t *machine = weft_os_alloc(n * sizeof *machine, 0);
    for (uint32_t rank = 0; machine != NULL && rank < n; rank++) {
        machine[rank] = peers[rank].host;
    }
    weft_status_t status = WEFT_OK;
    if (ranks != NULL && machine != NULL) {
        status = weft_boot_all_gather(family->boot, "places of ranks", &own->rank, sizeof own->rank,
                                      ranks);
    }
    if (status == WEFT_OK) {
        status = weft_job_init(&family->job, ranks, machine, n, weft_boot_hosts(family->boot));
    } else {
        weft_os_free(ranks);
    }
    weft_os_free(machine);
    return status;
}

/* Levels must be equal on all ranks, and so must be what they are made of. */
static weft_status_t family_job_compare_sites(const weft_family_t *family)
{
    const weft_job_rank_t *ranks = family->job.ranks;
    for (uint32_t rank = 1; rank < family->nranks; rank++) {
        if (ranks[rank].site != ranks[0].site) {
            const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "[core] topology: rank %u of host %s %s, rank 0 of host %s %s; all "
                             "ranks need files that say the same",
                             rank, peers[rank].host_name,
                             ranks[rank].site == 0 ? "has none" : "has another file",
                             peers[0].host_name, ranks[0].site == 0 ? "has none" : "has its own");
        }
    }
    return WEFT_OK;
}

static weft_status_t family_job_make_levels(weft_family_t *family, const weft_site_t *site)
{
    weft_job_t *job = &family->job;
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    const char **names = weft_os_alloc(job->nhosts * sizeof *names, 0);
    if (names == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u hosts", job->nhosts);
    }
    for (uint32_t host = 0; host < job->nhosts; host++) {
        names[host] = peers[job->first[host]].host_name;
    }
    weft_status_t status = weft_job_make_levels(job, site, names);
    weft_os_free(names);
    return status;
}

/* Rings and chains follow the order in which neighbours are near, which a view finds. */
static weft_status_t family_job_make_orders(weft_family_t *family)
{
    weft_job_t *job = &family->job;
    weft_topo_view_t view;
    if (job->nkinds == 0) {
        return WEFT_OK;
    }
    weft_status_t status = weft_topo_view_init(&view, &job->topo, NULL, job->nranks);
    if (status == WEFT_OK) {
        status = weft_job_make_orders(job, &view.topo);
    }
    weft_topo_view_fini(&view);
    return status;
}

/* Who runs on the same cores as this rank. */
static void family_job_count_sharers(weft_family_t *family)
{
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    const weft_job_rank_t *ranks = family->job.ranks, *self = &ranks[family->rank];
    family->here.cpus = self->cpus;
    family->here.sharers = 0;
    for (uint32_t rank = 0; rank < family->nranks; rank++) {
        family->here.sharers += peers[rank].host == peers[family->rank].host &&
                                ranks[rank].bound == self->bound && ranks[rank].cpus == self->cpus;
    }
}

weft_status_t weft_family_agree_on_job(weft_family_t *family)
{
    family_own_t own = {.site = NULL};
    weft_status_t status = family_job_look(family, &own);
    if (status == WEFT_OK) {
        status = family_job_gather(family, &own);
    }
    if (status == WEFT_OK) {
        family_job_count_sharers(family);
        status = family_job_compare_sites(family);
    }
    if (status == WEFT_OK) {
        status = weft_family_describe_hosts(family);
    }
    if (status == WEFT_OK) {
        status = family_job_make_levels(family, own.site);
    }
    if (status == WEFT_OK) {
        status = family_job_make_orders(family);
    }
    weft_site_free(own.site);
    return status;
}
