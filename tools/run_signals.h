/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The signals that `weft run` and its agents read. */
#ifndef WEFT_TOOLS_RUN_SIGNALS_H
#define WEFT_TOOLS_RUN_SIGNALS_H

/* Blocks the signals of `numbers`, which ends with 0, and returns a descriptor that they are read
 * from; -1 if there is none. What whoever started this process ignores, as nohup does with SIGHUP
 * and a shell with SIGINT for a job in the background, stays ignored. SIGPIPE is ignored. */
int run_signals_open(const int *numbers);

#endif
