/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fat tree: 16 hosts to a leaf switch, half as many cables up as down, so that half of the
 * traffic of a leaf can leave it at full speed. Latencies add up to α − o on the longest way;
 * actors take o, half at each end. */
#ifndef WEFT_SIMGRID_SIMGRID_PLATFORM_H
#define WEFT_SIMGRID_SIMGRID_PLATFORM_H

#include "tools/simgrid/simgrid_plan.h"

/* Writes a fat tree of `hosts` hosts as SimGrid's XML. */
void platform_write(const job_options_t *options, uint32_t hosts, FILE *out);

#endif
