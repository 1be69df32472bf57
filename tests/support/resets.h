/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of another process are reset, as from the middle of the network. */
#ifndef WEFT_TESTS_RESETS_H
#define WEFT_TESTS_RESETS_H

#include <stdint.h>
#include <sys/types.h>

/* Resets all TCP connections of a child of the caller, at once as far as it can see: it is stopped
 * meanwhile. Both ends hear it. Returns how many. */
uint32_t reset_connections(pid_t pid);

#endif
