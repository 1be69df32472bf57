/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Aims: their memory. member.c fills them. */
#include "core/exec/aim.h"

#include "core/os/os.h"

bool weft_aims_init(weft_aims_t *aims, const weft_plan_t *plan, uint32_t channels)
{
    *aims = (weft_aims_t){.aims = NULL};
    if (plan->nmoves > WEFT_AIMS_MOVES) {
        return true;
    }
    aims->bytes = (size_t)channels * plan->nmoves * sizeof *aims->aims;
    aims->aims = weft_os_alloc(aims->bytes + 1, 0);
    return aims->aims != NULL;
}

void weft_aims_fini(weft_aims_t *aims)
{
    weft_os_free(aims->aims);
    *aims = (weft_aims_t){.aims = NULL};
}
