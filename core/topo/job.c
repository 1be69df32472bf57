/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job. */
#include "core/topo/job.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

_Static_assert(sizeof(weft_job_rank_t) + sizeof(weft_job_word_t) <= 64, "what a rank may cost");

/* What tells the ranks of one group apart. */
typedef uint64_t (*job_key_fn_t)(const weft_job_t *job, uint32_t rank);

static uint64_t job_space(const weft_job_t *job, uint32_t rank)
{
    return job->ranks[rank].space;
}

static uint64_t job_bound(const weft_job_t *job, uint32_t rank)
{
    return (uint64_t)job->ranks[rank].cpus << 32 | job->ranks[rank].bound;
}

/* GPUs that reach each other past PCIe are an island; other ranks are on that of their NUMA
 * node. */
static uint64_t job_island(const weft_job_t *job, uint32_t rank)
{
    uint32_t kind = job->kind[job->host[rank]];
    uint32_t device = job->device != NULL ? job->device[rank] : WEFT_JOB_NONE;
    uint32_t node = job->ranks[rank].node;
    if (kind == WEFT_JOB_NONE || job->participant == NULL) {
        return node;
    }
    if (device != WEFT_JOB_NONE) {
        uint32_t island = weft_job_kind_island(job->kinds[kind], device);
        node = weft_job_kind_devices(job->kinds[kind])[device].node;
        return island != WEFT_JOB_NONE ? UINT64_C(1) << 32 | island : node;
    }
    bool dealt = job->kinds[kind]->imagined && job->participant[rank] != WEFT_JOB_NONE;
    return dealt ? weft_job_kind_units(job->kinds[kind])[job->participant[rank]] : node;
}

/* Parts the groups of `outer` by what their ranks told. Parts are numbered by their first ranks; a
 * chain leads from the first rank of a part to that of the next part of the group. */
static weft_status_t job_part(const weft_job_t *job, const uint32_t *outer, uint32_t nouter,
                              job_key_fn_t key, uint32_t *part, uint32_t *count_p)
{
    uint32_t *head = weft_os_alloc(((size_t)nouter + job->nranks) * sizeof *head, 0);
    if (head == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the groups of %u ranks",
                         job->nranks);
    }
    uint32_t *next = head + nouter, count = 0; /* ranks plus one; 0 ends a chain */
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        uint32_t *at = &head[outer[rank]];
        while (*at != 0 && key(job, *at - 1) != key(job, rank)) {
            at = &next[*at - 1];
        }
        if (*at == 0) {
            *at = rank + 1;
            part[rank] = count++;
        } else {
            part[rank] = part[*at - 1];
        }
    }
    weft_os_free(head);
    *count_p = count;
    return WEFT_OK;
}

static weft_status_t job_find_hosts(weft_job_t *job, const uint32_t *machine, uint32_t nmachines)
{
    job->host = weft_os_alloc(job->nranks * sizeof *job->host, 0);
    if (job->ranks == NULL || machine == NULL || job->host == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a job of %u ranks", job->nranks);
    }
    weft_status_t status = job_part(job, machine, nmachines, job_space, job->host, &job->nhosts);
    if (status != WEFT_OK) {
        return status;
    }
    job->first = weft_os_alloc(job->nhosts * sizeof *job->first, 0);
    job->kind = weft_os_alloc(job->nhosts * sizeof *job->kind, 0);
    if (job->first == NULL || job->kind == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u hosts", job->nhosts);
    }
    for (uint32_t rank = job->nranks; rank-- > 0;) {
        job->first[job->host[rank]] = rank;
        job->kind[job->host[rank]] = WEFT_JOB_NONE;
    }
    return WEFT_OK;
}

/* The shares of a host's ranks in cores: that of the host where they are least, times the most
 * ranks of a host. */
static double job_sum_shares(const weft_job_t *job, const uint32_t *set, const uint32_t *sharers,
                             double *cores, uint32_t *ranks)
{
    double least = 0;
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        cores[job->host[rank]] += (double)job->ranks[rank].cpus / sharers[set[rank]];
        ranks[job->host[rank]]++;
    }
    for (uint32_t host = 0; host < job->nhosts; host++) {
        double share = cores[host] / ranks[host];
        least = host == 0 || share < least ? share : least;
        most = ranks[host] > most ? ranks[host] : most;
    }
    return least * most;
}

static weft_status_t job_find_cores(weft_job_t *job, const uint32_t *machine, uint32_t nmachines)
{
    const size_t n = job->nranks, nhosts = job->nhosts;
    double *cores = weft_os_alloc(nhosts * sizeof *cores, 0);
    uint32_t *set = weft_os_alloc((2 * n + nhosts) * sizeof *set, 0), nsets = 0;
    weft_status_t status =
        cores != NULL && set != NULL
            ? job_part(job, machine, nmachines, job_bound, set, &nsets)
            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a job of %u ranks", job->nranks);
    if (status == WEFT_OK) {
        uint32_t *sharers = set + n;
        for (size_t rank = 0; rank < n; rank++) {
            sharers[set[rank]]++;
        }
        job->cores = job_sum_shares(job, set, sharers, cores, sharers + n);
    }
    weft_os_free(set);
    weft_os_free(cores);
    return status;
}

static weft_status_t job_check_ranks(const weft_job_t *job)
{
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        if (job->ranks[rank].cpus == 0) {
            return weft_fail(WEFT_ERR_PROTO, 0, "rank %u says that it may use 0 CPUs", rank);
        }
    }
    return WEFT_OK;
}

