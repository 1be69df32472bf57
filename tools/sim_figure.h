/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture of `weft sim`: time over message size, and a map of who is fastest. */
#ifndef WEFT_TOOLS_SIM_FIGURE_H
#define WEFT_TOOLS_SIM_FIGURE_H

#include "tools/sim_point.h"

int sim_put_figure(const sim_request_t *request, const sim_point_t *points);

#endif
