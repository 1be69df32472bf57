/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of `weft sim` as a table, as comma-separated values, as JSON. */
#ifndef WEFT_TOOLS_SIM_TABLE_H
#define WEFT_TOOLS_SIM_TABLE_H

#include "tools/sim_point.h"

/* points[i · nspecs + a] is algorithm a on ranks[i]. */
void sim_put_table(const sim_request_t *request, const sim_point_t *points);

#endif
