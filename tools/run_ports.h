/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of a job of `weft run`: where rank 0 listens for those that join, and for the store of
 * torch. */
#ifndef WEFT_TOOLS_RUN_PORTS_H
#define WEFT_TOOLS_RUN_PORTS_H

#include <weft/sdk/endpoint.h>

#include "tools/run_task.h"

/* What the configuration of the ranks gives as boot.port_range: the last of the job's variables
 * that does, else the file that they name or that weft finds here. None where nobody gives one, or
 * what is no range: the ranks report that. */
weft_port_range_t run_ports_configured(const run_job_t *job);

/* Binds two ports of this host which nobody else gets while the sockets are open: rank 0 may listen
 * there (SO_REUSEADDR). The first, for the id, is one of the range, if there is one. False if it
 * cannot. */
bool run_ports_hold(const weft_port_range_t *range, int sockets[2], uint16_t ports[2]);

#endif
