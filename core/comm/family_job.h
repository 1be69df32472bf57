/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How all ranks come to know the job: hosts, NUMA nodes, devices, levels. */
#ifndef WEFT_COMM_FAMILY_JOB_H
#define WEFT_COMM_FAMILY_JOB_H

#include "core/comm/family.h"

/* Fills family->job, equal on all ranks. One exchange of sizeof(weft_job_rank_t) bytes a rank, and
 * those of weft_family_describe_hosts() where hosts are described. Blocks as the join does. Errors:
 * ERR_CONFIG where topology files are wrong or differ between ranks; ERR_RESOURCE; those of
 * weft_family_describe_hosts(), and of the control tree. */
weft_status_t weft_family_agree_on_job(weft_family_t *family);

#endif
