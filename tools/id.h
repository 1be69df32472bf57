/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft id`: makes a unique id for ranks that are started by hand. */
#ifndef WEFT_TOOLS_ID_H
#define WEFT_TOOLS_ID_H

int tool_id(int argc, char **argv);

#endif
