/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: how much memory there is to be had. Whoever takes pages of shared memory beyond it is ended
 * by the system, without an error. */
#ifndef WEFT_SDK_MEMORY_AVAILABLE_H
#define WEFT_SDK_MEMORY_AVAILABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nobody tells. */
#define WEFT_MEMORY_UNKNOWN UINT64_MAX

/* Returns the bytes that this process can still take: what the host has available without swapping,
 * and what the limits of its control groups leave; the least of them. WEFT_MEMORY_UNKNOWN where
 * none is told. Reads files of the system, which takes some ten microseconds; does not block.
 * [any] */
uint64_t weft_memory_available(void);

/* The parts of it. Bytes that a file like /proc/meminfo calls available, and those that the limit
 * of the control group at `folder` leaves. WEFT_MEMORY_UNKNOWN: it does not tell, or has none.
 * [any] */
uint64_t weft_memory_of_host(const char *file);
uint64_t weft_memory_of_group(const char *folder);

#ifdef __cplusplus
}
#endif

#endif
