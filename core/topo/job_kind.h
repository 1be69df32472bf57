/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hosts of one kind are like: devices, ways between them, and the channels that they run at
 * once. A run of bytes, which one rank writes and all others get and read, so nothing in it is of
 * one host or one process alone. */
#ifndef WEFT_TOPO_JOB_KIND_H
#define WEFT_TOPO_JOB_KIND_H

#include <weft/plugin/algo.h>

#include "core/topo/graph.h"

#define WEFT_JOB_NONE UINT32_MAX

/* The most channels of a graph that are taken. */
#define WEFT_JOB_CHANNELS_MAX 16u

/* No description is larger. */
#define WEFT_JOB_KIND_BYTES_MAX (UINT32_C(1) << 18)

/* Bytes of the words by which the system knows a NIC, the zero byte counted. */
#define WEFT_JOB_NIC_BYTES 32u

/* A GPU or a NIC. */
typedef struct weft_job_device {
    uint32_t node;  /* NUMA node as the system counts; WEFT_JOB_NONE: not known */
    uint32_t rail;  /* of a NIC; else WEFT_JOB_NONE */
    uint32_t speed; /* of a NIC, MB/s in one direction; 0: not known */
} weft_job_device_t;

/* Channels of a pattern; orders are of participants. */
typedef struct weft_job_graph {
    uint32_t nchannels; /* 0: nothing is known */
    uint32_t speed;     /* MB/s of each; 0: not known */
} weft_job_graph_t;

/* Behind it stand, each at a multiple of 4 bytes: the devices, GPUs first; what each participant
 * is; the ways between devices; the names of the NICs; and for each channel of rings, then of
 * trees, NIC in, NIC out and the order of the participants, a byte each. There is no padding, and
 * what is not used is 0. */
typedef struct weft_job_kind {
    uint32_t bytes; /* of the whole */
    uint32_t nodes; /* NUMA nodes; 0: not known */
    uint32_t ngpus, ndevices;
    uint32_t nparticipants;
    uint32_t gpus;     /* 1: participants are GPUs; 0: NUMA nodes */
    uint32_t imagined; /* 1: from a file; ranks are dealt to its participants */
    weft_job_graph_t rings, trees;
    uint32_t reserved;
} weft_job_kind_t;

/* Describes a machine. Graphs are of the participants of `capacities`, or NULL. The caller frees
 * the description with weft_os_free(). ERR_RESOURCE. */
weft_status_t weft_job_kind_make(const weft_machine_t *machine, const weft_capacities_t *capacities,
                                 const weft_graph_t *rings, const weft_graph_t *trees,
                                 weft_job_kind_t **kind_p);
uint64_t weft_job_kind_hash(const weft_job_kind_t *kind);
/* Says whether `bytes` bytes that came from elsewhere are a description. ERR_PROTO. */
weft_status_t weft_job_kind_check(const weft_job_kind_t *kind, size_t bytes);

/* The words by which the system knows a NIC, counted from 0: "mlx5_0 ib0". "": not known. */
const char *weft_job_kind_nic(const weft_job_kind_t *kind, uint32_t nic);
const weft_job_device_t *weft_job_kind_devices(const weft_job_kind_t *kind);
/* By participant: its device, or its NUMA node as the system counts. */
const uint32_t *weft_job_kind_units(const weft_job_kind_t *kind);
/* Pairs of devices as weft_algo_kind_t has them. */
const weft_algo_path_t *weft_job_kind_paths(const weft_job_kind_t *kind);
/* The first GPU of those that this GPU reaches past PCIe, directly or by way of others; NONE if
 * there is no other. */
uint32_t weft_job_kind_island(const weft_job_kind_t *kind, uint32_t gpu);
/* NIC in and NIC out, each 255 for none, and then the order of a channel. */
const uint8_t *weft_job_kind_ring(const weft_job_kind_t *kind, uint32_t channel);
const uint8_t *weft_job_kind_tree(const weft_job_kind_t *kind, uint32_t channel);

#endif
