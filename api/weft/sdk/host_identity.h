/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the identity of the host that a process runs on. Two processes with equal identities share
 * one kernel and one network namespace, so they can meet over loopback, abstract sockets and
 * passed descriptors. */
#ifndef WEFT_SDK_HOST_IDENTITY_H
#define WEFT_SDK_HOST_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Boot id of the kernel (16 bytes), then the inode of the network namespace (8 bytes). */
#define WEFT_HOST_IDENTITY_BYTES 24

/* Fills `identity` with the identity of this process's host. Fails only where /proc is not
 * readable: then it returns false, zeroes `identity` and leaves the cause in errno. An identity of
 * zeros means "unknown" and equals no other. Does not block. [any] */
bool weft_host_identity_read(uint8_t identity[WEFT_HOST_IDENTITY_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
