/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Edges between two devices of one host: which path joins them, and what it costs by what the
 * kernel says of itself or by what was measured. Paths are of the job and equal on all ranks. Costs
 * are those of the slowest rank (family_figures.c). */
#ifndef WEFT_COMM_DEVICE_EDGES_H
#define WEFT_COMM_DEVICE_EDGES_H

#include "core/comm/figures.h"
#include "core/topo/job.h"

/* Returns the path between the devices of two ranks; WEFT_KERNEL_PATH_COUNT: they are on two
 * hosts, or one has no device. `exports`: this rank's kernel shares memory of its device. */
weft_kernel_path_t weft_device_path(const weft_job_t *job, bool exports, uint32_t a, uint32_t b);

/* What a kernel says of its devices, and what was measured. */
typedef struct weft_device_costs {
    const char *kernel; /* its name */
    const weft_kernel_props_t *props;
    const weft_figures_t *given;
} weft_device_costs_t;

/* Puts what the path costs by the protocol in place of what `edge` says, as far as a line of
 * [figures] for the kernel or else the kernel tells it. */
void weft_device_edge(const weft_device_costs_t *costs, weft_kernel_path_t path,
                      weft_kernel_protocol_t protocol, weft_cost_edge_t *edge);

/* Stores what the path costs by all protocols, and the slices that may travel by them. */
void weft_device_protocols(const weft_device_costs_t *costs, weft_kernel_path_t path,
                           weft_cost_protocol_t protocols[WEFT_KERNEL_PROTOCOL_COUNT]);

#endif
