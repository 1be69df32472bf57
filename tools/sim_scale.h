/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim --scale`: how the plans grow with the number of ranks. */
#ifndef WEFT_TOOLS_SIM_SCALE_H
#define WEFT_TOOLS_SIM_SCALE_H

#include "tools/sim_point.h"

/* --scale: figures of the plans of all algorithms for all numbers of ranks. */
int sim_scale(const sim_request_t *request);

#endif
