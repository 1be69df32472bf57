/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two devices move slices whose payloads are in flagged words. Each arrives whole, and is read
 * before its place is written again.
 * Sources: plugins/kernel-cuda/device/device_slice.h, plugins/kernel-cuda/device/device_tell.h,
 * plugins/kernel-cuda/device/device_port.h, plugins/kernel-cuda/device/device_flagged.h */
#define HEADER_BYTES 0u
#define WORDS_BYTES 8u
#include "model_device.h"
