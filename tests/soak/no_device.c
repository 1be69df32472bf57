/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See device.h. */
#include "device.h"

const uint32_t device_calls = 0;
const char *const device_kernel = NULL, *const device_kernel_path = NULL;

bool device_open(uint64_t most)
{
    (void)most;
    return true;
}

weft_status_t device_call(mixed_t *m, uint32_t number, uint64_t count)
{
    (void)m;
    (void)number;
    (void)count;
    return WEFT_ERR_UNSUPPORTED;
}

void device_close(void)
{
}
