/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How all ranks come to know what the hosts are like. */
#ifndef WEFT_COMM_FAMILY_HOSTS_H
#define WEFT_COMM_FAMILY_HOSTS_H

#include "core/comm/family.h"

/* Returns the PCI address of the device that this rank's kernel computes on, weft_job_address(), or
 * WEFT_JOB_NONE. */
uint32_t weft_family_gpu(const weft_family_t *family);

/* Describes the hosts of family->job, whose ranks are known, if that is of use
 * (weft_job_needs_kinds(), the same on all ranks). The first rank of each host looks at its
 * machine and finds the channels. One exchange of sizeof(weft_job_word_t) bytes a rank, and one
 * for each kind of host, to which its size counts. Errors: those of weft_discover() and
 * weft_find_graph(), ERR_RESOURCE, ERR_PROTO, those of the control tree. */
weft_status_t weft_family_describe_hosts(weft_family_t *family);

#endif
