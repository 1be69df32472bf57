/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: the quota of CPU time that a cgroup has. That of a container lies at the root of what it
 * sees. */
#ifndef WEFT_OS_QUOTA_H
#define WEFT_OS_QUOTA_H

#include <stdint.h>

typedef struct weft_os_quota {
    uint32_t cpus;  /* that the quota pays for, rounded up; 0: there is none */
    uint64_t group; /* of the cgroup: processes of a host with the same number share the quota */
} weft_os_quota_t;

/* Finds the quota of this process. A system that does not say leaves no error. */
weft_os_quota_t weft_os_quota_here(void);

/* The part of it that reads: from a folder like /sys/fs/cgroup. */
weft_os_quota_t weft_os_quota_read(const char *folder);

#endif
