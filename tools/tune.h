/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft tune`: measures figures and candidates on the running job, and writes rules. */
#ifndef WEFT_TOOLS_TUNE_H
#define WEFT_TOOLS_TUNE_H

int tool_tune(int argc, char **argv);

#endif
