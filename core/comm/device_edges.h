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

/* Puts what the path costs in place of what `edge` says, as far as a line of `given` for `kernel`
 * or else `props` tells it. */
void weft_device_edge(const weft_kernel_props_t *props, const weft_figures_t *given,
                      const char *kernel, weft_kernel_path_t path, weft_cost_edge_t *edge);

#endif
