/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of one communicator, beside those that the options set for all of a job. Part of weft.h,
 * whose rules hold here. */
#ifndef WEFT_LIMITS_H
#define WEFT_LIMITS_H

#include <stdint.h>

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets at most `most` channels share a message of `comm`. A channel is a copy of the plan's lanes
 * with a part of the message; on a device each lane of each channel takes a block of threads, so
 * this leaves room for other kernels, as NCCL's maxCTAs does. 0, as at first: as many as the job
 * has (plan.channels, or what the kernel asks for). More than those changes nothing. All ranks set
 * the same before their first operation, and before weft_comm_explain() and weft_comm_predict(),
 * whose plans stay: the first operation whose plan it changes fails with ERR_MISMATCH where they
 * differ. Communicators made of `comm` begin without a limit.
 * Errors: ERR_ARG (NULL), ERR_STATE (operations or these two were called before; handle destroyed,
 * forked child, or another thread is inside a call).
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_set_channels(weft_comm_t *comm, uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
