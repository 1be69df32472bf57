/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange behind the job. Every rank tells all others what it alone knows: its NUMA node, its
 * device, and the hash of the description of its host. A rank has the description of its own kind of
 * host, so descriptions are sent only where there are several kinds. */
#include "core/comm/family_job.h"

#include <errno.h>
#include <string.h>

#include <weft/sdk/host_identity.h>

#include "core/base/error.h"
#include "core/boot/exchange.h"
#include "core/os/os_numa.h"

/* What this rank knows before the exchange. */
typedef struct family_own {
    weft_job_kind_t kind; /* its host */
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

/* What the system tells without a topo plugin: nodes, no devices. */
static weft_status_t family_job_look(const weft_family_t *family, family_own_t *own)
{
    const char *path = family->settings.core.topology;
    weft_os_numa_t numa = weft_os_numa_here();
    own->kind.nodes = numa.nodes;
    own->rank =
        (weft_job_rank_t){.kind = weft_job_kind_hash(&own->kind),
                          .space = family_job_space(),
                          .node = numa.node == WEFT_OS_NODE_NONE ? WEFT_JOB_NONE : numa.node,
                          .gpu = WEFT_JOB_NONE};
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
    weft_status_t made =
        weft_job_init(&family->job, ranks, machine, n, weft_boot_hosts(family->boot));
    weft_os_free(machine);
    return status != WEFT_OK ? status : made;
}

static void family_job_combine(void *into, const void *from)
{
    uint8_t *a = into;
    const uint8_t *b = from;
    for (size_t i = 0; i < WEFT_BOOT_REDUCE_MOST; i++) {
        a[i] |= b[i];
    }
}

/* All get the description from those who have it: the others combine it with nothing. */
static weft_status_t family_job_share_kind(weft_family_t *family, weft_job_kind_t *kind)
{
    uint8_t part[WEFT_BOOT_REDUCE_MOST], *bytes = (uint8_t *)kind;
    weft_status_t status = WEFT_OK;
    for (size_t at = 0; status == WEFT_OK && at < sizeof *kind; at += sizeof part) {
        size_t left = sizeof *kind - at < sizeof part ? sizeof *kind - at : sizeof part;
        memset(part, 0, sizeof part);
        memcpy(part, bytes + at, left);
        status = weft_boot_all_reduce(family->boot, "kinds of hosts", part, sizeof part,
                                      family_job_combine);
        memcpy(bytes + at, part, left);
    }
    return status;
}

static weft_status_t family_job_share_kinds(weft_family_t *family, const family_own_t *own)
{
    weft_job_t *job = &family->job;
    uint32_t mine = weft_job_find_kind(job, own->rank.kind);
    if (mine != WEFT_JOB_NONE) {
        job->kinds[mine] = own->kind;
    }
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; job->nkinds > 1 && status == WEFT_OK && i < job->nkinds; i++) {
        status = family_job_share_kind(family, &job->kinds[i]);
    }
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

weft_status_t weft_family_agree_on_job(weft_family_t *family)
{
    family_own_t *own = weft_os_alloc(sizeof *own, 0);
    if (own == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the description of a host");
    }
    weft_status_t status = family_job_look(family, own);
    if (status == WEFT_OK) {
        status = family_job_gather(family, own);
    }
    if (status == WEFT_OK) {
        status = family_job_share_kinds(family, own);
    }
    if (status == WEFT_OK) {
        status = family_job_compare_sites(family);
    }
    if (status == WEFT_OK) {
        status = family_job_make_levels(family, own->site);
    }
    weft_site_free(own->site);
    weft_os_free(own);
    return status;
}
