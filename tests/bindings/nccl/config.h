/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configs of communicators. */
#ifndef TESTS_BINDINGS_NCCL_CONFIG_H
#define TESTS_BINDINGS_NCCL_CONFIG_H

#include "bindings/nccl/types.h"

/* As NCCL_CONFIG_INITIALIZER makes it: says nothing of anything. */
ncclConfig_t config_that_is_silent(void);
/* Asks for nothing but to return at once. */
ncclConfig_t config_without_waiting(void);

#endif
