/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim --simgrid`: proves the plans, writes them as text and has weft-simgrid run them, one
 * process per size, for SimGrid can be started once in a process. */
#ifndef WEFT_TOOLS_SIM_SIMGRID_H
#define WEFT_TOOLS_SIM_SIMGRID_H

#include "tools/sim_point.h"

/* --simgrid: runs the plans on a simulated network, by the program weft-simgrid. */
int sim_simgrid(const sim_request_t *request);

#endif
