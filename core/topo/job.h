/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job: which ranks there are on which host and NUMA node, what the hosts are like, and the
 * levels at which the ranks are parted. Equal on all ranks: it is made of what the ranks have told
 * each other (core/comm/family_job.c), and only read afterwards. */
#ifndef WEFT_TOPO_JOB_H
#define WEFT_TOPO_JOB_H

#include <weft/plugin/algo.h>

#include "core/topo/job_kind.h"
#include "core/topo/site.h"

/* The most kinds of hosts whose description is sent; of others nothing is known. */
#define WEFT_JOB_KINDS_MAX 16u

/* What a rank tells all others of itself. */
typedef struct weft_job_rank {
    uint64_t site;     /* hash of the topology file; 0: none */
    uint64_t space;    /* network namespace: only in one of them do ranks share memory */
    uint32_t node;     /* NUMA node on which it runs; WEFT_JOB_NONE: on several */
    uint32_t gpu;      /* its PCI address, weft_job_address(); WEFT_JOB_NONE: none */
    uint16_t cpus;     /* that it may use at once, at least 1 */
    uint16_t imagines; /* 1: it is configured with a machine, or with graphs of one */
    uint32_t bound; /* hash of the CPUs that it is bound to, and of the cgroup whose quota it has */
} weft_job_rank_t;

/* What the first rank of a host tells all others of it; of other ranks it is 0. */
typedef struct weft_job_word {
    uint64_t kind;    /* hash of the description; 0: there is none */
    uint64_t gpus[2]; /* a bit for each GPU of the description that a rank of the host has */
    uint32_t bytes;   /* of the description */
    uint32_t reserved;
} weft_job_word_t;

typedef struct weft_job {
    uint32_t nranks, nhosts, nkinds;
    /* Cores that the ranks of a host have together: as many as those of the host with most ranks
     * would have if they had no more each than those of any host. A rank shares the CPUs that it is
     * bound to with the ranks of its machine that are bound to the same ones; sets that overlap in
     * part count as if they did not. */
    double cores;
    weft_job_rank_t *ranks;
    uint32_t *host;          /* by rank: in order of first appearance */
    uint32_t *first;         /* by host: its first rank, whose word on the kind holds */
    uint32_t *kind;          /* by host: of `kinds`; WEFT_JOB_NONE: not described */
    uint32_t *device;        /* by rank: its GPU; WEFT_JOB_NONE. NULL: nothing is described */
    uint32_t *participant;   /* by rank: of the graphs of its kind; WEFT_JOB_NONE. NULL: as above */
    weft_job_kind_t **kinds; /* in order of their first hosts; NULL until they are there */
    uint64_t *hashes;        /* of the kinds */
    weft_algo_kind_t *views; /* the kinds as algorithms see them */
    /* Levels: those of the site, hosts, NUMA nodes or islands of GPUs. They are not tidied up:
     * weft_topo_view_init() does that. */
    weft_algo_topo_t topo;
    uint32_t ngroups[WEFT_SITE_LEVELS_MAX + 2];
    const uint32_t *group[WEFT_SITE_LEVELS_MAX + 2];
    uint32_t *levels;          /* memory of the groups and rails */
    uint32_t *places;          /* memory of the positions in rings and chains, and of `backwards` */
    const uint32_t *backwards; /* by host: 1 where it runs its rings backwards */
    const uint32_t *ring[WEFT_JOB_CHANNELS_MAX], *chain[WEFT_JOB_CHANNELS_MAX];
} weft_job_t;

/* Takes what the ranks told, and the machines that they are on (`nmachines` of them), and finds the
 * hosts: a machine or a network namespace of one. The job owns `ranks`, also on failure.
 * ERR_RESOURCE; ERR_PROTO where a rank says what cannot be. Thread: any. */
weft_status_t weft_job_init(weft_job_t *job, weft_job_rank_t *ranks, const uint32_t *machine,
                            uint32_t nranks, uint32_t nmachines);

/* Makes the levels, when the descriptions are there. `names` has the name of each host; `site` may
 * be NULL. ERR_RESOURCE; ERR_CONFIG where the site does not list a host. */
weft_status_t weft_job_make_levels(weft_job_t *job, const weft_site_t *site,
                                   const char *const *names);
/* Bytes of the tables. */
uint64_t weft_job_bytes(const weft_job_t *job);
void weft_job_fini(weft_job_t *job);

#endif
