/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job: which ranks there are on which host and NUMA node, what the hosts are like, and the
 * levels at which the ranks are parted. Equal on all ranks: it is made of what the ranks have told
 * each other (core/comm/family_job.c), and only read afterwards. */
#ifndef WEFT_TOPO_JOB_H
#define WEFT_TOPO_JOB_H

#include <weft/plugin/algo.h>

#include "core/topo/machine.h"
#include "core/topo/site.h"

#define WEFT_JOB_NONE UINT32_MAX

/* The most devices of a host that are described, and kinds of hosts whose description is sent; of
 * others nothing is known. */
#define WEFT_JOB_DEVICES_MAX 64u
#define WEFT_JOB_KINDS_MAX 16u

/* A GPU or a NIC. */
typedef struct weft_job_device {
    uint32_t node;  /* WEFT_JOB_NONE: not known */
    uint32_t rail;  /* of a NIC; else WEFT_JOB_NONE */
    uint32_t speed; /* of a NIC, MB/s in one direction; 0: not known */
} weft_job_device_t;

/* A kind of host. Hosts of one kind share their description, so nothing in it is of one host or
 * one process alone. All bytes count: there is no padding, and what is not used is 0. */
typedef struct weft_job_kind {
    uint32_t nodes; /* NUMA nodes; 0: not known */
    uint32_t ngpus, ndevices;
    weft_job_device_t devices[WEFT_JOB_DEVICES_MAX]; /* GPUs first */
    /* weft_path_class_t from one device to another: [from · ndevices + to]. */
    uint8_t path[WEFT_JOB_DEVICES_MAX * WEFT_JOB_DEVICES_MAX];
} weft_job_kind_t;

/* What a rank tells all others of itself. */
typedef struct weft_job_rank {
    uint64_t kind;  /* hash of the description of its host */
    uint64_t site;  /* hash of the topology file; 0: none */
    uint64_t space; /* network namespace: only in one of them do ranks share memory */
    uint32_t node;  /* NUMA node on which it runs; WEFT_JOB_NONE: on several */
    uint32_t gpu;   /* device of the description; WEFT_JOB_NONE: none */
} weft_job_rank_t;

typedef struct weft_job {
    uint32_t nranks, nhosts, nkinds;
    weft_job_rank_t *ranks;
    uint32_t *host;         /* by rank: in order of first appearance */
    uint32_t *first;        /* by host: its first rank, whose word on the kind holds */
    uint32_t *kind;         /* by host: of `kinds`; WEFT_JOB_NONE: beyond the most */
    weft_job_kind_t *kinds; /* in order of their first rank */
    /* Levels: those of the site, hosts, NUMA nodes. They are not tidied up: weft_topo_view_init()
     * does that. */
    weft_algo_topo_t topo;
    uint32_t ngroups[WEFT_SITE_LEVELS_MAX + 2];
    const uint32_t *group[WEFT_SITE_LEVELS_MAX + 2];
    uint32_t *levels; /* memory of the groups and rails */
} weft_job_t;

/* Returns the path between two devices of a machine. */
typedef weft_path_class_t (*weft_job_path_fn_t)(const weft_machine_t *machine, uint32_t from,
                                                uint32_t to);

/* Describes a machine; `path` may be NULL: no path is known. The first WEFT_JOB_DEVICES_MAX devices
 * count. */
void weft_job_describe(const weft_machine_t *machine, weft_job_path_fn_t path,
                       weft_job_kind_t *kind);
uint64_t weft_job_kind_hash(const weft_job_kind_t *kind);

/* Takes what the ranks told, and the machines that they are on (`nmachines` of them); finds the
 * hosts, a machine or a network namespace of one, and the kinds, whose descriptions the caller
 * fills in. The job owns `ranks`, also on failure. ERR_RESOURCE. Thread: any. */
weft_status_t weft_job_init(weft_job_t *job, weft_job_rank_t *ranks, const uint32_t *machine,
                            uint32_t nranks, uint32_t nmachines);
/* The description with that hash, or WEFT_JOB_NONE. */
uint32_t weft_job_find_kind(const weft_job_t *job, uint64_t hash);

/* Makes the levels. `names` has the name of each host; `site` may be NULL. ERR_RESOURCE; ERR_CONFIG
 * where the site does not list a host. */
weft_status_t weft_job_make_levels(weft_job_t *job, const weft_site_t *site,
                                   const char *const *names);
/* Bytes of the tables. */
uint64_t weft_job_bytes(const weft_job_t *job);
void weft_job_fini(weft_job_t *job);

#endif
