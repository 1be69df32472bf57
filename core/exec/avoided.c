/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See avoided.h. */
#include "core/exec/avoided.h"

#include <stdbool.h>

#include "core/base/log.h"
#include "core/os/os.h"

#define AVOIDED_NS (60 * WEFT_NS_PER_S)

static bool avoided_has(const weft_avoided_t *avoided, uint32_t index)
{
    uint64_t until = atomic_load_explicit(&avoided->until[index], memory_order_relaxed);
    return until != 0 && weft_os_clock_ns() < until;
}

void weft_avoided_add(weft_avoided_t *avoided, uint32_t index, const char *plugin,
                      const char *device, const char *why)
{
    uint64_t now = weft_os_clock_ns();
    uint64_t before =
        atomic_exchange_explicit(&avoided->until[index], now + AVOIDED_NS, memory_order_relaxed);
    if (before <= now) {
        weft_log(WEFT_LOG_WARN, plugin,
                 "device %s failed; for a minute new links use other devices: %s", device, why);
    }
}

uint32_t weft_avoided_pass_over(const weft_avoided_t *avoided, const uint32_t *found,
                                uint32_t count, uint32_t at)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = found[(at + i) % count];
        if (!avoided_has(avoided, index)) {
            return index;
        }
    }
    return found[at % count];
}
