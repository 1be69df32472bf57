/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job. */
#include "core/topo/job.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

_Static_assert(sizeof(weft_job_rank_t) <= 64, "what a rank may cost");
_Static_assert(sizeof(weft_job_kind_t) == 12 + WEFT_JOB_DEVICES_MAX * (12 + WEFT_JOB_DEVICES_MAX),
               "no padding: descriptions are compared and sent as bytes");

static uint32_t job_or_none(uint32_t value)
{
    return value == WEFT_MACHINE_NONE ? WEFT_JOB_NONE : value;
}

/* Bytes per second in MB/s. */
static uint32_t job_speed(double speed)
{
    double mb = speed / 1e6;
    return mb <= 0 ? 0 : mb >= UINT32_MAX ? UINT32_MAX : (uint32_t)mb;
}

void weft_job_describe(const weft_machine_t *machine, weft_job_path_fn_t path,
                       weft_job_kind_t *kind)
{
    uint32_t n =
        machine->ndevices < WEFT_JOB_DEVICES_MAX ? machine->ndevices : WEFT_JOB_DEVICES_MAX;
    memset(kind, 0, sizeof *kind);
    kind->nodes = machine->nnodes;
    kind->ndevices = n;
    kind->ngpus = machine->ngpus < n ? machine->ngpus : n;
    for (uint32_t i = 0; i < n; i++) {
        const weft_machine_device_t *device = &machine->devices[i];
        bool nic = device->kind == WEFT_DEVICE_NIC;
        uint32_t node = device->node;
        if (node != WEFT_MACHINE_NONE && node < machine->nnodes) {
            node = machine->nodes[node].index;
        }
        kind->devices[i] =
            (weft_job_device_t){.node = job_or_none(node),
                                .rail = nic ? job_or_none(device->rail) : WEFT_JOB_NONE,
                                .speed = nic ? job_speed(device->speed) : 0};
        for (uint32_t k = 0; k < n; k++) {
            weft_path_class_t class = path != NULL ? path(machine, i, k) : WEFT_PATH_UNKNOWN;
            kind->path[i * n + k] = (uint8_t) class;
        }
    }
}

uint64_t weft_job_kind_hash(const weft_job_kind_t *kind)
{
    const unsigned char *byte = (const unsigned char *)kind;
    size_t used = offsetof(weft_job_kind_t, path) + (size_t)kind->ndevices * kind->ndevices;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < used; i++) {
        if (i < offsetof(weft_job_kind_t, devices) + kind->ndevices * sizeof *kind->devices ||
            i >= offsetof(weft_job_kind_t, path)) {
            hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

uint32_t weft_job_find_kind(const weft_job_t *job, uint64_t hash)
{
    for (uint32_t host = 0; host < job->nhosts; host++) {
        if (job->ranks[job->first[host]].kind == hash) {
            return job->kind[host];
        }
    }
    return WEFT_JOB_NONE;
}

/* Kinds are numbered in the order of their first hosts. */
static void job_number_kinds(weft_job_t *job)
{
    uint64_t known[WEFT_JOB_KINDS_MAX];
    for (uint32_t host = 0; host < job->nhosts; host++) {
        uint64_t hash = job->ranks[job->first[host]].kind;
        uint32_t kind = 0;
        while (kind < job->nkinds && known[kind] != hash) {
            kind++;
        }
        if (kind == job->nkinds && kind < WEFT_JOB_KINDS_MAX) {
            known[job->nkinds++] = hash;
        }
        job->kind[host] = kind < job->nkinds ? kind : WEFT_JOB_NONE;
    }
}

typedef uint64_t (*job_key_fn_t)(const weft_job_rank_t *rank);

static uint64_t job_space(const weft_job_rank_t *rank)
{
    return rank->space;
}

static uint64_t job_node(const weft_job_rank_t *rank)
{
    return rank->node;
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
        while (*at != 0 && key(&job->ranks[*at - 1]) != key(&job->ranks[rank])) {
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
    }
    return WEFT_OK;
}

weft_status_t weft_job_init(weft_job_t *job, weft_job_rank_t *ranks, const uint32_t *machine,
                            uint32_t nranks, uint32_t nmachines)
{
    *job = (weft_job_t){.nranks = nranks, .ranks = ranks};
    weft_status_t status = job_find_hosts(job, machine, nmachines);
    if (status != WEFT_OK) {
        return status;
    }
    job_number_kinds(job);
    job->kinds = weft_os_alloc(job->nkinds * sizeof *job->kinds, 0);
    if (job->kinds == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u kinds of hosts", job->nkinds);
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
            job->kind[host] != WEFT_JOB_NONE ? &job->kinds[job->kind[host]] : NULL;
        rails[host] = kind != NULL ? kind->ndevices - kind->ngpus : 0;
        any = any || rails[host] > 0;
    }
    return any ? rails : NULL;
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
    status = job_part(job, job->host, job->nhosts, job_node, islands, &job->ngroups[topo->nlevels]);
    topo->nlevels++;
    topo->rails = job_count_rails(job, islands + n);
    topo->ngroups = job->ngroups;
    topo->group = job->group;
    return status;
}

uint64_t weft_job_bytes(const weft_job_t *job)
{
    uint64_t levels = job->topo.nlevels > 0 ? job->topo.nlevels - 1 : 0; /* hosts have their own */
    uint64_t rank = sizeof *job->ranks + sizeof *job->host + levels * sizeof *job->levels;
    return job->nranks * rank + job->nkinds * sizeof *job->kinds +
           job->nhosts * (sizeof *job->first + sizeof *job->kind + sizeof *job->levels);
}

void weft_job_fini(weft_job_t *job)
{
    weft_os_free(job->ranks);
    weft_os_free(job->host);
    weft_os_free(job->first);
    weft_os_free(job->kind);
    weft_os_free(job->kinds);
    weft_os_free(job->levels);
    *job = (weft_job_t){.nranks = 0};
}
