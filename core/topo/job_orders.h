/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings and chains through a job: in each host the channels that were found for its kind. */
#ifndef WEFT_TOPO_JOB_ORDERS_H
#define WEFT_TOPO_JOB_ORDERS_H

#include "core/topo/job.h"

/* Finds rings and chains, when devices and levels are there; `near` is the whole job with the order
 * in which neighbours are near. Hosts follow each other as they stand there; those with odd numbers
 * run a ring backwards (graph.h). The ranks of a participant stand together, and those without one
 * stand last. ERR_RESOURCE. */
weft_status_t weft_job_make_orders(weft_job_t *job, const weft_algo_topo_t *near);

/* Returns the words by which the system of a rank's host knows the NIC that a ring, or a chain,
 * uses there: where it leaves the host or where it comes in. NULL: not known. The string lives as
 * long as the job. */
const char *weft_job_nic(const weft_job_t *job, uint32_t rank, bool ring, uint32_t channel,
                         bool leaves);

/* Part of it, here for tests: how many channels carry the most where hosts of several kinds have
 * `graphs[0 … count−1]`. Channel c of the job is channel c modulo nchannels of a host. */
uint32_t weft_job_settle(const weft_job_graph_t *graphs, uint32_t count);

#endif