weft_status_t weft_job_init(weft_job_t *job, weft_job_rank_t *ranks, const uint32_t *machine,
                            uint32_t nranks, uint32_t nmachines)
{
    *job = (weft_job_t){.nranks = nranks, .ranks = ranks};
    weft_status_t status = job_find_hosts(job, machine, nmachines);
    status = status == WEFT_OK ? job_check_ranks(job) : status;
    status = status == WEFT_OK ? job_find_cores(job, machine, nmachines) : status;
    if (status != WEFT_OK) {
        return status;
    }
    job->topo =
        (weft_algo_topo_t){.size = sizeof job->topo, .nhosts = job->nhosts, .host = job->host};
    return WEFT_OK;
}

/* The levels above the hosts: each rank has the groups of its host. `room` has nhosts words. */
static weft_status_t job_add_site(weft_job_t *job, const weft_site_t *site,
                                  const char *const *names)
{
    uint32_t groups[WEFT_SITE_LEVELS_MAX], levels = weft_site_levels(site);
    for (uint32_t host = 0; host < job->nhosts; host++) {
        weft_status_t status = weft_site_find(site, names[host], groups);
        if (status != WEFT_OK) {
            return status;
        }
        for (uint32_t level = 0; level < levels; level++) {
            job->levels[(size_t)level * job->nranks + job->first[host]] = groups[level];
        }
    }
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t *group = job->levels + (size_t)level * job->nranks;
        for (uint32_t rank = 0; rank < job->nranks; rank++) {
            group[rank] = group[job->first[job->host[rank]]];
        }
        job->group[level] = group;
        job->ngroups[level] = weft_site_groups(site, level);
    }
    job->topo.nlevels = levels;
    return WEFT_OK;
}

/* NICs of each host; NULL if no kind tells of any. */
static const uint32_t *job_count_rails(const weft_job_t *job, uint32_t *rails)
{
    bool any = false;
    for (uint32_t host = 0; host < job->nhosts; host++) {
        const weft_job_kind_t *kind =
            job->kind[host] != WEFT_JOB_NONE ? job->kinds[job->kind[host]] : NULL;
        rails[host] = kind != NULL ? kind->ndevices - kind->ngpus : 0;
        any = any || rails[host] > 0;
    }
    return any ? rails : NULL;
}

static void job_show_kinds(weft_job_t *job)
{
    for (uint32_t i = 0; i < job->nkinds; i++) {
        const weft_job_kind_t *kind = job->kinds[i];
        job->views[i] = (weft_algo_kind_t){.id = job->hashes[i],
                                           .paths = weft_job_kind_paths(kind),
                                           .ngpus = kind->ngpus,
                                           .ndevices = kind->ndevices};
    }
    if (job->nkinds > 0) {
        job->topo.kinds = job->views;
        job->topo.kind = job->kind;
        job->topo.device = job->device;
    }
}

/* Ranks of one host and one node are an island; so are the ranks of a host that run on several. */
weft_status_t weft_job_make_levels(weft_job_t *job, const weft_site_t *site,
                                   const char *const *names)
{
    size_t n = job->nranks, above = site != NULL ? weft_site_levels(site) : 0;
    job->levels = weft_os_alloc(((above + 1) * n + job->nhosts) * sizeof *job->levels, 0);
    if (job->levels == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the levels of %zu ranks", n);
    }
    weft_status_t status = site != NULL ? job_add_site(job, site, names) : WEFT_OK;
    if (status != WEFT_OK) {
        return status;
    }
    weft_algo_topo_t *topo = &job->topo;
    uint32_t *islands = job->levels + above * n;
    topo->host_level = topo->nlevels++;
    job->group[topo->host_level] = job->host;
    job->ngroups[topo->host_level] = job->nhosts;
    job->group[topo->nlevels] = islands;
    status =
        job_part(job, job->host, job->nhosts, job_island, islands, &job->ngroups[topo->nlevels]);
    topo->nlevels++;
    topo->rails = job_count_rails(job, islands + n);
    topo->ngroups = job->ngroups;
    topo->group = job->group;
    job_show_kinds(job);
    return status;
}

uint64_t weft_job_bytes(const weft_job_t *job)
{
    uint64_t words = 1; /* hosts */
    words += job->topo.nlevels > 0 ? job->topo.nlevels - 1 : 0;
    words += job->device != NULL ? 2 : 0;
    words += job->topo.nrings + job->topo.nchains;
    uint64_t host_words = job->backwards != NULL ? 1 : 0;
    uint64_t bytes = job->nranks * (sizeof *job->ranks + words * sizeof *job->host) +
                     job->nhosts * (sizeof *job->first + sizeof *job->kind + sizeof *job->levels +
                                    host_words * sizeof *job->backwards);
    for (uint32_t i = 0; i < job->nkinds; i++) {
        bytes += job->kinds[i] != NULL ? job->kinds[i]->bytes : 0;
    }
    return bytes;
}

void weft_job_fini(weft_job_t *job)
{
    for (uint32_t i = 0; i < job->nkinds; i++) {
        weft_os_free(job->kinds[i]);
    }
    weft_os_free(job->ranks);
    weft_os_free(job->host);
    weft_os_free(job->first);
    weft_os_free(job->kind);
    weft_os_free(job->device);
    weft_os_free(job->participant);
    weft_os_free(job->kinds);
    weft_os_free(job->hashes);
    weft_os_free(job->views);
    weft_os_free(job->levels);
    weft_os_free(job->places);
    *job = (weft_job_t){.nranks = 0};
}
