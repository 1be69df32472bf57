/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls on memory of a device: in a stream, from graphs, in windows. soak-device makes them
 * (device.c), soak computes on the host and has none (no_device.c). */
#ifndef TESTS_SOAK_DEVICE_H
#define TESTS_SOAK_DEVICE_H

#include "tests/support/mixed_calls.h"

/* How many there are. */
extern const uint32_t device_calls;
/* What the ranks need for them, or NULL. */
extern const char *const device_kernel, *const device_kernel_path;

/* Makes the stream and memory for calls of `most` elements. Returns false if it could not. */
bool device_open(uint64_t most);
/* Does call `number` of them as mixed_call() does. */
weft_status_t device_call(mixed_t *m, uint32_t number, uint64_t count);
void device_close(void);

#endif
