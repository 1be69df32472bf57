/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the host cannot touch, as a GPU's. Each area is mapped twice: where the user has it nobody
 * may load or store, and what a device computes on is the other mapping. A host that follows a pointer
 * into it crashes. Like the addresses of a GPU, areas are the process's. Any thread. */
#ifndef TESTS_DEVICE_AREAS_H
#define TESTS_DEVICE_AREAS_H

#include <stdbool.h>
#include <stdint.h>

/* The user's address of zeroed memory, or NULL. */
void *areas_take(uint64_t bytes);
void areas_give(void *memory);
/* Where the bytes of a pointer really are: itself, if it is the host's. */
void *areas_real(const void *memory);

#endif
