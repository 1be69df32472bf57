/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent of `weft run` on one host: starts the ranks there, carries their input and output, and
 * lets none of them outlive it. It reads frames from its input and writes frames to its output. */
#ifndef WEFT_TOOLS_RUN_AGENT_H
#define WEFT_TOOLS_RUN_AGENT_H

/* The whole life of an agent; returns its exit code. */
int run_agent(void);

#endif
