/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: how much memory there is to be had. */
#ifndef WEFT_OS_AVAILABLE_H
#define WEFT_OS_AVAILABLE_H

#include <weft/types.h>

/* Nobody tells. */
#define WEFT_OS_MEMORY_UNKNOWN UINT64_MAX

/* Returns the bytes that this process can still take: what the host has available without swapping,
 * and what the limits of its control groups leave; the least of them. Thread: any. */
uint64_t weft_os_memory_available(void);

/* The parts of it. Bytes that a file like /proc/meminfo calls available, and those that the limit
 * of the control group at `folder` leaves. WEFT_OS_MEMORY_UNKNOWN: it does not tell, or has
 * none. */
uint64_t weft_os_meminfo_available(const char *file);
uint64_t weft_os_group_available(const char *folder);

#endif
