/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that have failed a moment ago: links begin at others. Thread: any. */
#ifndef WEFT_EXEC_AVOIDED_H
#define WEFT_EXEC_AVOIDED_H

#include <stdatomic.h>
#include <stdint.h>

#define WEFT_AVOIDED_MAX 32u /* indices of transports */

/* All zero: none has failed. */

typedef struct weft_avoided {
    _Atomic uint64_t until[WEFT_AVOIDED_MAX]; /* time, by index */
} weft_avoided_t;

/* Notes for a minute that the device with this index has failed. Warns, once in that time, in the
 * name of the plugin. */
void weft_avoided_add(weft_avoided_t *avoided, uint32_t index, const char *plugin,
                      const char *device, const char *why);
/* Returns the first of `count` indices from position `at` on, in a circle, that has not failed, or
 * the one at that position. */
uint32_t weft_avoided_pass_over(const weft_avoided_t *avoided, const uint32_t *found,
                                uint32_t count, uint32_t at);

#endif
