/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft nccl-run`: a program that uses NCCL, with weft in its place. */
#ifndef WEFT_TOOLS_NCCL_RUN_H
#define WEFT_TOOLS_NCCL_RUN_H

int tool_nccl_run(int argc, char **argv);

#endif
