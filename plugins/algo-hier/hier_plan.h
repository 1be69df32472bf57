/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in two levels: inside a host every rank talks to its heads directly, between hosts another
 * algorithm works. Pure functions; no I/O, no state.
 *
 * The form is that of T. Karonis et al., "Exploiting hierarchy in parallel computer networks to
 * optimize collective operation performance", IPDPS 2000, with one head per part of the message, so
 * that all ranks of a host share its links. */
#ifndef HIER_PLAN_H
#define HIER_PLAN_H

#include "level.h"

/* Each writes the plan of call->rank. */
void hier_all_reduce(const hier_job_t *job);
void hier_broadcast(const hier_job_t *job);
void hier_reduce(const hier_job_t *job);

#endif
