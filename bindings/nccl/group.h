/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread's open group: what was called in it waits here for its end. */
#ifndef BINDINGS_NCCL_GROUP_H
#define BINDINGS_NCCL_GROUP_H

#include "bindings/nccl/call.h"
#include "bindings/nccl/job.h"

/* ncclGroupStart and ncclGroupEnd, for a function whose calls start together. Errors have its
 * name. */
void nccl_group_start(void);
ncclResult_t nccl_group_end(const char *call);
/* Run the call or the job now, or note it in the open group. They take over what it holds. */
ncclResult_t nccl_group_call(const nccl_call_t *call);
ncclResult_t nccl_group_job(const nccl_job_t *what);
/* Remembers the failure of a call in an open group, which then fails as a whole. Returns it. */
ncclResult_t nccl_group_fail(ncclResult_t result);

#endif
