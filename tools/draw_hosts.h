/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A box for every host, with its ranks on a circle inside; links between two hosts are one
 * arrow. */
#ifndef WEFT_TOOLS_DRAW_HOSTS_H
#define WEFT_TOOLS_DRAW_HOSTS_H

#include "tools/draw_page.h"

/* Up to 64 hosts and 512 ranks; ERR_ARG. */
weft_status_t draw_hosts(draw_t *draw, FILE *out);
/* Returns the width that the drawing would have. */
double draw_hosts_width(const draw_input_t *input);

#endif
