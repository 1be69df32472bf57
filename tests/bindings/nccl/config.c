/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configs as NCCL_CONFIG_INITIALIZER makes them, field by field. */
#include "tests/bindings/nccl/config.h"

#include <stddef.h>

ncclConfig_t config_that_is_silent(void)
{
    ncclConfig_t config;
    for (size_t i = 0; i < sizeof config / sizeof(int); i++) {
        ((int *)&config)[i] = NCCL_CONFIG_UNDEF_INT;
    }
    config.size = sizeof config;
    config.magic = NCCL_API_MAGIC;
    config.version = 22800;
    config.netName = config.commName = NULL;
    return config;
}

ncclConfig_t config_without_waiting(void)
{
    ncclConfig_t config = config_that_is_silent();
    config.blocking = 0;
    return config;
}
