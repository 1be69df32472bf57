/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of all gpus with queues that never fill, on sets of contributions in place of data. It
 * finds what the format leaves out: which step completes a reduction, which piece of the message a
 * chunk of scratch holds, and whether a chunk of the input was overwritten when it is read. Streams
 * without "receive from any" are confluent, so one run shows what every run does, unless there is a
 * race; that, and queues that do fill, are for the core's verifier. */
#ifndef WEFT_ALGO_FILE_MSCCL_RUN_H
#define WEFT_ALGO_FILE_MSCCL_RUN_H

#include "msccl.h"

weft_status_t msccl_run(msccl_program_t *program);

#endif
